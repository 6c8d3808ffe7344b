"""The same run twice, or in two parts, gives the same weights bit for bit, with more than one thread, too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nlpkit.seed import repeatable


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def gradient() -> bytes:
    """Of rows of a small table that are read very often, by all threads at once."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(20, 12, generator=generator, requires_grad=True)
    rows = torch.randint(0, 20, (4, 60_000), generator=generator)
    (table[rows] * torch.randn(4, 60_000, 12, generator=generator)).sum().backward()
    return table.grad.numpy().tobytes()


def test_sums_have_one_order(threads: int) -> None:
    with repeatable():
        assert len({gradient() for _ in range(6)}) == 1


def test_settings_of_the_caller_come_back() -> None:
    for mode in (0, 1, 2):
        torch.set_deterministic_debug_mode(mode)
        try:
            with repeatable():
                assert torch.get_deterministic_debug_mode() == max(mode, 1)
            assert torch.get_deterministic_debug_mode() == mode
        finally:
            torch.set_deterministic_debug_mode(0)
    assert torch.utils.deterministic.fill_uninitialized_memory


def digest(weights: dict[str, Tensor]) -> str:
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in weights.values())).hexdigest()


class Crowded:
    """Mixed into a task: each step reads its table as often as :func:`gradient` does."""

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        losses = super().loss(batch)  # type: ignore[misc]
        rows = batch["numbers"].flatten().repeat(60_000 // batch["numbers"].numel())
        table: Tensor = self.encoder.weight  # type: ignore[attr-defined]
        noise = torch.randn(len(rows), 12, generator=torch.Generator().manual_seed(0))
        return {**losses, "loss": losses["loss"] + (table[rows] * noise).sum() / 100}


def test_a_run_can_be_repeated_and_taken_up_again(tiny, tmp_path: Path, threads: int) -> None:
    torch.set_num_threads(threads)  # the fixture of the tiny run has set one

    class Task(Crowded, tiny.Task):  # type: ignore[misc, name-defined]
        pass

    def run(name: str, **options: object) -> str:
        tiny.train(tmp_path / name, task=Task(), **options)
        return digest(tiny.checkpoint(tmp_path / name)["state_dict"])

    class Stop(Exception):
        pass

    def stop(epoch: int, step: int, ids: tuple[str, ...]) -> None:
        if (epoch, step) == (2, 9):
            raise Stop

    whole = run("whole")
    assert run("again") == whole
    with pytest.raises(Stop):
        run("parts", on_batch=stop)
    assert run("parts", resume=True) == whole
