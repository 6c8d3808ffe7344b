"""Whether probabilities are what they say."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike


def calibration_error(
    confidence: ArrayLike, is_right: ArrayLike, *, n_bins: int = 15, bins: Literal["width", "mass"] = "width"
) -> float | None:
    """Expected calibration error: how far confidence and accuracy differ, averaged over bins by their size.

    Guo et al. 2017, On Calibration of Modern Neural Networks, section 2.

    Args:
        confidence: Probability of each answer, 0 to 1.
        is_right: Whether the answer is right.
        n_bins: How many bins.
        bins: Of equal ``width``, open on their left; or of equal ``mass``, as many answers in each as can be.

    Returns:
        A fraction of 1, or None without any answer.

    Raises:
        ValueError: The lengths differ, or a confidence is no probability.

    >>> calibration_error([0.95, 0.95, 0.55, 0.55], [True, True, True, False])
    0.05
    """
    values, right = np.asarray(confidence, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    if values.shape != right.shape:
        raise ValueError(f"expected two columns of one length, found {values.size} and {right.size} values")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("expected probabilities from 0 to 1")
    if not values.size:
        return None
    if bins == "mass":
        groups = np.array_split(np.argsort(values, kind="stable"), n_bins)
    else:
        place = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], values, side="left")
        groups = [np.flatnonzero(place == number) for number in range(n_bins)]
    gaps = [len(group) * abs(right[group].mean() - values[group].mean()) for group in groups if len(group)]
    return round(float(sum(gaps)) / values.size, 15)
