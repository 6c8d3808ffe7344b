"""What ``predict``, ``evaluate`` and ``show`` know of a model: its folder, without torch, and what it can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from nlpkit.errors import ConfigError, ModelFormatError
from nlpkit.folder import read_manifest, read_whole
from nlpkit.model import find_model
from nlpkit.registry import ModelSpec, get_spec
from nlpkit.threads import limit_threads

if TYPE_CHECKING:
    from nlpkit.results import EvaluationReport


class Model(Protocol):
    """The part of every model that the command line uses."""

    def predict(self, inputs: Iterable[object], **settings: object) -> Iterator[object]:
        """Results in the order of the inputs."""
        ...

    def evaluate(self, data: str, **settings: object) -> EvaluationReport:
        """Scores on a file; ``on_record`` among the settings is called after each record."""
        ...


def load(folder: Path, device: str, precision: str, threads: int | None) -> Model:
    """Load the model; torch begins here."""
    import nlpkit

    if threads is not None:
        limit_threads(threads)
    return cast(Model, nlpkit.load(folder, device=device, precision=precision))


def open_folder(name: str) -> tuple[Path, Mapping[str, object], ModelSpec]:
    """The folder, its manifest, and the row of its model in the registry.

    Args:
        name: A model folder, a run folder, or the name of a model whose weights are in place.

    Raises:
        ModelFormatError: It is no model folder, or one of a model that is not installed.
    """
    folder = find_model(name)
    manifest = read_whole(
        lambda: folder, lambda place: read_manifest(place, verify=False)
    )  # loading compares checksums
    try:
        spec = get_spec(str(manifest.get("model")))
    except ConfigError as error:
        raise ModelFormatError(f"{name}: {error}; the package that brings this model may be missing") from error
    return folder, manifest, spec
