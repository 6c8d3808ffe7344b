"""Lay the package out the way it is imported, for tools that cannot follow the folder mapping of ``setup.py``.

``nlpkit.ie`` lives in ``ie/``. Type checkers and the import linter look for ``nlpkit/ie``; this makes a tree of links
in which they find it.

    python tools/link_farm.py build/typing
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ("ie", "intent", "sentence", "dialogue")


def package_files(root: Path = ROOT) -> dict[str, Path]:
    """Every source and data file of the package: its place inside ``nlpkit`` and where it lies in the repository."""
    folders = {"": root / "nlpkit"}
    folders |= {f"{task}/": root / task for task in TASKS if (root / task / "__init__.py").exists()}
    return {
        f"{prefix}{path.relative_to(folder).as_posix()}": path
        for prefix, folder in folders.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def module_names(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the package by the full name under which it is imported."""
    names = {}
    for name, path in package_files(root).items():
        if path.suffix == ".py":
            dotted = f"nlpkit.{name.removesuffix('.py').replace('/', '.')}"
            names[dotted.removesuffix(".__init__")] = path
    return names


def make_farm(target: Path, root: Path = ROOT) -> Path:
    """Make ``target/nlpkit`` anew, of real folders and linked files, so that no link to a removed file stays."""
    farm = target / "nlpkit"
    shutil.rmtree(farm, ignore_errors=True)
    for name, path in package_files(root).items():
        link = farm / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return farm


if __name__ == "__main__":
    make_farm(Path(sys.argv[1]))
