"""Every touch of an API of transformers or tokenizers that changes between versions.

Nothing heavy is imported, and no global state is changed, until a function is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

_VOCABULARIES = ("vocab*", "merges.txt", "*.model", "*.tiktoken")


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hold back the log lines and progress bars of transformers, and restore its settings afterwards."""
    from transformers.utils import logging

    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()


def load_backbone(folder: Path) -> PreTrainedModel:
    """The Hugging Face model in a folder, in single precision, without a pooling layer, from disk only."""
    import torch
    from transformers import MODEL_MAPPING, AutoConfig, AutoModel

    with quiet_transformers():
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        kwargs: dict[str, bool] = {}
        if type(config) in MODEL_MAPPING:
            constructor = inspect.signature(MODEL_MAPPING[type(config)].__init__)
            if "add_pooling_layer" in constructor.parameters:
                kwargs["add_pooling_layer"] = False
        # The dtype is stated: without it the checkpoint decides, and half-precision weights do not train.
        model = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32, local_files_only=True, **kwargs)
    if not kwargs and getattr(model, "pooler", None) is not None:
        model.pooler.requires_grad_(False)  # never used, so it must not wait for a gradient
    return model


def save_backbone(model: PreTrainedModel, folder: Path) -> None:
    """Write config and safetensors weights; no path of the machine it came from is kept."""
    model.config._name_or_path = ""
    with quiet_transformers():
        model.save_pretrained(folder)


def checkpoint_activations(model: PreTrainedModel) -> None:
    """Recompute activations in the backward pass, where the architecture can."""
    if model.supports_gradient_checkpointing:
        name = "activation_checkpointing_enable"
        enable = getattr(model, name, None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def load_fast_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder: ``tokenizer.json`` as it is, or what transformers converts to one."""
    from tokenizers import Tokenizer

    if (folder / "tokenizer.json").is_file():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    from transformers import AutoTokenizer

    # Without a vocabulary transformers 5 makes up a tokenizer that knows no words.
    if not any(path for pattern in _VOCABULARIES for path in folder.glob(pattern)):
        raise ValueError("found no vocabulary")
    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"{type(tokenizer).__name__} has no fast version")
    return backend
