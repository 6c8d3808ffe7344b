"""What goes into an extraction model and what comes out: records, results and their JSON form.

Positions are *words* in a record with ``tokens`` and *code points* of the very text in a record with ``text``; ``end``
is exclusive. A group that is None was not annotated, an empty tuple means that there is nothing to annotate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nlpkit.data.lines import Source
from nlpkit.errors import DataError
from nlpkit.wording import counted

__all__ = [
    "Argument",
    "Entity",
    "Event",
    "IERecord",
    "IEResult",
    "InputInfo",
    "Relation",
    "Source",
    "Trigger",
]


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A typed span. ``score`` is a probability; ``text`` is the surface text, filled in results."""

    start: int
    end: int
    type: str
    score: float | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A typed, directed link; ``head`` and ``tail`` are positions in the record's own ``entities``."""

    head: int
    tail: int
    type: str
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """The span that evokes an event; ``type`` is the event type."""

    start: int
    end: int
    type: str
    score: float | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Argument:
    """A span with a role in an event; fragments of one discontinuous argument share ``group`` within the event."""

    start: int
    end: int
    role: str
    group: int | None = None
    score: float | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """A trigger and its arguments."""

    trigger: Trigger
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True, kw_only=True)
class IERecord:
    """One annotated or plain text.

    Exactly one of ``text`` and ``tokens`` is set. ``id`` is any JSON value. ``extra`` holds unknown keys, which travel
    through untouched. ``source`` is where the record was read; a result made of it says so, too.
    """

    id: Any = None
    text: str | None = None
    tokens: tuple[str, ...] | None = None
    entities: tuple[Entity, ...] | None = None
    relations: tuple[Relation, ...] | None = None
    events: tuple[Event, ...] | None = None
    doc_id: str | int | float | None = None
    sent_index: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = field(default=None, compare=False)

    def surface(self, start: int, end: int) -> str:
        """The text of a span: a slice of the text, or the words with blanks between them.

        >>> IERecord(tokens=("Bo", "met")).surface(0, 2)
        'Bo met'
        """
        return self.text[start:end] if self.text is not None else " ".join((self.tokens or ())[start:end])

    def head_of(self, relation: Relation) -> Entity:
        """The entity that a relation of this record goes out from.

        >>> bo, al = Entity(start=0, end=2, type="Person"), Entity(start=7, end=9, type="Person")
        >>> record = IERecord(text="Bo met Al", entities=(bo, al), relations=(Relation(head=1, tail=0, type="met"),))
        >>> [record.head_of(relation) == al for relation in record.relations]
        [True]

        Raises:
            DataError: The record has no such entity.
        """
        return self._entity(relation.head, "head")

    def tail_of(self, relation: Relation) -> Entity:
        """The entity that a relation of this record leads to; see :meth:`head_of`."""
        return self._entity(relation.tail, "tail")

    def _entity(self, index: int, end: str) -> Entity:
        entities = self.entities or ()
        if not 0 <= index < len(entities):
            found = f"the {end} is entity {index}, the record has {counted(len(entities), 'entity')}"
            raise DataError(f"{found}; give a relation of this very record")
        return entities[index]

    def __str__(self) -> str:
        """A short table of what the record holds; of a long text the beginning.

        >>> print(IERecord(text="Bo met Al", entities=(Entity(start=0, end=2, type="Person", score=0.9),)))
        Bo met Al
          entity  Person  Bo  0.90
        """
        from nlpkit.ie.writer import short_table

        return short_table(self)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values, absent groups left out.

        >>> IERecord(id="a", text="Hi Bo", entities=(Entity(start=3, end=5, type="Person"),)).to_dict()
        {'id': 'a', 'text': 'Hi Bo', 'entities': [{'start': 3, 'end': 5, 'type': 'Person'}]}
        """
        out: dict[str, Any] = {}
        for key in ("id", "doc_id", "sent_index", "text"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        for key in ("tokens", "entities", "relations", "events"):
            if getattr(self, key) is not None:
                out[key] = _plain(getattr(self, key))
        return out | {key: value for key, value in self.extra.items() if key not in out}


@dataclass(frozen=True, kw_only=True)
class InputInfo:
    """What the model saw of one input.

    Attributes:
        words: Number of words.
        pieces: Number of tokenizer pieces, without special ones.
        windows: Number of windows that the words were spread over.
        beyond: Words by which the text is longer than any that the model was trained on.
        truncated: Number of pieces that were left out (only of a single word longer than the encoder's limit).
        unknown: Number of words of which the tokenizer does not know a visible character, or none at all.
        skipped: What was left out and why, in words.
    """

    words: int
    pieces: int
    windows: int
    beyond: int = 0
    truncated: int = 0
    unknown: int = 0
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class IEResult(IERecord):
    """A record with predicted groups, scores, and what the model saw of it. Goes to JSON and back."""

    input: InputInfo | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as a data line with scores and its source; reads back as a record.

        A ``source`` of the user's own, of another form, is kept in its place.

        >>> IEResult(text="Hi", source=Source(file="a.txt", line=3)).to_dict()
        {'text': 'Hi', 'source': {'file': 'a.txt', 'line': 3}}
        """
        out = super().to_dict()
        if self.source is not None and "source" not in out:
            out["source"] = {"file": self.source.file, "line": self.source.line}
        if self.input is not None:
            out["input"] = {**vars(self.input), "skipped": list(self.input.skipped)}
        return out


def _plain(item: Any) -> Any:
    """Lists and dicts for tuples and items; what is no part of a record stays, for the reader to name."""
    if isinstance(item, (list, tuple)):
        return [_plain(part) for part in item]
    if isinstance(item, Event):
        return {"trigger": _plain(item.trigger), "arguments": _plain(item.arguments)}
    if isinstance(item, (Entity, Relation, Trigger, Argument)):
        return {key: value for key, value in vars(item).items() if value is not None}
    return item
