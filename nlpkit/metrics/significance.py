"""Whether a difference is more than chance: spread over runs, and the paired bootstrap over items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Spread(NamedTuple):
    """Mean and standard deviation of a score over runs; the deviation is None for a single run."""

    mean: float
    deviation: float | None
    n: int


def spread(scores: Sequence[float]) -> Spread | None:
    """Mean and spread (with n - 1) of some runs; None without any.

    >>> spread([0.25, 0.75, 0.5])
    Spread(mean=0.5, deviation=0.25, n=3)
    """
    if not scores:
        return None
    deviation = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    return Spread(float(np.mean(scores)), deviation, len(scores))


class Comparison(NamedTuple):
    """What a paired bootstrap says of two systems.

    Attributes:
        difference: Score of the first less that of the second, on all items.
        low: Lower end of the interval that holds 95 of 100 resampled differences.
        high: Its upper end.
        p: Share of the resamples, doubled, in which the sign is another one or there is no difference; at most 1.
    """

    difference: float
    low: float
    high: float
    p: float


def paired_bootstrap(
    n_items: int,
    score_first: Callable[[NDArray[np.intp]], float],
    score_second: Callable[[NDArray[np.intp]], float],
    *,
    n_resamples: int = 1000,
    seed: int = 1,
) -> Comparison:
    """Compare two systems on the same items by drawing items anew, with replacement.

    Koehn 2004, Statistical Significance Tests for Machine Translation Evaluation, section 4.

    Args:
        n_items: How many items (sentences, records) both systems answered.
        score_first: Score of the first system on items given by their positions, some of them repeated.
            Shape of its argument: (n_items,).
        score_second: The same of the second system.
        n_resamples: How often items are drawn.
        seed: Rules what is drawn.

    Raises:
        ValueError: There is no item.

    >>> import numpy as np
    >>> first, second = np.array([1, 1, 1, 0] * 25), np.array([1, 0, 1, 0] * 25)
    >>> found = paired_bootstrap(100, lambda k: first[k].mean(), lambda k: second[k].mean())
    >>> found.difference, found.low > 0, found.p < 0.01
    (0.25, True, True)
    """
    if n_items < 1:
        raise ValueError("expected at least one item to compare two systems on")
    generator = np.random.default_rng(seed)
    everything = np.arange(n_items)
    difference = float(score_first(everything) - score_second(everything))
    drawn = np.empty(n_resamples)
    for number in range(n_resamples):
        items = generator.integers(n_items, size=n_items)
        drawn[number] = score_first(items) - score_second(items)
    low, high = np.quantile(drawn, [0.025, 0.975])
    other_side = np.mean(drawn <= 0) if difference > 0 else np.mean(drawn >= 0)
    return Comparison(difference, float(low), float(high), min(1.0, 2 * float(other_side)))
