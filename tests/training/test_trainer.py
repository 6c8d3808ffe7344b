"""The common trainer apart from resumption: what it computes, writes, says and refuses."""

from __future__ import annotations

import csv
import logging
import math
import os
import random
import signal
from types import SimpleNamespace

import pytest
import torch

from nlpkit.errors import ConfigError, DataError, NlpkitError
from nlpkit.training._lightning import choose_device


def test_folder_of_a_run(tiny, full_run):
    assert {p.name for p in full_run.out.iterdir()} == {"best", "last", "log.txt", "metrics.csv"}
    assert full_run.summary.epochs == 3
    assert full_run.summary.steps == 21
    assert full_run.summary.resumed_at is None


def test_metrics_file(full_run):
    with open(full_run.out / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    losses, rates = ["train_loss", "train_twice"], ["lr_encoder", "lr_head"]
    assert list(rows[0]) == ["epoch", "step", *losses, *rates, "dev_score", "seconds", "records_per_second"]
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [row["step"] for row in rows] == ["7", "14", "21"]
    for row in rows:
        assert float(row["train_twice"]) == pytest.approx(2 * float(row["train_loss"]))
        assert float(row["lr_head"]) == pytest.approx(5 * float(row["lr_encoder"]))
    assert float(rows[2]["lr_head"]) == pytest.approx(1e-3 / 18)  # 3 of 21 steps warm up, the last of 18 is left
    assert full_run.summary.history[0]["train_loss"] == float(rows[0]["train_loss"])


def test_train_loss_is_the_mean_over_records(tiny):
    class Counting(tiny.Task):
        def loss(self, batch):
            n = len(batch["labels"])
            return {"loss": super().loss(batch)["loss"] * 0 + n}

    summary = tiny.train(task=Counting(), epochs=1)
    sizes = [len(ids) for _, _, ids in tiny.trace]
    assert len(set(sizes)) > 1
    assert summary.history[0]["train_loss"] == pytest.approx(sum(n * n for n in sizes) / sum(sizes))


@pytest.mark.parametrize("accumulate", [1, 2, 4, 100])
def test_gradient_is_the_mean_over_the_batches_of_its_own_group(tiny, accumulate):
    class Checking(tiny.Task):
        def __init__(self):
            super().__init__(scores=[0.1, 0.2])  # the last epoch is the best: its weights are left in the task
            self.dropout.p = 0.0
            self.batches, self.sizes = [], []

        def loss(self, batch):
            if not self.checking:
                self.batches.append(batch)
            return super().loss(batch)

        checking = False

        def on_before_optimizer_step(self, optimizer):
            found = [p.grad.clone() for p in self.parameters()]
            self.checking = True
            mean = sum(self.loss(batch)["loss"] for batch in self.batches) / len(self.batches)
            expected = torch.autograd.grad(mean, list(self.parameters()))
            self.checking = False
            self.sizes.append(len(self.batches))
            self.batches.clear()
            for a, b in zip(found, expected, strict=True):
                torch.testing.assert_close(a, b)

    task = Checking()
    summary = tiny.train(task=task, accumulate=accumulate, clip=0.0, epochs=2)
    expected = [min(accumulate, 14 - i) for i in range(0, 14, accumulate)]
    assert task.sizes == expected * 2
    assert summary.steps == len(expected) * 2
    assert task.seen == summary.steps


def test_time_for_checkpoints_and_evaluation_is_not_training_time(tiny, tmp_path, monkeypatch):
    from nlpkit.training import callbacks
    from nlpkit.training.checkpoint import FileCheckpointIO

    now = 0
    save = FileCheckpointIO.save_checkpoint

    def slow_save(self, *args, **kwargs):
        nonlocal now
        now += 1000
        save(self, *args, **kwargs)

    class Slow(tiny.Task):
        def dev_metrics(self):
            nonlocal now
            now += 100
            return super().dev_metrics()

        def loss(self, batch):
            nonlocal now
            now += 1
            return super().loss(batch)

    monkeypatch.setattr(FileCheckpointIO, "save_checkpoint", slow_save)
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(perf_counter=lambda: now))
    summary = tiny.train(tmp_path / "run", task=Slow(), epochs=2, checkpoint_steps=2)
    for row in summary.history:
        assert row["records_per_second"] == pytest.approx(45 / 14, abs=0.01)
        assert row["seconds"] == 14 + 100
    assert summary.seconds == 2 * (14 + 100 + 4 * 1000)


def test_clipping(tiny):
    norms = []

    class Steep(tiny.Task):
        def loss(self, batch):
            return {"loss": 1000 * super().loss(batch)["loss"]}

        def on_before_optimizer_step(self, optimizer):
            norms.append(torch.stack([p.grad.norm() for p in self.parameters()]).norm().item())

    tiny.train(task=Steep(), epochs=1, clip=0.5)
    assert norms == pytest.approx([0.5] * 7, rel=1e-4)
    norms.clear()
    tiny.train(task=Steep(), epochs=1, clip=0.0)
    assert min(norms) > 5


def test_each_epoch_has_each_record_once_in_another_order(full_run):
    orders = []
    for epoch in (1, 2, 3):
        ids = [i for e, _, batch in full_run.trace if e == epoch for i in batch]
        assert sorted(ids) == sorted(f"r{i}" for i in range(45))
        orders.append(tuple(ids))
    assert len(set(orders)) == 3


def test_epochs_may_differ_in_their_number_of_batches(tiny):
    data = tiny.data(20, 0)
    summary = tiny.train(data=data, epochs=4, accumulate=1, budget=200)
    counts = [sum(e == epoch for e, _, _ in tiny.trace) for epoch in (1, 2, 3, 4)]
    assert counts[0] > counts[2] < counts[3], "the test needs other data"
    assert summary.steps == sum(counts)
    for epoch in (1, 2, 3, 4):
        assert sorted(i for e, _, ids in tiny.trace if e == epoch for i in ids) == sorted(data.ids)


def test_task_ends_with_the_best_weights(tiny, tmp_path):
    summary = tiny.train(tmp_path / "run", task=tiny.Task(scores=[0.2, 0.9, 0.3]))
    assert (summary.best_epoch, summary.best_score, summary.weights) == (2, 0.9, "best")
    best = torch.load(tmp_path / "run" / "best" / "weights.pt", weights_only=True)
    last = tiny.checkpoint(tmp_path / "run")["state_dict"]
    mine = tiny.task.state_dict()
    assert all(torch.equal(mine[name], best[name]) for name in best)
    assert not all(torch.equal(mine[name], last[name]) for name in best)


def test_early_stopping(tiny):
    summary = tiny.train(task=tiny.Task(scores=[0.5, 0.6, 0.6, 0.1, 0.9]), epochs=5, patience=2)
    assert (summary.epochs, summary.best_epoch, summary.stopped) == (4, 2, "patience")
    assert "accuracy" in summary.dev
    summary = tiny.train(task=tiny.Task(scores=[0.5, 0.6, 0.6, 0.1, 0.9]), epochs=5, patience=0)
    assert (summary.epochs, summary.best_epoch, summary.stopped) == (5, 5, "epochs")


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([None, math.nan, None], 3),
        ([None, 0.0, None], 3),
        ([0.0, None, 0.0], 3),
        ([0.0, 0.0, 0.0], 3),
        ([0.0, 0.2, 0.0], 2),
        ([None, 0.2, None], 2),
        ([0.2, 0.1, 0.2], 1),
    ],
)
def test_undefined_ranks_as_nothing_right_and_then_the_latest_epoch_is_kept(tiny, scores, best):
    summary = tiny.train(task=tiny.Task(scores=scores))
    assert summary.best_epoch == best
    assert summary.best_score == (None if scores[best - 1] is None else scores[best - 1])


def test_patience_counts_epochs_with_nothing_right(tiny):
    summary = tiny.train(task=tiny.Task(scores=[0.0, 0.0, 0.0, 0.9, 0.9]), epochs=5, patience=2)
    assert (summary.epochs, summary.best_epoch, summary.stopped) == (3, 3, "patience")
    assert tiny.train(with_dev=False, patience=1).epochs == 3


def test_the_score_is_shown_in_percent_with_its_parts(tiny, capfd):
    class Parts(tiny.Task):
        score_parts = ("entity", "relation")

        def dev_metrics(self):
            share = [0.25, 0.5][self.trainer.current_epoch]
            return {**super().dev_metrics(), "score": share, "entity": share + 0.1, "relation": share - 0.1, "span": 1}

    tiny.train(task=Parts(), epochs=2)
    lines = capfd.readouterr().err.splitlines()
    assert [line.partition(", ")[2].rpartition(", ")[0] for line in lines if line.startswith("epoch")] == [
        "dev score 25.0 (entity 35.0, relation 15.0), the best so far",
        "dev score 50.0 (entity 60.0, relation 40.0), the best so far",
    ]
    assert lines[-1].endswith("Best epoch 2: dev score 50.0 (entity 60.0, relation 40.0)")


def test_a_run_that_got_nothing_right_says_so(tiny, capfd):
    tiny.train(task=tiny.Task(scores=[0.0, None, 0.0]))
    assert "warning: no epoch got anything right" in capfd.readouterr().err
    tiny.train(task=tiny.Task(scores=[0.0, 0.1, 0.0]))
    assert "warning" not in capfd.readouterr().err


def test_unknown_dev_metric(tiny):
    class Wrong(tiny.Task):
        select = "f1"

    with pytest.raises(NlpkitError, match=r"'f1'.*\['score'\]"):
        tiny.train(task=Wrong())


def test_without_dev(tiny, tmp_path, capsys):
    summary = tiny.train(tmp_path / "run", with_dev=False)
    assert (summary.best_epoch, summary.best_score, summary.dev, summary.weights) == (3, None, {}, "best")
    assert "the last epoch counts as the best" in capsys.readouterr().err
    best = torch.load(tmp_path / "run" / "best" / "weights.pt", weights_only=True)
    last = tiny.checkpoint(tmp_path / "run")["state_dict"]
    assert all(torch.equal(last[name], best[name]) for name in best)


def test_without_a_folder_nothing_is_written(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summary = tiny.train(None, task=tiny.Task(scores=[0.9, 0.1, 0.1]), save_best=lambda folder: pytest.fail("saved"))
    assert summary.weights == "best"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused(tiny, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "config.yaml").write_text("x: 1\n")
    tiny.train(out, epochs=1)
    before = (out / "metrics.csv").read_bytes()
    with pytest.raises(ConfigError, match=r"not empty.*resume=True"):
        tiny.train(out, epochs=1)
    assert (out / "metrics.csv").read_bytes() == before
    with pytest.raises(ConfigError, match="is a file"):
        tiny.train(out / "config.yaml")
    with pytest.raises(ConfigError, match="cannot write to"):
        tiny.train(out / "config.yaml" / "deeper")


def test_no_records(tiny):
    with pytest.raises(DataError, match="no training records"):
        tiny.train(data=tiny.data(0, 0))
    with pytest.raises(DataError, match="no dev records"):
        tiny.train(n_dev=0)


def test_loss_that_is_not_finite_stops_before_weights_are_spoilt(tiny, tmp_path):
    class Exploding(tiny.Task):
        calls = 0

        def loss(self, batch):
            type(self).calls += 1
            losses = super().loss(batch)
            return {"loss": losses["loss"] * (math.nan if self.calls == 18 else 1)}

    task = Exploding()
    with pytest.raises(NlpkitError) as caught:
        tiny.train(tmp_path / "run", task=task)
    ids = tiny.trace[17][2]
    message = str(caught.value)
    assert "epoch 2, step 9" in message
    assert "the loss is nan" in message
    assert all(repr(i) in message for i in ids)
    assert not any(repr(i) in message for _, _, other in tiny.trace[14:17] for i in other)
    assert "trainer.encoder_lr" in message
    assert all(p.isfinite().all() for p in task.parameters())
    assert tiny.checkpoint(tmp_path / "run")["global_step"] == 8


def test_gradient_that_is_not_finite(tiny):
    class Root(tiny.Task):
        def loss(self, batch):
            loss = super().loss(batch)["loss"]
            return {"loss": loss + torch.sqrt(0 * loss)}  # a finite value with the derivative 0 * inf

    with pytest.raises(NlpkitError, match=r"epoch 1, step 1: the norm of the gradient is (nan|inf)"):
        tiny.train(task=Root())
    assert len(tiny.trace) == 2


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    ],
)
def test_memory_runs_out(tiny, error):
    class Big(tiny.Task):
        def loss(self, batch):
            raise error

    with pytest.raises(NlpkitError) as caught:
        tiny.train(task=Big())
    assert "epoch 1, step 1" in str(caught.value)
    assert "lower trainer.budget (400)" in str(caught.value)
    assert repr(tiny.trace[0][2][0]) in str(caught.value)


def test_other_errors_are_not_hidden(tiny):
    class Broken(tiny.Task):
        def loss(self, batch):
            raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        tiny.train(task=Broken())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", [2, 5, 13])
def test_signal_finishes_the_step_and_writes_a_checkpoint(tiny, full_run, tmp_path, number, at):
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    out = tmp_path / "run"

    def on_batch(epoch, step, ids):
        if len(tiny.trace) == at + 1:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        tiny.train(out, on_batch=on_batch)
    assert tiny.checkpoint(out)["global_step"] == at // 2 + 1
    assert len(tiny.trace) == at - at % 2 + 2
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    tiny.train(out, resume=True)
    assert full_run.same(tiny.checkpoint(out)["state_dict"], full_run.last)


def test_second_signal_stops_at_once(tiny, tmp_path):
    def on_batch(epoch, step, ids):
        if len(tiny.trace) == 6:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tiny.train(tmp_path / "run", on_batch=on_batch)
    assert len(tiny.trace) == 6
    assert tiny.checkpoint(tmp_path / "run")["global_step"] == 2


def test_full_disk_while_a_checkpoint_is_written(tiny, full_run, tmp_path, monkeypatch):
    out = tmp_path / "run"
    save, count = torch.save, 0

    def full(content, file):
        nonlocal count
        count += 1
        if count == 4 and "last" in str(getattr(file, "name", "")):
            raise OSError(28, "No space left on device")
        save(content, file)

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(NlpkitError, match=r"No space left.*resume=True"):
        tiny.train(out, save_best=lambda folder: None)
    monkeypatch.undo()
    tiny.train(out, resume=True)
    assert full_run.same(tiny.checkpoint(out)["state_dict"], full_run.last)


def test_what_is_said(tiny, tmp_path, capfd, recwarn):
    before = {name: logging.getLogger(name).level for name in ("pytorch_lightning", "lightning_fabric")}
    tiny.train(tmp_path / "run", epochs=2, batch_size=5, checkpoint_steps=0)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "training on 45 records (20 for dev), cpu, fp32"
    assert lines[1].startswith("290 parameters to train; ")
    assert "largest batch: " in lines[2]
    assert lines[3].startswith("memory: about ")
    assert "to go without evaluation, guessed from 8 batches" in lines[4]
    assert [line.split(":")[0] for line in lines[5:7]] == ["epoch 1/2", "epoch 2/2"]
    assert lines[7].startswith("trained: 2 epochs, ")
    assert len(lines) == 8, "Lightning has said something"
    log = (tmp_path / "run" / "log.txt").read_text().splitlines()
    assert [line[20:] for line in log] == lines
    assert [str(w.message) for w in recwarn if "lightning" in str(w.filename)] == []
    assert {name: logging.getLogger(name).level for name in before} == before


@pytest.mark.parametrize(("batch_size", "counted"), [(1, "8 batches"), (15, "2 batches"), (45, "1 batch")])
def test_estimate_is_guessed_from_the_first_batches(tiny, capfd, batch_size, counted):
    seen = []
    tiny.train(epochs=1, batch_size=batch_size, budget=10**6, on_batch=lambda *_: seen.append(capfd.readouterr().err))
    assert "largest batch" in seen[0]
    said = [*seen, capfd.readouterr().err]
    assert f"to go without evaluation, guessed from {counted}" in said[min(9, 45 // batch_size)]


def test_records_over_the_budget_are_mentioned(tiny, capfd):
    tiny.train(epochs=1, budget=100)
    lengths = tiny.data(45, 0).lengths
    alone = sum(length * length > 100 for length in lengths)
    assert f"{alone} records cost more than trainer.budget" in capfd.readouterr().err


def test_generators_of_the_caller_are_left_alone(tiny):
    import numpy as np

    torch.manual_seed(3), random.seed(3), np.random.seed(3)
    expected = torch.rand(2).tolist(), random.random(), np.random.rand()
    torch.manual_seed(3), random.seed(3), np.random.seed(3)
    task = tiny.Task()
    torch.manual_seed(3)
    tiny.train(task=task, epochs=1)
    assert (torch.rand(2).tolist(), random.random(), np.random.rand()) == expected


def test_bf16(tiny):
    kinds = set()

    class Watching(tiny.Task):
        def forward(self, numbers):
            logits = super().forward(numbers)
            kinds.add(logits.dtype)
            return logits

    tiny.train(task=Watching(), epochs=1, precision="bf16")
    assert kinds == {torch.bfloat16}
    assert all(p.dtype == torch.float32 for p in tiny.task.parameters())
    kinds.clear()
    tiny.train(task=Watching(), epochs=1)
    assert kinds == {torch.float32}


def test_device_and_precision(tiny, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device(tiny.config(device="auto")) == ("cpu", "fp32")
    with pytest.raises(ConfigError, match=r"trainer\.device: no GPU"):
        choose_device(tiny.config(device="gpu"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    assert choose_device(tiny.config(device="auto")) == ("cuda", "fp32")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 0))
    assert choose_device(tiny.config(device="gpu")) == ("cuda", "bf16")
    assert choose_device(tiny.config(device="gpu", precision="fp32")) == ("cuda", "fp32")
    assert choose_device(tiny.config(device="cpu")) == ("cpu", "fp32")


def test_activation_checkpointing_must_be_known_to_the_task(tiny):
    with pytest.raises(ConfigError, match=r"trainer\.activation_checkpointing"):
        tiny.train(activation_checkpointing=True)

    class Able(tiny.Task):
        is_on = False

        def use_activation_checkpointing(self):
            self.is_on = True

    task = Able()
    tiny.train(task=task, activation_checkpointing=True, epochs=1)
    assert task.is_on


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu(tiny, tmp_path):
    summary = tiny.train(tmp_path / "run", device="gpu")
    assert summary.epochs == 3
    assert all(p.device.type == "cpu" for p in tiny.task.parameters())
