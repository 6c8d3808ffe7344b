"""What exactly was wrong in one record: missed, spurious, with a wrong type, or with a wrong boundary.

A missed and a spurious item of the same spans are joined into one mistake of type; then those of the same type whose
spans all overlap are joined into one mistake of boundary, the largest overlap first. What remains is missed or
spurious. A joined pair still counts as one false negative and one false positive in the strict metrics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass

from nlpkit.ie.types import Argument, Entity, IERecord, Trigger

KINDS = {"entities": ("entity",), "relations": ("relation",), "events": ("trigger", "argument")}
"""Kinds of items in each group of annotations."""

Span = tuple[int, int]


@dataclass(frozen=True)
class _Item:
    """One item; ``spans`` and ``labels`` together are its identity, ``shown`` its JSON form."""

    spans: tuple[Span, ...]
    labels: tuple[str, ...]
    shown: dict[str, object]

    @property
    def key(self) -> tuple[object, ...]:
        return self.spans, self.labels


def find_mistakes(
    gold: IERecord, predicted: IERecord, *, groups: Collection[str], symmetric: frozenset[str], index: int
) -> dict[str, object] | None:
    """All mistakes of a record as plain JSON values, or None when there are none.

    Args:
        gold: The annotated record.
        predicted: The same text with predicted groups.
        groups: The groups to compare: ``entities``, ``relations``, ``events``.
        symmetric: Relation types without direction.
        index: Position of the record in its file, from 0.

    >>> gold = IERecord(tokens=("Bo", "left"), entities=(Entity(start=0, end=1, type="Person"),))
    >>> found = IERecord(tokens=("Bo", "left"), entities=())
    >>> find_mistakes(gold, found, groups=["entities"], symmetric=frozenset(), index=0)["missed"]
    [{'kind': 'entity', 'start': 0, 'end': 1, 'type': 'Person', 'text': 'Bo'}]
    """
    found: dict[str, list[object]] = {"missed": [], "spurious": [], "wrong_type": [], "wrong_boundary": []}
    for group in groups:
        for kind in KINDS[group]:
            _compare(_items(gold, kind, symmetric), _items(predicted, kind, symmetric), found)
    if not any(found.values()):
        return None
    head: dict[str, object] = {"record": index}
    if gold.id is not None:
        head["id"] = gold.id
    if gold.source is not None:
        head |= {"file": gold.source.file, "line": gold.source.line}
    head |= {"text": gold.text} if gold.tokens is None else {"tokens": list(gold.tokens)}
    return head | found


def _compare(gold: dict[object, _Item], predicted: dict[object, _Item], found: dict[str, list[object]]) -> None:
    missed = {key: item for key, item in gold.items() if key not in predicted}
    spurious = {key: item for key, item in predicted.items() if key not in gold}
    for name, part, closeness in (
        ("wrong_type", lambda item: item.spans, _equal),
        ("wrong_boundary", lambda item: item.labels, _overlap),
    ):
        for one, other in _pairs(missed.values(), spurious.values(), part, closeness):
            found[name].append({"gold": one.shown, "predicted": other.shown})
            del missed[one.key], spurious[other.key]
    found["missed"] += [item.shown for item in missed.values()]
    found["spurious"] += [item.shown for item in spurious.values()]


def _pairs(
    missed: Iterable[_Item],
    spurious: Iterable[_Item],
    part: Callable[[_Item], Hashable],
    closeness: Callable[[_Item, _Item], float],
) -> list[tuple[_Item, _Item]]:
    """Pairs one to one of items that agree in ``part``, the closest first."""
    buckets: dict[Hashable, list[_Item]] = defaultdict(list)
    for item in spurious:
        buckets[part(item)].append(item)
    scored = [(closeness(a, b), a, b) for a in missed for b in buckets.get(part(a), ())]
    scored = [(c, a, b) for c, a, b in scored if c > 0]
    scored.sort(key=lambda triple: (-triple[0], triple[1].key, triple[2].key))
    taken: set[object] = set()
    chosen = []
    for _, a, b in scored:
        if ("gold", a.key) not in taken and ("predicted", b.key) not in taken:
            taken |= {("gold", a.key), ("predicted", b.key)}
            chosen.append((a, b))
    return sorted(chosen, key=lambda pair: pair[0].key)


def _equal(one: _Item, other: _Item) -> float:
    """How many labels agree, plus one: of two pairs with the same spans, the more similar goes first."""
    return 1 + sum(a == b for a, b in zip(one.labels, other.labels, strict=True))


def _overlap(one: _Item, other: _Item) -> float:
    """Product over the spans of their intersection divided by their union; 0 when any two do not meet."""
    product = 1.0
    for (start, end), (other_start, other_end) in zip(one.spans, other.spans, strict=True):
        common = min(end, other_end) - max(start, other_start)
        if common <= 0:
            return 0.0
        product *= common / (max(end, other_end) - min(start, other_start))
    return product


def _items(record: IERecord, kind: str, symmetric: frozenset[str]) -> dict[object, _Item]:
    make = {"entity": _entities, "relation": _relations, "trigger": _triggers, "argument": _arguments}[kind]
    return {item.key: item for item in sorted(make(record, symmetric), key=lambda item: item.key)}


def _entities(record: IERecord, symmetric: frozenset[str]) -> Iterable[_Item]:
    for e in record.entities or ():
        yield _Item(((e.start, e.end),), (e.type,), {"kind": "entity", **_span(record, e), **_score(e)})


def _relations(record: IERecord, symmetric: frozenset[str]) -> Iterable[_Item]:
    entities = record.entities or ()
    for r in record.relations or ():
        ends = [entities[r.head], entities[r.tail]]
        if r.type in symmetric:
            ends.sort(key=lambda e: (e.start, e.end, e.type))
        head, tail = ends
        spans = {"head": _span(record, head), "tail": _span(record, tail)}
        shown = {"kind": "relation", "type": r.type, **spans, **_score(r)}
        yield _Item(((head.start, head.end), (tail.start, tail.end)), (r.type, head.type, tail.type), shown)


def _triggers(record: IERecord, symmetric: frozenset[str]) -> Iterable[_Item]:
    for event in record.events or ():
        t = event.trigger
        yield _Item(((t.start, t.end),), (t.type,), {"kind": "trigger", **_span(record, t), **_score(t)})


def _arguments(record: IERecord, symmetric: frozenset[str]) -> Iterable[_Item]:
    for event in record.events or ():
        for a in event.arguments:
            shown = {"kind": "argument", "event_type": event.trigger.type, **_span(record, a), **_score(a)}
            yield _Item(((a.start, a.end),), (event.trigger.type, a.role), shown)


def _span(record: IERecord, item: Entity | Trigger | Argument) -> dict[str, object]:
    label = {"role": item.role} if isinstance(item, Argument) else {"type": item.type}
    return {"start": item.start, "end": item.end, **label, "text": record.surface(item.start, item.end)}


def _score(item: object) -> dict[str, object]:
    score = getattr(item, "score", None)
    return {} if score is None else {"score": score}
