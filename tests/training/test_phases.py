"""Several phases run one after the other, and a run is resumed in the phase in which it was killed."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
from dataclasses import replace

import pytest
import torch

from nlpkit.training.phase import Phase, PhaseData
from nlpkit.training.trainer import train


@pytest.fixture
def run(tiny):
    def run(out, *, resume=False, kill_at=None):
        trace = []

        def on_batch(epoch, step, ids):
            if len(trace) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            trace.append((epoch, step, ids))

        first, second = tiny.Task(), tiny.Task()
        second.encoder = first.encoder  # the second phase goes on with what the first has learnt
        phases = [
            Phase(name="one", task=first, train=tiny.data(20, 0)),
            Phase(name="two", task=second, train=tiny.data(20, 3), dev=tiny.data(9, 1, "d")),
        ]
        config = tiny.config(epochs=2, accumulate=1)
        summary = train(phases, config, seed=1, out=out, resume=resume, save_best=lambda _: None, on_batch=on_batch)
        return summary, trace, tiny.checkpoint(out)["state_dict"]

    return run


@pytest.mark.parametrize("kill_at", [4, 13, 21])
def test_two_phases(tiny, run, tmp_path, kill_at):
    summary, trace, weights = run(tmp_path / "whole")
    n = 12
    assert summary.steps == len(trace) - n
    assert [row["phase"] for row in summary.history] == ["one", "one", "two", "two"]
    assert [step for _, step, _ in trace] == [*range(n), *range(summary.steps)]
    out = tmp_path / "run"
    assert tiny.in_child(lambda: run(out, kill_at=kill_at)) == -signal.SIGKILL
    state = json.loads((out / "last" / "state.json").read_text())
    assert state["phase"] == ("one" if kill_at < n + 2 else "two")
    assert state["checkpoint"].startswith(f"last/{state['phase']}-")
    resumed, rest, same = run(out, resume=True)
    assert rest == trace[len(trace) - len(rest) :]
    assert len(rest) < len(trace)
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert [row["phase"] for row in resumed.history] == ["one", "one", "two", "two"]
    with open(out / "metrics.csv", newline="") as file:
        assert [row["dev_score"] for row in csv.DictReader(file)][:2] == ["", ""]


def test_data_of_unequal_size():
    with pytest.raises(ValueError, match="2 and 1"):
        PhaseData(ids=["a", "b"], lengths=[1], cost=lambda n, longest: n, collate=list)


def test_fingerprint_sees_ids_lengths_and_order():
    def print_of(ids, lengths):
        return PhaseData(ids=ids, lengths=lengths, cost=lambda n, longest: n, collate=list).fingerprint()

    prints = [
        print_of(*x) for x in [(["a", "b"], [1, 2]), (["b", "a"], [1, 2]), (["a", "b"], [2, 1]), (["a", "b1"], [1, 2])]
    ]
    assert len(set(prints)) == 4
    assert print_of(["a", "\ud800"], [1, 2]), "a lone surrogate in an id"


def test_an_epoch_may_put_its_records_together_anew_and_resumes_all_the_same(tiny, tmp_path):
    """Each epoch trains on pairs of its own; a run that was killed inside an epoch goes on with the same ones."""
    single = tiny.data(60, 0)

    def arrange(epoch: int) -> PhaseData:
        order = list(range(60))
        random.Random(epoch).shuffle(order)
        pairs = [order[k : k + 2] for k in range(0, 60, 2)]
        return PhaseData(
            ids=["+".join(single.ids[i] for i in pair) for pair in pairs],
            lengths=[max(single.lengths[i] for i in pair) for pair in pairs],
            cost=single.cost,
            collate=lambda chosen: single.collate([i for k in chosen for i in pairs[k]]),
        )

    data = replace(single, arrange=arrange)
    tiny.train(tmp_path / "whole", data=data)
    whole, trace = tiny.checkpoint(tmp_path / "whole")["state_dict"], tiny.trace
    by_epoch = [sorted(name for epoch, _, ids in trace if epoch == n for name in ids) for n in (1, 2, 3)]
    assert all(len(names) == 30 and all("+" in name for name in names) for names in by_epoch)
    assert by_epoch[0] != by_epoch[1]

    def stop(epoch: int, step: int, ids: tuple[str, ...]) -> None:
        if epoch == 2 and step >= 4:
            os.kill(os.getpid(), signal.SIGKILL)

    assert tiny.in_child(lambda: tiny.train(tmp_path / "cut", data=data, on_batch=stop)) == -signal.SIGKILL
    tiny.train(tmp_path / "cut", data=data, resume=True)
    assert tiny.trace == trace[len(trace) - len(tiny.trace) :]
    found = tiny.checkpoint(tmp_path / "cut")["state_dict"]
    assert all(torch.equal(found[name], whole[name]) for name in whole)
