"""The losses against their definitions, cell by cell."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nlpkit.ie.utcie.losses import adaptive_threshold_loss, span_loss

N_TYPES = 4


@pytest.fixture
def cells() -> tuple[Tensor, Tensor, Tensor]:
    """Threshold, scores and labels of a 3 x 3 table: no type, one, several and all types are among the cells."""
    generator = torch.Generator().manual_seed(3)
    threshold = torch.randn(3, 3, generator=generator, dtype=torch.double)
    logits = 2 * torch.randn(3, 3, N_TYPES, generator=generator, dtype=torch.double)
    labels = torch.zeros(3, 3, N_TYPES, dtype=torch.double)
    labels[0, 1, 2] = labels[2, 0, 0] = labels[2, 0, 3] = 1.0
    labels[1, 1] = 1.0
    return threshold, logits, labels


def direct(threshold: float, logits: list[float], labels: list[float]) -> float:
    """The loss of one cell as it is written down: two soft-max distributions, with and without the set types."""
    positive = [x for x, y in zip(logits, labels, strict=True) if y]
    negative = [x for x, y in zip(logits, labels, strict=True) if not y]
    above = sum(map(math.exp, [*positive, threshold]))
    below = sum(map(math.exp, [*negative, threshold]))
    return -sum(math.log(math.exp(x) / above) for x in positive) - math.log(math.exp(threshold) / below)


def test_adaptive_threshold_loss_equals_the_direct_computation(cells):
    threshold, logits, labels = cells
    loss = adaptive_threshold_loss(threshold, logits, labels)
    expected = [
        [direct(float(threshold[i, j]), logits[i, j].tolist(), labels[i, j].tolist()) for j in range(3)]
        for i in range(3)
    ]
    torch.testing.assert_close(loss, torch.tensor(expected, dtype=torch.double), rtol=1e-9, atol=1e-9)


def test_single_precision_is_near_double_precision(cells):
    threshold, logits, labels = cells
    loss = adaptive_threshold_loss(threshold.float(), logits.float(), labels.float())
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.double(), adaptive_threshold_loss(*cells), rtol=1e-5, atol=1e-5)


def test_the_loss_changes_none_of_its_inputs(cells):
    before = [x.clone() for x in cells]
    adaptive_threshold_loss(*cells)
    span_loss(cells[1], cells[2])
    for x, y in zip(cells, before, strict=True):
        assert torch.equal(x, y)


def test_gradients_are_right(cells):
    threshold, logits, labels = cells
    assert torch.autograd.gradcheck(
        lambda th, x: adaptive_threshold_loss(th, x, labels), (threshold.requires_grad_(), logits.requires_grad_())
    )
    assert torch.autograd.gradcheck(lambda x: span_loss(x, labels), (logits,))


def test_a_set_type_pulls_the_threshold_down_and_an_unset_one_pulls_it_up():
    threshold = torch.zeros(2, requires_grad=True)
    logits = torch.zeros(2, 1, requires_grad=True)
    adaptive_threshold_loss(threshold, logits, torch.tensor([[1.0], [0.0]])).sum().backward()
    assert threshold.grad is not None
    assert logits.grad is not None
    # the set cell has no other type, so that only its own type is compared with the threshold
    assert threshold.grad.tolist() == pytest.approx([0.5, -0.5])
    assert logits.grad.flatten().tolist() == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize("size", [30.0, 1e4])
def test_extreme_scores_stay_finite(cells, size):
    _, _, labels = (x.float() for x in cells)
    for sign in (-1.0, 1.0):
        threshold = torch.full((3, 3), sign * size, requires_grad=True)
        logits = torch.full((3, 3, N_TYPES), -sign * size, requires_grad=True)
        loss = adaptive_threshold_loss(threshold, logits, labels)
        loss.sum().backward()
        for x in (loss, threshold.grad, logits.grad):
            assert torch.isfinite(x).all()


def test_a_sure_and_right_cell_costs_nothing_and_a_wrong_one_its_margin(cells):
    _, _, labels = (x.float() for x in cells)
    threshold = torch.zeros(3, 3)
    right = 50 * (2 * labels - 1)
    one_type = labels.sum(-1) <= 1
    assert adaptive_threshold_loss(threshold, right, labels)[one_type].abs().max() < 1e-6
    wrong = adaptive_threshold_loss(threshold, -right, labels)
    # three unset types above the threshold: log(3 e^50) = 50 + log 3; the set one is 50 below it
    assert float(wrong[0, 1]) == pytest.approx(100 + math.log(3), abs=1e-3)


def test_no_cell_is_no_trouble():
    assert adaptive_threshold_loss(torch.zeros(0), torch.zeros(0, 2), torch.zeros(0, 2)).shape == (0,)


def test_span_loss_equals_the_direct_computation(cells):
    _, logits, labels = cells
    p = 1 / (1 + (-logits).exp())
    expected = -(labels * p.log() + (1 - labels) * (1 - p).log()).sum(-1)
    torch.testing.assert_close(span_loss(logits, labels), expected)
