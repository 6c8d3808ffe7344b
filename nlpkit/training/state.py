"""How far a run is: what a checkpoint must hold besides weights and optimiser, and the summary at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from nlpkit.results import percent

Row = dict[str, "float | int | str | None"]
"""One epoch in ``metrics.csv``."""


@dataclass
class RunState:
    """Changes as training goes on; plain values only, so that any safe loader reads it.

    Attributes:
        rows: The finished epochs.
        n_epochs: Finished epochs of the current phase.
        best_score: The best dev score so far, or None.
        best_epoch: Its epoch, from 1; 0 if there is none yet.
        best_dev: All dev metrics of that epoch.
        wait: Epochs without a better score.
        sums: Of the current epoch: losses, each weighted by the records of its batch.
        n_records: Of the current epoch: records trained on.
        train_seconds: Of the current epoch.
        total_seconds: Of the whole run, with evaluation, without the time in which it was stopped.
    """

    rows: list[Row] = field(default_factory=list)
    n_epochs: int = 0
    best_score: float | None = None
    best_epoch: int = 0
    best_dev: dict[str, float | None] = field(default_factory=dict)
    wait: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    n_records: int = 0
    train_seconds: float = 0.0
    total_seconds: float = 0.0

    def begin_epoch(self) -> None:
        """Forgets the sums of the epoch before."""
        self.sums, self.n_records, self.train_seconds = {}, 0, 0.0

    def add_batch(self, losses: Mapping[str, float], n_records: int) -> None:
        """Adds a batch to the sums of the epoch."""
        for name, value in losses.items():
            self.sums[name] = self.sums.get(name, 0.0) + value * n_records
        self.n_records += n_records

    def mean_losses(self) -> dict[str, float]:
        """The epoch's losses so far, as means over records; ``train_loss`` comes first."""
        names = sorted(self.sums, key=lambda name: (name != "loss", name))
        return {f"train_{name}": self.sums[name] / max(1, self.n_records) for name in names}

    def judge(self, score: float | None, dev: Mapping[str, float | None]) -> bool:
        """Ends an epoch with its dev score, a share of 1; whether it is the best so far.

        An undefined score ranks as 0, the worst. Where nothing was better than 0, the latest epoch counts as the best:
        no score tells the epochs apart, and the latest has learned most.
        """
        self.n_epochs += 1
        value, best = score or 0.0, self.best_score or 0.0
        is_better = value > best
        is_best = is_better or self.best_epoch == 0 or value == best == 0.0
        # without any score there is nothing to wait for
        has_no_score = score is None and self.best_score is None
        self.wait = 0 if is_better or self.best_epoch == 0 or has_no_score else self.wait + 1
        if is_best:
            self.best_score, self.best_epoch, self.best_dev = score, self.n_epochs, dict(dev)
        return is_best

    def next_phase(self) -> RunState:
        """The state in which the next phase begins."""
        return RunState(rows=self.rows, total_seconds=self.total_seconds)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class TrainSummary:
    """What training came to.

    Attributes:
        epochs: Epochs trained, those before a resumption included; with several phases, of the last one.
        steps: Optimiser steps, likewise.
        best_epoch: The epoch whose weights are in ``best``, from 1.
        best_score: Its dev score; None without dev data or where undefined.
        dev: All its dev metrics.
        history: One row an epoch, as in ``metrics.csv``.
        stopped: ``epochs`` if all were trained, ``patience`` if training stopped early.
        weights: Which weights the task holds now: ``best`` or ``last``.
        seconds: Time of the whole run.
        resumed_at: The optimiser step at which this call took up the run, or None.
    """

    epochs: int
    steps: int
    best_epoch: int
    best_score: float | None
    dev: dict[str, float | None]
    history: tuple[Row, ...]
    stopped: Literal["epochs", "patience"]
    weights: Literal["best", "last"]
    seconds: float
    resumed_at: int | None


def show_score(select: str, parts: Sequence[str], dev: Mapping[str, float | None]) -> str:
    """A dev score in percent, with the metrics that it is the mean of.

    >>> show_score("score", ["entity", "relation"], {"score": 0.75, "entity": 0.8, "relation": 0.7, "span": 0.9})
    'dev score 75.0 (entity 80.0, relation 70.0)'
    """
    shown = [f"{name} {_percent(dev.get(name))}" for name in parts]
    return f"dev {select} {_percent(dev.get(select))}" + (f" ({', '.join(shown)})" if shown else "")


def _percent(value: float | None) -> str:
    return "undefined" if value is None else percent(value)
