"""Build the sdist, the wheel from the sdist, install the wheel where no source is near, and use it there.

Catches what an editable install hides: a file that no package list names, an entry point that leads nowhere, code that
reads the repository. What nlpkit needs comes from the development environment by a path line, which does not bring the
editable install along.

    make wheel-test
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("nlpkit", "ie", "intent", "sentence", "dialogue", "pyproject.toml", "setup.py", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None, is_quiet: bool = False) -> None:
    """Run a command and end with it if it fails; a quiet one is heard only then."""
    print("$", *(Path(part).name if Path(part).is_absolute() else part for part in command), flush=True)
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} if is_quiet else {}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, **pipe)
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)
        sys.exit(done.returncode)


def copy_sources(target: Path) -> None:
    """A copy, so that nothing left over in ``build/`` gets into the wheel."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, target / name)


def build(source: Path, dist: Path) -> Path:
    """The wheel, built from the sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, source, cwd=source, is_quiet=True)
    (wheel,) = dist.glob("*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path) -> Path:
    """A virtual environment with the wheel and the dependencies; returns its folder of commands."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-deps", wheel, cwd=folder.parent)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nlpkit-wheel-") as name:
        work = Path(name)
        source, tests = work / "source", work / "tests"
        source.mkdir()
        copy_sources(source)
        wheel = build(source, work / "dist")
        shutil.rmtree(source)
        commands = make_environment(work / "venv", wheel)
        tests.mkdir()
        shutil.copy(ROOT / "tests" / "conftest.py", tests)
        shutil.copy(ROOT / "tests" / "wheel" / "test_installed.py", tests)
        env = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "NLPKIT_INSTALLED": str(work / "venv"),
        }
        env.pop("PYTHONPATH", None)
        options = ("--import-mode=importlib", "-p", "no:cacheprovider", "-o", "markers=slow", "--rootdir", tests)
        run(commands / "python", "-m", "pytest", *options, tests, cwd=tests, env=env)


if __name__ == "__main__":
    main()
