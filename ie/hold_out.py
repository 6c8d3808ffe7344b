"""Which training records are held out as dev where the user gives none.

Whole documents (records of one ``doc_id``) are held out together, no text stands on both sides, and the only records of
a label stay in training. Records without a ``doc_id`` are documents of their own, and equal texts one document.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nlpkit.ie.types import IERecord
from nlpkit.seed import derive_seed
from nlpkit.wording import counted, plural, setting

Label = tuple[str, ...]

_MOST = 3
"""At most one of so many records is held out, however large the documents are."""

_FEW = 3
"""A text in so many documents makes them one; in more it is a stock phrase, which would tie all of them together."""

_SHOWN_LABELS = 10

_ENOUGH = 20
"""Fewer dev records say little about which epoch is the best."""


@dataclass(frozen=True)
class HeldOut:
    """Both parts, each in the order of the records, and what was done, in words."""

    train: list[IERecord]
    dev: list[IERecord]
    notes: tuple[str, ...]


@dataclass(eq=False)
class _Unit:
    """Records that are held out together; ``stock`` ones have a text of other units too, and stay in training."""

    free: list[int] = field(default_factory=list)
    stock: list[int] = field(default_factory=list)
    labels: Counter[Label] = field(default_factory=Counter)


def hold_out(records: Sequence[IERecord], share: float, seed: int) -> HeldOut:
    """Split off about a share of the records, chosen by the seed.

    >>> records = [IERecord(text=f"Text {k}", doc_id=f"d{k // 2}", entities=()) for k in range(20)]
    >>> held_out = hold_out(records, 0.2, seed=1)
    >>> len(held_out.dev), {r.doc_id for r in held_out.dev} & {r.doc_id for r in held_out.train}
    (4, set())
    """
    target = max(1, round(share * len(records)))
    units = _units(records, target)
    chosen = _choose(units, records, target, seed) if len(records) > 1 else []
    dev = {index for unit in chosen for index in unit.free}
    return HeldOut(
        [record for k, record in enumerate(records) if k not in dev],
        [record for k, record in enumerate(records) if k in dev],
        tuple(_notes(records, units, chosen)),
    )


def labels_of(record: IERecord) -> Iterator[Label]:
    """Each label of a record as its kind and its name; a role with its event type."""
    for entity in record.entities or ():
        yield "entity type", entity.type
    for relation in record.relations or ():
        yield "relation type", relation.type
    for event in record.events or ():
        yield "event type", event.trigger.type
        for argument in event.arguments:
            yield "role", event.trigger.type, argument.role


def text_key(record: IERecord) -> tuple[str, ...]:
    """What makes two records the same text."""
    return (record.text,) if record.text is not None else ("", *(record.tokens or ()))


def _units(records: Sequence[IERecord], target: int) -> list[_Unit]:
    """Documents, put together where they share a text, in the order of their first records."""
    documents: dict[object, list[int]] = defaultdict(list)
    homes: dict[tuple[str, ...], dict[object, None]] = defaultdict(dict)
    for number, record in enumerate(records):
        text = text_key(record)
        document = ("document", record.doc_id) if record.doc_id is not None else ("text", text)
        documents[document].append(number)
        homes[text][document] = None
    # the documents that go with each: one list for all of a group
    groups = {document: [document] for document in documents}
    stock = set()
    for text, places in sorted(homes.items(), key=lambda item: len(item[1])):
        parts = {id(groups[document]): groups[document] for document in places}
        size = sum(len(documents[document]) for group in parts.values() for document in group)
        if len(parts) > 1 and size > (len(records) // _MOST if len(places) <= _FEW else target):
            stock.add(text)
        elif len(parts) > 1:
            together = [document for group in parts.values() for document in group]
            groups.update(dict.fromkeys(together, together))
    units = []
    for group in {id(group): group for group in groups.values()}.values():
        unit = _Unit()
        for number in sorted(number for document in group for number in documents[document]):
            is_stock = text_key(records[number]) in stock
            (unit.stock if is_stock else unit.free).append(number)
            unit.labels.update(() if is_stock else set(labels_of(records[number])))
        units.append(unit)
    return units


def _choose(units: Sequence[_Unit], records: Sequence[IERecord], target: int, seed: int) -> list[_Unit]:
    """Units that together have about ``target`` records, and leave a record of each label."""
    left = Counter(label for record in records for label in set(labels_of(record)))
    rest = [unit for unit in units if unit.free]
    random.Random(derive_seed(seed, "dev")).shuffle(rest)
    rest.sort(key=lambda unit: bool(unit.stock))
    chosen: list[_Unit] = []
    n_dev = 0

    def take(unit: _Unit) -> None:
        nonlocal n_dev
        chosen.append(unit)
        rest.remove(unit)
        left.subtract(unit.labels)
        n_dev += len(unit.free)

    def fits(unit: _Unit) -> bool:
        return n_dev + len(unit.free) <= target and _can_go(unit, left)

    # one with labels first: dev without anything to find could not pick an epoch
    for unit in [next((unit for unit in rest if unit.labels and fits(unit)), None), *rest]:
        if unit is not None and unit not in chosen and fits(unit):
            take(unit)
    more = [unit for unit in rest if _can_go(unit, left)]
    nearest = min(more, key=lambda unit: abs(n_dev + len(unit.free) - target), default=None)
    if nearest is not None:
        size = n_dev + len(nearest.free)
        if size - target < target - n_dev or (not chosen and size * _MOST <= len(records)):
            take(nearest)
    return chosen


def _can_go(unit: _Unit, left: Counter[Label]) -> bool:
    return all(left[label] > count for label, count in unit.labels.items())


def _notes(records: Sequence[IERecord], units: Sequence[_Unit], chosen: Sequence[_Unit]) -> Iterator[str]:
    has_documents = any(record.doc_id is not None for record in records)
    what = "document" if has_documents else "text"
    n_dev = sum(len(unit.free) for unit in chosen)
    if not chosen:
        yield (
            f"no dev data given, and nothing can be held out: {_obstacle(records, units, what)}; the last epoch counts "
            f"as the best. Give some ({setting('dev')}) to pick the best epoch"
        )
        return
    dev_documents = {records[k].doc_id for unit in chosen for k in unit.free} - {None}
    documents = f" of {counted(len(dev_documents), 'whole document')}" if dev_documents else ""
    share = f"{n_dev} of {counted(len(records), 'training record')} ({n_dev / len(records):.0%})"
    yield (f"no dev data given: {share}{documents} {plural(n_dev, 'is', 'are')} held out to pick the best epoch")
    if n_stock := sum(len(unit.stock) for unit in chosen):
        yield (
            f"{counted(n_stock, 'record')} of these documents {plural(n_stock, 'stays', 'stay')} in training: other "
            "documents have the same texts"
        )
    if names := _tied_labels(records, units):
        shown = ", ".join(names[:_SHOWN_LABELS])
        more = f" and {len(names) - _SHOWN_LABELS} more" if len(names) > _SHOWN_LABELS else ""
        yield (
            f"labels of a single {what} stay in training, so that the dev score says nothing about them: {shown}{more}"
        )
    if n_dev < _ENOUGH:
        yield (
            f"warning: {counted(n_dev, 'dev record')} cannot tell which epoch is the best; give more with "
            f"{setting('dev')}, or take the last epoch with {setting('trainer.dev_share', 0)}"
        )


def _obstacle(records: Sequence[IERecord], units: Sequence[_Unit], what: str) -> str:
    if len(records) < 2:
        return "there is one record"
    if len(units) < 2:
        return "all records are of one document" if what == "document" else "all texts are the same"
    left = Counter(label for record in records for label in set(labels_of(record)))
    sizes = [len(unit.free) for unit in units if unit.free and _can_go(unit, left)]
    if not sizes:
        return f"each {what} has a label that no other has"
    return f"the smallest {what} that could be has {min(sizes)} of {counted(len(records), 'record')}"


def _tied_labels(records: Sequence[IERecord], units: Sequence[_Unit]) -> list[str]:
    """Labels all of whose records are in one unit."""
    n_units = Counter(
        label
        for unit in units
        for label in {label for k in (*unit.free, *unit.stock) for label in labels_of(records[k])}
    )
    return sorted({".".join(label[1:]) for label, n in n_units.items() if n == 1})
