"""Training texts made of several records: which ones, how many, in what order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.ie.joining import Joinable, join_records, joinable
from nlpkit.ie.types import IERecord

LIMITS = {"most": 5, "max_words": 1000, "max_pieces": 1000, "seed": 3, "epoch": 0}


def strangers(n: int) -> list[Joinable | None]:
    return [Joinable(10, 12, "k") for _ in range(n)]


def test_the_share_is_kept_and_each_epoch_joins_others() -> None:
    for share in (0.0, 0.2, 0.5, 1.0):
        texts = join_records(strangers(2000), share=share, **LIMITS)
        assert abs(sum(map(len, texts)) / 2000 - share) < 0.05
    sizes = Counter(map(len, join_records(strangers(4000), share=1.0, **LIMITS)))
    assert set(sizes) == {2, 3, 4, 5}
    assert max(sizes.values()) < 1.3 * min(sizes.values())
    one, same, other, third = (
        join_records(strangers(50), share=0.5, **{**LIMITS, **change}) for change in ({}, {}, {"epoch": 1}, {"seed": 4})
    )
    assert one == same
    assert one != other
    assert one != third


def test_neighbours_of_a_document_are_joined_in_its_order() -> None:
    items: list[Joinable | None] = [Joinable(10, 12, "k", f"doc{k % 4}", 99 - k // 4) for k in range(400)]
    texts = join_records(items, share=1.0, **LIMITS)
    neighbours = other = 0
    for text in texts:
        for one, two in pairwise(text):
            first, second = items[one], items[two]
            assert first is not None
            assert second is not None
            if first.document == second.document:
                assert second.place == first.place + 1
                neighbours += 1
            else:
                other += 1
    assert other <= 3  # where one of the four documents ends
    assert neighbours > 200


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.builds(
                Joinable,
                st.integers(1, 30),
                st.integers(1, 60),
                st.sampled_from("ab"),
                st.sampled_from([None, "x", "y"]),
                st.integers(0, 9),
            ),
        ),
        max_size=40,
    ),
    st.floats(0, 1),
    st.integers(2, 6),
    st.integers(1, 60),
)
def test_limits_hold_for_any_records(items: list[Joinable | None], share: float, most: int, max_words: int) -> None:
    texts = join_records(items, share=share, most=most, max_words=max_words, max_pieces=70, seed=1, epoch=0)
    members = [k for text in texts for k in text]
    assert len(set(members)) == len(members)
    for text in texts:
        found = [item for k in text if (item := items[k]) is not None]
        assert 2 <= len(found) == len(text) <= most
        assert sum(item.words for item in found) <= max_words
        assert sum(item.pieces for item in found) <= 70
        assert len({item.kind for item in found}) == 1


def test_records_that_annotate_different_groups_are_not_joined() -> None:
    full = IERecord(tokens=("a",), entities=(), relations=())
    part = IERecord(tokens=("a",), entities=())
    kinds = {joinable(record, 1, 1).kind for record in (full, part, IERecord(tokens=("a",), entities=(), relations=()))}
    assert len(kinds) == 2
