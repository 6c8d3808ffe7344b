"""Candidates of one record -> entities, relations and events that stand together, in the record's own positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from nlpkit.ie.overlap import Candidate, resolve_overlap
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import Argument, Entity, Event, Relation, Trigger
from nlpkit.ie.utcie.decode import Candidates, DecodeSettings, Link
from nlpkit.ie.utcie.labels import LabelLayout, Span
from nlpkit.ie.words import WordView


@dataclass(frozen=True)
class Extraction:
    """What was extracted from one record; None where the model does not know the group."""

    entities: tuple[Entity, ...] | None
    relations: tuple[Relation, ...] | None
    events: tuple[Event, ...] | None


def assemble(candidates: Candidates, view: WordView, layout: LabelLayout, settings: DecodeSettings) -> Extraction:
    """Apply the overlap policies, then build typed items; relations index the entities that are returned."""
    schema = layout.schema
    entities = resolve_overlap(candidates.entities, settings.entity_overlap, settings.multi_label)
    relations = _relations(candidates.relations, entities, layout, settings)
    events = _events(candidates, view, layout, settings) if schema.event_types is not None else None
    names = schema.entity_types or ()
    typed = tuple(
        Entity(start=a, end=b, type=names[c.label], score=_round(c.score), text=view.surface(c.start, c.end))
        for c in entities
        for a, b in [view.unit_span(c.start, c.end)]
    )
    return Extraction(
        typed if schema.entity_types is not None else None,
        relations if schema.relation_types is not None else None,
        events,
    )


def _round(score: float) -> float:
    return round(score, 4)


def _best_only(links: Iterable[Link]) -> list[Link]:
    best: dict[tuple[Span, Span], Link] = {}
    for link in sorted(links, key=lambda k: (-k.score, k.label)):
        best.setdefault((link.first, link.second), link)
    return list(best.values())


def _relations(
    links: Sequence[Link], entities: Sequence[Candidate], layout: LabelLayout, settings: DecodeSettings
) -> tuple[Relation, ...]:
    """Attach each link to one entity at either end: of types seen together if there are such, else the best-scored."""
    at: dict[Span, list[int]] = {}
    for k, entity in enumerate(entities):
        at.setdefault((entity.start, entity.end), []).append(k)
    kept = [link for link in links if link.first in at and link.second in at]
    if not settings.multi_label:
        kept = _best_only(kept)
    out: dict[tuple[int, int, str], Relation] = {}
    types = layout.schema.relation_types or ()
    entity_names = layout.schema.entity_types or ()
    signatures = [_signatures(relation) for relation in types]
    for link in kept:
        relation = types[link.label]
        # a symmetric link comes in both orders, which must not choose different types of the same spans
        first, second = sorted((link.first, link.second)) if relation.symmetric else (link.first, link.second)
        pairs = [(h, t) for h in at[first] for t in at[second]]
        if (seen := signatures[link.label]) is not None:
            fitting = [
                p for p in pairs if (entity_names[entities[p[0]].label], entity_names[entities[p[1]].label]) in seen
            ]
            pairs = fitting or ([] if settings.schema_filter else pairs)
        if not pairs:
            continue
        head, tail = max(pairs, key=lambda p: entities[p[0]].score + entities[p[1]].score)
        out.setdefault(
            (head, tail, relation.name), Relation(head=head, tail=tail, type=relation.name, score=_round(link.score))
        )
    return tuple(out[key] for key in sorted(out))


def _signatures(relation: RelationType) -> set[tuple[str, str]] | None:
    """The types of head and tail that were seen together; None if that is not known."""
    if relation.signatures is None:
        return None
    seen = set(relation.signatures)
    return seen | {(tail, head) for head, tail in seen} if relation.symmetric else seen


def _events(candidates: Candidates, view: WordView, layout: LabelLayout, settings: DecodeSettings) -> tuple[Event, ...]:
    schema = layout.schema
    triggers = resolve_overlap(candidates.triggers, settings.trigger_overlap, settings.multi_label)
    spans = resolve_overlap(candidates.arguments, settings.argument_overlap, settings.multi_label)
    span_scores = {(c.start, c.end): c.score for c in spans}
    roles = [link for link in candidates.roles if link.second in span_scores]
    if not settings.multi_label:
        roles = _best_only(roles)
    by_trigger: dict[Span, list[Link]] = {}
    for link in roles:
        by_trigger.setdefault(link.first, []).append(link)
    at: dict[Span, list[Candidate]] = {}
    for trigger in triggers:
        at.setdefault((trigger.start, trigger.end), []).append(trigger)
    same: dict[Span, list[Span]] = {}
    for link in candidates.same:
        same.setdefault(link.first, []).append(link.second)

    @cache
    def event_types(span: Span, label: int) -> frozenset[str]:
        return frozenset(_event_types(schema, at[span], schema.roles[label], settings.schema_filter))

    events = []
    for trigger in triggers:
        name = schema.trigger_types[trigger.label]
        mine = [
            link
            for link in by_trigger.get((trigger.start, trigger.end), ())
            if name in event_types(link.first, link.label)
        ]
        start, end = view.unit_span(trigger.start, trigger.end)
        events.append(
            Event(
                trigger=Trigger(
                    start=start,
                    end=end,
                    type=name,
                    score=_round(trigger.score),
                    text=view.surface(trigger.start, trigger.end),
                ),
                arguments=_arguments(mine, same, span_scores, view, schema),
            )
        )
    return tuple(events)


def _event_types(schema: IESchema, triggers: Sequence[Candidate], role: str, strict: bool) -> list[str]:
    """The event types on one trigger span that a role belongs to: those that know it, else the best-scored one."""
    names = [schema.trigger_types[t.label] for t in sorted(triggers, key=lambda t: (-t.score, t.label))]
    knowing = [name for name in names if role in (schema.event_types or {}).get(name, ())]
    return knowing or ([] if strict else names[:1])


def _arguments(
    links: Sequence[Link],
    same: Mapping[Span, Sequence[Span]],
    span_scores: dict[Span, float],
    view: WordView,
    schema: IESchema,
) -> tuple[Argument, ...]:
    groups = _fragment_groups(links, same)
    out = []
    for link in sorted(links, key=lambda k: (k.second, k.label)):
        start, end = view.unit_span(*link.second)
        out.append(
            Argument(
                start=start,
                end=end,
                role=schema.roles[link.label],
                group=groups.get((link.second, link.label)),
                score=_round(min(link.score, span_scores[link.second])),
                text=view.surface(*link.second),
            )
        )
    return tuple(out)


def _fragment_groups(links: Sequence[Link], same: Mapping[Span, Sequence[Span]]) -> dict[tuple[Span, int], int]:
    """Number the discontinuous mentions of one event: fragments of one role that are joined by same-mention links.

    Args:
        links: The roles of the event.
        same: For each span the later ones of the same mention.
    """
    if not same:
        return {}
    import networkx as nx

    groups: dict[tuple[Span, int], int] = {}
    n_groups = 0
    for label in sorted({link.label for link in links}):
        graph = nx.Graph()
        graph.add_nodes_from(link.second for link in links if link.label == label)
        fragments = list(graph)
        graph.add_edges_from((span, other) for span in fragments for other in same.get(span, ()) if other in graph)
        for component in sorted(sorted(c) for c in nx.connected_components(graph) if len(c) > 1):
            for span in component:
                groups[span, label] = n_groups
            n_groups += 1
    return groups
