"""Settings of the common trainer; plain data, no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from nlpkit.configs import Config
from nlpkit.errors import ConfigError

FREE_SETTINGS = ("epochs", "patience", "device", "checkpoint_steps", "activation_checkpointing")
"""Settings that may be others when a run is taken up again (epochs: more): they do not make its steps."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How a model is trained; the same for every model."""

    section = "trainer"

    epochs: int = 20
    """Passes over the training data: more for a few hundred records, fewer for tens of thousands."""

    batch_size: int = 8
    """Most records in a batch: fewer if memory runs out."""

    budget: int = 65536
    """Most padded cost of a batch, in the model's own unit (UTC-IE: word pairs, that is records x words x words): lower
    if memory runs out."""

    accumulate: int = 1
    """Batches per optimiser step: raise it as far as batch_size is lowered."""

    encoder_lr: float = 2e-4
    """Peak learning rate of the encoder: lower, such as 2e-5, for a larger encoder than MiniLM or if the loss jumps."""

    head_lr: float = 1e-3
    """Peak learning rate of everything else: lower if the loss rises."""

    weight_decay: float = 0.01
    """AdamW weight decay, none for biases and norms: higher if dev scores fall while the loss still falls."""

    warmup: float = 0.1
    """Share of the steps over which the learning rate rises, to fall linearly to 0 then: higher if the loss is unstable
    at the beginning."""

    clip: float = 1.0
    """Largest gradient norm: lower if the loss jumps; 0 switches clipping off."""

    patience: int = 0
    """Stop after so many epochs without a better dev score: 3 to 5 to save time; 0: never."""

    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """``auto``: bf16 on a GPU; fp32 if the loss gets nan."""

    device: Literal["auto", "cpu", "gpu"] = "auto"
    """``auto``: a GPU if any; cpu to leave it to others."""

    activation_checkpointing: bool = False
    """Recompute activations in the backward pass, for less memory and more time: true if memory runs out."""

    checkpoint_steps: int = 500
    """Write a checkpoint to resume from every so many optimiser steps, besides the end of each epoch (0: only there):
    fewer steps if a run may be stopped at any time."""

    dev_share: float = 0.1
    """Share of the training records held out as dev when no dev file is given: more if there are only some hundred."""

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
