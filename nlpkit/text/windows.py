"""Spread a long text over overlapping windows, and say which window decides about a span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from operator import itemgetter

from nlpkit.text.sentences import CLOSERS, SENTENCE_ENDS
from nlpkit.wording import counted


def plan_windows(
    n_pieces: Sequence[int], words: Sequence[str], *, max_words: int, overlap: int, max_pieces: int
) -> list[tuple[int, int]]:
    """Windows ``(start, end)`` over words, in order, that cover all words within two limits.

    A window ends after a sentence where one ends in its last quarter. Neighbours share ``overlap`` words, or as many as
    the piece limit leaves room for. A word with more than ``max_pieces`` pieces gets a window of its own.

    Args:
        n_pieces: Tokenizer pieces of each word.
        words: The words, to see where sentences end.
        max_words: Most words of a window.
        overlap: Words that neighbours share; less than ``max_words``.
        max_pieces: Most pieces of a window, special ones not counted.

    >>> plan_windows([1] * 9, "A b c d e . F g h".split(), max_words=7, overlap=2, max_pieces=100)
    [(0, 6), (4, 9)]
    """
    if not 0 <= overlap < max_words:
        raise ValueError(f"expected an overlap from 0 to {max_words - 1}, got {overlap}")
    if len(n_pieces) != len(words):
        raise ValueError(f"{counted(len(words), 'word')}, but piece counts of {len(n_pieces)}")
    total = [0, *accumulate(n_pieces)]
    windows: list[tuple[int, int]] = []
    start = 0
    while start < len(words):
        end = start + 1
        while end < len(words) and end - start < max_words and total[end + 1] - total[start] <= max_pieces:
            end += 1
        if end == len(words):
            windows.append((start, end))
            break
        # Where the pieces are the limit, windows may be shorter than the overlap; half a window is then enough.
        shared = overlap if end - start == max_words else min(overlap, (end - start) // 2)
        # The next window must start later than this one, and this one end later than the one before.
        lowest = max(start + shared, windows[-1][1] if windows else 0) + 1
        end = _sentence_end(words, start, end, lowest)
        windows.append((start, end))
        start = max(start + 1, end - shared)
        while start < end and total[end + 1] - total[start] > max_pieces:
            start += 1
    return windows


def plan_sentence_windows(
    n_pieces: Sequence[int],
    words: Sequence[str],
    starts: Sequence[int],
    *,
    sentences: int,
    shared: int,
    fill: int,
    max_words: int,
    overlap: int,
    max_pieces: int,
) -> list[tuple[int, int]]:
    """Windows ``(start, end)`` over words, in order, that cover all words and are made of whole sentences.

    A window holds at most so many sentences, as far as they fit, and neighbours share some of them. A sentence that is
    too long for a window is read in windows of its own, see :func:`plan_windows`.

    Args:
        n_pieces: Tokenizer pieces of each word.
        words: The words.
        starts: First word of each sentence.
        sentences: Most sentences of a window.
        shared: Sentences that neighbours share; less than ``sentences``.
        fill: Most words of a window of several sentences.
        max_words: Most words of a window of one sentence.
        overlap: Words that neighbours share inside a long sentence.
        max_pieces: Most pieces of a window, special ones not counted.

    >>> words = "A b . C d . E f . G h .".split()
    >>> limits = {"fill": 9, "max_words": 9, "overlap": 2, "max_pieces": 100}
    >>> plan_sentence_windows([1] * 12, words, [0, 3, 6, 9], sentences=2, shared=1, **limits)
    [(0, 6), (3, 9), (6, 12)]
    """
    if not 0 <= shared < sentences:
        raise ValueError(f"expected to share 0 to {sentences - 1} sentences, got {shared}")
    total = [0, *accumulate(n_pieces)]
    bounds = [*starts, len(words)]

    def fits(first: int, last: int) -> bool:
        start, end = bounds[first], bounds[last]
        most = max_words if last - first == 1 else min(fill, max_words)
        return end - start <= most and total[end] - total[start] <= max_pieces

    windows: list[tuple[int, int]] = []
    first, done = 0, 0
    while done < len(starts):
        if not fits(done, done + 1):
            start, end = bounds[done], bounds[done + 1]
            cut = {"max_words": max_words, "overlap": overlap, "max_pieces": max_pieces}
            parts = plan_windows(n_pieces[start:end], words[start:end], **cut)
            windows += [(start + a, start + b) for a, b in parts]
            first = done = done + 1
            continue
        while not fits(first, done + 1):
            first += 1
        done += 1
        while done < len(starts) and done - first < sentences and fits(first, done + 1):
            done += 1
        windows.append((bounds[first], bounds[done]))
        first = max(first + 1, done - shared)
    return windows


def owner(windows: Sequence[tuple[int, int]], start: int, end: int) -> int | None:
    """The window that decides about the words from ``start`` to ``end``: where they are farthest from its borders.

    Borders of the text do not count, since nothing lies behind them. Of equal windows the first is taken; None means
    that no window holds all of the words. Windows are in the order of their starts and of their ends.

    >>> owner([(0, 6), (4, 9)], 4, 5), owner([(0, 6), (4, 9)], 5, 6), owner([(0, 6), (4, 9)], 3, 8)
    (0, 1, None)
    """
    best, best_distance = None, -inf
    n_words = windows[-1][1] if windows else 0
    first = bisect_left(windows, end, key=itemgetter(1))
    last = bisect_right(windows, start, key=itemgetter(0))
    for index in range(first, last):
        left, right = windows[index]
        distance = min(start - left if left else inf, right - end if right < n_words else inf)
        if distance > best_distance:
            best, best_distance = index, distance
    return best


def _sentence_end(words: Sequence[str], start: int, end: int, lowest: int) -> int:
    """The last end of a sentence in the last quarter before ``end``, from ``lowest`` on; else ``end``."""
    for place in range(end, max(end - (end - start) // 4, lowest) - 1, -1):
        last = place - 1
        while last > start and words[last] in CLOSERS:
            last -= 1
        if words[last][-1:] in SENTENCE_ENDS and words[place] not in CLOSERS:
            return place
    return end
