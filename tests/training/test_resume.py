"""A run that was killed and resumed ends with the very weights of one that was not."""

from __future__ import annotations

import builtins
import csv
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch

from nlpkit.errors import ConfigError, DataError, NlpkitError
from nlpkit.training.phase import Phase
from nlpkit.training.trainer import train
from nlpkit.wording import at_command_line

N_BATCHES = 14  # of an epoch of the tiny run: 7 steps, checkpoints after steps 2, 4, 6 and at its end
TIMES = {"seconds", "records_per_second"}


def kill(*, at: int):
    """An ``on_batch`` that ends the process hard at the batch with that number, counted over epochs."""
    count = 0

    def on_batch(epoch, step, ids):
        nonlocal count
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    return on_batch


def rows(out: Path) -> list[dict[str, str]]:
    with open(out / "metrics.csv", newline="") as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def assert_like(out: Path, tiny, full_run, *, first_step: int | None = None) -> None:
    """The run in ``out``, just resumed, is the uninterrupted one from the resumed batch on."""
    assert tiny.trace == full_run.trace[len(full_run.trace) - len(tiny.trace) :]
    if first_step is not None:
        assert tiny.trace[0][1] == first_step
    checkpoint = tiny.checkpoint(out)
    assert full_run.same(checkpoint["state_dict"], full_run.last)
    assert checkpoint["global_step"] == full_run.checkpoint["global_step"]
    for a, b in zip(checkpoint["optimizer_states"], full_run.checkpoint["optimizer_states"], strict=True):
        for key, state in a["state"].items():
            assert full_run.same(state, b["state"][key])
    assert full_run.same(torch.load(out / "best" / "weights.pt", weights_only=True), full_run.best)
    assert rows(out) == rows(full_run.out)


def test_the_uninterrupted_run_uses_chance(tiny, full_run, tmp_path):
    """Without this, the equalities below would say little."""
    tiny.train(tmp_path / "again")
    assert full_run.same(tiny.checkpoint(tmp_path / "again")["state_dict"], full_run.last)
    tiny.train(tmp_path / "other", seed=2)
    assert not full_run.same(tiny.checkpoint(tmp_path / "other")["state_dict"], full_run.last)
    assert len(full_run.trace) == 3 * N_BATCHES
    assert {epoch for epoch, _, _ in full_run.trace} == {1, 2, 3}


@pytest.mark.parametrize(
    ("at", "saved"),
    [
        (N_BATCHES + 9, 10),  # inside epoch 2 and inside an accumulation group
        (N_BATCHES + 6, 10),  # right after a checkpoint
        (N_BATCHES, 7),  # before the first batch of epoch 2
        (2 * N_BATCHES - 1, 12),  # before the last batch of epoch 2
        (3, 0),  # before the first checkpoint
    ],
)
def test_killed_moved_resumed(tiny, full_run, tmp_path, at, saved):
    out, moved = tmp_path / "run", tmp_path / "elsewhere" / "moved"
    assert tiny.in_child(lambda: tiny.train(out, on_batch=kill(at=at))) == -signal.SIGKILL
    moved.parent.mkdir()
    out.rename(moved)
    assert tiny.train(moved, resume=True).resumed_at == saved
    assert_like(moved, tiny, full_run, first_step=saved)
    assert str(tmp_path) not in (moved / "last" / "state.json").read_text()
    said = f"resumed at step {saved}," if saved else "resumed before the first checkpoint: starting at step 0"
    assert said in (moved / "log.txt").read_text()


def test_killed_while_evaluating(tiny, full_run, tmp_path):
    class Dying(tiny.Task):
        def dev_step(self, batch):
            if self.trainer.current_epoch == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            super().dev_step(batch)

    assert tiny.in_child(lambda: tiny.train(tmp_path / "run", task=Dying())) == -signal.SIGKILL
    tiny.train(tmp_path / "run", resume=True)
    assert_like(tmp_path / "run", tiny, full_run)


def test_killed_after_the_best_was_saved_and_before_the_checkpoint(tiny, full_run, tmp_path):
    def save_and_die(folder):
        folder.mkdir()
        torch.save(tiny.task.state_dict(), folder / "weights.pt")
        os.kill(os.getpid(), signal.SIGKILL)

    assert tiny.in_child(lambda: tiny.train(tmp_path / "run", save_best=save_and_die)) == -signal.SIGKILL
    tiny.train(tmp_path / "run", resume=True)
    assert_like(tmp_path / "run", tiny, full_run)


def test_killed_twice(tiny, full_run, tmp_path):
    out = tmp_path / "run"
    assert tiny.in_child(lambda: tiny.train(out, on_batch=kill(at=N_BATCHES + 5))) == -signal.SIGKILL
    assert tiny.in_child(lambda: tiny.train(out, resume=True, on_batch=kill(at=9))) == -signal.SIGKILL
    tiny.train(out, resume=True)
    assert_like(out, tiny, full_run)


class FileOperations:
    """Counts operations on files below ``last`` from a step on, and ends the process before one of them."""

    def __init__(self, fatal: int, out: Path) -> None:
        self.fatal, self.out, self.count, self.is_on = fatal, out, 0, False

    def before(self, path: object) -> bool:
        # Handles have no name here; only the checkpoint writer uses them.
        if not self.is_on or not (isinstance(path, int) or str(path).startswith(str(self.out / "last"))):
            return False
        self.count += 1
        return self.count == self.fatal

    def wrap(self, function):
        def wrapped(path, *args, **kwargs):
            if self.before(path):
                os._exit(77)
            return function(path, *args, **kwargs)

        return wrapped

    def save(self, function):
        def wrapped(content, file):
            if self.before(file.name):
                file.write(b"half a checkpoint")
                file.flush()
                os._exit(77)
            return function(content, file)

        return wrapped

    def install(self) -> None:
        for module, name in [(builtins, "open"), (os, "open"), (os, "fsync"), (os, "replace"), (os, "unlink")]:
            setattr(module, name, self.wrap(getattr(module, name)))
        torch.save = self.save(torch.save)


def test_killed_at_every_file_operation_of_a_checkpoint(tiny, full_run, tmp_path):
    """The second checkpoint of epoch 2 is written while the process ends before its 1st, 2nd, ... operation."""
    fatal = 0
    died = True
    saved = []
    while died:
        fatal += 1
        out = tmp_path / f"run{fatal}"

        def work(out=out, fatal=fatal):
            operations = FileOperations(fatal, out)
            operations.install()

            def on_batch(epoch, step, ids):
                operations.is_on = step == 9  # the checkpoint after step 10 is the next to be written
                if step == 10:
                    os._exit(0)

            tiny.train(out, on_batch=on_batch)

        status = tiny.in_child(work)
        assert status in (0, 77)
        died = status == 77
        state = json.loads((out / "last" / "state.json").read_text())
        saved.append(state["step"])
        torch.load(out / state["checkpoint"], weights_only=True)
        tiny.train(out, resume=True)
        assert_like(out, tiny, full_run, first_step=saved[-1])
        assert sorted(p.name for p in (out / "last").iterdir()) == ["main-000000021.ckpt", "state.json"]
        shutil.rmtree(out)
    assert fatal >= 12, "fewer operations than the writer needs: the injection misses some"
    assert set(saved) == {8, 10}
    assert saved == sorted(saved)


def test_early_stopping_goes_on_counting(tiny, tmp_path):
    scores = [0.5, 0.7, 0.6, 0.4, 0.9, 0.9]
    options = {"epochs": 6, "patience": 2}
    whole = tiny.train(tmp_path / "whole", task=tiny.Task(scores=scores), **options)
    assert (whole.epochs, whole.best_epoch, whole.best_score, whole.stopped) == (4, 2, 0.7, "patience")
    out = tmp_path / "run"
    dying = kill(at=3 * N_BATCHES + 4)
    assert tiny.in_child(lambda: tiny.train(out, task=tiny.Task(scores=scores), on_batch=dying, **options)) == -9
    resumed = tiny.train(out, resume=True, task=tiny.Task(scores=scores), **options)
    assert (resumed.epochs, resumed.best_epoch, resumed.best_score, resumed.stopped) == (4, 2, 0.7, "patience")
    assert resumed.dev == whole.dev
    assert rows(out) == rows(tmp_path / "whole")
    assert resumed.weights == "last", "the best weights were in the memory of the killed process"


def test_best_weights_come_back_from_the_folder(tiny, tmp_path):
    scores = [0.9, 0.1, 0.1]

    def load(folder):
        tiny.task.load_state_dict(torch.load(folder / "weights.pt", weights_only=True))

    out = tmp_path / "run"
    assert tiny.in_child(lambda: tiny.train(out, task=tiny.Task(scores=scores), on_batch=kill(at=20))) == -9
    summary = tiny.train(out, resume=True, task=tiny.Task(scores=scores), load_best=load)
    assert summary.weights == "best"
    best = torch.load(out / "best" / "weights.pt", weights_only=True)
    assert all(torch.equal(value, best[name]) for name, value in tiny.task.state_dict().items())


@pytest.mark.parametrize("options", [{}, {"patience": 1, "scores": [0.9, 0.1, 0.5]}])
def test_finished_run_is_resumed_without_training(tiny, tmp_path, options):
    scores = options.get("scores")
    patience = options.get("patience", 0)
    first = tiny.train(tmp_path / "run", task=tiny.Task(scores=scores), patience=patience)
    again = tiny.train(tmp_path / "run", task=tiny.Task(scores=scores), patience=patience, resume=True)
    assert tiny.trace == []
    assert (again.epochs, again.steps, again.best_score) == (first.epochs, first.steps, first.best_score)
    assert again.history == first.history
    assert again.stopped == first.stopped


def test_without_dev_the_last_weights_are_the_best_after_a_kill_too(tiny, tmp_path):
    tiny.train(tmp_path / "whole", with_dev=False)
    out = tmp_path / "run"
    assert tiny.in_child(lambda: tiny.train(out, with_dev=False, on_batch=kill(at=N_BATCHES + 6))) == -9
    tiny.train(out, with_dev=False, resume=True)
    a, b = (torch.load(p / "best" / "weights.pt", weights_only=True) for p in (out, tmp_path / "whole"))
    assert all(torch.equal(a[name], b[name]) for name in b)


def test_other_settings_are_named(tiny, tmp_path):
    out = tmp_path / "run"
    settings = {"trainer": {"epochs": 3, "clip": 1.0}, "model": {"types": ("A", "B")}}
    tiny.train(out, settings=settings)
    tiny.train(out, settings=settings, resume=True)
    changed = {"trainer": {"epochs": 5, "clip": 1.0}, "model": {"types": ("A",)}, "new": 1}
    with pytest.raises(ConfigError) as caught:
        tiny.train(out, settings=changed, resume=True, seed=4)
    message = str(caught.value)
    assert 'model.types: ["A", "B"] in the run, ["A"] now' in message
    assert "new: null in the run, 1 now" in message
    assert "seed: 1 in the run, 4 now" in message
    assert "clip" not in message
    assert "epochs" not in message, "more epochs are no hindrance"


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_run_is_taken_further(tiny, full_run, tmp_path, is_killed, capfd):
    """Epochs 1 to 3 stay, the last weights go on, and the learning rate falls to 0 at the new last step."""
    out = tmp_path / "run"
    if is_killed:
        assert tiny.in_child(lambda: tiny.train(out, on_batch=kill(at=2 * N_BATCHES + 5))) == -signal.SIGKILL
    else:
        tiny.train(out)
    weights = tiny.checkpoint(out)["state_dict"]
    begun_with = []

    def on_batch(epoch, step, ids):
        begun_with.append(full_run.same({k: v.clone() for k, v in tiny.task.state_dict().items()}, weights))

    whole = tiny.train(tmp_path / "whole", epochs=5)
    steps = [(epoch, ids) for epoch, _, ids in tiny.trace]
    capfd.readouterr()
    summary = tiny.train(out, epochs=5, resume=True, on_batch=on_batch)
    assert begun_with[0]
    assert (summary.epochs, summary.steps, summary.stopped) == (5, 35, "epochs")
    assert [(epoch, ids) for epoch, _, ids in tiny.trace] == steps[len(steps) - len(tiny.trace) :]
    assert rows(out)[: 2 if is_killed else 3] == rows(full_run.out)[: 2 if is_killed else 3]
    rates = [row["lr_head"] for row in summary.history]
    assert rates[3:] == [row["lr_head"] for row in whole.history][3:]
    said = capfd.readouterr().err
    assert "trainer.epochs: 3 in the run, 5 now" in said
    # at step 21 the run of 3 epochs had come to 0; of 35 steps, 4 warm up
    before, now = (f"{5 / 18:.0%}", f"{19 / 31:.0%}") if is_killed else ("0%", f"{14 / 31:.0%}")
    assert f"it goes on at {now} of its peak, from {before}" in said
    again = tiny.train(out, epochs=5, resume=True)
    assert (tiny.trace, again.history) == ([], summary.history)


def test_fewer_epochs_are_refused(tiny, tmp_path):
    tiny.train(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"trainer\.epochs: 3 in the run, 2 now: a run can be taken further, not cut"):
        tiny.train(tmp_path / "run", epochs=2, resume=True)


def test_what_does_not_make_the_result_may_change_and_is_said(tiny, full_run, tmp_path, capfd):
    out = tmp_path / "run"
    assert tiny.in_child(lambda: tiny.train(out, on_batch=kill(at=N_BATCHES + 9))) == -signal.SIGKILL
    capfd.readouterr()
    tiny.train(out, resume=True, patience=7, checkpoint_steps=5, device="auto", precision="auto")
    assert full_run.same(tiny.checkpoint(out)["state_dict"], full_run.last)
    said = capfd.readouterr().err
    for line in ("patience: 0 in the run, 7 now", "checkpoint_steps: 2 in the run, 5 now", 'device: "cpu" in the run'):
        assert f"trainer.{line}" in said
    assert "learning rate" not in said
    for change in ({"head_lr": 0.5}, {"batch_size": 2}, {"accumulate": 1}):
        with pytest.raises(ConfigError, match=f"trainer.{next(iter(change))}"):
            tiny.train(out, resume=True, **change)


def test_a_run_that_patience_ended_goes_on_with_more_of_it(tiny, tmp_path):
    scores = [0.5, 0.4, 0.3, 0.2, 0.9]
    out = tmp_path / "run"
    first = tiny.train(out, task=tiny.Task(scores=scores), epochs=5, patience=2)
    assert (first.epochs, first.best_epoch) == (3, 1)
    more = tiny.train(out, task=tiny.Task(scores=scores), epochs=5, patience=0, resume=True)
    assert (more.epochs, more.best_epoch) == (5, 5)


# A folder that something is in.


class Unfit(Exception):
    pass


def test_a_start_that_is_refused_touches_no_folder(tiny, tmp_path, monkeypatch):
    out = tmp_path / "run"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="no GPU"):
        tiny.train(out, device="gpu")
    with pytest.raises(ConfigError, match="recompute"):
        tiny.train(out, activation_checkpointing=True)
    frozen = tiny.Task()
    frozen.requires_grad_(False)
    with pytest.raises(NlpkitError, match="nothing to train"):
        tiny.train(out, task=frozen)
    with pytest.raises(DataError):
        tiny.train(out, n_dev=0)
    assert not out.exists()


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_start_without_a_checkpoint_may_be_made_again_with_other_settings(tiny, tmp_path, is_killed, resume):
    class Failing(tiny.Task):
        def loss(self, batch):
            raise Unfit

    out = tmp_path / "run"
    if is_killed:
        assert tiny.in_child(lambda: tiny.train(out, on_batch=kill(at=3))) == -signal.SIGKILL
    else:
        with pytest.raises(Unfit):
            tiny.train(out, task=Failing())
    assert (out / "last" / "state.json").is_file()
    summary = tiny.train(out, resume=resume, head_lr=0.01, seed=5)
    assert (summary.epochs, summary.steps) == (3, 21)
    tiny.train(tmp_path / "new", head_lr=0.01, seed=5)
    assert rows(out) == rows(tmp_path / "new")
    tiny.train(out, resume=True, head_lr=0.01, seed=5)


def test_a_folder_with_a_run_says_what_it_is_and_what_can_be_done(tiny, tmp_path):
    out = tmp_path / "run"
    tiny.train(out)
    with pytest.raises(ConfigError) as caught:
        tiny.train(out)
    assert str(caught.value) == (
        f"out: {out} is not empty: it holds a finished run of 3 epochs; choose another folder, train it further with "
        "resume=True and more epochs, or delete it"
    )
    dying = tmp_path / "dying"
    assert tiny.in_child(lambda: tiny.train(dying, on_batch=kill(at=N_BATCHES + 9))) == -signal.SIGKILL
    before = (dying / "last" / "state.json").read_bytes()
    with pytest.raises(
        ConfigError, match=r"stopped after 1 epoch \(step 10\); go on with it with resume=True, choose .*del"
    ):
        tiny.train(dying)
    assert (dying / "last" / "state.json").read_bytes() == before
    with at_command_line(), pytest.raises(ConfigError, match=r"with --resume and more --trainer\.epochs, or delete it"):
        tiny.train(out)
    (out / "last" / "state.json").write_text("{")
    with pytest.raises(
        ConfigError, match=r"whose last/state\.json cannot be read; choose another folder, or delete it"
    ):
        tiny.train(out)


@pytest.mark.parametrize("name", ["mine.txt", "best/nlpkit.json", "last/mine.txt", "last/main-000000002.ckpt"])
def test_what_is_not_of_a_start_is_never_written_over(tiny, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=r"is not empty: it holds .*; choose another folder$"):
        tiny.train(tmp_path)
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / "last" / "state.json").exists()


@pytest.mark.parametrize("resume", [False, True])
def test_two_processes_do_not_train_in_one_folder(tiny, tmp_path, resume):
    out = tmp_path / "run"
    refused = []

    def on_batch(epoch, step, ids):
        if not refused:
            with pytest.raises(ConfigError, match="another process is training"):
                Tiny().train(out, resume=resume)
            refused.append(step)

    Tiny = type(tiny)
    tiny.train(out, on_batch=on_batch)
    assert refused == [0]
    tiny.train(out, resume=True)


def test_the_settings_file_is_that_of_the_run_as_it_goes_on(tiny, tmp_path):
    out = tmp_path / "run"

    def settings(**changes):
        config = tiny.config(**changes)
        phase = Phase(name="main", task=tiny.Task(), train=tiny.data(45, 0))
        train([phase], config, seed=1, out=out, resume=(out / "last").exists(), settings={"trainer": vars(config)},
              settings_file={"epochs": config.epochs})  # fmt: skip
        return (out / "config.yaml").read_text()

    assert settings(epochs=1) == "epochs: 1\n"
    assert settings(epochs=2) == "epochs: 2\n"


def test_other_records_are_refused(tiny, tmp_path):
    tiny.train(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"data\.main\.train"):
        tiny.train(tmp_path / "run", resume=True, data=tiny.data(45, 5))


def test_a_folder_without_a_run_cannot_be_resumed(tiny, tmp_path):
    for out in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="no run to go on with"):
            tiny.train(out, resume=True)
