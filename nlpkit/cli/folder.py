"""What ``predict``, ``evaluate`` and ``show`` know of a model folder before the model is loaded; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nlpkit.errors import ConfigError, ModelFormatError
from nlpkit.registry import ModelSpec, get_spec


def open_folder(name: str) -> tuple[Path, Mapping[str, object], ModelSpec]:
    """The folder, its manifest, and the row of its model in the registry.

    Raises:
        ModelFormatError: It is no model folder, or one of a model that is not installed.
    """
    from nlpkit.folder import read_manifest, resolve_model_folder

    folder = resolve_model_folder(name)
    manifest = read_manifest(folder)
    try:
        spec = get_spec(str(manifest.get("model")))
    except ConfigError as error:
        raise ModelFormatError(f"{name}: {error}; the package that brings this model may be missing") from error
    return folder, manifest, spec
