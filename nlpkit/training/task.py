"""The base class of every model's task: what a model has to say so that the common trainer can train it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from nlpkit.errors import ConfigError, NlpkitError
from nlpkit.training.config import TrainConfig
from nlpkit.training.loader import PlannedBatch
from nlpkit.training.optim import build_optimizer, split_parameters


class TrainTask(pl.LightningModule):
    """A model with its loss and its dev metrics.

    A subclass holds the model as a submodule and defines :meth:`loss`, and :meth:`dev_step` and :meth:`dev_metrics` if
    it is trained with dev data. What must happen once per optimiser step (a momentum encoder, a queue) goes into an
    override of ``optimizer_step``, after its ``super()`` call: later hooks run after the checkpoint of that step.
    Everything that training changes is a parameter or a buffer, so that it is in the checkpoint.

    Attributes:
        select: The dev metric that chooses the best epoch; higher is better, and 0 is the worst.
        score_parts: The dev metrics that ``select`` is the mean of, to be shown with it.
        encoder_prefix: Parameters whose name begins so learn with ``trainer.encoder_lr``, all others with
            ``trainer.head_lr``.
    """

    select: str = "score"
    score_parts: tuple[str, ...] = ()
    encoder_prefix: str = "encoder."

    def __init__(self) -> None:
        super().__init__()
        self._train_config: TrainConfig | None = None
        self._n_steps = 0
        self.group: list[tuple[PlannedBatch, Tensor]] = []
        self.dev_result: dict[str, float | None] = {}

    # What a subclass defines.

    def loss(self, batch: Any) -> dict[str, Tensor]:
        """The losses of a batch as scalars; ``loss`` is minimised, the others are only logged."""
        raise NotImplementedError

    def dev_step(self, batch: Any) -> None:
        """Predicts a dev batch and remembers what :meth:`dev_metrics` needs."""
        raise NotImplementedError

    def dev_metrics(self) -> dict[str, float | None]:
        """The metrics of the dev batches since the last call, which it forgets: shares of 1, or None (undefined)."""
        raise NotImplementedError

    def parameter_groups(self, config: TrainConfig) -> list[dict[str, Any]]:
        """Parameter groups for AdamW, each with ``name``, ``lr``, ``weight_decay`` and ``params``."""
        return split_parameters(self.named_parameters(), self.encoder_prefix, config)

    def activation_bytes(self, n: int, longest: int) -> int | None:
        """About how much memory the activations of a batch need, for the estimate before training; None if unknown."""
        return None

    def use_activation_checkpointing(self) -> None:
        """Recompute activations in the backward pass from now on."""
        raise ConfigError("this model cannot recompute activations", key="trainer.activation_checkpointing")

    # What the trainer calls.

    def check(self, config: TrainConfig) -> None:
        """Called before the run folder is touched: refuses what would fail before the first step."""
        if config.activation_checkpointing:
            self.use_activation_checkpointing()
        if not any(group["params"] for group in self.parameter_groups(config)):
            raise NlpkitError("no parameter of the model needs a gradient: there is nothing to train")

    def prepare(self, config: TrainConfig, n_steps: int) -> None:
        """Called by the trainer before training, with the optimiser steps of the whole phase."""
        self._train_config = config
        self._n_steps = n_steps

    def configure_optimizers(self) -> Any:
        """AdamW with warm-up and decay, advanced once per optimiser step."""
        config = self._config()
        optimizer, schedule = build_optimizer(self.parameter_groups(config), config, self._n_steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def transfer_batch_to_device(self, batch: PlannedBatch, device: torch.device, dataloader_idx: int) -> PlannedBatch:
        """Moves what ``collate`` made; ids and places stay."""
        return replace(batch, data=super().transfer_batch_to_device(batch.data, device, dataloader_idx))

    def training_step(self, batch: PlannedBatch, batch_idx: int) -> dict[str, Any]:
        """The loss, weighted so that each step is the mean over the batches of its own accumulation group."""
        losses = self.loss(batch.data)
        loss = losses["loss"]
        if batch.index % self._config().accumulate == 0:
            self.group.clear()
        self.group.append((batch, loss.detach()))
        # Lightning divides by the configured number of batches; the last group of an epoch may be smaller.
        if batch.group_size != self._config().accumulate:
            loss = loss * (self._config().accumulate / batch.group_size)
        return {"loss": loss, "parts": {name: value.detach() for name, value in losses.items()}}

    def validation_step(self, batch: PlannedBatch, batch_idx: int) -> None:
        """Predicts a dev batch."""
        self.dev_step(batch.data)

    def on_validation_epoch_end(self) -> None:
        """Computes the dev metrics of the epoch."""
        self.dev_result = dict(self.dev_metrics())
        if self.select not in self.dev_result:
            raise NlpkitError(
                f"the dev metric {self.select!r} chooses the best epoch, but only {sorted(self.dev_result)} exist"
            )

    def _config(self) -> TrainConfig:
        if self._train_config is None:
            raise NlpkitError("a task is trained by nlpkit.training.train, not by a Lightning Trainer of your own")
        return self._train_config
