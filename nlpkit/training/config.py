"""Settings of the common trainer; plain data, no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from nlpkit.configs import Config
from nlpkit.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How a model is trained; the same for every model."""

    section = "trainer"

    epochs: int = 20
    """Passes over the training data."""

    batch_size: int = 8
    """Most records in a batch."""

    budget: int = 65536
    """Most padded cost of a batch, in the model's own unit (UTC-IE: word pairs, that is records x words x words)."""

    accumulate: int = 1
    """Batches per optimiser step."""

    encoder_lr: float = 2e-4
    """Peak learning rate of the encoder."""

    head_lr: float = 1e-3
    """Peak learning rate of everything else."""

    weight_decay: float = 0.01
    """AdamW weight decay; none for biases and norms."""

    warmup: float = 0.1
    """Share of the steps over which the learning rate rises; it then falls linearly to 0."""

    clip: float = 1.0
    """Largest gradient norm; 0 switches clipping off."""

    patience: int = 0
    """Stop after this many epochs without a better dev score; 0 trains all epochs."""

    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """``auto`` is bf16 on a GPU that has it, else fp32."""

    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to train."""

    activation_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, more time."""

    checkpoint_steps: int = 500
    """Write a checkpoint to resume from every so many optimiser steps, besides the end of each epoch; 0: only there."""

    dev_share: float = 0.1
    """Share of the training records held out as dev when no dev file is given."""

    def check(self) -> None:
        """Ranges."""
        for key in ("epochs", "batch_size", "budget", "accumulate"):
            if getattr(self, key) < 1:
                raise ConfigError(f"expected at least 1, got {getattr(self, key)}", key=f"trainer.{key}")
        for key in ("encoder_lr", "head_lr", "weight_decay", "clip", "patience", "checkpoint_steps"):
            if not 0 <= getattr(self, key) < math.inf:
                raise ConfigError(f"expected 0 or more, and finite, got {getattr(self, key)}", key=f"trainer.{key}")
        for key in ("warmup", "dev_share"):
            if not 0 <= getattr(self, key) < 1:
                raise ConfigError(f"expected a share from 0 to below 1, got {getattr(self, key)}", key=f"trainer.{key}")
