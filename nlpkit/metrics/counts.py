"""Counts of exact matches between two sets, and the precision, recall and F1 that follow from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """How many items were right, predicted and in the gold data.

    Counts of single records add up to those of a corpus, so that the scores of the sum are micro averages. A score
    whose denominator is 0 is None, never 0: nothing was there to be right or wrong about.

    >>> total = Counts(1, 2, 1) + Counts(0, 0, 1)
    >>> total.precision, total.recall, total.f1
    (0.5, 0.5, 0.5)
    >>> Counts(0, 0, 3).precision is None, Counts(0, 0, 3).f1
    (True, 0.0)
    """

    tp: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def precision(self) -> float | None:
        """Share of the predicted items that are right; None when nothing was predicted."""
        return self.tp / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """Share of the gold items that were found; None when there are none."""
        return self.tp / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None when nothing is gold and nothing was predicted."""
        return 2 * self.tp / (self.predicted + self.gold) if self.predicted + self.gold else None

    def to_dict(self) -> dict[str, float | int | None]:
        """The three scores as fractions of 1, and the three counts."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "tp": self.tp,
            "predicted": self.predicted,
            "gold": self.gold,
        }


def set_counts(gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> Counts:
    """Counts of one record, a repeated item counted once.

    >>> set_counts(["a", "a", "b"], ["a", "c"])
    Counts(tp=1, predicted=2, gold=2)
    """
    gold, predicted = set(gold), set(predicted)
    return Counts(tp=len(gold & predicted), predicted=len(predicted), gold=len(gold))
