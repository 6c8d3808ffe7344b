"""The labels that an extraction model knows: read from training data or from a file, never from dev or test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nlpkit.configs import nearest
from nlpkit.errors import DataError
from nlpkit.ie.types import IERecord

MAX_LABELS = 100_000
"""Most labels of a schema that is read; every one is a number for each pair of words."""

KEYS = ("entity_types", "relation_types", "event_types", "discontinuous")
_SHOWN, _SHOWN_CHARS = 10, 200
RELATION_KEYS = ("name", "symmetric", "signatures", "train_signatures")


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

    @cached_property
    def trigger_types(self) -> tuple[str, ...]:
        """Event types in a fixed order."""
        return tuple(self.event_types or ())

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """All roles, sorted."""
        return tuple(sorted({role for roles in (self.event_types or {}).values() for role in roles}))

    @cached_property
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

    def completed(self, records: Iterable[IERecord], symmetric: Iterable[str] = ()) -> IESchema:
        """These labels, with what the training records tell of them.

        A schema file need not say which types a relation joins or that arguments may have several fragments, and
        relation types may be called symmetric elsewhere, too.
        """
        found = IESchema.from_records(records)
        seen = {r.name: r.signatures for r in found.relation_types or ()}
        symmetric = frozenset(symmetric)
        relations = self.relation_types and tuple(
            replace(
                r,
                symmetric=r.symmetric or r.name in symmetric,
                signatures=seen.get(r.name) if r.signatures is None else r.signatures,
            )
            for r in self.relation_types
        )
        is_discontinuous = self.discontinuous or (found.discontinuous and bool(self.event_types))
        return replace(self, relation_types=relations, discontinuous=is_discontinuous)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IESchema:
        """The inverse of :meth:`to_dict`; the counts in ``train_signatures`` are ignored.

        Raises:
            TypeError: A value is of another form, or a key looks misspelt; the message names the key.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"expected an object, found {_found(data)}")
        _check_keys("", data, KEYS)
        relations, events = data.get("relation_types"), data.get("event_types")
        if not isinstance(relations, list | tuple | None):
            raise TypeError(f"relation_types: expected a list, found {_found(relations)}")
        if not isinstance(events, Mapping | None):
            raise TypeError(
                f"event_types: expected an object with a list of roles for each type, found {_found(events)}"
            )
        roles = [role for r in (events or {}).values() if isinstance(r, list | tuple) for role in r]
        groups = (data.get("entity_types"), relations, events, roles)
        if (n_labels := sum(len(g) for g in groups if isinstance(g, list | tuple | Mapping))) > MAX_LABELS:
            raise TypeError(f"expected at most {MAX_LABELS:,} labels, found {n_labels:,}")
        types = None if relations is None else tuple(_relation_type(r) for r in relations)
        _labels("relation_types", [r.name for r in types or ()])
        return cls(
            entity_types=None if data.get("entity_types") is None else _labels("entity_types", data["entity_types"]),
            relation_types=types,
            event_types=None if events is None else {t: _labels(f"event_types.{t}", r) for t, r in events.items()},
            discontinuous=_flag(data, "discontinuous"),
        )

    @classmethod
    def from_file(cls, path: str | Path) -> IESchema:
        """Read a schema file, the form that :meth:`to_dict` gives, as JSON.

        Raises:
            DataError: The file is no JSON object of that form, or a key of it looks misspelled.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            return cls.from_dict(json.loads(text, object_pairs_hook=_object))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
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
    if isinstance(data, Mapping):
        name = data.get("name")
        _check_keys(f"relation_types: {name}: " if isinstance(name, str) else "relation_types: ", data, RELATION_KEYS)
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str) or not data["name"].strip():
        raise TypeError(f"relation_types: expected names, or objects with a 'name', found {_found(data)}")
    pairs = data.get("signatures", data.get("train_signatures"))
    return RelationType(
        name=data["name"],
        symmetric=_flag(data, "symmetric", f"relation_types: {data['name']}: "),
        signatures=None if pairs is None else tuple(_signature(data["name"], pair) for pair in pairs),
    )


def _signature(relation: str, pair: object) -> tuple[str, str]:
    if not isinstance(pair, list | tuple) or len(pair) < 2 or not all(isinstance(name, str) for name in pair[:2]):
        raise TypeError(f"relation_types: {relation}: expected pairs of head type and tail type, found {_found(pair)}")
    return pair[0], pair[1]


def _labels(place: str, names: object) -> tuple[str, ...]:
    """Different names; a single text is no list of its letters."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name.strip() for name in names):
        raise TypeError(f"{place}: expected a list of names, found {_found(names)}")
    if twice := sorted(name for name, n in Counter(names).items() if n > 1):
        more = f" and {len(twice) - _SHOWN:,} more" if len(twice) > _SHOWN else ""
        raise TypeError(f"{place}: {', '.join(twice[:_SHOWN])}{more} given twice")
    return tuple(names)


def _check_keys(place: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a key that looks like a known one; any other may be a remark."""
    for key in data:
        near = [] if key in known else nearest(str(key), known, n=1)
        if near:
            raise TypeError(f"{place}unknown key {key!r}, did you mean {near[0]!r}?")


def _flag(data: Mapping[str, Any], key: str, place: str = "") -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise TypeError(f"{place}{key}: expected true or false, found {_found(value)}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a file, in which no key may stand twice: one of the two would be lost."""
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise TypeError(f"the key {_found(key)} is there twice in one object")
        data[key] = value
    return data


def _found(value: object) -> str:
    """A value in a message, of which there is one line."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
