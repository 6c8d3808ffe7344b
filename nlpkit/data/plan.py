"""Which records share a batch: the plan of one epoch, known before the epoch begins."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

JITTER = 0.15
"""A record's length counts up to this share longer or shorter when records are sorted, so that neighbours change."""

Cost = Callable[[int, int], int]
"""The padded cost of a batch, from its number of records and its longest record; it must not fall in either."""


@dataclass(frozen=True)
class EpochPlan:
    """The batches of one epoch, a pure function of its arguments.

    Records of similar length share a batch, so that little is padded. Lengths are blurred before sorting, so that
    batches differ from epoch to epoch, and the batches come in random order. A batch never costs more than the
    budget, except for a record that does so alone: it is a batch of its own.

    Attributes:
        batches: Record indices of each batch, in the order of training; each record is in exactly one.
        costs: The padded cost of each batch.

    >>> cost = lambda n, longest: n * longest
    >>> plan = EpochPlan.make([3, 9, 4, 8], seed=1, epoch=0, budget=20, batch_size=2, cost=cost)
    >>> sorted(sorted(batch) for batch in plan.batches)
    [[0, 2], [1, 3]]
    """

    batches: tuple[tuple[int, ...], ...]
    costs: tuple[int, ...]

    @classmethod
    def make(
        cls, lengths: Sequence[int], *, seed: int, epoch: int, budget: int, batch_size: int, cost: Cost
    ) -> EpochPlan:
        """The plan of a training epoch; ``epoch`` counts from 0."""
        rng = _generator(seed, epoch)
        # Drawn in the order of the records; the second number decides between records of length 0.
        keys = [(length * (1 + JITTER * (2 * rng.random() - 1)), rng.random()) for length in lengths]
        order = sorted(range(len(lengths)), key=keys.__getitem__)
        batches = list(_cut(order, lengths, budget, batch_size, cost))
        rng.shuffle(batches)
        return cls._from(batches, lengths, cost)

    @classmethod
    def ordered(
        cls, lengths: Sequence[int], *, budget: int, batch_size: int, cost: Cost, keys: Sequence[int] | None = None
    ) -> EpochPlan:
        """A plan without chance, shortest records first, or in the order of ``keys``: for evaluation and prediction."""
        order = sorted(range(len(lengths)), key=(lengths if keys is None else keys).__getitem__)
        return cls._from(list(_cut(order, lengths, budget, batch_size, cost)), lengths, cost)

    @classmethod
    def _from(cls, batches: list[tuple[int, ...]], lengths: Sequence[int], cost: Cost) -> EpochPlan:
        costs = tuple(cost(len(batch), max(lengths[i] for i in batch)) for batch in batches)
        return cls(batches=tuple(batches), costs=costs)

    def __len__(self) -> int:
        return len(self.batches)

    def n_steps(self, accumulate: int) -> int:
        """Optimiser steps of the epoch; an incomplete last group of batches makes a step too."""
        return -(-len(self.batches) // accumulate)


def _cut(
    order: Sequence[int], lengths: Sequence[int], budget: int, batch_size: int, cost: Cost
) -> Iterator[tuple[int, ...]]:
    """Cuts ``order`` into runs that keep the budget and the batch size."""
    batch: list[int] = []
    longest = 0
    for index in order:
        grown = max(longest, lengths[index])
        if batch and (len(batch) == batch_size or cost(len(batch) + 1, grown) > budget):
            yield tuple(batch)
            batch, grown = [], lengths[index]
        batch.append(index)
        longest = grown
    if batch:
        yield tuple(batch)


def _generator(seed: int, epoch: int) -> random.Random:
    """Hashed, so that neither (1, 23) and (12, 3) nor neighbouring seeds are related."""
    digest = hashlib.sha256(f"epoch plan/{seed}/{epoch}".encode()).digest()
    return random.Random(int.from_bytes(digest, "big"))
