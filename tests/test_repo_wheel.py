"""What a user's site-packages gets: every file of the tree, under ``nlpkit``, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from link_farm import ROOT, TASKS, package_files


def build_wheel(source: Path, target: Path) -> list[str]:
    """The names in a wheel built from ``source``."""
    target.mkdir()
    code = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(target)], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = target.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from, with a subpackage and a data file that no list can know of."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("nlpkit", *TASKS):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    new = copy / "ie" / "new_model" / "part"
    new.mkdir(parents=True)
    for folder in (new, new.parent):
        (folder / "__init__.py").touch()
    (new / "rows.jsonl").write_text("{}\n")
    (copy / "tests").mkdir()
    (copy / "tests" / "__init__.py").touch()
    return copy


@pytest.fixture(scope="module")
def names(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return build_wheel(source, tmp_path_factory.mktemp("wheel") / "dist")


def test_the_wheel_holds_every_file_of_the_tree(names: list[str], source: Path) -> None:
    in_wheel = {name.removeprefix("nlpkit/") for name in names if name.startswith("nlpkit/")}
    in_tree = set(package_files(source))
    assert in_tree - in_wheel == set(), "missing in the wheel"
    assert in_wheel - in_tree == set(), "in the wheel only"
    assert {"py.typed", "ie/types.py", "ie/new_model/part/__init__.py", "ie/new_model/part/rows.jsonl"} <= in_wheel


def test_nothing_but_nlpkit_reaches_site_packages(names: list[str]) -> None:
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.startswith("nlpkit_torch-")} == {"nlpkit"}


def test_the_licence_travels(names: list[str]) -> None:
    assert [name for name in names if name.endswith("licenses/LICENSE")]
