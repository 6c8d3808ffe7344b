"""Parameter groups and the schedule."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.training.optim import build_optimizer, learning_rate_factor


def test_groups(tiny):
    task = tiny.Task()
    task.head.bias.requires_grad_(False)
    config = tiny.config(encoder_lr=0.1, head_lr=0.2, weight_decay=0.3)
    groups = {group["name"]: group for group in task.parameter_groups(config)}
    assert list(groups) == ["encoder", "head", "head/no_decay"]
    assert groups["encoder"]["params"] == [task.encoder.weight]
    assert groups["head"]["params"] == [task.head.weight]
    assert {id(p) for p in groups["head/no_decay"]["params"]} == {id(task.norm.weight), id(task.norm.bias)}
    assert [groups[name]["lr"] for name in groups] == [0.1, 0.2, 0.2]
    assert [groups[name]["weight_decay"] for name in groups] == [0.3, 0.3, 0.0]


def test_a_longer_name_is_not_the_encoder(tiny):
    task = tiny.Task()
    task.encoder_output = torch.nn.Linear(2, 2, bias=False)
    groups = {group["name"]: group for group in task.parameter_groups(tiny.config())}
    assert any(p is task.encoder_output.weight for p in groups["head"]["params"])


@given(st.integers(1, 500), st.floats(0, 0.99))
def test_schedule_rises_falls_and_wastes_no_step(n_steps, warmup):
    factor = learning_rate_factor(n_steps, warmup)
    values = [factor(step) for step in range(n_steps)]
    peak = values.index(1.0)
    assert min(values) > 0
    assert max(values) == 1
    assert peak / n_steps <= warmup + 1 / n_steps
    assert all(a < b for a, b in itertools.pairwise(values[: peak + 1]))
    assert all(a > b for a, b in itertools.pairwise(values[peak:]))
    assert factor(n_steps) == 0


def test_rates_in_training(tiny):
    rates = []

    class Watching(tiny.Task):
        def on_before_optimizer_step(self, optimizer):
            rates.append({g["name"]: g["lr"] for g in optimizer.param_groups})

    tiny.train(task=Watching(), epochs=2, accumulate=3, head_lr=0.5, encoder_lr=0.0, warmup=0.2)
    # 14 batches an epoch make 5 steps; 2 of the 10 steps warm up.
    expected = [1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert [rate["head"] for rate in rates] == pytest.approx([0.5 * factor for factor in expected])
    assert all(rate["encoder"] == 0 for rate in rates)


def test_optimizer_state_is_plain(tiny):
    optimizer, schedule = build_optimizer(tiny.Task().parameter_groups(tiny.config()), tiny.config(), 10)
    assert isinstance(optimizer, torch.optim.AdamW)
    assert schedule.state_dict()["lr_lambdas"] == [None] * len(optimizer.param_groups)
