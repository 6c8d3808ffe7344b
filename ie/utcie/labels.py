"""Which channel of the score tensor means what, and which cells a gold annotation sets (section 2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, field

from nlpkit.ie.schema import IESchema
from nlpkit.ie.words import WordView

GROUPS = ("entities", "relations", "events")


@dataclass(frozen=True)
class LabelLayout:
    """The channels.

    Their order: entity types | argument | trigger types | relation threshold, relation types | role threshold, roles.
    The argument channel is untyped: the link decides the role. If arguments may be discontinuous, the last role channel
    joins two fragments of one mention. Spans and *mirrored* links are set, and read, in both orders of the two words.
    """

    schema: IESchema
    n_entity: int = field(init=False)
    n_trigger: int = field(init=False)
    n_relation: int = field(init=False)
    n_role: int = field(init=False)

    def __post_init__(self) -> None:
        schema = self.schema
        sizes = {
            "n_entity": len(schema.entity_types or ()),
            "n_trigger": len(schema.trigger_types),
            "n_relation": len(schema.relation_types or ()),
            "n_role": len(schema.roles) + (1 if schema.discontinuous and schema.roles else 0),
        }
        for name, size in sizes.items():
            object.__setattr__(self, name, size)

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

    @property
    def relation_threshold(self) -> int:
        """The threshold channel of the relations."""
        return self.n_span

    @property
    def relation(self) -> slice:
        """Relation channels."""
        start = self.n_span + int(self.n_relation > 0)
        return slice(start, start + self.n_relation)

    @property
    def role_threshold(self) -> int:
        """The threshold channel of the roles."""
        return self.relation.stop

    @property
    def role(self) -> slice:
        """Role channels, the one that joins fragments included."""
        start = self.relation.stop + int(self.n_role > 0)
        return slice(start, start + self.n_role)

    @property
    def n_labels(self) -> int:
        """Number of all channels K."""
        return self.role.stop

    @property
    def same_mention(self) -> int | None:
        """Position, among the role channels, of the one that joins fragments."""
        return self.n_role - 1 if self.n_role > len(self.schema.roles) else None

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
        if self.n_relation:
            names += ["relation threshold", *(f"relation {t}" for t in self.relation_names)]
        if self.n_role:
            names += ["role threshold", *(f"role {t}" for t in schema.roles)]
            names += [] if self.same_mention is None else ["same mention"]
        return tuple(names)


@dataclass(frozen=True)
class GoldCells:
    """The cells that one window's gold annotation sets.

    Attributes:
        spans: (first word, second word, channel), both orders.
        relations: (first word, second word, position among the relation channels).
        roles: (first word, second word, position among the role channels).
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
        cells: set[tuple[int, int, int]], a: tuple[int, int], b: tuple[int, int], label: int, mirrored: bool
    ) -> None:
        if inside(*a) and inside(*b):
            pairs = {(a[0] - start, b[0] - start), (a[1] - 1 - start, b[1] - 1 - start)}
            cells.update((i, j, label) for i, j in pairs)
            if mirrored:
                cells.update((j, i, label) for i, j in pairs)

    for s, e, label in view.entities or ():
        add_span(s, e, span_channel.get(("entity", label)))
    for head, tail, label in view.relations or ():
        if label in relation_index and view.entities is not None:
            a, b = view.entities[head][:2], view.entities[tail][:2]
            add_link(relations, a, b, relation_index[label], label in layout.schema.symmetric)
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
            add_link(roles, trigger, span, role_index[argument.role], True)
            if argument.group is not None:
                fragments.setdefault(argument.group, []).append(span)
        if layout.same_mention is not None:
            for members in fragments.values():
                for k, a in enumerate(members):
                    for b in members[k + 1 :]:
                        add_link(roles, a, b, layout.same_mention, True)
    ordered = sorted(positions)
    borders = {(x, y) for a in ordered for b in ordered if a != b for x, y in zip(a, b, strict=True)}
    groups = (view.entities is not None, view.relations is not None, view.events is not None)
    return GoldCells(
        tuple(sorted(spans)), tuple(sorted(relations)), tuple(sorted(roles)), tuple(sorted(borders)), groups
    )
