"""The losses of UTC-IE; pure functions of logits and labels, nothing is changed in place."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def span_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of each cell, summed over its labels.

    Args:
        logits: Scores. Shape: (..., K)
        labels: 0 or 1. Shape: (..., K)

    Returns:
        Shape: (...)

    >>> span_loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
    tensor([1.3863])
    """
    return F.binary_cross_entropy_with_logits(logits, labels, reduction="none").sum(-1)


def adaptive_threshold_loss(threshold: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """Adaptive-threshold loss of each cell (Zhou et al., ATLOP, AAAI 2021, section 3.2).

    With P the types set at a cell and Q the others:
    ``- sum over r in P of log softmax(P + TH)[r] - log softmax(Q + TH)[TH]``.

    Args:
        threshold: Score of the threshold channel TH. Shape: (...)
        logits: Scores of the types. Shape: (..., R)
        labels: 0 or 1. Shape: (..., R)

    Returns:
        Shape: (...)

    >>> adaptive_threshold_loss(torch.zeros(1), torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
    tensor([1.3863])
    """
    is_positive = labels > 0.5
    low = torch.finfo(logits.dtype).min
    negatives = logits.masked_fill(is_positive, low)
    loss = F.softplus(torch.logsumexp(negatives, dim=-1) - threshold)
    positive_cells = is_positive.any(-1)
    if positive_cells.any():
        kept, chosen, th = logits[positive_cells], is_positive[positive_cells], threshold[positive_cells]
        total = torch.logsumexp(torch.cat([kept.masked_fill(~chosen, low), th.unsqueeze(-1)], dim=-1), dim=-1)
        positive = (torch.where(chosen, total.unsqueeze(-1) - kept, torch.zeros_like(kept))).sum(-1)
        loss = loss.masked_scatter(positive_cells, loss[positive_cells] + positive)
    return loss
