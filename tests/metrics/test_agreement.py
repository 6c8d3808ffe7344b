"""Each score equals that of the field's library, and is None where it is not defined."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.metrics.agreement import accuracy, auroc, average_precision, spearman


@pytest.fixture(params=range(5))
def chance(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def test_accuracy_equals_scikit_learn(chance: np.random.Generator) -> None:
    from sklearn.metrics import accuracy_score

    gold, predicted = chance.integers(4, size=(2, 50)).tolist()
    assert accuracy(gold, predicted) == pytest.approx(accuracy_score(gold, predicted))


def test_auroc_counts_pairs(chance: np.random.Generator) -> None:
    truth, scores = chance.random(60) < 0.3, chance.integers(8, size=60) / 4
    pairs = [(a > b) + (a == b) / 2 for a in scores[truth] for b in scores[~truth]]
    assert auroc(truth, scores) == pytest.approx(np.mean(pairs))


def test_average_precision_equals_torchmetrics(chance: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    from torchmetrics.functional.classification import binary_average_precision

    truth, scores = chance.random(60) < 0.3, chance.random(60)
    expected = binary_average_precision(torch.tensor(scores), torch.tensor(truth.astype(int)))
    assert average_precision(truth, scores) == pytest.approx(float(expected), abs=1e-6)


def test_spearman_is_the_correlation_of_ranks(chance: np.random.Generator) -> None:
    from scipy.stats import rankdata

    first, second = chance.integers(9, size=(2, 40))
    expected = np.corrcoef(rankdata(first), rankdata(second))[0, 1]
    assert spearman(first, second) == pytest.approx(expected)


def test_what_is_not_defined_is_none() -> None:
    assert accuracy([], []) is None
    assert [auroc(truth, [0.1, 0.2]) for truth in ([True, True], [False, False])] == [None, None]
    assert auroc([], []) is None
    assert average_precision([False, False], [0.1, 0.2]) is None
    assert [spearman([1, 1, 1], [1, 2, 3]), spearman([1], [2]), spearman([], [])] == [None, None, None]


@pytest.mark.parametrize("score", [accuracy, auroc, average_precision, spearman])
def test_columns_that_do_not_fit_are_refused(score) -> None:
    with pytest.raises(ValueError, match="two columns of one length, found 1 and 2 values"):
        score([True], [0.1, 0.2])


@pytest.mark.parametrize("score", [auroc, average_precision, spearman])
def test_no_number_is_no_score(score) -> None:
    with pytest.raises(ValueError, match="not a number"):
        score([True, False], [0.1, float("nan")])
