"""The only training loop in nlpkit: Lightning's, with plans, exact resumption and a run folder around it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from nlpkit.data.plan import EpochPlan
from nlpkit.errors import DataError, NlpkitError
from nlpkit.seed import derive_seed, preserved_rng, repeatable, seed_everything
from nlpkit.training._lightning import build_trainer, choose_device, quiet_lightning
from nlpkit.training.callbacks import OnBatch, Run, RunCallback, show_ids
from nlpkit.training.checkpoint import RunFolder, check_out
from nlpkit.training.config import TrainConfig
from nlpkit.training.estimate import describe_work
from nlpkit.training.loader import PhaseLoaders
from nlpkit.training.phase import Phase, PhaseData
from nlpkit.training.progress import Reporter, show_seconds
from nlpkit.training.signals import Interrupted, StopSignals
from nlpkit.training.state import RunState, TrainSummary, show_score
from nlpkit.wording import counted, setting


def train(
    phases: Sequence[Phase],
    config: TrainConfig,
    *,
    seed: int,
    out: Path | None = None,
    resume: bool = False,
    save_best: Callable[[Path], None] | None = None,
    load_best: Callable[[Path], None] | None = None,
    settings: Mapping[str, Any] | None = None,
    settings_file: Mapping[str, Any] | None = None,
    on_batch: OnBatch | None = None,
    notes: Sequence[str] = (),
) -> TrainSummary:
    """Trains the tasks of the phases, one after the other, and leaves the best weights in the last one.

    Gradients are averaged over the batches of an accumulation group; the last group of an epoch may be smaller and
    is averaged over its own batches. The global generators are seeded for the run and put back afterwards. The first
    interrupt or SIGTERM finishes the step and writes a checkpoint, then ``KeyboardInterrupt`` is raised.

    Args:
        phases: What to train; usually one phase.
        config: How.
        seed: Rules the order of the data and all chance inside the model.
        out: The run folder: new, empty, or with a start that made no checkpoint; None writes nothing.
        resume: Go on with the run in ``out``, also with more epochs: the learning rate then falls to the new last step.
        save_best: Writes the model as it is now into a folder, whole or not at all; called with ``out/best``.
        load_best: Reads such a folder back into the task, at the end; without it the best weights are kept in memory.
        settings: All settings of the run as plain values, compared when the run is resumed; those of ``config`` under
            ``trainer``.
        settings_file: What ``out/config.yaml`` is to hold.
        on_batch: Called before each training batch with the epoch from 1, the optimiser steps done, and the record ids.
        notes: Said and logged before training, such as warnings about the data.
    """
    if not phases:
        raise ValueError("expected at least one phase")
    check_start(config, None if out is None else Path(out), resume=resume)
    for phase in phases:
        if not len(phase.train):
            raise DataError("there are no training records")
        if phase.dev is not None and not len(phase.dev):
            raise DataError("there are no dev records; leave dev out to train without")
        phase.task.check(config)
    header = {
        "settings": dict(settings or {}),
        "seed": seed,
        "data": {phase.name: {"train": phase.train.fingerprint(), "dev": _fingerprint(phase.dev)} for phase in phases},
    }
    with ExitStack() as stack:
        # all that can be refused is refused above, before the folder is touched
        folder = RunFolder(Path(out), header, settings_file) if out is not None else None
        if folder is not None:
            stack.callback(folder.close)
            folder.resume() if resume else folder.begin()
        reporter = Reporter(folder.out / "log.txt" if folder else None)
        stack.callback(reporter.close)
        for note in notes:
            reporter.message(note)
        stack.enter_context(preserved_rng())
        stack.enter_context(repeatable())
        job = _Job(
            config=config,
            seed=seed,
            folder=folder,
            reporter=reporter,
            signals=stack.enter_context(StopSignals()),
            save_best=save_best,
            load_best=load_best,
            on_batch=on_batch,
        )
        return job.run(phases)


def check_start(config: TrainConfig, out: Path | None, *, resume: bool) -> None:
    """Refuses what the trainer cannot do here: to be called before work is put in.

    Raises:
        ConfigError: There is no such device, a run cannot begin in ``out``, or there is none to go on with.
    """
    choose_device(config)
    if out is not None:
        check_out(out, resume=resume)


@dataclass(kw_only=True)
class _Job:
    """The arguments of :func:`train` on their way through it."""

    config: TrainConfig
    seed: int
    folder: RunFolder | None
    reporter: Reporter
    signals: StopSignals
    save_best: Callable[[Path], None] | None
    load_best: Callable[[Path], None] | None
    on_batch: OnBatch | None

    def run(self, phases: Sequence[Phase]) -> TrainSummary:
        """All phases, beginning with the one that a checkpoint is from."""
        checkpoint, resumed_at = self._checkpoint()
        names = [phase.name for phase in phases]
        first = names.index(self.folder.state["phase"]) if self.folder and checkpoint else 0
        state = RunState()
        for phase in phases[first:]:
            run = self._prepare(phase, is_only_phase=len(phases) == 1, state=state.next_phase())
            n_steps = self._fit(run, checkpoint)
            state, checkpoint = run.state, None
        if self.folder:
            self.folder.finish()
        weights = self._take_best(run)
        summary = TrainSummary(
            epochs=state.n_epochs,
            steps=n_steps,
            best_epoch=state.best_epoch,
            best_score=state.best_score,
            dev=state.best_dev,
            history=tuple(state.rows),
            stopped="epochs" if state.n_epochs >= self.config.epochs else "patience",
            weights=weights,
            seconds=state.total_seconds,
            resumed_at=resumed_at,
        )
        self.reporter.message(_describe_end(summary, phases[-1], self.config))
        return summary

    def _checkpoint(self) -> tuple[Path | None, int | None]:
        """The checkpoint to go on from, and its step; said aloud."""
        if self.folder is None or not self.folder.is_resumed:
            return None, None
        state, changes = self.folder.state, self.folder.changes
        if state["checkpoint"] is None:
            self.reporter.message("resumed before the first checkpoint: starting at step 0")
            return None, 0
        is_finished = state["is_finished"] and not changes
        where = (
            "the run is finished already"
            if is_finished
            else f"after {counted(state['epoch'], 'finished epoch', 'finished epochs')}"
        )
        self.reporter.message("\n".join([f"resumed at step {state['step']}, {where}", *changes]))
        before, now = state["n_threads"], torch.get_num_threads()
        if before != now:
            self.reporter.message(
                f"the run used {before} threads, now there are {now}: weights may differ in their last digits from "
                "those of a run without a break"
            )
        return self.folder.out / state["checkpoint"], state["step"]

    def _prepare(self, phase: Phase, *, is_only_phase: bool, state: RunState) -> Run:
        plans = [self._plan(phase, epoch) for epoch in range(self.config.epochs)]
        phase.task.prepare(self.config, sum(plan.n_steps(self.config.accumulate) for plan in plans))
        return Run(
            phase=phase,
            is_only_phase=is_only_phase,
            config=self.config,
            plans=plans,
            reporter=self.reporter,
            signals=self.signals,
            state=state,
            folder=self.folder,
            save_best=self.save_best,
            keeps_best=phase.dev is not None and (self.folder is None or self.load_best is None),
            on_batch=self.on_batch,
        )

    def _plan(self, phase: Phase, epoch: int) -> EpochPlan:
        config, data = self.config, phase.train.of_epoch(epoch)
        return EpochPlan.make(
            data.lengths,
            seed=derive_seed(self.seed, "order", phase.name),
            epoch=epoch,
            budget=config.budget,
            batch_size=config.batch_size,
            cost=data.cost,
        )

    def _fit(self, run: Run, checkpoint: Path | None) -> int:
        """Trains one phase to its end; the number of its optimiser steps."""
        phase, config, dev_plan = run.phase, self.config, None
        if phase.dev is not None:
            dev_plan = EpochPlan.ordered(
                phase.dev.lengths, budget=config.budget, batch_size=config.batch_size, cost=phase.dev.cost
            )
        accelerator, precision = choose_device(config)
        self.reporter.message(describe_work(phase, run.plans, config, accelerator, precision))
        # After a finished run Lightning asks for one epoch more, and takes nothing from it.
        loaders = PhaseLoaders(
            phase, lambda epoch: run.plans[min(epoch, config.epochs - 1)], dev_plan, config.accumulate
        )
        seed_everything(derive_seed(self.seed, "training", phase.name))
        phase.task.train()
        with quiet_lightning():
            trainer = build_trainer(config, RunCallback(run), accelerator, precision, has_dev=phase.dev is not None)
            try:
                trainer.fit(phase.task, datamodule=loaders, ckpt_path=checkpoint, weights_only=True)
            except Interrupted:
                where = self._describe_interruption(run)
                self.reporter.log(where)
                raise KeyboardInterrupt(where) from None  # whoever called says it, once
            except (MemoryError, RuntimeError) as error:
                if is_out_of_memory(error):
                    raise NlpkitError(_describe_memory(run, error)) from error
                raise
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    then = f"make room, then go on with {setting('resume', True)}"
                    raise NlpkitError(f"the disk is full, at {run.place}; {then}") from error
                raise
        n_steps = trainer.global_step
        phase.task.trainer = None  # lets go of the optimiser's memory
        return n_steps

    def _describe_interruption(self, run: Run) -> str:
        where = f"interrupted at {run.place}"
        if self.folder is None:
            return where
        if self.folder.state["checkpoint"] is None:
            return f"{where}, before the first checkpoint: the same command begins anew"
        step, resume = self.folder.state["step"], setting("resume", True)
        return f"{where}; the checkpoint of step {step} is whole: go on with {resume}"

    def _take_best(self, run: Run) -> Literal["best", "last"]:
        """Puts the best weights into the task, if they can be had."""
        if run.state.best_epoch == run.state.n_epochs:
            return "best"
        if run.best_weights is not None:
            run.phase.task.load_state_dict(run.best_weights)
            return "best"
        if self.folder is not None and self.load_best is not None:
            self.load_best(self.folder.out / "best")
            return "best"
        return "last"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a GPU or on the CPU."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return any(words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory"))


def _describe_memory(run: Run, error: BaseException) -> str:
    batch, config = run.batch, run.config
    what = (
        f" with a batch of {counted(len(batch.ids), 'record')}, cost {batch.cost:,} ({show_ids(batch.ids)})"
        if batch
        else ""
    )
    remedies = [f"lower trainer.budget ({config.budget:,})"]
    if config.batch_size > 1:
        remedies.append(f"lower trainer.batch_size ({config.batch_size}) and raise trainer.accumulate in turn")
    if not config.activation_checkpointing:
        remedies.append("set trainer.activation_checkpointing to true")
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return f"memory ran out at {run.place}{what}; {', or '.join(remedies)}. What was said: {said}"


def _describe_end(summary: TrainSummary, phase: Phase, config: TrainConfig) -> str:
    took = f"{counted(summary.epochs, 'epoch')}, {counted(summary.steps, 'step')}, {show_seconds(summary.seconds)}"
    if summary.stopped == "patience":
        waited = counted(config.patience, "epoch")
        took += f"; stopped after {waited} without a better dev {phase.task.select} (trainer.patience)"
    if phase.dev is None:
        return f"trained: {took}. There are no dev records, so the last epoch counts as the best"
    score = show_score(phase.task.select, phase.task.score_parts, summary.dev)
    end = f"trained: {took}. Best epoch {summary.best_epoch}: {score}"
    if summary.best_score:
        return end
    return f"{end}\nwarning: no epoch got anything right on the dev records, so the last one is kept"


def _fingerprint(data: PhaseData | None) -> str | None:
    return data.fingerprint() if data is not None else None
