"""The plan of an epoch: every record once, within the budget, reproducible, and different from epoch to epoch."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.data.plan import EpochPlan


def pairs(n: int, longest: int) -> int:
    return n * longest * longest


def make(lengths, *, seed=1, epoch=0, budget=4000, batch_size=8, cost=pairs):
    return EpochPlan.make(lengths, seed=seed, epoch=epoch, budget=budget, batch_size=batch_size, cost=cost)


LENGTHS = random.Random(0).choices(range(1, 61), k=300)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 80), max_size=60),
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(1, 3000),
    st.integers(1, 9),
)
def test_each_record_once_and_within_budget(lengths, seed, epoch, budget, batch_size):
    plan = make(lengths, seed=seed, epoch=epoch, budget=budget, batch_size=batch_size)
    assert sorted(index for batch in plan.batches for index in batch) == list(range(len(lengths)))
    for batch, cost in zip(plan.batches, plan.costs, strict=True):
        assert cost == pairs(len(batch), max(lengths[i] for i in batch))
        assert len(batch) <= batch_size
        assert cost <= budget or len(batch) == 1


def test_pure_function_of_its_arguments():
    before = random.getstate()
    assert make(LENGTHS) == make(list(LENGTHS))
    assert random.getstate() == before, "the plan must not draw from the global generator"
    assert make(LENGTHS, seed=2) != make(LENGTHS)
    assert make(LENGTHS, seed=1, epoch=23) != make(LENGTHS, seed=12, epoch=3)


def test_known_plan_stays_the_same_between_versions():
    # A changed plan silently breaks the resumption of every run on disk.
    plan = make([5, 5, 5, 9, 2, 7], seed=3, epoch=1, budget=200, batch_size=2)
    assert plan.batches == ((5, 3), (4, 2), (1, 0))


def test_batches_differ_by_epoch_in_members_not_only_in_order():
    members = [{frozenset(batch) for batch in make(LENGTHS, epoch=epoch, budget=10**9).batches} for epoch in range(2)]
    assert len(members[0] & members[1]) < 0.2 * len(members[0])


def test_equal_lengths_are_shuffled():
    first, second = (make([7] * 64, epoch=epoch, budget=10**6).batches for epoch in range(2))
    assert {frozenset(b) for b in first} != {frozenset(b) for b in second}
    assert [len(b) for b in first] == [8] * 8


def test_little_padding():
    plan = make(LENGTHS, budget=10**9)
    real = sum(length * length for length in LENGTHS)
    shuffled = LENGTHS[:]
    random.Random(1).shuffle(shuffled)
    unsorted = sum(pairs(8, max(shuffled[i : i + 8])) for i in range(0, len(shuffled), 8))
    assert sum(plan.costs) < 1.35 * real < 0.7 * unsorted


def test_batch_order_does_not_follow_length():
    plan = make(LENGTHS, budget=10**9)
    longest = [max(LENGTHS[i] for i in batch) for batch in plan.batches]
    rises = sum(a < b for a, b in itertools.pairwise(longest))
    assert 0.25 * len(longest) < rises < 0.75 * len(longest)


def test_record_over_budget_is_alone():
    plan = make([3, 100, 3, 3], budget=100)
    assert (1,) in plan.batches
    assert sorted(len(batch) for batch in plan.batches) == [1, 3]


def test_ordered_plan_is_the_same_every_time_and_sorted():
    plan = EpochPlan.ordered(LENGTHS, budget=4000, batch_size=8, cost=pairs)
    flat = [LENGTHS[i] for batch in plan.batches for i in batch]
    assert flat == sorted(LENGTHS)


@pytest.mark.parametrize(("n", "accumulate", "steps"), [(5, 2, 3), (4, 2, 2), (1, 8, 1), (0, 2, 0)])
def test_steps(n, accumulate, steps):
    plan = make([1] * n, batch_size=1)
    assert len(plan) == n
    assert plan.n_steps(accumulate) == steps
