"""Time grows in a line with the input: the cases of ``benchmarks/growth.py``, at a tenth of their size."""

from __future__ import annotations

import sys
from importlib import util

import pytest
from link_farm import ROOT


def load_benchmark():  # type: ignore[no-untyped-def]
    spec = util.spec_from_file_location("growth", ROOT / "benchmarks" / "growth.py")
    module = util.module_from_spec(spec)
    sys.modules["growth"] = module
    spec.loader.exec_module(module)
    return module


benchmark = load_benchmark()


@pytest.mark.parametrize("name", benchmark.CASES)
def test_twice_the_input_takes_about_twice_the_time(name: str) -> None:
    size, make = benchmark.CASES[name]
    found = benchmark.growth(size // 10, make)
    assert found["ratio"] < benchmark.LIMIT, found


def test_the_benchmark_sees_quadratic_time() -> None:
    found = benchmark.growth(300, lambda n: lambda: [None for _ in range(n) for _ in range(n)])
    assert found["ratio"] > benchmark.LIMIT
