"""UTC-IE as a task of the common trainer: its losses and its dev scores."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from nlpkit.encoder.encoder import TextEncoder
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.data import WindowBatch
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.utcie.losses import adaptive_threshold_loss, span_loss
from nlpkit.ie.utcie.model import UTCIENetwork
from nlpkit.ie.utcie.predict import score
from nlpkit.tensors import require_mask
from nlpkit.training.task import TrainTask


class UTCIETask(TrainTask):
    """Trains encoder and network together.

    Args:
        encoder: Pieces -> word vectors.
        network: Word vectors -> scores.
        layout: What the channels mean.
        config: Which losses.
        score_dev: Called with each dev batch and its scores, and with None at the end of an epoch for the metrics.
        score_parts: The metrics that the dev score is the mean of.
    """

    def __init__(
        self,
        encoder: TextEncoder,
        network: UTCIENetwork,
        layout: LabelLayout,
        config: UTCIEModelConfig,
        score_dev: Callable[[tuple[WindowBatch, Tensor] | None], dict[str, float | None]],
        score_parts: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.network = network
        self.layout = layout
        self.config = config
        self.score_parts = score_parts
        self._score_dev = score_dev

    def loss(self, batch: WindowBatch) -> dict[str, Tensor]:
        """Mean over the records of a batch of the summed losses of their cells."""
        return utcie_loss(score(self.encoder, self.network, batch), batch, self.layout, self.config)

    def dev_step(self, batch: WindowBatch) -> None:
        """Score a dev batch."""
        self._score_dev((batch, score(self.encoder, self.network, batch)))

    def dev_metrics(self) -> dict[str, float | None]:
        """F1 of each metric that the dev data can have; ``score`` is the mean of ``score_parts``."""
        return self._score_dev(None)

    def activation_bytes(self, n: int, longest: int) -> int | None:
        """Rough, from the number of pair features that the backward pass keeps."""
        per_layer = 2 if self.config.layers and self.network.checkpointing else 24
        cells = n * longest * longest * 4 * self.config.channels * (4 + per_layer * self.config.layers)
        hidden = getattr(self.encoder.model.config, "num_hidden_layers", 12)
        return cells + n * int(longest * 1.5) * self.encoder.dim * 4 * 34 * int(hidden)

    def use_activation_checkpointing(self) -> None:
        """Recompute the activations of encoder and Plusformer layers."""
        self.network.checkpointing = True
        self.encoder.checkpoint_activations()


def utcie_loss(logits: Tensor, batch: WindowBatch, layout: LabelLayout, config: UTCIEModelConfig) -> dict[str, Tensor]:
    """The losses of a batch; groups that a record does not annotate have no part in them.

    Args:
        logits: Scores. Shape: (B, W, W, K)
        batch: Windows with gold cells.
        layout: What the channels mean.
        config: Kind of link loss, weight of empty cells, reduction.

    Returns:
        ``loss`` and the parts ``spans``, ``relations`` and ``roles`` that there are, all scalars.
    """
    assert batch.spans is not None
    assert batch.relations is not None
    assert batch.roles is not None
    assert batch.groups is not None
    assert batch.borders is not None
    require_mask(batch.word_mask, "word_mask")
    logits = logits.float()
    mask = (batch.word_mask[:, :, None] & batch.word_mask[:, None, :]).float()
    groups = batch.groups.float()
    parts: dict[str, Tensor] = {}
    if layout.n_span:
        labels = _dense(batch.spans, logits, layout.n_span)
        cells = torch.zeros_like(mask)
        for k, part in ((0, layout.entity), (2, slice(layout.argument.start, layout.trigger.stop))):
            if part.stop > part.start:
                cells = cells + span_loss(logits[..., part], labels[..., part]) * groups[:, k, None, None]
        parts["spans"] = _reduce(cells * mask, batch.spans, mask, config)
    weight = torch.full_like(mask, config.empty_link_weight)
    weight[batch.borders.unbind(1)] = 1.0
    for name, k, channels, gold in (
        ("relations", 1, layout.relations, batch.relations),
        ("roles", 2, layout.roles, batch.roles),
    ):
        if not channels.n_types:
            continue
        scores = logits[..., channels.types]
        labels = _dense(gold, logits, scores.shape[-1])
        if config.link_loss == "adaptive":
            cells = adaptive_threshold_loss(logits[..., channels.threshold], scores, labels)
        else:
            cells = span_loss(scores, labels)
        parts[name] = _reduce(cells * weight * mask * groups[:, k, None, None], gold, mask, config)
    total = logits.sum() * 0.0
    for value in parts.values():
        total = total + value
    return {"loss": total, **parts}


def _dense(cells: Tensor, like: Tensor, n_labels: int) -> Tensor:
    labels = torch.zeros(*like.shape[:3], n_labels, device=like.device)
    labels[cells.unbind(1)] = 1.0
    return labels


def _reduce(cells: Tensor, gold: Tensor, mask: Tensor, config: UTCIEModelConfig) -> Tensor:
    """Sum over the cells of each record, divided as the config says, then the mean over the records."""
    per_record = cells.sum((1, 2))
    if config.reduction == "positives":
        counts = torch.zeros_like(per_record).index_add_(0, gold[:, 0], torch.ones(len(gold), device=gold.device))
        per_record = per_record / counts.clamp(min=1.0)
    elif config.reduction == "cells":
        per_record = per_record / mask.sum((1, 2)).clamp(min=1.0)
    return per_record.mean()
