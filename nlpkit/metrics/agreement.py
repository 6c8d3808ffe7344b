"""How far answers agree with gold values, one number for a whole set; fractions of 1, None where undefined.

The sums are those of scikit-learn and SciPy, which are imported where used.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def accuracy(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float | None:
    """Share of the answers that are right; None without any.

    >>> accuracy(["a", "b", "b"], ["a", "b", "c"])
    0.6666666666666666
    """
    _require_equal_lengths(gold, predicted)
    return sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold) if gold else None


def auroc(is_positive: ArrayLike, scores: ArrayLike) -> float | None:
    """Area under the ROC curve: how often a positive item has a higher score than a negative one, ties counted half.

    Args:
        is_positive: True for each positive item.
        scores: Higher for what is more likely positive.

    Returns:
        None unless there are items of both kinds.

    Raises:
        ValueError: The lengths differ, or a score is not a number.

    >>> auroc([False, True, True], [0.1, 0.1, 0.9])
    0.75
    """
    truth, values = _checked(is_positive, scores)
    if truth.all() or not truth.any():
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, values))


def average_precision(is_positive: ArrayLike, scores: ArrayLike) -> float | None:
    """Area under the precision-recall curve, as steps; None if nothing is positive.

    The arguments and errors are those of :func:`auroc`.

    >>> average_precision([True, False, True], [0.9, 0.8, 0.7])
    0.8333333333333333
    """
    truth, values = _checked(is_positive, scores)
    if not truth.any():
        return None
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(truth, values))


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Rank correlation, -1 to 1, of two columns of numbers; None if one of them does not vary.

    Raises:
        ValueError: The lengths differ, or a value is not a number.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    """
    one, other = _numbers(first), _numbers(second)
    _require_equal_lengths(one, other)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def _checked(is_positive: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    truth, values = np.asarray(is_positive, dtype=bool), _numbers(scores)
    _require_equal_lengths(truth, values)
    return truth, values


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if np.isnan(array).any():
        raise ValueError("expected numbers, found one that is not a number (NaN)")
    return array


def _require_equal_lengths(first: object, second: object) -> None:
    lengths = [len(values) for values in (first, second)]  # type: ignore[arg-type]
    if lengths[0] != lengths[1]:
        raise ValueError(f"expected two columns of one length, found {lengths[0]} and {lengths[1]} values")
