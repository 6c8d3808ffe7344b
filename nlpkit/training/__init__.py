"""The common trainer: one loop for every model. Names are loaded on first use: importing this loads no torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlpkit.training.config import TrainConfig
    from nlpkit.training.phase import Phase, PhaseData
    from nlpkit.training.state import TrainSummary
    from nlpkit.training.task import TrainTask
    from nlpkit.training.trainer import train

_HOMES = {
    "Phase": "phase",
    "PhaseData": "phase",
    "TrainConfig": "config",
    "TrainSummary": "state",
    "TrainTask": "task",
    "train": "trainer",
}

__all__ = ["Phase", "PhaseData", "TrainConfig", "TrainSummary", "TrainTask", "train"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"nlpkit.training.{_HOMES[name]}"), name)
