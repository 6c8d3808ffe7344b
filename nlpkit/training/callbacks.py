"""What the common trainer adds to Lightning's loop, at each point of the loop, in a fixed order."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch.nn.utils import clip_grad_norm_

from nlpkit.data.plan import EpochPlan
from nlpkit.errors import NlpkitError
from nlpkit.seed import RngState, rng_state, set_rng_state
from nlpkit.training.checkpoint import RunFolder, replace_file
from nlpkit.training.config import TrainConfig
from nlpkit.training.loader import PlannedBatch
from nlpkit.training.phase import Phase
from nlpkit.training.progress import Reporter, show_seconds
from nlpkit.training.signals import Interrupted, StopSignals
from nlpkit.training.state import Row, RunState, show_score
from nlpkit.training.task import TrainTask
from nlpkit.wording import counted

TIMED_BATCHES = 8
"""Batches from which the time of the whole training is guessed, after one that is not counted."""

OnBatch = Callable[[int, int, tuple[str, ...]], None]
"""Called before each training batch with the epoch from 1, the optimiser steps done so far, and the record ids."""


@dataclass(kw_only=True)
class Run:
    """Everything around one phase that is not Lightning's.

    Attributes:
        plans: The plan of each epoch.
        save_best: Writes the model into a folder, or None: then the best weights are kept in memory.
        keeps_best: Keep the best weights in memory.
        place: Where training is, in words, for the message of an error that comes from below.
        batch: The batch in work.
    """

    phase: Phase
    is_only_phase: bool
    config: TrainConfig
    plans: Sequence[EpochPlan]
    reporter: Reporter
    signals: StopSignals
    state: RunState
    folder: RunFolder | None
    save_best: Callable[[Path], None] | None
    keeps_best: bool
    on_batch: OnBatch | None
    best_weights: dict[str, torch.Tensor] | None = None
    place: str = "before the first step"
    batch: PlannedBatch | None = None
    rng: RngState | None = field(default=None, repr=False)


class RunCallback(pl.Callback):
    """One callback instead of several, because their order would matter."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._clock = time.perf_counter()
        self._timed_from = 0.0
        self._first_took = 0.0
        self._n_timed = 0

    # Checkpoints.

    def state_dict(self) -> dict[str, Any]:
        """Saved in each checkpoint; the generators' state is that of this moment."""
        return {"run": self.run.state.to_dict(), "rng": rng_state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restored from a checkpoint; the generators wait until the loop stands ready."""
        self.run.state = RunState(**state_dict["run"])
        self.run.rng = state_dict["rng"]

    def _write_checkpoint(self, trainer: pl.Trainer) -> None:
        if self.run.folder is None:
            return
        self._tick(is_training=False)
        phase, state = self.run.phase, self.run.state
        with self.run.signals.held():
            self.run.folder.write(
                trainer.save_checkpoint, phase=phase.name, epoch=state.n_epochs, step=trainer.global_step
            )
        self._tick(is_training=False)  # or the writing would count as training

    def _tick(self, *, is_training: bool) -> None:
        """Adds the time since the last tick to the clocks of the run."""
        now = time.perf_counter()
        passed, self._clock = now - self._clock, now
        self.run.state.total_seconds += passed
        if is_training:
            self.run.state.train_seconds += passed

    # The loop, in its order.

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Everything stands: iterators exist, weights and counters are restored."""
        run = self.run
        run.signals.install()
        epoch, loader = trainer.current_epoch, trainer.train_dataloader
        done = sum(sum(plan.costs) for plan in run.plans[:epoch]) + sum(run.plans[epoch].costs[: loader.start])
        run.reporter.start(sum(sum(plan.costs) for plan in run.plans), done)
        if run.state.rows:
            self._write_metrics()
        self._set_rates(trainer)
        if run.config.patience and run.state.wait >= run.config.patience:
            trainer.should_stop = True
        self._clock = time.perf_counter()
        if run.rng is not None:
            # Last of all: whatever was built before may have drawn numbers.
            set_rng_state(run.rng)
            run.rng = None

    def _set_rates(self, trainer: pl.Trainer) -> None:
        """The rates of the next step: a checkpoint brings those of a run that may have had fewer epochs."""
        schedule = trainer.lr_scheduler_configs[0].scheduler
        before = [group["lr"] for group in trainer.optimizers[0].param_groups]
        now = [
            peak * factor(schedule.last_epoch)
            for peak, factor in zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
        ]
        for group, rate in zip(trainer.optimizers[0].param_groups, now, strict=True):
            group["lr"] = rate
        schedule._last_lr = now
        peak = max(schedule.base_lrs)
        if peak and before != now:
            self.run.reporter.message(
                f"the learning rate falls to 0 at the new last step: it goes on at {max(now) / peak:.0%} of its peak, "
                f"from {max(before) / peak:.0%}"
            )

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A new epoch; not called when an epoch goes on."""
        self._tick(is_training=False)
        self.run.state.begin_epoch()

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: PlannedBatch, batch_idx: int
    ) -> None:
        """Remembers where training is."""
        run = self.run
        if batch.epoch != trainer.current_epoch or batch.index != batch_idx:
            raise RuntimeError(
                f"batch {batch.index} of epoch {batch.epoch} came as batch {batch_idx} of {trainer.current_epoch}"
            )
        run.batch, run.place = batch, f"epoch {batch.epoch + 1}, step {trainer.global_step + 1}"
        if self._n_timed == 0:
            self._timed_from = time.perf_counter()
        if run.on_batch:
            run.on_batch(batch.epoch + 1, trainer.global_step, batch.ids)

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Stops before weights are spoilt; clips the gradient."""
        assert isinstance(pl_module, TrainTask)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        norm = clip_grad_norm_(parameters, self.run.config.clip or math.inf).item()
        for batch, loss in pl_module.group:
            if not math.isfinite(loss.item()):
                raise NlpkitError(self._not_finite(f"the loss is {loss.item()}", batch.ids))
        if not math.isfinite(norm):
            ids = tuple(i for batch, _ in pl_module.group for i in batch.ids)
            raise NlpkitError(self._not_finite(f"the norm of the gradient is {norm}", ids))

    def _not_finite(self, what: str, ids: Sequence[str]) -> str:
        config = self.run.config
        remedies = [
            f"lower trainer.encoder_lr ({config.encoder_lr:g}) and trainer.head_lr ({config.head_lr:g})",
            f"raise trainer.warmup ({config.warmup:g})",
        ]
        if not config.clip:
            remedies.append("set trainer.clip to 1")
        if config.precision != "fp32":
            remedies.append("set trainer.precision to fp32")
        return (
            f"training stopped at {self.run.place}: {what}, with the records {show_ids(ids)}. "
            f"The weights were not changed by this step. Look at these records, or {', or '.join(remedies)}"
        )

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: PlannedBatch, batch_idx: int
    ) -> None:
        """Counts; writes a checkpoint when one is due, but never inside an accumulation group."""
        run = self.run
        parts = outputs["parts"]
        values = torch.stack([value.float() for value in parts.values()]).tolist()
        run.state.add_batch(dict(zip(parts, values, strict=True)), len(batch.ids))
        self._tick(is_training=True)
        self._say_time(batch)
        loss = run.state.sums["loss"] / run.state.n_records
        run.reporter.advance(batch.cost, where=f"epoch {batch.epoch + 1}/{run.config.epochs}", loss=loss)
        is_epoch_end = batch.index == len(run.plans[batch.epoch]) - 1  # its checkpoint follows the evaluation
        if is_epoch_end or not batch.is_group_end:
            return
        every = run.config.checkpoint_steps
        if run.signals.is_requested or (every and trainer.global_step % every == 0):
            self._write_checkpoint(trainer)
        self._stop_if_asked()

    def _say_time(self, batch: PlannedBatch) -> None:
        """After the first batches of this process: how long the rest will take if it goes on like that.

        The very first one also pays for whatever is set up once, so it does not count if there are others.
        """
        if self._n_timed < 0:
            return
        now, plans = time.perf_counter(), self.run.plans
        n_left = sum(map(len, plans[batch.epoch :])) - batch.index - 1
        self._n_timed += 1
        if self._n_timed == 1:
            self._first_took, self._timed_from = now - self._timed_from, now
            is_last = batch.index + 1 == len(plans[batch.epoch])
            if not is_last:
                return
        elif self._n_timed <= TIMED_BATCHES and batch.index + 1 < len(plans[batch.epoch]):
            return
        n_counted = self._n_timed - 1
        each = (now - self._timed_from) / n_counted if n_counted else self._first_took
        kind = " without evaluation" if self.run.phase.dev else ""
        batches = counted(max(n_counted, 1), "batch")
        self.run.reporter.message(f"about {show_seconds(each * n_left)} to go{kind}, guessed from {batches}")
        self._n_timed = -1

    def _stop_if_asked(self) -> None:
        if self.run.signals.is_requested:
            raise Interrupted

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Evaluation has a time of its own."""
        self.run.place = f"the evaluation of epoch {trainer.current_epoch + 1}"
        self.run.batch = None
        self.run.reporter.describe(f"evaluating {trainer.current_epoch + 1}/{self.run.config.epochs}")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The epoch is trained and evaluated: keep the best, write a row and a checkpoint, decide whether to go on."""
        assert isinstance(pl_module, TrainTask)
        run = self.run
        run.place = f"the end of epoch {trainer.current_epoch + 1}"
        before = run.state.total_seconds
        self._tick(is_training=False)
        evaluated = run.state.total_seconds - before
        dev = {name: _finite(value) for name, value in pl_module.dev_result.items()} if run.phase.dev else {}
        is_best = run.state.judge(dev.get(pl_module.select), dev)
        row = self._row(trainer, dev, evaluated)
        run.state.rows.append(row)
        if is_best:
            self._keep_best(pl_module)
        self._write_metrics()
        self._say_epoch(row, dev, is_best, pl_module)
        self._write_checkpoint(trainer)
        self._stop_if_asked()
        if run.config.patience and run.state.wait >= run.config.patience:
            trainer.should_stop = True

    def _keep_best(self, task: TrainTask) -> None:
        run = self.run
        if run.keeps_best:
            run.best_weights = {name: value.detach().to("cpu", copy=True) for name, value in task.state_dict().items()}
        if run.folder is not None and run.save_best is not None:
            with run.signals.held():
                run.save_best(run.folder.out / "best")

    def _row(self, trainer: pl.Trainer, dev: dict[str, float | None], evaluated: float) -> Row:
        state = self.run.state
        rates: Row = {}
        schedule = trainer.lr_scheduler_configs[0].scheduler
        # The rates of the last step made; the schedule already stands at the next one.
        factor = schedule.lr_lambdas[0](schedule.last_epoch - 1)
        for group, peak in zip(trainer.optimizers[0].param_groups, schedule.base_lrs, strict=True):
            rates.setdefault(f"lr_{str(group.get('name', 'all')).split('/')[0]}", peak * factor)
        row: Row = {} if self.run.is_only_phase else {"phase": self.run.phase.name}
        return {
            **row,
            "epoch": state.n_epochs,
            "step": trainer.global_step,
            **state.mean_losses(),
            **rates,
            **{f"dev_{name}": value for name, value in dev.items()},
            "seconds": round(state.train_seconds + evaluated, 3),
            "records_per_second": round(state.n_records / max(state.train_seconds, 1e-9), 2),
        }

    def _write_metrics(self) -> None:
        """Writes the whole table anew: after a resumption there is neither a row twice nor one too many."""
        if self.run.folder is None:
            return
        rows = self.run.state.rows
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        replace_file(self.run.folder.out / "metrics.csv", text.getvalue())

    def _say_epoch(self, row: Row, dev: Mapping[str, float | None], is_best: bool, task: TrainTask) -> None:
        run = self.run
        parts = [f"loss {row['train_loss']:.4g}"]
        if run.phase.dev:
            parts.append(show_score(task.select, task.score_parts, dev))
            parts.append("the best so far" if is_best else f"the best is epoch {run.state.best_epoch}")
            run.reporter.describe(score=show_score(task.select, (), dev))
        parts.append(show_seconds(float(row["seconds"] or 0)))
        run.reporter.message(f"epoch {row['epoch']}/{run.config.epochs}: {', '.join(parts)}")


def show_ids(ids: Sequence[str], shown: int = 8) -> str:
    """Record ids for a message, the first few.

    >>> show_ids(["a", "b", "c"], shown=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(repr(i) for i in ids[:shown])
    return f"{text} and {len(ids) - shown} more" if len(ids) > shown else text


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
