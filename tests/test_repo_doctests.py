"""Runs the examples in the docstrings, of modules imported by their full names: pytest never collects ``ie/``."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from link_farm import ROOT, module_names

WITH_EXAMPLES = [name for name, path in module_names().items() if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_the_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert attempted > 0, "the file holds '>>>', and doctest finds no example in it"
    assert failed == 0


def test_pytest_collects_from_tests_alone(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("testpaths") == ["tests"]
    assert "--doctest-modules" not in pytestconfig.getini("addopts")
    assert not list((ROOT / "ie").rglob("test_*.py"))
