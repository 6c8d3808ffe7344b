"""A kill before any operation on a file of a whole ``fit``, twice in a row, changes nothing in what it ends with."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nlpkit.ie import UTCIE

KILLED = 77
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link", "os.symlink"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(work: Callable[[], object], *, out: Path, kill_at: int | None = None, report: Path | None = None) -> int:
    """Does some work in a process of its own, which ends hard before the operation of that number; its exit status.

    Operations are what changes a file below ``out`` or beside it. How many there were is written into ``report``.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count, status = 0, 99

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in EVENTS or not str(arguments[0]).startswith(str(out.parent)):
            return
        if event == "open" and not arguments[2] & WRITES:
            return
        count += 1
        if count == kill_at:
            os._exit(KILLED)

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.addaudithook(watch)
        work()
        status = 0
        if report is not None:
            descriptor = os.open(report, os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, str(count).encode())
    finally:
        os._exit(status)


@pytest.fixture(scope="module")
def fit(make_config: Callable[..., Any], few_records: list[Any]) -> Callable[[Path], None]:
    """Begins the run in a folder, or goes on with it."""
    config = make_config(
        model={"dropout": 0.3, "channels": 8, "biaffine_dim": 8},
        trainer={"epochs": 4, "checkpoint_steps": 2, "batch_size": 2},
    )

    def run(out: Path) -> None:
        resume = (out / "last" / "state.json").is_file()
        UTCIE(config).fit(few_records[:4], few_records[4:], out=out, resume=resume)

    return run


def outcome(out: Path) -> dict[str, Any]:
    """What a run ends with: the best model, the last weights and optimiser, the table without its times."""
    state = json.loads((out / "last" / "state.json").read_text())
    checkpoint = torch.load(out / state["checkpoint"], weights_only=True)
    moments = [value for entry in checkpoint["optimizer_states"][0]["state"].values() for value in entry.values()]
    tensors = [*checkpoint["state_dict"].values(), *moments]
    rows = [line.split(",")[:-2] for line in (out / "metrics.csv").read_text().splitlines()]
    return {
        "best": sorted(json.loads((out / "best" / "nlpkit.json").read_text())["checksums"].values()),
        "last": hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in tensors)).hexdigest(),
        "step": (state["step"], state["is_finished"]),
        "rows": rows,
        "files": sorted(path.name for path in out.iterdir()),
    }


@pytest.fixture(scope="module")
def whole(fit: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """The outcome of the run without a kill, and how many operations it took."""
    place = tmp_path_factory.mktemp("whole")
    out, report = place / "run", place.parent / "count"
    assert in_child(lambda: fit(out), out=out, report=report) == 0
    return outcome(out), int(report.read_text())


N_PARTS = 16


@pytest.mark.parametrize(
    "part",
    [pytest.param(None, id="some"), *(pytest.param(k, marks=pytest.mark.slow, id=f"{k}") for k in range(N_PARTS))],
)
def test_every_kill_ends_in_the_same_run(part: int | None, fit, whole, tmp_path: Path) -> None:
    expected, n_operations = whole
    assert n_operations > 100
    # by default the first moments, and some later ones; with `-m slow` each
    some = [2, 4, 6, n_operations // 3, n_operations // 2, n_operations - 3]
    chosen = some if part is None else range(1 + part, n_operations + 1, N_PARTS)
    dead_ends = []
    for number in chosen:
        out = tmp_path / str(number) / "run"
        out.parent.mkdir()
        statuses = [in_child(lambda out=out: fit(out), out=out, kill_at=number) for _ in range(2)]
        statuses.append(in_child(lambda out=out: fit(out), out=out))
        if statuses[-1] != 0 or statuses[0] != KILLED or outcome(out) != expected:
            found = outcome(out) if statuses[-1] == 0 else {}
            dead_ends.append((number, statuses, sorted(k for k in expected if found.get(k) != expected[k])))
    assert dead_ends == []
