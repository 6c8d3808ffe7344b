"""Batches of a plan, from any place in it: what makes a resumed epoch go on where it was left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl

from nlpkit.data.plan import EpochPlan
from nlpkit.training.phase import Phase, PhaseData


@dataclass
class PlannedBatch:
    """A batch and its place in the epoch.

    Attributes:
        data: What ``collate`` made.
        ids: The ids of its records.
        epoch: Epoch, from 0.
        index: Place in the epoch, from 0.
        group_size: Batches in its accumulation group: fewer in the last group of an epoch.
        is_group_end: An optimiser step follows this batch.
        cost: Its padded cost.
    """

    data: Any
    ids: tuple[str, ...]
    epoch: int
    index: int
    group_size: int
    is_group_end: bool
    cost: int


class PlanLoader:
    """Iterates over the batches of one epoch; its state is the number of batches that it has given."""

    def __init__(self, data: PhaseData, plan: EpochPlan, *, epoch: int = 0, accumulate: int = 1) -> None:
        self.data = data
        self.plan = plan
        self.epoch = epoch
        self.accumulate = accumulate
        self.start = 0
        self._given = 0

    def __len__(self) -> int:
        """Batches of the whole epoch, also after a start in its middle: Lightning counts those already done."""
        return len(self.plan)

    def __iter__(self) -> Iterator[PlannedBatch]:
        self._given = self.start
        for index in range(self.start, len(self.plan)):
            batch = self._batch(index)
            self._given = index + 1
            yield batch

    def _batch(self, index: int) -> PlannedBatch:
        members = self.plan.batches[index]
        first = index - index % self.accumulate
        group_size = min(self.accumulate, len(self.plan) - first)
        return PlannedBatch(
            data=self.data.collate(members),
            ids=tuple(self.data.ids[i] for i in members),
            epoch=self.epoch,
            index=index,
            group_size=group_size,
            is_group_end=index == first + group_size - 1,
            cost=self.plan.costs[index],
        )

    def state_dict(self) -> dict[str, int]:
        """The place in the epoch, to be saved in a checkpoint."""
        return {"epoch": self.epoch, "given": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Starts where another loader stopped, if it stopped in this epoch."""
        self.start = state["given"] if state["epoch"] == self.epoch else 0


class PhaseLoaders(pl.LightningDataModule):
    """Gives Lightning a new loader each epoch, because the number of batches changes with the plan.

    Args:
        phase: The phase.
        plan: The plan of an epoch, from 0.
        dev_plan: The plan of the dev records, or None.
        accumulate: Batches per optimiser step.
    """

    def __init__(
        self, phase: Phase, plan: Callable[[int], EpochPlan], dev_plan: EpochPlan | None, accumulate: int
    ) -> None:
        super().__init__()
        self._phase = phase
        self._plan = plan
        self._dev_plan = dev_plan
        self._accumulate = accumulate

    def train_dataloader(self) -> PlanLoader:
        """The loader of the epoch that begins or is resumed."""
        epoch = self.trainer.current_epoch if self.trainer else 0
        return PlanLoader(
            self._phase.train.of_epoch(epoch), self._plan(epoch), epoch=epoch, accumulate=self._accumulate
        )

    def val_dataloader(self) -> PlanLoader | list[PlanLoader]:
        """The dev records, shortest first."""
        if self._phase.dev is None or self._dev_plan is None:
            return []
        return PlanLoader(self._phase.dev, self._dev_plan)
