"""What the trainer is given: phases, each with a task and its data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nlpkit.data.plan import Cost

if TYPE_CHECKING:
    from nlpkit.training.task import TrainTask


@dataclass(frozen=True, kw_only=True)
class PhaseData:
    """Records as the trainer sees them: numbered, with a length, and a way to make a batch of some.

    Attributes:
        ids: The records' ids, for messages.
        lengths: The records' lengths, in the unit of ``cost``.
        cost: The padded cost of a batch, from its number of records and its longest record.
        collate: Makes a batch from record indices. A batch is anything with ``.to(device)``, or tensors in dicts, lists
            or tuples. It is called once per batch, in the order of training, also after a resumption.
        keys: What each record is known by when a run is taken up again; its id by default.
        arrange: Gives the records of an epoch, from 0, where each epoch puts them together anew; a pure function.
    """

    ids: Sequence[str]
    lengths: Sequence[int]
    cost: Cost
    collate: Callable[[Sequence[int]], Any]
    keys: Sequence[str] | None = None
    arrange: Callable[[int], PhaseData] | None = None

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.lengths):
            raise ValueError(f"expected as many ids as lengths, got {len(self.ids)} and {len(self.lengths)}")

    def __len__(self) -> int:
        return len(self.ids)

    def of_epoch(self, epoch: int) -> PhaseData:
        """What an epoch is trained on."""
        return self if self.arrange is None else self.arrange(epoch)

    def fingerprint(self) -> str:
        """A hash that changes with the records' keys, lengths or order."""
        digest = hashlib.sha256()
        for key, length in zip(self.ids if self.keys is None else self.keys, self.lengths, strict=True):
            digest.update(f"{key}\0{length}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One stretch of training: a task, its records, and dev records if there are any.

    Attributes:
        name: A short name, unique in the run; it appears in checkpoints.
        task: The task, whose weights are trained in place.
        train: The training records.
        dev: The records that choose the best epoch, or None: then the last epoch counts as the best.
    """

    name: str
    task: TrainTask
    train: PhaseData
    dev: PhaseData | None = None
