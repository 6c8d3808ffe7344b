"""Training and dev records with their labels and their provenance; the same for every extraction model."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from nlpkit.errors import ConfigError, DataError
from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.hold_out import hold_out, text_key
from nlpkit.ie.oddities import training_notes
from nlpkit.ie.reader import read_records, records_from
from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import IERecord
from nlpkit.ie.words import Misaligned
from nlpkit.text.offsets import OffsetUnit
from nlpkit.text.words import DEFAULT_BORDERS
from nlpkit.wording import counted, plural, setting

Records = str | Path | Sequence[str | Path] | Iterable[IERecord | Mapping[str, Any]]
"""A file, several files, or records made in Python."""


@dataclass(frozen=True)
class TrainingData:
    """What a model is fitted on.

    Attributes:
        train: Training records.
        dev: Records that pick the best epoch; empty if there is none.
        schema: The labels, from the training records or given; never from dev.
        notes: What the user should know: how dev was made, leaks, labels left out.
        sources: File name, hash, number of records and licence of each training file.
        word_borders: Kinds of borders inside words: the default ones, and those that training spans need.
    """

    train: list[IERecord]
    dev: list[IERecord]
    schema: IESchema
    notes: tuple[str, ...]
    sources: tuple[dict[str, Any], ...]
    word_borders: tuple[str, ...] = DEFAULT_BORDERS

    def identity(self) -> dict[str, Any]:
        """What a run that is taken up again has to find unchanged: labels, borders, and hashes of all annotations."""
        return {
            "labels": self.schema.to_dict(),
            "word_borders": list(self.word_borders),
            "train": _hash(self.train),
            "dev": _hash(self.dev),
        }


def load_training_data(
    train: Records,
    dev: Records | None,
    *,
    schema: IESchema | str | Path | None = None,
    symmetric: Sequence[str] = (),
    misaligned: Misaligned = "error",
    offset_unit: OffsetUnit = "codepoint",
    limit: int | None = None,
    dev_share: float = 0.1,
    seed: int = 1,
    licence: str | None = None,
) -> TrainingData:
    """Read, check and split.

    Args:
        train: Training records.
        dev: Dev records; None holds out about a share of the training records, see :mod:`nlpkit.ie.hold_out`.
        schema: Labels to model; None takes those of the training records.
        symmetric: Names of relation types without direction.
        misaligned: What happens to a span that cuts a word.
        offset_unit: What the positions in a text count.
        limit: Use only the first training records.
        dev_share: The share that is held out.
        seed: Rules which records are held out.
        licence: The licence of the training data, for its provenance.

    Raises:
        ConfigError: ``limit`` is below 1.
        DataError: All problems of the training data and of the dev data, or nothing to learn in them.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"expected at least 1, got {limit}", key="limit")
    problems: list[Any] = []
    train_records = _read(train, misaligned, offset_unit, problems, limit)
    dev_records = [] if dev is None else _read(dev, misaligned, offset_unit, problems, None)
    if errors := [p for p in problems if p.severity == "error"]:
        raise DataError(errors)
    notes = training_notes(train_records, dev_records)
    if not train_records:
        raise DataError(f"{describe(train)}: there is no record in it; give a file with one record a line")
    needs = BorderNeeds()
    for record in train_records:
        needs.add(record)
    notes += [f"words also part at borders of the kind {need}" for need in needs.described()]
    sources = tuple({**source, "licence": licence} for source in _sources(train, train_records))
    if dev is None and dev_share:
        held_out = hold_out(train_records, dev_share, seed)
        train_records, dev_records = held_out.train, held_out.dev
        notes += held_out.notes
    elif dev is not None and not dev_records:
        raise DataError(
            f"{describe(dev)}: there is no dev record in it; leave {setting('dev')} out to hold out training records"
        )
    if dev_records:
        notes += _leaks(train_records, dev_records)
    if isinstance(schema, (str, Path)):
        schema = IESchema.from_file(schema)
    if schema is None:
        labels = IESchema.from_records(train_records, symmetric)
    else:
        labels = schema.completed(train_records, symmetric)
    if not (labels.entity_types or labels.event_types):
        raise DataError(
            f"{describe(train)}: no record has an entity or an event; nothing can be learned. "
            f"Annotate some, or name the labels with {setting('schema')}"
        )
    if labels.relation_types and not labels.entity_types:
        raise DataError(
            f"the schema has relation types ({', '.join(_relation_names(labels) or ())}) but no entity types for them "
            "to link; add 'entity_types'"
        )
    notes += _unknown_symmetric(labels, symmetric)
    notes += [
        f"warning: {what} in the training data that are not in the schema are not learned: {', '.join(names)}"
        for what, names in _unknown_labels(train_records, labels)
    ]
    where = "dev data" if dev is not None else "held-out records"
    notes += [
        f"warning: {what} in the {where} that are not known from training can only be missed: {', '.join(names)}"
        for what, names in _unknown_labels(dev_records, labels, is_scored=True)
    ]
    return TrainingData(train_records, dev_records, labels, tuple(notes), sources, needs.borders)


def read_or_check(
    data: Records, *, misaligned: Misaligned = "error", offset_unit: OffsetUnit = "codepoint"
) -> Iterable[IERecord]:
    """Records of files, or made in Python, checked.

    Raises:
        DataError: After the last record, all errors.
    """
    if paths := _paths(data):
        return read_records(paths, misaligned=misaligned, offset_unit=offset_unit)
    return records_from(data, misaligned=misaligned, offset_unit=offset_unit)  # type: ignore[arg-type]


def describe(data: Records) -> str:
    """File names, or that the records were made in Python."""
    return ", ".join(str(path) for path in _paths(data)) or "<records>"


def _paths(data: Records) -> list[str | Path]:
    if isinstance(data, (str, Path)):
        return [data]
    if isinstance(data, Sequence) and data and all(isinstance(item, (str, Path)) for item in data):
        return list(data)  # type: ignore[arg-type]
    return []


def _read(
    data: Records, misaligned: Misaligned, offset_unit: OffsetUnit, problems: list[Any], limit: int | None
) -> list[IERecord]:
    how: dict[str, Any] = {"misaligned": misaligned, "offset_unit": offset_unit, "collect": problems}
    if paths := _paths(data):
        return list(read_records(paths, limit=limit, **how))
    return list(islice(records_from(data, **how), limit))  # type: ignore[arg-type]


def _leaks(train: Sequence[IERecord], dev: Sequence[IERecord]) -> list[str]:
    known = {text_key(record) for record in train}
    n_shared = sum(text_key(record) in known for record in dev)
    if n_shared == len(dev):
        return ["warning: every dev text is also a training text; dev scores say nothing about new texts"]
    if n_shared:
        are = plural(n_shared, "is a training text", "are training texts")
        return [f"warning: {n_shared:,} of {counted(len(dev), 'dev text')} {are} too; dev scores are too good"]
    return []


def _unknown_symmetric(schema: IESchema, symmetric: Sequence[str]) -> list[str]:
    known = _relation_names(schema) or ()
    return [
        f"warning: data.symmetric names {name!r}, which is no relation type" for name in symmetric if name not in known
    ]


def _unknown_labels(
    records: Sequence[IERecord], schema: IESchema, *, is_scored: bool = False
) -> list[tuple[str, list[str]]]:
    """Kinds of labels, each with the names in the records that the schema does not have.

    With ``is_scored`` without the kinds that the schema does not model at all: they are not scored either.
    """
    found = IESchema.from_records(records)
    kinds = (
        ("entity types", found.entity_types, schema.entity_types),
        ("relation types", _relation_names(found), _relation_names(schema)),
        ("event types", found.event_types, schema.event_types),
        ("roles", found.roles, schema.event_types and schema.roles),
    )
    return [
        (what, unknown)
        for what, have, known in kinds
        if not (is_scored and known is None) and (unknown := sorted({*(have or ())} - {*(known or ())}))
    ]


def _relation_names(schema: IESchema) -> list[str] | None:
    return None if schema.relation_types is None else [relation.name for relation in schema.relation_types]


def _sources(data: Records, records: Sequence[IERecord]) -> list[dict[str, Any]]:
    """Where the training records come from; the hash is of the file, or of the records if no file can be reread."""
    paths = _paths(data)
    if not paths:
        return [{"file": None, "sha256": _hash(records), "records": len(records)}]
    n_records = Counter(record.source.file for record in records if record.source)
    sources = []
    for path in map(Path, paths):
        if path.is_file():
            with path.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
        else:  # a pipe is empty by now
            digest = _hash([record for record in records if record.source and record.source.file == str(path)])
        sources.append({"file": path.name, "sha256": digest, "records": n_records[str(path)]})
    return sources


def _hash(records: Iterable[IERecord]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(json.dumps(record.to_dict(), sort_keys=True).encode("ascii") + b"\n")
    return digest.hexdigest()
