"""Every touch of an API of transformers or tokenizers that changes between versions.

Nothing heavy is imported, and no global state is changed, until a function is called.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nlpkit.encoder.folder import portable, read_settings
from nlpkit.errors import ModelFormatError
from nlpkit.tensors import Shapes, describe_misfits, misfits, n_numbers, on_meta, read_shapes
from nlpkit.wording import counted

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

_VOCABULARIES = ("vocab*", "merges.txt", "*.model", "*.tiktoken")
_TOKENIZER_SETTINGS = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_SPARE_NUMBERS = 1 << 22
"""Numbers that a model may hold in tables that are not saved, however small its weights are."""


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


def load_backbone(settings: Mapping[str, Any], weights: Sequence[Path], *, exact: bool) -> PreTrainedModel:
    """The Hugging Face model that settings describe, in single precision, with tensors of safetensors files.

    Nothing else of the folder is looked at: no code, no adapter, no pickle. No pooling layer is made where the
    architecture can do without.

    Args:
        settings: What ``config.json`` says.
        weights: The files with the tensors.
        exact: Every tensor must be one of the model; else those of heads are left out, and a pooler may be missing.

    Raises:
        ModelFormatError: Tensors are missing, left over or of another shape; found out before memory is taken for them.
        ValueError: transformers does not know the model, or it is no encoder.
    """
    import torch
    from safetensors import safe_open
    from transformers import CONFIG_MAPPING, MODEL_MAPPING, AutoModel

    model_type = settings.get("model_type")
    if not isinstance(model_type, str) or model_type not in CONFIG_MAPPING:
        raise ValueError(f"transformers knows no model type {model_type!r}")
    found = {name: shape for file in weights for name, shape in read_shapes(file).items()}
    _check_counts(settings, len(found))
    with quiet_transformers():
        config = CONFIG_MAPPING[model_type].from_dict(_plain(settings))
        if config.is_encoder_decoder:
            raise ValueError(f"expected an encoder, found the encoder-decoder {model_type!r}")
        options: dict[str, bool] = {}
        if type(config) in MODEL_MAPPING:
            constructor = inspect.signature(MODEL_MAPPING[type(config)].__init__)
            if "add_pooling_layer" in constructor.parameters:
                options["add_pooling_layer"] = False
        plan = on_meta(lambda: AutoModel.from_config(config, trust_remote_code=False, **options), found)
        _check_sizes(plan, found)
        with ExitStack() as stack:
            files = [stack.enter_context(safe_open(file, framework="pt")) for file in weights]
            # The dtype is stated: without it the checkpoint decides, and half-precision weights do not train.
            model, report = type(plan).from_pretrained(
                None,
                config=plan.config,
                # Cloned: they are views of the file, and the model would change when the file is written over.
                state_dict={name: file.get_tensor(name).clone() for file in files for name in file.keys()},  # noqa: SIM118
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                local_files_only=True,
                **options,
            )
    _check_report(model, report, exact)
    if not options and getattr(model, "pooler", None) is not None:
        model.pooler.requires_grad_(False)  # never used, so it must not wait for a gradient
    return model


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that choose code to compute attention with, which may come from elsewhere."""
    return {
        key: _plain(value) if isinstance(value, Mapping) else value
        for key, value in settings.items()
        # nor the number of labels, for which names are made: heads are not read
        if not key.strip("_").startswith(("attn_implementation", "experts_implementation")) and key != "num_labels"
    }


def _check_counts(settings: Mapping[str, Any], n_tensors: int) -> None:
    """Some models make lists as long as they have layers before any layer is made."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            _check_counts(value, n_tensors)
        elif isinstance(value, int) and re.search("layers?$", key) and value > max(n_tensors, 100):
            raise ModelFormatError(
                f"its config.json says {key}: {value}, its weights are {counted(n_tensors, 'tensor')}"
            )


def _check_sizes(plan: PreTrainedModel, found: Shapes) -> None:
    """Stop before memory is taken for much more than the file holds."""
    needed = {name: tuple(value.shape) for name, value in plan.state_dict().items()}
    prefix = f"{plan.base_model_prefix}."
    mine = {name.removeprefix(prefix): shape for name, shape in found.items()}
    held = n_numbers(found)
    if sum(value.numel() for value in plan.buffers()) > 2 * held + _SPARE_NUMBERS:
        raise ModelFormatError("its config.json describes tables that are larger than all its weights")
    if sum(value.numel() for value in plan.parameters()) > 2 * held:
        wrong = misfits(needed, {name: shape for name, shape in mine.items() if name in needed})
        raise ModelFormatError(f"its weights are not those that its config.json describes: {wrong}")


def _check_report(model: PreTrainedModel, report: Mapping[str, Any], exact: bool) -> None:
    """Refuse weights of which something that is used was not in the files, or is not used."""
    prefix = f"{model.base_model_prefix}."
    used = {name for name, _ in model.named_children()}

    def is_mine(name: str) -> bool:
        return exact or name.removeprefix(prefix).partition(".")[0] in used - {"pooler"}

    missing = sorted(name for name in report["missing_keys"] if exact or not name.startswith("pooler."))
    left_over = sorted(filter(is_mine, report["unexpected_keys"]))
    shapes = (_other_shape(*entry) for entry in sorted(report["mismatched_keys"]) if is_mine(entry[0]))
    wrong = describe_misfits(missing, left_over, shapes)
    wrong = wrong or "; ".join(map(str, [*report["error_msgs"], *report.get("conversion_errors", ())]))
    if wrong:
        raise ModelFormatError(f"its weights are not those that its config.json describes: {wrong}")


def _other_shape(name: str, found: Sequence[int], needed: Sequence[int]) -> str:
    return f"{name} ({' x '.join(map(str, found))} in place of {' x '.join(map(str, needed))})"


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
    vocabulary = [path for pattern in _VOCABULARIES for path in folder.glob(pattern) if path.is_file()]
    if not vocabulary:
        raise ValueError("found no vocabulary")
    # A copy of what is needed: settings may name other files of this machine, and transformers would read them.
    with quiet_transformers(), TemporaryDirectory() as copy:
        for path in vocabulary:
            shutil.copyfile(path, Path(copy, path.name))
        for name in _TOKENIZER_SETTINGS:
            if (folder / name).is_file():
                settings = portable(read_settings(folder / name))
                Path(copy, name).write_text(json.dumps(settings), encoding="utf-8")
        tokenizer = AutoTokenizer.from_pretrained(copy, local_files_only=True, trust_remote_code=False)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"{type(tokenizer).__name__} has no fast version")
    return backend
