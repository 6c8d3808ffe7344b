"""What every model can do: predict over any stream, be saved as a folder, and be loaded again."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

from nlpkit.errors import ConfigError, ModelFormatError, NotFittedError
from nlpkit.results import percent
from nlpkit.wording import counted, did_you_mean

if TYPE_CHECKING:
    import torch

    from nlpkit.data.stream import Flush
    from nlpkit.results import EvaluationReport

LOOKAHEAD = 256
"""Inputs that ``predict`` holds at once, to sort them by length; fewer when a stream has nothing more to give."""

_MISFITS = (ConfigError, KeyError, TypeError, ValueError, AttributeError, RuntimeError)
"""What a model raises that is built from parts or entries that do not fit; beside it the error of safetensors."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class NlpkitModel(ABC):
    """Base class of the public classes, such as :class:`nlpkit.ie.UTCIE`.

    A subclass names itself, says what its manifest and its weights are, and defines :meth:`predict`, and ``fit`` and
    ``evaluate`` where it has them.
    """

    name: ClassVar[str]
    precision: str = "fp32"
    """Numbers in which the network computes when it predicts: ``fp32`` or ``bf16``."""

    parts: ClassVar[Mapping[str, str]]
    """What a saved model has beside its manifest: the name of each part, and its file or folder."""

    @property
    @abstractmethod
    def is_fitted(self) -> bool:
        """Whether the model was trained or loaded."""

    @abstractmethod
    def predict(self, inputs: Any, *args: Any, **options: Any) -> Any:
        """Answer one input, or an iterable of inputs by an iterator of results in the same order."""

    def evaluate(self, data: Any, *args: Any, **options: Any) -> EvaluationReport:
        """Score the model on annotated data; the option ``on_record`` is called after each record."""
        raise ConfigError(f"a {self.name} model cannot be evaluated")

    @abstractmethod
    def _manifest(self) -> dict[str, Any]:
        """What the model needs beside its weights, as plain JSON values: config, labels, thresholds, dev scores."""

    @abstractmethod
    def _write_parts(self, folder: Path) -> None:
        """Write exactly the :attr:`parts` into ``folder``."""

    @classmethod
    @abstractmethod
    def _from_parts(cls, manifest: Mapping[str, Any], parts: Mapping[str, Path], device: torch.device) -> NlpkitModel:
        """Build the model from a checked folder."""

    def _facts(self) -> list[str]:
        """What ``repr`` says beside what the manifest holds, such as the device of a fitted model."""
        return []

    def __repr__(self) -> str:
        """Name, labels and dev scores."""
        if not self.is_fitted:
            return f"<{type(self).__name__} ({self.name}): not fitted>"
        manifest = self._manifest()
        lines = [", ".join([f"<{type(self).__name__} ({self.name}): fitted", *self._facts()])]
        lines += _label_counts(manifest.get("schema"))
        if dev := manifest.get("dev"):
            lines.append(f"dev scores in percent: {', '.join(f'{name} {percent(dev[name])}' for name in dev)}")
        return "\n  ".join(lines) + ">"

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder that :func:`nlpkit.load` reads.

        A kill or a full disk leaves the old model or the new one.

        Raises:
            NotFittedError: There is nothing to save yet.
            ConfigError: The folder holds something else than a model.
            NlpkitError: The disk is full, or may not be written.
        """
        from nlpkit.saving import write_model_folder

        self._require_fitted("save")
        manifest = {"model": self.name, **self._manifest(), "versions": library_versions(), "parts": dict(self.parts)}
        write_model_folder(folder, manifest, self._write_parts)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto", precision: str = "fp32") -> Self:
        """Like :func:`nlpkit.load`, for a model of this class."""
        model = load(folder, device=device, precision=precision)
        if not isinstance(model, cls):
            raise ModelFormatError(f"{folder}: holds a {model.name} model, not a {cls.name} model")
        return model

    def _require_fitted(self, what: str) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"cannot {what}: train the model with fit(), or load one with nlpkit.load(folder)")

    def _stream(
        self, items: Iterable[Item | Literal[Flush.FLUSH]], answer: Callable[[list[Item]], list[Result]]
    ) -> Iterator[Result]:
        """Answer a stream chunk by chunk, in order and in constant memory; its error comes after the answers before."""
        from nlpkit.data.stream import lookahead

        for chunk in lookahead(items, LOOKAHEAD):
            yield from answer(chunk)


def _label_counts(schema: object, shown: int = 4) -> Iterator[str]:
    """For each kind of label how many there are, and the first ones."""
    for kind, labels in schema.items() if isinstance(schema, Mapping) else ():
        if isinstance(labels, Mapping | list):
            names = [str(label["name"]) if isinstance(label, Mapping) else str(label) for label in labels]
            listed = ", ".join([*names[:shown], *(["..."] if len(names) > shown else [])])
            what = counted(len(names), kind.replace("_", " ").removesuffix("s"))
            yield f"{what}: {listed}" if names else what


def load(name_or_folder: str | Path, device: str = "auto", precision: str = "fp32") -> NlpkitModel:
    """Load a saved model: a model folder, or a run folder (then its best model).

    Args:
        name_or_folder: The folder.
        device: ``auto`` (a GPU if there is one), ``cpu`` or ``gpu``.
        precision: ``fp32``, or ``bf16``: faster where the processor has it, with scores that differ in the third digit.

    Raises:
        ConfigError: The name is no path, or there is no such device.
        ModelFormatError: The folder is no model, was damaged, or is of a newer version.
    """
    from nlpkit.folder import read_whole

    if precision not in ("fp32", "bf16"):
        hint = did_you_mean(precision, ("fp32", "bf16"))
        raise ConfigError(f"expected fp32 or bf16, got {precision!r}{hint}", key="precision")
    chosen = choose_device(device)
    model = read_whole(lambda: find_model(name_or_folder), lambda folder: _load(folder, chosen))
    model.precision = precision
    return model


def _load(folder: Path, device: torch.device) -> NlpkitModel:
    from nlpkit.folder import read_manifest
    from nlpkit.registry import get_spec

    manifest = read_manifest(folder)
    try:
        api = get_spec(str(manifest.get("model"))).resolve("api")
    except ConfigError as error:
        raise ModelFormatError(f"{folder}: {error}") from error
    parts = {part: folder / place for part, place in manifest["parts"].items()}
    try:
        model: NlpkitModel = api._from_parts(manifest, parts, device)  # type: ignore[attr-defined]
    except Exception as error:
        if not isinstance(error, _MISFITS) and type(error).__name__ != "SafetensorError":
            raise
        what = f"the entry {error} is missing" if isinstance(error, KeyError) else error
        raise ModelFormatError(
            f"{folder / 'nlpkit.json'}: {what}; the model was written by another version, or changed by hand"
        ) from error
    return model


def find_model(name: str | Path) -> Path:
    """The folder of a model: a model folder, the best model of a run folder, or a zoo name whose weights are in place.

    Raises:
        ModelFormatError: There is no model, or none with weights.
    """
    from nlpkit.folder import resolve_model_folder
    from nlpkit.registry import BUILT_IN

    if not isinstance(name, str) or name not in BUILT_IN or Path(name).exists():
        return resolve_model_folder(name)
    spec = BUILT_IN[name]
    if spec.weights is None:
        raise ModelFormatError(
            f"the model {spec.name!r} comes without weights; train it: nlpkit fit {spec.name} --help"
        )
    if spec.api is None:
        raise ModelFormatError(
            f"{spec.name!r} is a text encoder, which reads text for other models; name the folder of a trained model"
        )
    weights = cast("Callable[[str], Path]", spec.resolve("weights"))
    return Path(weights(spec.name))


def choose_device(name: str) -> torch.device:
    """The device for ``auto``, ``cpu`` or ``gpu``."""
    import torch

    if name not in ("auto", "cpu", "gpu"):
        hint = did_you_mean(name, ("auto", "cpu", "gpu"))
        raise ConfigError(f"expected auto, cpu or gpu, got {name!r}{hint}", key="device")
    has_gpu = torch.cuda.is_available()
    if name == "gpu" and not has_gpu:
        raise ConfigError("no GPU can be used here; take auto or cpu", key="device")
    return torch.device("cuda" if has_gpu and name != "cpu" else "cpu")


def library_versions() -> dict[str, str]:
    """Versions of what a saved model depends on."""
    from importlib.metadata import version

    import nlpkit

    installed = {name: version(name) for name in ("torch", "transformers", "tokenizers", "safetensors")}
    return {"nlpkit": nlpkit.__version__, **installed, "python": platform.python_version()}
