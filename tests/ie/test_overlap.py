"""Overlap policies: the correct test for shared words, ties, and the policy that training data allow."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.ie.overlap import Candidate, OverlapPolicy, resolve_overlap, tightest_policy

POLICIES = ("flat", "nested", "any")


def inclusive(*spans: tuple[int, int], scores: Sequence[float] = ()) -> list[Candidate]:
    """Candidates from spans whose last word is counted, best first unless scores are given."""
    scores = scores or [0.9 - 0.1 * k for k in range(len(spans))]
    return [Candidate(first, last + 1, 0, score) for (first, last), score in zip(spans, scores, strict=True)]


def spans_of(candidates: Sequence[Candidate]) -> list[tuple[int, int]]:
    return [(c.start, c.end) for c in candidates]


@pytest.mark.parametrize("pair", [((0, 0), (0, 2)), ((0, 2), (0, 0)), ((0, 1), (1, 3)), ((1, 3), (0, 1))])
def test_flat_keeps_the_better_of_two_spans_that_share_one_word(pair):
    best, other = inclusive(*pair)
    assert resolve_overlap([best, other], "flat") == [best]
    assert resolve_overlap([other, best], "flat") == [best]


def test_nested_keeps_a_span_inside_another_and_drops_a_crossing_one():
    inner, outer, crossing = inclusive((0, 0), (0, 2), (2, 3))
    assert resolve_overlap([inner, outer], "nested") == [inner, outer]
    assert resolve_overlap([outer, crossing], "nested") == [outer]
    assert resolve_overlap([outer._replace(score=0.1), crossing], "nested") == [crossing]


def test_touching_spans_do_not_overlap():
    spans = inclusive((0, 1), (2, 2), (3, 5))
    for policy in POLICIES:
        assert resolve_overlap(spans, policy) == spans


def test_any_keeps_crossing_spans():
    spans = inclusive((0, 1), (1, 3))
    assert resolve_overlap(spans, "any") == spans


def test_two_types_on_one_span_stand_together_unless_flat_or_one_label_is_wanted():
    two = [Candidate(1, 3, 0, 0.6), Candidate(1, 3, 1, 0.8)]
    assert resolve_overlap(two, "nested") == two
    assert resolve_overlap(two, "any") == two
    for policy in POLICIES:
        assert resolve_overlap(two, policy, multi_label=False) == [two[1]]
    assert resolve_overlap(two, "flat") == [two[1]]


def test_ties_go_to_the_longer_then_the_earlier_span_then_the_smaller_label():
    assert spans_of(resolve_overlap([Candidate(0, 1, 0, 0.5), Candidate(0, 3, 0, 0.5)], "flat")) == [(0, 3)]
    assert spans_of(resolve_overlap([Candidate(1, 3, 0, 0.5), Candidate(0, 2, 0, 0.5)], "flat")) == [(0, 2)]
    assert resolve_overlap([Candidate(0, 2, 3, 0.5), Candidate(0, 2, 1, 0.5)], "flat")[0].label == 1


def test_a_dropped_span_blocks_nothing():
    # the second loses against the first; the third overlaps only the second
    spans = inclusive((0, 2), (2, 4), (4, 6))
    assert spans_of(resolve_overlap(spans, "flat")) == [(0, 3), (4, 7)]


def test_nothing_in_nothing_out():
    for policy in POLICIES:
        assert resolve_overlap([], policy) == []


candidate_lists = st.lists(
    st.builds(
        lambda start, size, label, score: Candidate(start, start + size, label, score / 4),
        st.integers(0, 8),
        st.integers(1, 5),
        st.integers(0, 2),
        st.integers(0, 4),
    ),
    max_size=12,
    unique_by=lambda c: c[:3],
)


def may_stand_together(a: Candidate, b: Candidate, policy: OverlapPolicy, multi_label: bool) -> bool:
    """The definition, word by word."""
    mine, theirs = set(range(a.start, a.end)), set(range(b.start, b.end))
    if mine == theirs:
        return policy != "flat" and multi_label
    if policy == "any" or not mine & theirs:
        return True
    return policy == "nested" and (mine < theirs or theirs < mine)


@given(candidate_lists, st.sampled_from(POLICIES), st.booleans(), st.randoms(use_true_random=False))
def test_equals_a_greedy_choice_word_by_word_in_any_order_of_input(candidates, policy, multi_label, random):
    expected: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (-c.score, c.start - c.end, c.start, c.label)):
        if all(may_stand_together(candidate, other, policy, multi_label) for other in expected):
            expected.append(candidate)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert resolve_overlap(shuffled, policy, multi_label) == sorted(expected)


def test_memory_grows_with_the_number_of_spans_not_with_its_square():
    spans = [Candidate(k, k + 2, 0, 0.5) for k in range(6000)]
    tracemalloc.start()
    kept = resolve_overlap(spans, "flat")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == 3000
    assert peak < 10_000_000  # all pairs would need 36 million bytes


def test_tightest_policy_sees_shared_border_words():
    assert tightest_policy([[(0, 1), (1, 3)]]) == "flat"
    assert tightest_policy([[(0, 1), (0, 3)]]) == "nested"
    assert tightest_policy([[(0, 2), (1, 4)]]) == "any"


def test_tightest_policy_compares_within_records_only():
    assert tightest_policy([[(0, 3)], [(0, 1)], [(1, 4)]]) == "flat"
    assert tightest_policy([]) == tightest_policy([[], []]) == "flat"


def test_two_labels_of_one_span_need_more_than_flat():
    assert tightest_policy([[(0, 2), (0, 2)]]) == "nested"


@given(candidate_lists)
def test_the_tightest_policy_loses_nothing_and_a_stricter_one_would(candidates):
    policy = tightest_policy([spans_of(candidates)])
    assert len(resolve_overlap(candidates, policy)) == len(candidates)
    if policy != "flat":
        stricter: OverlapPolicy = "flat" if policy == "nested" else "nested"
        assert len(resolve_overlap(candidates, stricter)) < len(candidates)
