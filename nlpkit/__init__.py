"""Information extraction and dialogue models on PyTorch Lightning.

Every public name is imported when it is first used: ``import nlpkit`` costs next to nothing and loads no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlpkit.errors import ConfigError, DataError, ModelFormatError, NlpkitError, NotFittedError, Problem
    from nlpkit.model import NlpkitModel, load
    from nlpkit.registry import ModelSpec, list_models
    from nlpkit.results import EvaluationReport
    from nlpkit.training import train

    __version__: str

_HOME = {
    "ConfigError": "nlpkit.errors",
    "DataError": "nlpkit.errors",
    "EvaluationReport": "nlpkit.results",
    "ModelFormatError": "nlpkit.errors",
    "ModelSpec": "nlpkit.registry",
    "NlpkitError": "nlpkit.errors",
    "NlpkitModel": "nlpkit.model",
    "NotFittedError": "nlpkit.errors",
    "Problem": "nlpkit.errors",
    "list_models": "nlpkit.registry",
    "load": "nlpkit.model",
    "train": "nlpkit.training",
}

__all__ = [
    "ConfigError",
    "DataError",
    "EvaluationReport",
    "ModelFormatError",
    "ModelSpec",
    "NlpkitError",
    "NlpkitModel",
    "NotFittedError",
    "Problem",
    "__version__",
    "list_models",
    "load",
    "train",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = _version()
    elif name in _HOME:
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'nlpkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    # Lazy, because importlib.metadata alone costs more than everything else here.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nlpkit-torch")
    except PackageNotFoundError:
        return "0+unknown"
