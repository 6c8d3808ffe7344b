"""Where Lightning's Trainer is built, and kept quiet."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities.warnings import PossibleUserWarning
from pytorch_lightning.plugins.environments import LightningEnvironment

from nlpkit.errors import ConfigError
from nlpkit.training.checkpoint import FileCheckpointIO
from nlpkit.training.config import TrainConfig

_LOGGERS = ("pytorch_lightning", "lightning_fabric", "lightning", "lightning.pytorch", "lightning.fabric")


def choose_device(config: TrainConfig) -> tuple[str, str]:
    """The accelerator (``cpu`` or ``cuda``) and the precision (``fp32`` or ``bf16``) of a run on this machine."""
    has_gpu = torch.cuda.is_available()
    if config.device == "gpu" and not has_gpu:
        raise ConfigError("no GPU can be used here; set it to cpu or auto", key="trainer.device")
    accelerator = "cuda" if has_gpu and config.device != "cpu" else "cpu"
    if config.precision != "auto":
        return accelerator, config.precision
    # Emulated bf16 is slower than fp32.
    has_bf16 = accelerator == "cuda" and torch.cuda.get_device_capability() >= (8, 0)
    return accelerator, "bf16" if has_bf16 else "fp32"


def build_trainer(config: TrainConfig, callback: pl.Callback, accelerator: str, precision: str, has_dev: bool) -> Any:
    """A Lightning Trainer that writes and prints nothing of its own."""
    return pl.Trainer(
        accelerator=accelerator,
        devices=1,
        precision="bf16-mixed" if precision == "bf16" else "32-true",
        max_epochs=config.epochs,
        accumulate_grad_batches=config.accumulate,
        reload_dataloaders_every_n_epochs=1,
        limit_val_batches=None if has_dev else 0,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        callbacks=[callback],
        # A single process, whatever batch system it was started by.
        plugins=[LightningEnvironment(), FileCheckpointIO()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silences banners, tips and hints about loaders while it is entered; warnings of anyone else are shown."""
    levels = {name: logging.getLogger(name).level for name in _LOGGERS}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PossibleUserWarning)
        warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning_fabric)(\..*)?$")
        try:
            for name in _LOGGERS:
                logging.getLogger(name).setLevel(logging.ERROR)
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
