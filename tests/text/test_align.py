"""Spans of code points to words and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.text.align import align_span, char_span
from nlpkit.text.words import split_words

TEXT = "Acme Corp,  hired\u200b 👩\u200d👧. "
OFFSETS = split_words(TEXT)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 9, (0, 2, True)),
        (5, 9, (1, 2, True)),
        (0, 10, (0, 3, True)),
        (1, 9, (0, 2, False)),
        (0, 8, (0, 2, False)),
        (0, 5, (0, 1, False)),  # a blank at its end
        (4, 9, (1, 2, False)),  # a blank in front
        (10, 12, (3, 3, False)),  # blanks only
        (5, 5, (1, 1, False)),
        (9, 5, (2, 2, False)),
        (0, len(TEXT), (0, 7, False)),
        (19, 22, (5, 6, True)),  # one emoji of three code points
        (19, 20, (5, 6, False)),
    ],
)
def test_align_span(start: int, end: int, expected: tuple[int, int, bool]) -> None:
    assert align_span(OFFSETS, start, end) == expected


def test_no_words() -> None:
    assert align_span([], 0, 3) == (0, 0, False)
    with pytest.raises(ValueError, match="0 words"):
        char_span([], 0, 1)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.data())
def test_words_to_code_points_and_back(text: str, data: st.DataObject) -> None:
    offsets = split_words(text)
    if not offsets:
        return
    first = data.draw(st.integers(0, len(offsets) - 1))
    last = data.draw(st.integers(first + 1, len(offsets)))
    assert align_span(offsets, *char_span(offsets, first, last)) == (first, last, True)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.data())
def test_a_widened_span_holds_all_that_is_visible(text: str, data: st.DataObject) -> None:
    offsets = split_words(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last, is_exact = align_span(offsets, start, end)
    touched = [i for i, (left, right) in enumerate(offsets) if left < end and start < right and start < end]
    assert touched == list(range(first, last))
    assert is_exact == (last > first and char_span(offsets, first, last) == (start, end))
