"""The word view of a record: what the model reads, and the way back to the user's own unit.

A record with ``tokens`` is seen as it is. A record with ``text`` is split into words with exact offsets, and its spans,
given in code points, are laid onto these words. The text itself is never changed. Which borders lie inside a run of
letters and digits is a matter of the model that reads the words, see :func:`nlpkit.text.words.split_words`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from nlpkit.errors import ConfigError, DataError, Problem
from nlpkit.ie.types import Entity, Event, IERecord, Relation
from nlpkit.text.align import align_span
from nlpkit.text.words import BORDERS, DEFAULT_BORDERS, split_words
from nlpkit.wording import counted, did_you_mean, setting

Misaligned = Literal["error", "widen", "skip"]
"""What happens to a span that cuts a word."""

POLICIES = ("error", "widen", "skip")

T = TypeVar("T")
_Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class WordView:
    """A record in word positions; ``end`` is exclusive.

    Attributes:
        words: The words as the model reads them.
        offsets: Code points (start, end) of each word in ``text``, or None for a record with tokens.
        text: The very text of the record, or None for a record with tokens.
        entities: (start, end, type), or None when not annotated.
        relations: (head, tail, type) with positions in these ``entities``, or None when not annotated.
        events: Events whose spans are word positions, or None when not annotated.
        skipped: What was widened or left out and why, in words.
    """

    words: tuple[str, ...]
    offsets: tuple[_Span, ...] | None = None
    text: str | None = None
    entities: tuple[tuple[int, int, str], ...] | None = None
    relations: tuple[tuple[int, int, str], ...] | None = None
    events: tuple[Event, ...] | None = None
    skipped: tuple[str, ...] = ()

    def unit_span(self, start: int, end: int) -> _Span:
        """The words from ``start`` to ``end`` as a span in the record's own unit.

        >>> word_view(IERecord(text="  Bo met Al")).unit_span(0, 2)
        (2, 8)
        """
        if not 0 <= start < end <= len(self.words):
            raise ValueError(f"expected 0 <= start < end <= {len(self.words)}, got {start} and {end}")
        if self.offsets is None:
            return start, end
        return self.offsets[start][0], self.offsets[end - 1][1]

    def surface(self, start: int, end: int) -> str:
        """The words from ``start`` to ``end`` as the user wrote them.

        >>> word_view(IERecord(tokens=("Bo", "met", "Al"))).surface(0, 2)
        'Bo met'
        """
        first, last = self.unit_span(start, end)
        return " ".join(self.words[first:last]) if self.text is None else self.text[first:last]


def word_view(
    record: IERecord, misaligned: Misaligned = "error", borders: Collection[str] = DEFAULT_BORDERS
) -> WordView:
    """Lay a record onto its words.

    Args:
        record: A record whose text or tokens may be empty.
        misaligned: What happens to a span that does not begin and end at word borders: ``error``, ``widen`` it to all
            words that it touches, or ``skip`` it with everything that hangs on it. Both are noted in ``skipped``.
        borders: Kinds of borders inside a run of letters and digits of a text.

    Raises:
        DataError: A span cuts a word under ``error``, or a position lies outside the record; all of them are named.

    >>> from nlpkit.ie.types import Entity
    >>> word_view(IERecord(text="Bo met Al.", entities=(Entity(start=7, end=9, type="Person"),))).entities
    ((2, 3, 'Person'),)
    """
    if misaligned not in POLICIES:
        hint = did_you_mean(misaligned, POLICIES)
        raise ConfigError(f"expected one of {', '.join(POLICIES)}, got {misaligned!r}{hint}", key="data.misaligned")
    if record.text is None:
        return _lay(record, tuple(record.tokens or ()), None, misaligned)
    offsets = tuple(split_words(record.text, borders))
    return _lay(record, tuple(record.text[start:end] for start, end in offsets), offsets, misaligned)


def alignment_problems(record: IERecord, borders: Collection[str] = BORDERS) -> list[Problem]:
    """The spans of a record that cut a word, as errors; a record without spans is not even split.

    By default by the finest rules: what they do not cut, a model can learn to tell apart.

    >>> from nlpkit.ie.types import Entity
    >>> [p.field for p in alignment_problems(IERecord(text="Bosnia", entities=(Entity(start=0, end=2, type="P"),)))]
    ['entities[0]']
    """
    if record.text is None or not (record.entities or record.events):
        return []
    try:
        word_view(record, borders=borders)
    except DataError as error:
        return list(error.problems)
    return []


def align_record(
    record: IERecord, misaligned: Misaligned, borders: Collection[str] = DEFAULT_BORDERS
) -> tuple[IERecord, tuple[str, ...]]:
    """A record whose spans begin and end at word borders, in its own unit, and what was moved or left out for that.

    >>> from nlpkit.ie.types import Entity
    >>> record = IERecord(text="Bosnia left", entities=(Entity(start=0, end=3, type="P"),))
    >>> aligned, changes = align_record(record, "widen")
    >>> aligned.entities[0].end, changes
    (6, ("entities[0] moved from 'Bos' (0 to 3) to 'Bosnia' (0 to 6)",))
    """
    if record.text is None or not (record.entities or record.events):
        return record, ()
    view = word_view(record, misaligned, borders)
    if not view.skipped:
        return record, ()

    def back(item: T) -> T:
        start, end = view.unit_span(item.start, item.end)  # type: ignore[attr-defined]
        return replace(item, start=start, end=end, text=None)  # type: ignore[type-var]

    entities = relations = events = None
    if view.entities is not None:
        entities = tuple(back(Entity(start=start, end=end, type=name)) for start, end, name in view.entities)
    if view.relations is not None:
        relations = tuple(Relation(head=head, tail=tail, type=name) for head, tail, name in view.relations)
    if view.events is not None:
        events = tuple(Event(trigger=back(e.trigger), arguments=tuple(map(back, e.arguments))) for e in view.events)
    return replace(record, entities=entities, relations=relations, events=events), view.skipped


def _remedy() -> str:
    widen, skip = (setting("data.misaligned", policy) for policy in ("widen", "skip"))
    return f"correct the span, or use {widen} (whole words) or {skip} (leave it out)"


def _lay(
    record: IERecord, words: tuple[str, ...], offsets: tuple[_Span, ...] | None, misaligned: Misaligned
) -> WordView:
    aligner = _Aligner(record, len(words), offsets, misaligned)
    entities, moved = aligner.entities()
    view = WordView(
        words=words,
        offsets=offsets,
        text=record.text,
        entities=entities,
        relations=aligner.relations(moved),
        events=aligner.events(),
        skipped=tuple(aligner.notes),
    )
    if aligner.problems:
        raise DataError(aligner.problems)
    return view


class _Aligner:
    """Moves the spans of one record to word positions and remembers what went wrong."""

    def __init__(
        self, record: IERecord, n_words: int, offsets: tuple[_Span, ...] | None, misaligned: Misaligned
    ) -> None:
        self.record = record
        self.n_words = n_words
        self.offsets = offsets
        self.misaligned = misaligned
        self.size = n_words if record.text is None else len(record.text)
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def entities(self) -> tuple[tuple[tuple[int, int, str], ...] | None, list[int | None]]:
        """Entities in words, and for each entity of the record its new position or None."""
        if self.record.entities is None:
            return None, []
        seen: dict[tuple[int, int, str], int] = {}
        moved: list[int | None] = []
        for number, entity in enumerate(self.record.entities):
            span = self.span(entity.start, entity.end, f"entities[{number}]")
            moved.append(None if span is None else seen.setdefault((*span, entity.type), len(seen)))
        return tuple(seen), moved

    def relations(self, moved: list[int | None]) -> tuple[tuple[int, int, str], ...] | None:
        """Relations between the entities that are left; two entities that became one are not related to themselves."""
        if self.record.relations is None:
            return None
        kept: list[tuple[int, int, str]] = []
        for number, relation in enumerate(self.record.relations):
            field = f"relations[{number}]"
            if not (0 <= relation.head < len(moved) and 0 <= relation.tail < len(moved)):
                message = (
                    f"head {relation.head} and tail {relation.tail}, but the record has {counted(len(moved), 'entity')}"
                )
                self.problem(field, message, "correct 'head' and 'tail'")
                continue
            head, tail = moved[relation.head], moved[relation.tail]
            if head is None or tail is None:
                self.notes.append(f"{field} left out: an entity of it was left out")
            elif head == tail:
                self.notes.append(f"{field} left out: its entities became one span")
            else:
                kept.append((head, tail, relation.type))
        return _unique(kept, lambda item: item)

    def events(self) -> tuple[Event, ...] | None:
        """Events in words; an event without its trigger goes, with its arguments."""
        if self.record.events is None:
            return None
        kept: list[Event] = []
        for number, event in enumerate(self.record.events):
            field = f"events[{number}]"
            trigger = self.span(event.trigger.start, event.trigger.end, f"{field}.trigger")
            arguments = []
            for place, argument in enumerate(event.arguments):
                span = self.span(argument.start, argument.end, f"{field}.arguments[{place}]")
                if span is not None:
                    arguments.append(replace(argument, start=span[0], end=span[1]))
            if trigger is None:
                self.notes.append(f"{field} left out: its trigger was left out")
                continue
            kept.append(
                Event(
                    trigger=replace(event.trigger, start=trigger[0], end=trigger[1]),
                    arguments=_unique(arguments, lambda a: (a.start, a.end, a.role, a.group)),
                )
            )
        return tuple(kept)

    def span(self, start: int, end: int, field: str) -> _Span | None:
        """One span in words, or None when it is wrong or left out."""
        if not 0 <= start < end <= self.size:
            message = f"span {start} to {end} is not inside the record, which has {self.size} {self.unit}"
            self.problem(field, message, f"give 0 <= start < end <= {self.size}")
            return None
        if self.offsets is None:
            return start, end
        first, last, is_exact = align_span(self.offsets, start, end)
        if is_exact:
            return first, last
        text = self.record.text or ""
        found = f"{text[start:end]!r} ({start} to {end})"
        if first >= last:  # only white space: there is no word to widen it to
            if self.misaligned == "error":
                self.problem(field, f"{found} holds no word", _remedy())
            else:
                self.notes.append(f"{field} left out: {found} holds no word")
            return None
        near = (self.offsets[first][0], self.offsets[last - 1][1])
        whole = f"{text[slice(*near)]!r} ({near[0]} to {near[1]})"
        if self.misaligned == "error":
            self.problem(field, f"{found} does not begin and end at word borders; whole words are {whole}", _remedy())
        elif self.misaligned == "skip":
            self.notes.append(f"{field} left out: {found} does not begin and end at word borders")
        else:
            self.notes.append(f"{field} moved from {found} to {whole}")
            return first, last
        return None

    @property
    def unit(self) -> str:
        return "words" if self.record.text is None else "characters"

    def problem(self, field: str, message: str, remedy: str) -> None:
        source = self.record.source
        self.problems.append(
            Problem(
                message=message,
                remedy=remedy,
                file=source.file if source else None,
                line=source.line if source else None,
                record_id=self.record.id,
                field=field,
            )
        )


def _unique(items: Iterable[T], key: Callable[[T], object]) -> tuple[T, ...]:
    """The items without repeats, which can arise when two spans are widened to the same words."""
    return tuple({key(item): item for item in reversed(tuple(items))}.values())[::-1]
