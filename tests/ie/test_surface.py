"""Where surface texts stand, exactly and alike, in time that grows in a line."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nlpkit.ie import surface
from nlpkit.ie.surface import alike_places, places


@given(st.text("ab", max_size=6), st.text("ab", max_size=40))
def test_short_and_long_surfaces_are_found_in_the_same_places(wanted: str, text: str) -> None:
    expected = [m.start() for m in re.finditer(f"(?={wanted})", text)] if wanted else []
    assert places(wanted, text) == expected
    short, surface._SHORT = surface._SHORT, 0
    try:
        assert places(wanted, text) == expected
    finally:
        surface._SHORT = short


def test_marks_in_another_order_are_alike_and_letters_in_a_longer_word_are_not() -> None:
    assert alike_places("a\u0301\u0323", "x a\u0323\u0301 y") == [(2, 5)]
    assert alike_places("IT", "with it, IT") == [(5, 7), (9, 11)]
    assert alike_places("it", "with") == [(1, 3)]
