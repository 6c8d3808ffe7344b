"""Which channel of the score tensor means what, and which cells a gold annotation sets (section 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nlpkit.ie.schema import IESchema
from nlpkit.ie.words import WordView
from nlpkit.text.windows import owner


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

    @property
    def span_names(self) -> tuple[str, ...]:
        """Names of the span channels; the argument channel is called ``argument``."""
        events = ("argument", *self.schema.trigger_types) if self.has_events else ()
        return (*(self.schema.entity_types or ()), *events)

    @property
    def relation_names(self) -> tuple[str, ...]:
        """Names of the relation channels."""
        return tuple(r.name for r in self.schema.relation_types or ())

    @property
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

    spans: tuple[tuple[int, int, int], ...]
    relations: tuple[tuple[int, int, int], ...]
    roles: tuple[tuple[int, int, int], ...]
    borders: tuple[tuple[int, int], ...]
    groups: tuple[bool, bool, bool]


def gold_cells(view: WordView, layout: LabelLayout, start: int = 0, stop: int | None = None) -> GoldCells:
    """Cells set by the annotations that lie wholly inside the words ``start`` to ``stop`` (exclusive).

    Labels that the schema does not know are left out: they can only be scored as missed.
    """
    stop = len(view.words) if stop is None else stop
    span_channel = {("entity", t): i for i, t in enumerate(layout.schema.entity_types or ())}
    span_channel |= {("trigger", t): layout.trigger.start + i for i, t in enumerate(layout.schema.trigger_types)}
    relation_index = {name: i for i, name in enumerate(layout.relation_names)}
    role_index = {name: i for i, name in enumerate(layout.schema.roles)}

    def inside(first: int, last: int) -> bool:
        return start <= first and last <= stop

    spans: set[tuple[int, int, int]] = set()
    relations: set[tuple[int, int, int]] = set()
    roles: set[tuple[int, int, int]] = set()
    positions: set[tuple[int, int]] = set()

    def add_span(first: int, last: int, channel: int | None) -> None:
        if channel is not None and inside(first, last):
            s, e = first - start, last - 1 - start
            spans.update(((s, e, channel), (e, s, channel)))
            positions.add((s, e))

    def add_link(
        cells: set[tuple[int, int, int]],
        channels: LinkChannels,
        a: tuple[int, int],
        b: tuple[int, int],
        label: int,
        mirrored: bool,
    ) -> None:
        if inside(*a) and inside(*b):
            at_end = label + channels.end.start - channels.start.start
            pairs = [(a[0] - start, b[0] - start, label), (a[1] - 1 - start, b[1] - 1 - start, at_end)]
            cells.update(pairs)
            if mirrored:
                cells.update((j, i, k) for i, j, k in pairs)

    for s, e, label in view.entities or ():
        add_span(s, e, span_channel.get(("entity", label)))
    for head, tail, label in view.relations or ():
        if label in relation_index and view.entities is not None:
            a, b = view.entities[head][:2], view.entities[tail][:2]
            add_link(relations, layout.relations, a, b, relation_index[label], label in layout.schema.symmetric)
    for event in view.events or ():
        trigger = (event.trigger.start, event.trigger.end)
        if ("trigger", event.trigger.type) not in span_channel:
            continue
        add_span(*trigger, span_channel[("trigger", event.trigger.type)])
        fragments: dict[int, list[tuple[int, int]]] = {}
        for argument in event.arguments:
            span = (argument.start, argument.end)
            if argument.role not in role_index:
                continue
            add_span(*span, layout.argument.start)
            add_link(roles, layout.roles, trigger, span, role_index[argument.role], True)
            if argument.group is not None:
                fragments.setdefault(argument.group, []).append(span)
        if layout.same_mention is not None:
            for members in fragments.values():
                for k, a in enumerate(members):
                    for b in members[k + 1 :]:
                        add_link(roles, layout.roles, a, b, layout.same_mention, True)
    ordered = sorted(positions)
    borders = {(x, y) for a in ordered for b in ordered if a != b for x, y in zip(a, b, strict=True)}
    groups = (view.entities is not None, view.relations is not None, view.events is not None)
    return GoldCells(
        tuple(sorted(spans)), tuple(sorted(relations)), tuple(sorted(roles)), tuple(sorted(borders)), groups
    )


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
