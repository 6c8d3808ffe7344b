"""The loader gives the batches of a plan from any place in it."""

from __future__ import annotations

import pytest

from nlpkit.data.plan import EpochPlan
from nlpkit.training.loader import PlanLoader


@pytest.fixture
def loader(tiny):
    data = tiny.data(7, 0)

    def loader(epoch: int = 2, accumulate: int = 2) -> PlanLoader:
        plan = EpochPlan.make(data.lengths, seed=1, epoch=epoch, budget=10**6, batch_size=1, cost=data.cost)
        return PlanLoader(data, plan, epoch=epoch, accumulate=accumulate)

    return loader


def test_goes_on_where_another_stopped(loader):
    whole = [batch.ids for batch in loader()]
    first = loader()
    iterator = iter(first)
    taken = [next(iterator).ids for _ in range(3)]
    assert first.state_dict() == {"epoch": 2, "given": 3}
    second = loader()
    second.load_state_dict(first.state_dict())
    assert len(second) == 7, "Lightning counts the batches that are done already"
    rest = [(batch.ids, batch.index) for batch in second]
    assert taken + [ids for ids, _ in rest] == whole
    assert [index for _, index in rest] == [3, 4, 5, 6]
    assert second.state_dict() == {"epoch": 2, "given": 7}
    assert [batch.ids for batch in second] == whole[3:], "Lightning may ask for an iterator twice"


def test_begins_anew_in_another_epoch(loader):
    other = loader(epoch=3)
    other.load_state_dict({"epoch": 2, "given": 7})
    assert len(list(other)) == 7


@pytest.mark.parametrize(
    ("accumulate", "sizes", "ends"),
    [
        (1, [1] * 7, [True] * 7),
        (3, [3, 3, 3, 3, 3, 3, 1], [False, False, True, False, False, True, True]),
        (10, [7] * 7, [False] * 6 + [True]),
    ],
)
def test_groups(loader, accumulate, sizes, ends):
    batches = list(loader(accumulate=accumulate))
    assert [batch.group_size for batch in batches] == sizes
    assert [batch.is_group_end for batch in batches] == ends
