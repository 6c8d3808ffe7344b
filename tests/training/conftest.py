"""A model of 300 parameters, and runs of it, also in a process that may be killed."""

from __future__ import annotations

import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from nlpkit.training.config import TrainConfig
from nlpkit.training.phase import Phase, PhaseData
from nlpkit.training.task import TrainTask
from nlpkit.training.trainer import TrainSummary, train


class TinyTask(TrainTask):
    """Tells whether a sequence of numbers has more even than odd ones."""

    def __init__(self, *, scores: list[float | None] | None = None) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.encoder = nn.Embedding(20, 12)
        self.norm = nn.LayerNorm(12)
        self.dropout = nn.Dropout(0.4)
        self.head = nn.Linear(12, 2)
        self.register_buffer("seen", torch.zeros(()))
        self.scores = scores
        self.right: list[bool] = []

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return self.head(self.dropout(self.norm(self.encoder(numbers).sum(1))))

    def loss(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        loss = nn.functional.cross_entropy(self(batch["numbers"]), batch["labels"])
        return {"loss": loss, "twice": 2 * loss}

    def optimizer_step(self, *args: object, **kwargs: object) -> None:
        super().optimizer_step(*args, **kwargs)
        self.seen += 1

    def dev_step(self, batch: dict[str, torch.Tensor]) -> None:
        assert not self.training
        self.right += (self(batch["numbers"]).argmax(-1) == batch["labels"]).tolist()

    def dev_metrics(self) -> dict[str, float | None]:
        accuracy = sum(self.right) / len(self.right)
        self.right = []
        if self.scores is not None:
            return {"score": self.scores[self.trainer.current_epoch], "accuracy": accuracy}
        return {"score": accuracy}


def make_data(n: int, seed: int, name: str = "r") -> PhaseData:
    rng = random.Random(seed)
    records = [[rng.randrange(1, 20) for _ in range(rng.randint(1, 12))] for _ in range(n)]

    def collate(indices):
        chosen = [records[i] for i in indices]
        longest = max(map(len, chosen))
        numbers = torch.tensor([record + [0] * (longest - len(record)) for record in chosen])
        labels = torch.tensor([int(sum(x % 2 == 0 for x in record) * 2 > len(record)) for record in chosen])
        return {"numbers": numbers, "labels": labels}

    return PhaseData(
        ids=[f"{name}{i}" for i in range(n)],
        lengths=[len(record) for record in records],
        cost=lambda n, longest: n * longest * longest,
        collate=collate,
    )


CONFIG = {"epochs": 3, "batch_size": 4, "budget": 400, "accumulate": 2, "device": "cpu", "checkpoint_steps": 2}


class Tiny:
    """Runs the tiny model; ``trace`` has the batches of the last run as (epoch, steps done, ids)."""

    Task = TinyTask
    data = staticmethod(make_data)

    def __init__(self) -> None:
        self.trace: list[tuple[int, int, tuple[str, ...]]] = []
        self.task = TinyTask()

    def config(self, **changes: object) -> TrainConfig:
        return TrainConfig(**{**CONFIG, **changes})

    def train(
        self,
        out: Path | None = None,
        *,
        resume: bool = False,
        task: TrainTask | None = None,
        with_dev: bool = True,
        n_dev: int = 20,
        seed: int = 1,
        on_batch: Callable[[int, int, tuple[str, ...]], None] | None = None,
        settings: dict | None = None,
        data: PhaseData | None = None,
        save_best: Callable[[Path], None] | None = None,
        load_best: Callable[[Path], None] | None = None,
        **changes: object,
    ) -> TrainSummary:
        self.task = task or TinyTask()
        self.trace = []

        def trace(epoch: int, step: int, ids: tuple[str, ...]) -> None:
            self.trace.append((epoch, step, ids))
            if on_batch:
                on_batch(epoch, step, ids)

        def save(folder: Path) -> None:
            folder.mkdir(exist_ok=True)
            torch.save(self.task.state_dict(), folder / "weights.new")
            os.replace(folder / "weights.new", folder / "weights.pt")

        config = self.config(**changes)
        dev = make_data(n_dev, 1, "d") if with_dev else None
        phase = Phase(name="main", task=self.task, train=data if data is not None else make_data(45, 0), dev=dev)
        return train(
            [phase],
            config,
            seed=seed,
            out=out,
            resume=resume,
            save_best=save_best or save,
            load_best=load_best,
            settings=settings if settings is not None else {"trainer": vars(config)},
            on_batch=trace,
        )

    def checkpoint(self, out: Path) -> dict:
        """The content of the checkpoint of a run, by the safe loader."""
        return torch.load(self.checkpoint_path(out), weights_only=True)

    def checkpoint_path(self, out: Path) -> Path:
        import json

        return out / json.loads((out / "last" / "state.json").read_text())["checkpoint"]

    def in_child(self, work: Callable[[], object]) -> int:
        """Does some work in a process of its own; its exit status, negative if a signal ended it."""
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            status = 99
            try:
                work()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def same(a: dict, b: dict) -> bool:
    """Whether two state dicts are equal bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture
def tiny() -> Iterator[Tiny]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a forked process must not use the threads of its parent
    yield Tiny()
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="session")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """An uninterrupted run with the settings of ``CONFIG``: its folder, batches, last and best weights."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    tiny = Tiny()
    out = tmp_path_factory.mktemp("full") / "run"
    summary = tiny.train(out)
    checkpoint = tiny.checkpoint(out)
    torch.set_num_threads(n_threads)
    return SimpleNamespace(
        out=out,
        trace=tiny.trace,
        last=checkpoint["state_dict"],
        checkpoint=checkpoint,
        best=torch.load(out / "best" / "weights.pt", weights_only=True),
        summary=summary,
        same=same,
    )
