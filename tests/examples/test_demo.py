"""The demo ends in success only if the model is clearly ahead of the dictionary on every score."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"

GOOD = {"entity": 0.9, "relation": 0.8, "relation_strict": 0.8, "trigger": 0.9, "argument": 0.8, "span": 0.1}
BASE = {"entity": 0.5, "relation": 0.2, "relation_strict": 0.2, "trigger": 0.7, "argument": 0.3, "span": 0.9}


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_example_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_ahead_on_every_score_is_success(demo: ModuleType) -> None:
    rows = demo.compare(GOOD, BASE)
    assert [row.metric for row in rows] == ["entity", "relation", "relation_strict", "trigger", "argument"]
    message, status = demo.verdict(rows)
    assert status == 0
    assert "clearly beats" in message
    assert "20 points" in message


@pytest.mark.parametrize("metric", ["entity", "relation", "relation_strict", "trigger", "argument"])
@pytest.mark.parametrize("lead", [-0.2, 0.0, 0.09])
def test_behind_equal_or_hardly_ahead_on_one_score_is_failure(demo: ModuleType, metric: str, lead: float) -> None:
    message, status = demo.verdict(demo.compare(GOOD | {metric: BASE[metric] + lead}, BASE))
    assert status == 1
    assert message.endswith(f"on: {metric}.")


@pytest.mark.parametrize("broken", [None, float("nan")])
def test_a_score_that_is_undefined_is_failure(demo: ModuleType, broken: float | None) -> None:
    message, status = demo.verdict(demo.compare(GOOD | {"trigger": broken}, BASE))
    assert status == 1
    assert "trigger" in message


def test_a_score_that_is_missing_is_failure(demo: ModuleType) -> None:
    without = {key: value for key, value in GOOD.items() if key != "relation"}
    assert demo.verdict(demo.compare(without, BASE))[1] == 1
    assert demo.verdict([])[1] == 1


def test_the_table_shows_both_systems_in_percent(demo: ModuleType) -> None:
    from rich.console import Console

    console = Console(width=100)
    with console.capture() as capture:
        console.print(demo.score_table(demo.compare(GOOD | {"argument": None}, BASE), 255))
    lines = capture.get().splitlines()
    assert "255 held-out sentences" in lines[0]
    (entity,) = (line for line in lines if " entity " in line)
    assert all(number in entity for number in ("90.0", "50.0", "+40.0"))
    (argument,) = (line for line in lines if " argument " in line)
    assert "-30.0" in argument
