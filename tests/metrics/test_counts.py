from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.metrics import Counts, set_counts

ITEMS = st.sets(st.integers(0, 8))


@settings(deadline=None)  # the first call loads scikit-learn
@given(ITEMS, ITEMS)
def test_scores_equal_those_of_scikit_learn(gold: set[int], predicted: set[int]) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    y_true, y_pred = [i in gold for i in range(9)], [i in predicted for i in range(9)]
    expected = precision_recall_fscore_support(y_true, y_pred, average="binary", zero_division=0)[:3]
    counts = set_counts(gold, predicted)
    assert [score or 0 for score in (counts.precision, counts.recall, counts.f1)] == pytest.approx(list(expected))


@given(st.lists(st.tuples(ITEMS, ITEMS)))
def test_sum_over_records_is_the_count_over_all_of_them(pairs: list[tuple[set[int], set[int]]]) -> None:
    total = sum((set_counts(gold, predicted) for gold, predicted in pairs), Counts())
    gold_all = {(n, item) for n, (gold, _) in enumerate(pairs) for item in gold}
    predicted_all = {(n, item) for n, (_, predicted) in enumerate(pairs) for item in predicted}
    assert total == set_counts(gold_all, predicted_all)


def test_repeats_count_once() -> None:
    assert set_counts(["a", "a"], ["a", "a", "a"]) == Counts(1, 1, 1)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(0, 0, 0), (None, None, None)),
        (Counts(0, 0, 2), (None, 0.0, 0.0)),
        (Counts(0, 2, 0), (0.0, None, 0.0)),
        (Counts(0, 2, 3), (0.0, 0.0, 0.0)),
        (Counts(2, 4, 2), (0.5, 1.0, 2 / 3)),
    ],
)
def test_undefined_scores_are_none_and_not_zero(counts: Counts, expected: tuple[float | None, ...]) -> None:
    assert (counts.precision, counts.recall, counts.f1) == expected
    assert (counts.to_dict()["precision"], counts.to_dict()["recall"], counts.to_dict()["f1"]) == expected
