"""Rules about the text of the sources that no linter knows."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path

import pytest
from link_farm import ROOT, TASKS, module_names
from packaging.requirements import Requirement

SOURCES = sorted(
    path
    for folder in ("nlpkit", *TASKS, "tests", "tools", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.py")
)

PACKAGE = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("nlpkit", *TASKS)]


def imported_names(path: Path) -> set[str]:
    """Full names of all modules that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


def wrong_imports(path: Path) -> set[str]:
    """Imports of a task folder under its bare name, and relative imports."""
    return {name for name in imported_names(path) if name.startswith(".") or name.partition(".")[0] in TASKS}


BARE = ["import ie", "from ie.types import Entity", "def f():\n    import ie.schema", "from . import x"]


@pytest.mark.parametrize("line", BARE)
def test_the_check_sees_a_bare_import(line: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(line)
    assert wrong_imports(tmp_path / "bad.py")


def test_task_folders_are_imported_by_their_full_names() -> None:
    assert {path.relative_to(ROOT).as_posix(): wrong for path in SOURCES if (wrong := wrong_imports(path))} == {}


def requirements(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [r for extra in extras for r in project["optional-dependencies"][extra]]
    return {plain(Requirement(line).name) for line in lines}


# The standard library, ourselves, and the stubs' own module, which exists for type checkers only.
NOT_INSTALLED = {*sys.stdlib_module_names, "nlpkit", "_typeshed"}


def plain(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_what_the_package_imports_is_declared() -> None:
    distributions = packages_distributions()
    declared = requirements("minilm")
    missing = {
        (module, top)
        for module, path in module_names().items()
        for top in {name.partition(".")[0] for name in imported_names(path)} - NOT_INSTALLED
        if not declared & {plain(d) for d in distributions.get(top, [top])}
    }
    assert missing == set()


def test_constraints_pin_every_declared_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {plain(line.partition("==")[0]) for line in lines if "==" in line}
    assert requirements("minilm", "dev") - pinned == set()


def test_files_stay_small() -> None:
    sizes = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in module_names().items()}
    assert {module: size for module, size in sizes.items() if size >= 400} == {}


def test_git_does_not_hide_sources() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not {"data", "data/", "/data/", "lib/", "models/"} & {line.strip() for line in ignored}


NUMBER = re.compile(r"len\(|\bn_\w+$|\bcounts?$|_count$|\.n$")
NOUNS = re.compile(r" (?!more |of |times\b)(?:[a-z]+ ){0,2}?[a-z]{3,}(?<!s)s\b")


def hand_made_plurals(source: str) -> list[str]:
    """Places in f-strings where a number is followed by a noun in the plural, which is wrong for 1."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for value, text in pairwise(parts):
            if not (isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant)):
                continue
            number = ast.unparse(value.value)
            if NUMBER.search(number) and "counted(" not in number and NOUNS.match(str(text.value)):
                found.append(f"{{{number}}}{text.value}")
    return found


@pytest.mark.parametrize("text", ["{len(lines)} problems", "{n_records:,} records", "{self.n} long records are"])
def test_the_check_sees_a_plural_that_is_always_one(text: str) -> None:
    assert hand_made_plurals(f'f"{text}"')


@pytest.mark.parametrize("text", ["{counted(n, 'record')} are", "{len(a)} of them", "{n} more"])
def test_the_check_lets_other_numbers_pass(text: str) -> None:
    assert hand_made_plurals(f'f"{text}"') == []


def test_numbers_have_the_right_plural() -> None:
    wrong = {path.relative_to(ROOT).as_posix(): hand_made_plurals(path.read_text("utf-8")) for path in PACKAGE}
    assert {place: texts for place, texts in wrong.items() if texts} == {}
