"""Time grows in a line with what is read, however hostile; the sizes are a tenth of the benchmark's."""

from __future__ import annotations

import pytest
from growth import CASES, LIMIT, growth


@pytest.mark.parametrize("name", CASES)
def test_twice_the_input_takes_about_twice_the_time(name: str) -> None:
    size, make = CASES[name]
    # What is quadratic is so each time; a busy machine is so now and then.
    ratios = []
    for rounds in (1, 2, 4):
        ratios.append(growth(size // 10, make, rounds)["ratio"])
        if ratios[-1] < LIMIT:
            return
    raise AssertionError(f"{name}: twice the input takes {min(ratios)} times the time")
