"""Windows over long texts: nothing is lost, limits hold, and one window decides about each span."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlpkit.text.windows import owner, plan_sentence_windows, plan_windows


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[int], list[str], int, int, int]:
    words = draw(st.lists(st.sampled_from(["a", "b", ".", "!", "”", "end.", ""]), max_size=70))
    n_pieces = [draw(st.sampled_from([1, 1, 1, 2, 3, 9, 30])) for _ in words]
    max_words = draw(st.integers(2, 20))
    return n_pieces, words, max_words, draw(st.integers(0, max_words - 1)), draw(st.integers(1, 25))


@settings(max_examples=1000, deadline=None)
@example(([1, 1, 1, 1, 1, 1, 1, 2], ["a"] * 5 + [".", "a", "a"], 5, 3, 5))  # a sentence that two windows could end with
@given(plans())
def test_windows_cover_all_within_the_limits_and_share_what_they_can(
    plan: tuple[list[int], list[str], int, int, int],
) -> None:
    n_pieces, words, max_words, overlap, max_pieces = plan
    windows = plan_windows(n_pieces, words, max_words=max_words, overlap=overlap, max_pieces=max_pieces)
    if not words:
        assert windows == []
        return
    assert windows[0][0] == 0
    assert windows[-1][1] == len(words)
    for start, end in windows:
        assert 0 < end - start <= max_words
        assert sum(n_pieces[start:end]) <= max_pieces or end - start == 1
    for (start, end), (next_start, next_end) in pairwise(windows):
        assert start < next_start <= end < next_end
        shared = end - next_start
        assert shared <= overlap
        if shared < overlap:  # only because the pieces leave no room
            greedy_is_short = start + max_words > len(words) or sum(n_pieces[start : start + max_words]) > max_pieces
            no_room = sum(n_pieces[next_start - 1 : end + 1]) > max_pieces
            assert no_room or greedy_is_short
            assert no_room or shared >= min(overlap, (end - start) // 2, end - start - 1)


@settings(max_examples=200, deadline=None)
@given(plans(), st.data())
def test_a_span_that_fits_into_the_overlap_has_one_owner(
    plan: tuple[list[int], list[str], int, int, int], data: st.DataObject
) -> None:
    _, words, max_words, overlap, _ = plan
    if not words:
        return
    windows = plan_windows([1] * len(words), words, max_words=max_words, overlap=overlap, max_pieces=1000)
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, min(len(words), start + overlap + 1)))
    index = owner(windows, start, end)
    assert index is not None
    assert windows[index][0] <= start < end <= windows[index][1]

    def distance(window: tuple[int, int]) -> float:
        left = start - window[0] if window[0] > 0 else float("inf")
        right = window[1] - end if window[1] < len(words) else float("inf")
        return min(left, right)

    holders = [i for i, (left, right) in enumerate(windows) if left <= start and end <= right]
    assert index == max(holders, key=lambda i: (distance(windows[i]), -i))


@settings(max_examples=200, deadline=None)
@given(plans())
def test_a_span_held_by_no_window_has_no_owner(plan: tuple[list[int], list[str], int, int, int]) -> None:
    n_pieces, words, max_words, overlap, max_pieces = plan
    windows = plan_windows(n_pieces, words, max_words=max_words, overlap=overlap, max_pieces=max_pieces)
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            held = any(left <= start and end <= right for left, right in windows)
            assert (owner(windows, start, end) is not None) == held


def test_a_short_text_is_one_window() -> None:
    assert plan_windows([1] * 5, ["w"] * 5, max_words=5, overlap=2, max_pieces=5) == [(0, 5)]


def test_long_words_do_not_stop_the_walk() -> None:
    n_pieces = [1] * 10 + [300] + [1] * 10
    windows = plan_windows(n_pieces, ["w"] * 21, max_words=8, overlap=3, max_pieces=100)
    assert (10, 11) in windows
    assert [w for w in windows if w[0] <= 10 < w[1]] == [(10, 11)]
    fits = plan_windows(n_pieces, ["w"] * 21, max_words=8, overlap=3, max_pieces=305)
    assert any(w[0] < 10 < w[1] - 1 for w in fits)


@pytest.mark.parametrize(
    ("words", "windows"),
    [
        ("a b c d e . F g h i", [(0, 6), (4, 10)]),  # a sentence ends in the last quarter
        ("a b . d e f g h i j", [(0, 8), (6, 10)]),  # it ends too early
        ("a b c d e . ” F g h", [(0, 7), (5, 10)]),  # the closing quote belongs to it
        ("a b c d e f g. H i j", [(0, 7), (5, 10)]),  # a full stop inside a word
    ],
)
def test_windows_end_with_a_sentence(words: str, windows: list[tuple[int, int]]) -> None:
    assert plan_windows([1] * 10, words.split(), max_words=8, overlap=2, max_pieces=99) == windows


def test_ten_thousand_words() -> None:
    windows = plan_windows([2] * 10_000, ["w"] * 10_000, max_words=200, overlap=60, max_pieces=510)
    assert len(windows) == 71
    assert plan_windows([600] * 1000, ["w"] * 1000, max_words=200, overlap=60, max_pieces=510) == [
        (i, i + 1) for i in range(1000)
    ]


def test_impossible_settings_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlap from 0 to 4"):
        plan_windows([1], ["w"], max_words=5, overlap=5, max_pieces=9)
    with pytest.raises(ValueError, match="2 words"):
        plan_windows([1], ["w", "w"], max_words=5, overlap=1, max_pieces=9)
    assert owner([], 0, 1) is None


# windows of whole sentences


@st.composite
def sentence_plans(draw: st.DrawFn) -> dict[str, Any]:
    lengths = draw(st.lists(st.integers(1, 12), max_size=15))
    n_words = sum(lengths)
    sentences = draw(st.integers(1, 5))
    max_words = draw(st.integers(2, 30))
    return {
        "n_pieces": [draw(st.sampled_from([1, 1, 2, 9])) for _ in range(n_words)],
        "words": ["w"] * n_words,
        "starts": [sum(lengths[:k]) for k in range(len(lengths))],
        "sentences": sentences,
        "shared": draw(st.integers(0, sentences - 1)),
        "fill": draw(st.integers(1, 40)),
        "max_words": max_words,
        "overlap": draw(st.integers(0, max_words - 1)),
        "max_pieces": draw(st.integers(9, 60)),
    }


@settings(max_examples=500, deadline=None)
@given(sentence_plans())
def test_windows_of_sentences_cover_all_within_the_limits(plan: dict[str, Any]) -> None:
    windows = plan_sentence_windows(**plan)
    n_words = len(plan["words"])
    borders = {*plan["starts"], n_words}
    if not n_words:
        assert windows == []
        return
    assert windows[0][0] == 0
    assert windows[-1][1] == n_words
    for (start, end), (next_start, next_end) in pairwise(windows):
        assert start < next_start <= end < next_end
    for start, end in windows:
        n_sentences = sum(start <= s < end for s in plan["starts"])
        assert 0 < end - start <= plan["max_words"]
        assert sum(plan["n_pieces"][start:end]) <= plan["max_pieces"] or end - start == 1
        if {start, end} <= borders:
            assert n_sentences <= plan["sentences"]
            assert n_sentences == 1 or end - start <= plan["fill"]
        else:  # a part of one sentence that is too long for a window
            assert n_sentences <= 1
            assert not any(start < s < end for s in plan["starts"])


@settings(max_examples=300, deadline=None)
@given(sentence_plans())
def test_neighbouring_sentences_that_links_may_join_share_a_window(plan: dict[str, Any]) -> None:
    """With room in words and pieces, any run of ``shared + 1`` sentences lies in one window."""
    plan |= {"fill": 1000, "max_words": 1000, "max_pieces": 10_000}
    windows = plan_sentence_windows(**plan)
    bounds = [*plan["starts"], len(plan["words"])]
    width = plan["shared"] + 1
    for first in range(len(plan["starts"]) - width + 1):
        assert owner(windows, bounds[first], bounds[first + width]) is not None


def test_windows_of_sentences_by_hand() -> None:
    words = ["w"] * 12
    limits: dict[str, Any] = {"fill": 9, "max_words": 9, "overlap": 2, "max_pieces": 99}
    starts = [0, 3, 6, 9]
    for sentences, shared, windows in (
        (1, 0, [(0, 3), (3, 6), (6, 9), (9, 12)]),
        (2, 0, [(0, 6), (6, 12)]),
        (3, 2, [(0, 9), (3, 12)]),
        (9, 1, [(0, 9), (6, 12)]),  # words are the limit
    ):
        assert plan_sentence_windows([1] * 12, words, starts, sentences=sentences, shared=shared, **limits) == windows
    assert plan_sentence_windows([1] * 12, words, [0, 2], sentences=2, shared=1, **limits) == [
        (0, 2),
        *[(2, 11), (9, 12)],  # a sentence of ten words
    ]
    with pytest.raises(ValueError, match="share 0 to 0 sentences"):
        plan_sentence_windows([1], ["w"], [0], sentences=1, shared=1, **limits)
