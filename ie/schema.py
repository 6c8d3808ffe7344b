"""The labels that an extraction model knows: read from training data or from a file, never from dev or test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlpkit.errors import DataError
from nlpkit.ie.types import IERecord


@dataclass(frozen=True, kw_only=True)
class RelationType:
    """A relation label.

    Attributes:
        name: The label.
        symmetric: Head and tail may be swapped.
        signatures: Allowed (head type, tail type) pairs, or None when not known.
    """

    name: str
    symmetric: bool = False
    signatures: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class IESchema:
    """Entity types, relation types, and event types with their roles.

    A group that is None is not modelled at all; an empty group is modelled and has no label.
    ``discontinuous`` says whether arguments may have several fragments.
    """

    entity_types: tuple[str, ...] | None = None
    relation_types: tuple[RelationType, ...] | None = None
    event_types: Mapping[str, tuple[str, ...]] | None = None
    discontinuous: bool = field(default=False)

    @property
    def trigger_types(self) -> tuple[str, ...]:
        """Event types in a fixed order."""
        return tuple(self.event_types or ())

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, sorted."""
        return tuple(sorted({role for roles in (self.event_types or {}).values() for role in roles}))

    @property
    def symmetric(self) -> frozenset[str]:
        """Names of the symmetric relation types."""
        return frozenset(r.name for r in self.relation_types or () if r.symmetric)

    @classmethod
    def from_records(cls, records: Iterable[IERecord], symmetric: Iterable[str] = ()) -> IESchema:
        """Collect the labels of training records.

        >>> from nlpkit.ie.types import Entity
        >>> IESchema.from_records([IERecord(tokens=("Bo",), entities=(Entity(start=0, end=1, type="P"),))]).entity_types
        ('P',)
        """
        entity_types: set[str] = set()
        signatures: dict[str, set[tuple[str, str]]] = {}
        event_types: dict[str, set[str]] = {}
        has = {"entities": False, "relations": False, "events": False}
        discontinuous = False
        for record in records:
            for group in has:
                has[group] |= getattr(record, group) is not None
            entities = record.entities or ()
            entity_types.update(e.type for e in entities)
            for r in record.relations or ():
                signatures.setdefault(r.type, set()).add((entities[r.head].type, entities[r.tail].type))
            for event in record.events or ():
                roles = event_types.setdefault(event.trigger.type, set())
                roles.update(a.role for a in event.arguments)
                discontinuous |= any(a.group is not None for a in event.arguments)
        symmetric = frozenset(symmetric)
        relation_types = tuple(
            RelationType(name=name, symmetric=name in symmetric, signatures=tuple(sorted(pairs)))
            for name, pairs in sorted(signatures.items())
        )
        return cls(
            entity_types=tuple(sorted(entity_types)) if has["entities"] else None,
            relation_types=relation_types if has["relations"] else None,
            event_types={t: tuple(sorted(r)) for t, r in sorted(event_types.items())} if has["events"] else None,
            discontinuous=discontinuous,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IESchema:
        """The inverse of :meth:`to_dict`; the counts in ``train_signatures`` are ignored."""
        relations = data.get("relation_types")
        events = data.get("event_types")
        entities = data.get("entity_types")
        return cls(
            entity_types=None if entities is None else tuple(entities),
            relation_types=None if relations is None else tuple(_relation_type(r) for r in relations),
            event_types=None if events is None else {t: tuple(r) for t, r in events.items()},
            discontinuous=bool(data.get("discontinuous", False)),
        )

    @classmethod
    def from_file(cls, path: str | Path) -> IESchema:
        """Read a schema file, the form that :meth:`to_dict` gives, as JSON.

        Raises:
            DataError: The file is no JSON object of that form.
        """
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(
                f"{path}: not a label schema ({error}); expected a JSON object with the keys "
                "entity_types, relation_types, event_types"
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a group that is not modelled is left out."""
        out: dict[str, Any] = {}
        if self.entity_types is not None:
            out["entity_types"] = list(self.entity_types)
        if self.relation_types is not None:
            out["relation_types"] = [
                {"name": r.name, "symmetric": r.symmetric}
                | ({} if r.signatures is None else {"signatures": [list(s) for s in r.signatures]})
                for r in self.relation_types
            ]
        if self.event_types is not None:
            out["event_types"] = {t: list(r) for t, r in self.event_types.items()}
        if self.discontinuous:
            out["discontinuous"] = True
        return out


def _relation_type(data: Mapping[str, Any] | str) -> RelationType:
    if isinstance(data, str):
        return RelationType(name=data)
    pairs = data.get("signatures", data.get("train_signatures"))
    signatures = None if pairs is None else tuple((p[0], p[1]) for p in pairs)
    return RelationType(name=data["name"], symmetric=bool(data.get("symmetric", False)), signatures=signatures)
