"""Between positions in code points and positions in words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from nlpkit.wording import counted


def align_span(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int, bool]:
    """The words that a span of code points touches, and whether it begins and ends with them.

    A span without a word (white space, or an empty one) gives an empty, inexact span of words.

    Args:
        offsets: Code points of each word, in order.
        start: First code point.
        end: Code point after the last.

    >>> offsets = [(0, 4), (5, 9), (9, 10)]
    >>> align_span(offsets, 5, 10), align_span(offsets, 6, 9), align_span(offsets, 4, 5)
    ((1, 3, True), (1, 2, False), (1, 1, False))
    """
    first = bisect_right(offsets, start, key=lambda word: word[1])
    last = bisect_left(offsets, end, key=lambda word: word[0])
    if last <= first or end <= start:
        return first, first, False
    return first, last, offsets[first][0] == start and offsets[last - 1][1] == end


def char_span(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The code points of the words from ``start`` to ``end``, which must be at least one.

    >>> char_span([(0, 4), (5, 9), (9, 10)], 1, 3)
    (5, 10)
    """
    if not 0 <= start < end <= len(offsets):
        raise ValueError(f"expected a span of at least one of {counted(len(offsets), 'word')}, got {start} to {end}")
    return offsets[start][0], offsets[end - 1][1]
