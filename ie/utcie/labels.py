"""Which channel of the score tensor means what, and which cells a gold annotation sets (section 2 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import Event
from nlpkit.ie.words import WordView
from nlpkit.text.windows import owner

Span = tuple[int, int]
"""Words of a record, ``end`` exclusive."""

Cell = tuple[int, int, int]
"""First word, second word, label."""


class LinkChannels(NamedTuple):
    """The channels of relations or roles: one threshold, then the types.

    Attributes:
        n_types: Number of link types.
        threshold: The threshold channel; it comes right before the types.
        start: Channels of the start-start cells.
        end: Channels of the end-end cells; the same ones if links are not split.
    """

    n_types: int
    threshold: int
    start: slice
    end: slice

    @property
    def types(self) -> slice:
        """All channels but the threshold."""
        return slice(self.start.start, self.end.stop)

    @classmethod
    def make(cls, first: int, n_types: int, is_split: bool) -> LinkChannels:
        """Channels from number ``first`` on; none at all without types."""
        types = first + int(n_types > 0)
        start = slice(types, types + n_types)
        return cls(n_types, first, start, slice(start.stop, start.stop + n_types) if is_split else start)


@dataclass(frozen=True)
class LabelLayout:
    """The channels.

    Their order: entity types | argument | trigger types | relation threshold, relation types | role threshold, roles.
    The argument channel is untyped: the link decides the role. If arguments may be discontinuous, the last role joins
    two fragments of one mention. Spans and *mirrored* links are set, and read, in both orders of the two words.

    Attributes:
        schema: The labels.
        split_links: Start-start and end-end cells have channels of their own. In the paper they share one, which cannot
            tell them apart where both spans are single words.
    """

    schema: IESchema
    split_links: bool = True

    @property
    def n_entity(self) -> int:
        """Number of entity types."""
        return len(self.schema.entity_types or ())

    @property
    def n_trigger(self) -> int:
        """Number of event types."""
        return len(self.schema.trigger_types)

    @property
    def has_events(self) -> bool:
        """Whether there are trigger channels."""
        return self.n_trigger > 0

    @property
    def entity(self) -> slice:
        """Entity channels."""
        return slice(0, self.n_entity)

    @property
    def argument(self) -> slice:
        """The one argument channel."""
        return slice(self.n_entity, self.n_entity + int(self.has_events))

    @property
    def trigger(self) -> slice:
        """Trigger channels."""
        return slice(self.argument.stop, self.argument.stop + self.n_trigger)

    @property
    def n_span(self) -> int:
        """Number of span channels; they come first."""
        return self.trigger.stop

    @cached_property
    def relations(self) -> LinkChannels:
        """Relation channels."""
        return LinkChannels.make(self.n_span, len(self.relation_names), self.split_links)

    @cached_property
    def roles(self) -> LinkChannels:
        """Role channels, those that join fragments included."""
        n_roles = len(self.schema.roles)
        joins = int(self.schema.discontinuous and n_roles > 0)
        return LinkChannels.make(self.relations.end.stop, n_roles + joins, self.split_links)

    @property
    def n_labels(self) -> int:
        """Number of all channels K."""
        return self.roles.end.stop

    @property
    def same_mention(self) -> int | None:
        """Position, among the role types, of the one that joins fragments."""
        return self.roles.n_types - 1 if self.roles.n_types > len(self.schema.roles) else None

    @cached_property
    def span_names(self) -> tuple[str, ...]:
        """Names of the span channels; the argument channel is called ``argument``."""
        events = ("argument", *self.schema.trigger_types) if self.has_events else ()
        return (*(self.schema.entity_types or ()), *events)

    @cached_property
    def relation_names(self) -> tuple[str, ...]:
        """Names of the relation channels."""
        return tuple(r.name for r in self.schema.relation_types or ())

    @cached_property
    def relation_places(self) -> dict[str, int]:
        """Position of each relation type among them."""
        return {name: k for k, name in enumerate(self.relation_names)}

    @cached_property
    def role_places(self) -> dict[str, int]:
        """Position of each role among them."""
        return {name: k for k, name in enumerate(self.schema.roles)}

    @cached_property
    def channel_names(self) -> tuple[str, ...]:
        """A unique name of each channel."""
        schema = self.schema
        names = [f"entity {t}" for t in schema.entity_types or ()]
        if self.has_events:
            names += ["argument", *(f"trigger {t}" for t in schema.trigger_types)]
        for kind, labels in (
            ("relation", self.relation_names),
            ("role", (*schema.roles, "same mention")[: self.roles.n_types]),
        ):
            if labels:
                ends = ("start", "end") if self.split_links else ("pair",)
                names += [f"{kind} threshold", *(f"{kind} {end} {label}" for end in ends for label in labels)]
        return tuple(names)


@dataclass(frozen=True)
class GoldCells:
    """The cells that one window's gold annotation sets.

    Attributes:
        spans: (first word, second word, channel), both orders.
        relations: (first word, second word, position among the relation channels, the threshold not counted).
        roles: The same for roles.
        borders: (first word, second word): start-start and end-end pairs of two different gold spans.
        groups: Whether entities, relations and events are annotated.
    """

    spans: tuple[Cell, ...]
    relations: tuple[Cell, ...]
    roles: tuple[Cell, ...]
    borders: tuple[tuple[int, int], ...]
    groups: tuple[bool, bool, bool]


def gold_cells(view: WordView, layout: LabelLayout, start: int = 0, stop: int | None = None) -> GoldCells:
    """Cells set by the annotations that lie wholly inside the words ``start`` to ``stop`` (exclusive).

    Labels that the schema does not know are left out: they can only be scored as missed.
    """
    cells = _Cells(layout, start, len(view.words) if stop is None else stop)
    for first, last, label in view.entities or ():
        cells.add_span(first, last, cells.entity_channels.get(label))
    for head, tail, label in view.relations or ():
        if view.entities is not None and label in layout.relation_places:
            cells.add_relation(view.entities[head][:2], view.entities[tail][:2], label)
    for event in view.events or ():
        cells.add_event(event)
    return GoldCells(
        tuple(sorted(cells.spans)),
        tuple(sorted(cells.relations)),
        tuple(sorted(cells.roles)),
        _borders(cells.spans),
        (view.entities is not None, view.relations is not None, view.events is not None),
    )


def join_cells(parts: Sequence[tuple[GoldCells, int]]) -> GoldCells:
    """The cells of several windows, read one behind the other, each with its number of words.

    All of them annotate the same groups; between two of them there is no link.
    """
    spans: list[Cell] = []
    relations: list[Cell] = []
    roles: list[Cell] = []
    start = 0
    for cells, n_words in parts:
        for joined, own in ((spans, cells.spans), (relations, cells.relations), (roles, cells.roles)):
            joined += [(first + start, second + start, label) for first, second, label in own]
        start += n_words
    return GoldCells(tuple(spans), tuple(relations), tuple(roles), _borders(spans), parts[0][0].groups)


def _borders(spans: Iterable[Cell]) -> tuple[tuple[int, int], ...]:
    """Start-start and end-end pairs of any two different spans."""
    positions = sorted({(first, last) for first, last, _ in spans if first <= last})
    return tuple(sorted({(x, y) for a in positions for b in positions if a != b for x, y in zip(a, b, strict=True)}))


class _Cells:
    """Collects the cells of one window; positions that it is given are words of the record, ``end`` exclusive."""

    def __init__(self, layout: LabelLayout, start: int, stop: int) -> None:
        self.layout, self.start, self.stop = layout, start, stop
        self.entity_channels = {t: k for k, t in enumerate(layout.schema.entity_types or ())}
        self.trigger_channels = {t: layout.trigger.start + k for k, t in enumerate(layout.schema.trigger_types)}
        self.spans: set[Cell] = set()
        self.relations: set[Cell] = set()
        self.roles: set[Cell] = set()

    def add_span(self, first: int, last: int, channel: int | None) -> None:
        """Set a span in both orders."""
        if channel is not None and self._holds((first, last)):
            s, e = first - self.start, last - 1 - self.start
            self.spans.update(((s, e, channel), (e, s, channel)))

    def add_relation(self, head: Span, tail: Span, label: str) -> None:
        """Set a relation; one without direction in both orders."""
        index = self.layout.relation_places[label]
        self._add_link(self.relations, self.layout.relations, head, tail, index, label in self.layout.schema.symmetric)

    def add_event(self, event: Event) -> None:
        """Set trigger, arguments, roles, and what joins the fragments of one argument."""
        trigger = (event.trigger.start, event.trigger.end)
        if event.trigger.type not in self.trigger_channels:
            return
        self.add_span(*trigger, self.trigger_channels[event.trigger.type])
        known = [a for a in event.arguments if a.role in self.layout.role_places]
        for argument in known:
            span = (argument.start, argument.end)
            self.add_span(*span, self.layout.argument.start)
            self._add_role(trigger, span, self.layout.role_places[argument.role])
        if self.layout.same_mention is None:
            return
        for one, other in combinations(known, 2):
            if one.group is not None and one.group == other.group:
                self._add_role((one.start, one.end), (other.start, other.end), self.layout.same_mention)

    def _add_role(self, first: Span, second: Span, label: int) -> None:
        self._add_link(self.roles, self.layout.roles, first, second, label, True)

    def _add_link(
        self, cells: set[Cell], channels: LinkChannels, first: Span, second: Span, label: int, mirrored: bool
    ) -> None:
        if not (self._holds(first) and self._holds(second)):
            return
        at_end = label + channels.end.start - channels.start.start
        (s1, e1), (s2, e2) = ((a - self.start, b - 1 - self.start) for a, b in (first, second))
        cells.update(((s1, s2, label), (e1, e2, at_end)))
        if mirrored:
            cells.update(((s2, s1, label), (e2, e1, at_end)))

    def _holds(self, span: Span) -> bool:
        return self.start <= span[0] and span[1] <= self.stop


def lost_annotations(view: WordView, windows: Sequence[tuple[int, int]]) -> int:
    """How many spans and links lie in no window whole, so that nothing can be learned from them.

    >>> from nlpkit.ie.types import Entity, IERecord
    >>> from nlpkit.ie.words import word_view
    >>> view = word_view(IERecord(tokens=("a",) * 9, entities=(Entity(start=2, end=7, type="T"),)))
    >>> lost_annotations(view, [(0, 5), (4, 9)]), lost_annotations(view, [(0, 9)])
    (1, 0)
    """
    if len(windows) < 2:
        return 0
    entities = [(s, e) for s, e, _ in view.entities or ()]
    pairs = [(entities[head], entities[tail]) for head, tail, _ in view.relations or ()]
    for event in view.events or ():
        trigger = (event.trigger.start, event.trigger.end)
        entities.append(trigger)
        pairs += [(trigger, (a.start, a.end)) for a in event.arguments]
    reaches = [*entities, *((min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)]
    return sum(owner(windows, start, end) is None for start, end in reaches)
