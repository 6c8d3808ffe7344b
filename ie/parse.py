"""From a JSON object to a record, with every problem of it named.

An error makes the record unusable, a warning does not: repeats of a label are read once and unknown keys of a label are
not used. ``null`` is the same as a missing key. Unknown keys of the record itself travel in ``extra``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from nlpkit.data.fields import FieldReader, named_source, shown_int
from nlpkit.data.lines import json_type
from nlpkit.errors import Problem
from nlpkit.ie.surface import alike_places, difference, places, spelt_out, squeezed
from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, InputInfo, Relation, Source, Trigger
from nlpkit.text.offsets import UNIT_NAMES, Offsets, OffsetUnit
from nlpkit.wording import counted, plural, setting

RECORD_KEYS = ("id", "text", "tokens", "entities", "relations", "events", "doc_id", "sent_index", "source", "input")
_SPAN_KEYS = ("start", "end", "text", "nth", "score")
_SHOWN_PLACES = 10
_INPUT_REMEDY = "'input' says what a model saw of the text; rename the key, or leave it out"


def parse_record(
    obj: Mapping[str, Any], *, source: Source | None = None, offset_unit: OffsetUnit = "codepoint"
) -> tuple[IERecord | None, list[Problem]]:
    """Read one record.

    Args:
        obj: A data line or a result line.
        source: Where it comes from, for the problems and the record. It goes before a ``source`` in a result line,
            which names the file that was read then.
        offset_unit: What its positions in a text count; those of the record are code points.

    Returns:
        The record, or None if there is an error, and all problems. A result line gives an ``IEResult``.

    >>> record, problems = parse_record({"text": "Bo met Al", "entities": [{"text": "Al", "type": "Person"}]})
    >>> record.entities
    (Entity(start=7, end=9, type='Person', score=None, text=None),)
    >>> print(*parse_record({"text": "Bo", "entities": [{"start": 0, "end": 9, "type": "P"}]})[1])
    <records>: entities[0]: span 0 to 9 leaves the text, which has 2 characters; give 0 <= start < end <= 2
    """
    parser = _Parser(source, offset_unit)
    record = parser.record(obj)
    return (None if any(p.severity == "error" for p in parser.problems) else record), parser.problems


class _Parser(FieldReader):
    """Reads one record; each method reads one kind of item and gives None if it cannot be used."""

    aliases: ClassVar[Mapping[str, Sequence[str]]] = {
        "text": ("sentence", "sent", "content", "string", "document", "body", "surface", "mention", "span"),
        "tokens": ("words",),
        "type": ("label", "kind", "class", "tag", "name", "category", "role", "entity_type", "relation", "event_type"),
        "role": ("type", "label", "kind", "class", "tag", "name", "category"),
        "start": ("begin", "from", "start_offset", "start_char"),
        "end": ("stop", "to", "end_offset", "end_char"),
        "head": ("subject", "subj", "source", "from", "arg1", "h"),
        "tail": ("object", "obj", "target", "to", "arg2", "t"),
        "trigger": ("anchor",),
        "arguments": ("args", "roles", "participants"),
    }

    def __init__(self, source: Source | None, offset_unit: OffsetUnit) -> None:
        super().__init__(source)
        self.offset_unit = offset_unit
        self.text: str | None = None
        self.tokens: tuple[str, ...] | None = None
        self._places: dict[str, list[int]] = {}
        self._alike: dict[str, list[tuple[int, int]]] = {}

    def record(self, obj: Mapping[str, Any]) -> IERecord | None:
        if not isinstance(obj, Mapping):
            self.error(None, f"expected an object, found {json_type(obj)}", 'give {"text": ...} or {"tokens": [...]}')
            return None
        self.record_id = self.plain(obj, "id")
        named = named_source(obj.get("source"))
        extra = {key: value for key, value in obj.items() if key not in RECORD_KEYS}
        if obj.get("source") is not None and named is None:
            extra["source"] = obj["source"]
        self.check_extra(extra)
        if not self.read_content(obj):
            return None
        entities, moved = self.entities(obj)
        values: dict[str, Any] = {
            "id": self.record_id,
            "text": self.text,
            "tokens": self.tokens,
            "entities": entities,
            "relations": self.relations(obj, moved),
            "events": self.events(obj),
            "doc_id": self.value({"doc_id": self.plain(obj, "doc_id")}, "doc_id", "a string or a number", ""),
            "sent_index": self.value(obj, "sent_index", "an integer", ""),
            "extra": extra,
            "source": self.source or named,
        }
        info = self.value(obj, "input", "an object", "", remedy=_INPUT_REMEDY)
        return IERecord(**values) if info is None else IEResult(**values, input=self.input_info(info))

    def plain(self, obj: Mapping[str, Any], key: str) -> Any:
        """The value of a key if it can be written as JSON again, else None."""
        n_problems = len(self.problems)
        self.check_extra({key: obj.get(key)})
        return obj.get(key) if len(self.problems) == n_problems else None

    def read_content(self, obj: Mapping[str, Any]) -> bool:
        """Read ``text`` or ``tokens``; without them positions mean nothing and the labels are not read."""
        has = [key for key in ("text", "tokens") if obj.get(key) is not None]
        if len(has) != 1:
            found, remedy = "neither 'text' nor 'tokens'", "give one of them"
            names = {self.meant_by(key, ("text", "tokens")): key for key in obj if key not in RECORD_KEYS}
            if meant := next(filter(None, names), None):
                found, remedy = f"{found}, but {names[meant]!r}", f"call it '{meant}'"
            if has:
                found, remedy = "both 'text' and 'tokens'", "keep the one that the positions belong to"
            self.error(None, f"found {found}, expected one of them", remedy)
            return False
        self.text = self.value(obj, "text", "a string", "")
        tokens = self.value(obj, "tokens", "a list", "")
        if tokens is not None:
            read = [self.item(token, "a string", f"tokens[{number}]") for number, token in enumerate(tokens)]
            if None not in read:
                self.tokens = tuple(read)
        return self.text is not None or self.tokens is not None

    def entities(self, obj: Mapping[str, Any]) -> tuple[tuple[Entity, ...] | None, list[int | None] | None]:
        """The entities, and for each item of the list its position among them; None if there is no such list."""
        items = self.items(obj, "entities", "")
        if items is None:
            return None, None
        found: dict[Hashable, Entity] = {}
        places: dict[Hashable, int] = {}
        moved: list[int | None] = []
        for field, item in items:
            values = self.labelled_span(item, "type", field)
            if values is None:
                moved.append(None)
                continue
            key = (values["start"], values["end"], values["type"])
            if not self.repeat(found, key, field, "entity"):
                found[key] = Entity(**values)
            moved.append(places.setdefault(key, len(places)))
        return tuple(found.values()), moved

    def relations(self, obj: Mapping[str, Any], moved: list[int | None] | None) -> tuple[Relation, ...] | None:
        items = self.items(obj, "relations", "")
        if items is None:
            return None
        if items and obj.get("entities") is None:
            self.error("relations", "the record has relations but no 'entities' to link", "give 'entities'")
            return None
        found: dict[Hashable, Relation] = {}
        for field, item in items:
            if item is None:
                continue
            self.check_keys(item, ("head", "tail", "type", "score"), field, required=("head", "tail", "type"))
            ends = [self.end_of_relation(item, key, field, moved) for key in ("head", "tail")]
            label, score = self.label(item, "type", field), self.score(item, field)
            if ends[0] is None or ends[1] is None or label is None:
                continue
            head, tail = ends[0], ends[1]
            if head == tail:
                self.error(field, f"head and tail are the same entity ({item['head']})", "link two different entities")
                continue
            if not self.repeat(found, (head, tail, label), field, "relation"):
                found[head, tail, label] = Relation(head=head, tail=tail, type=label, score=score)
        return tuple(found.values())

    def end_of_relation(
        self, item: Mapping[str, Any], key: str, field: str, moved: list[int | None] | None
    ) -> int | None:
        """The position of a relation's head or tail among the entities that were read."""
        index = self.value(item, key, "an integer", field, required=True)
        if index is None or moved is None:
            return None
        if not 0 <= index < len(moved):
            listed = f"the record has {counted(len(moved), 'entity')}"
            remedy = f"give a position from 0 to {len(moved) - 1}" if moved else "list the entity under 'entities'"
            self.error(f"{field}.{key}", f"entity {shown_int(index)} is missing, {listed}", remedy)
            return None
        return moved[index]

    def events(self, obj: Mapping[str, Any]) -> tuple[Event, ...] | None:
        items = self.items(obj, "events", "")
        if items is None:
            return None
        found: dict[Hashable, Event] = {}
        for field, item in items:
            if item is None:
                continue
            self.check_keys(item, ("trigger", "arguments"), field, required=("trigger", "arguments"))
            span = self.value(item, "trigger", "an object", field, required=True, remedy="every event needs a trigger")
            trigger = self.labelled_span(span, "type", f"{field}.trigger")
            arguments = self.arguments(item, field)
            if trigger is None or arguments is None:
                continue
            event = Event(trigger=Trigger(**trigger), arguments=arguments)
            roles = frozenset((a.start, a.end, a.role, a.group) for a in arguments)
            key = (trigger["start"], trigger["end"], trigger["type"], roles)
            if not self.repeat(found, key, field, "event"):
                found[key] = event
        return tuple(found.values())

    def arguments(self, event: Mapping[str, Any], field: str) -> tuple[Argument, ...] | None:
        items = self.items(event, "arguments", field, required=True)
        if items is None:
            return None
        found: dict[Hashable, Argument] = {}
        for place, item in items:
            values = self.labelled_span(item, "role", place, also=("group",))
            if values is None or item is None:
                continue
            group = self.value(item, "group", "an integer", place)
            key = (values["start"], values["end"], values["role"], group)
            if not self.repeat(found, key, place, "argument"):
                found[key] = Argument(**values, group=group)
        return tuple(found.values())

    def labelled_span(
        self, item: Mapping[str, Any] | None, label_key: str, field: str, also: Sequence[str] = ()
    ) -> dict[str, Any] | None:
        """Start, end, label, score and surface text of an item."""
        if item is None:
            return None
        place = ("start", "end") if item.get("text") is None or self.text is None else ()
        self.check_keys(item, (*_SPAN_KEYS, label_key, *also), field, required=(label_key, *place))
        label, score, span = self.label(item, label_key, field), self.score(item, field), self.span(item, field)
        if label is None or span is None:
            return None
        has_position = item.get("start") is not None
        text = item.get("text") if has_position else None
        return {"start": span[0], "end": span[1], label_key: label, "score": score, "text": text}

    def span(self, item: Mapping[str, Any], field: str) -> tuple[int, int] | None:
        """Start and end, given as such or by the surface text."""
        surface = self.value(item, "text", "a string", field)
        if surface is None and item.get("text") is not None:
            return None
        given = [key for key in ("start", "end") if item.get(key) is not None]
        if not given and self.text is not None and surface is not None:
            return self.find(surface, item, field)
        if not given:
            self.no_place(field)
            return None
        start, end = (self.value(item, key, "an integer", field, required=True) for key in ("start", "end"))
        if start is None or end is None:
            return None
        content: Sequence[str] = self.text if self.text is not None else self.tokens or ()
        unit, size = "word", len(content)
        if self.text is not None:
            unit, size = UNIT_NAMES[self.offset_unit], len(self.offsets)
        remedy = f"give 0 <= start < end <= {size}"
        place = f"span {shown_int(start)} to {shown_int(end)}"
        if start > end:
            self.error(field, f"{place} starts after it ends", remedy)
        elif start == end:
            self.error(field, f"{place} is empty ('end' is exclusive)", remedy)
        elif start < 0 or end > size:
            self.error(field, f"{place} leaves the text, which has {counted(size, unit)}", remedy)
        elif (span := self.codepoints(start, end, field)) is not None:
            found = content[slice(*span)] if isinstance(content, str) else " ".join(content[slice(*span)])
            if surface is None or squeezed(found) == squeezed(surface):  # as with words, the white space is free
                return span
            self.another_surface(field, surface, found, place)
        return None

    @cached_property
    def offsets(self) -> Offsets:
        """The positions of the text."""
        return Offsets(self.text or "", self.offset_unit)

    def codepoints(self, start: int, end: int, field: str) -> tuple[int, int] | None:
        """Positions of a text in code points; those of words stay as they are."""
        if self.text is None:
            return start, end
        first, last = self.offsets.codepoint(start), self.offsets.codepoint(end)
        if first is not None and last is not None:
            return first, last
        for key, value, found in (("start", start, first), ("end", end, last)):
            if found is None:
                char, low, high = self.offsets.around(value)
                units = plural(2, UNIT_NAMES[self.offset_unit])
                message = f"position {value} lies inside {char!r}, which is {units} {low} to {high}"
                self.error(f"{field}.{key}", message, f"give {low} or {high}, or another {setting('data.offset_unit')}")
        return None

    def no_place(self, field: str) -> None:
        """A span without positions, and without a text that could be looked for."""
        called = [self._called.get((field, key)) for key in ("start", "end")]
        if all(called):
            message, remedy = f"found {called[0]!r} and {called[1]!r}", "call them 'start' and 'end'"
        else:
            message = "expected integers"
            remedy = "give positions in words" if self.text is None else "give positions, or the 'text' of the span"
        self.error(field, f"'start' and 'end' are missing, {message}", remedy)

    def another_surface(self, field: str, surface: str, found: str, place: str) -> None:
        """A span whose positions hold another text than its own."""
        what = difference(surface, found)
        message = f"'text' is {surface!r}, but {place} holds {found!r}"
        remedy = "correct the positions or the text, or leave one of them out"
        if what is not None:
            message = f"'text' is {spelt_out(surface)}, but {place} holds {spelt_out(found)}: {what}"
            remedy = "copy it from the text, letter by letter, or leave 'text' out"
        self.error(field, message, remedy)

    def find(self, surface: str, item: Mapping[str, Any], field: str) -> tuple[int, int] | None:
        """The place of a surface text, the ``nth`` one from 1 if there are several."""
        text = self.text or ""
        if not surface:
            self.error(f"{field}.text", "the surface text is empty", "give the text of the span, or 'start' and 'end'")
            return None
        if surface not in self._places:
            self._places[surface] = places(surface, text)
        found = self._places[surface]
        nth = self.value(item, "nth", "an integer", field)
        if nth is None and item.get("nth") is not None:
            return None
        if not found:
            self.not_in_text(field, surface, text)
            return None
        if len(found) > 1 and nth is None:
            self.error(
                f"{field}.text",
                f"{surface!r} occurs {len(found)} times in the text, at characters {_listed(found)}",
                f"add 'nth' (1 to {len(found)}), or 'start' and 'end'",
            )
            return None
        if nth is not None and not 1 <= nth <= len(found):
            times = "once" if len(found) == 1 else f"{len(found)} times"
            self.error(
                f"{field}.nth",
                f"'nth' is {shown_int(nth)}, but {surface!r} is {times} in the text, at {_listed(found)}",
                f"give 'nth' from 1 to {len(found)}" if len(found) > 1 else "leave 'nth' out",
            )
            return None
        start = found[(nth or 1) - 1]
        return start, start + len(surface)

    def not_in_text(self, field: str, surface: str, text: str) -> None:
        """A surface text that occurs nowhere, or only in another spelling."""
        message, remedy = f"{surface!r} is not in the text", "copy it from the text, letter by letter"
        if surface not in self._alike:
            self._alike[surface] = alike_places(surface, text)
        if alike := self._alike[surface]:
            start, end = alike[0]
            found = text[start:end]
            more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
            place = f"at characters {start} to {end}{more}: {difference(surface, found)}"
            message = f"{spelt_out(surface)} is written {spelt_out(found)} in the text, {place}"
            remedy += f", or give 'start': {start} and 'end': {end}"
        self.error(f"{field}.text", message, remedy)

    def label(self, item: Mapping[str, Any], key: str, field: str) -> str | None:
        label = self.value(item, key, "a string", field, required=True)
        if label is not None and not label.strip():
            self.error(f"{field}.{key}", f"'{key}' is blank", "give it a name")
            return None
        return label

    def score(self, item: Mapping[str, Any], field: str) -> float | None:
        score = self.value(item, "score", "a number", field)
        if score is not None and not 0 <= score <= 1:
            self.error(f"{field}.score", f"the score is {shown_int(score)}", "give a number from 0 to 1, or no score")
            return None
        return score

    def input_info(self, info: Mapping[str, Any]) -> InputInfo | None:
        needed = ("words", "pieces", "windows")
        counts = {
            key: self.value(info, key, "an integer", "input", required=key in needed, remedy=_INPUT_REMEDY)
            for key in (*needed, "beyond", "truncated", "unknown")
        }
        skipped = [text for field, text in self.items(info, "skipped", "input", kind="a string") or ()]
        if None in skipped or any(counts[key] is None for key in needed):
            return None
        return InputInfo(**{key: count or 0 for key, count in counts.items()}, skipped=tuple(skipped))


def _listed(places: Sequence[int]) -> str:
    more = len(places) - _SHOWN_PLACES
    return ", ".join(map(str, places[:_SHOWN_PLACES])) + (f" and {more} more" if more > 0 else "")
