"""Exact, set-based scores of entities, relations and events.

Every metric counts *items*, each once a record, and sums the counts over the records (micro average). An item is

================  ==================================================================================
entity            (start, end, type)
span              (start, end) of an entity
relation          (head start and end, tail start and end, relation type): "boundaries"
relation_strict   the same and the types of both entities
trigger_id        (start, end) of a trigger
trigger           (start, end, event type)
argument_id       (argument start, end, event type); the place of the trigger is no part of it
argument          the same and the role
================  ==================================================================================

Positions are those of the record itself: words or code points. A relation of a symmetric type is an unordered pair,
so that it counts once, in whichever order it is given. Each fragment of a discontinuous argument is an item. A record
whose gold does not annotate a group (the group is None) is left out of the metrics of that group, and what was
predicted there is ignored. A gold label that the model does not know can only be missed; it is counted so and listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from nlpkit.errors import SHOWN_PROBLEMS, DataError, Problem, shown_id
from nlpkit.ie.mistakes import find_mistakes
from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import IERecord
from nlpkit.ie.words import Misaligned, align_record, alignment_problems
from nlpkit.metrics.counts import Counts
from nlpkit.results import EvaluationReport
from nlpkit.text.words import BORDERS
from nlpkit.wording import counted, plural

if TYPE_CHECKING:
    from nlpkit.report.html import Section

GROUPS: Mapping[str, tuple[str, ...]] = {
    "entities": ("entity", "span"),
    "relations": ("relation", "relation_strict"),
    "events": ("trigger_id", "trigger", "argument_id", "argument"),
}
"""Which metrics a group of annotations gives."""

METRICS = tuple(metric for metrics in GROUPS.values() for metric in metrics)
"""All metrics in the order of the tables."""

LABELLED = ("entity", "relation", "relation_strict", "trigger", "argument_id", "argument")
"""Metrics whose items end in a label."""

SELECTED = ("entity", "relation_strict", "trigger", "argument")
"""The strictest metric of each kind of annotation; the dev score that picks the best epoch is the mean of their F1."""

_SHOWN_PLACES = 3
"""How many places a note names."""

Item = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class IEReport(EvaluationReport):
    """Scores of an extraction model; the HTML page shows confusions and draws the errors in their text.

    Attributes:
        misaligned: Gold spans that cut a word, which no prediction is like: their number as ``spans``, the first of
            them as ``places``, and as ``policy`` how they were scored; empty if there is none.
    """

    misaligned: Mapping[str, Any] = field(default_factory=dict)

    label_tables: ClassVar[tuple[str, ...] | None] = ("entity", "relation_strict", "trigger", "argument")

    def to_dict(self) -> dict[str, object]:
        """The report as plain JSON values, see :meth:`EvaluationReport.to_dict`."""
        return {**super().to_dict(), "misaligned": dict(self.misaligned)}

    def notes(self) -> list[str]:
        """What one must know to read the scores, in sentences."""
        return [*super().notes(), *([_misaligned_note(self.misaligned)] if self.misaligned else [])]

    def _sections(self) -> list[Section]:
        from nlpkit.ie.error_report import confusion_sections, error_section

        return [*super()._sections(), *confusion_sections(self), error_section(self)]


class IEScorer:
    """Adds up the counts of one record after the other.

    Args:
        schema: The labels that the model knows; without it every group is scored and no label is unknown.
        model: Name of the model for the report.
        data: Name of the data for the report.
        keep_errors: Keep the errors of each record; switch it off where only scores are needed.
        misaligned: What happens to a gold span that cuts a word, as in training: ``widen`` scores it as whole words,
            ``skip`` leaves it out, ``error`` keeps it as it is, so that it can only be missed. They are counted.
        word_borders: Kinds of borders inside words that the model reads; by default the finest.

    >>> from nlpkit.ie.types import Entity
    >>> scorer = IEScorer()
    >>> gold = IERecord(tokens=("Bo", "left"), entities=(Entity(start=0, end=1, type="Person"),))
    >>> scorer.add(gold, gold)
    >>> scorer.report().scores()
    {'entity': 1.0, 'span': 1.0}
    """

    def __init__(
        self,
        schema: IESchema | None = None,
        *,
        model: str = "",
        data: str = "",
        keep_errors: bool = True,
        misaligned: Misaligned = "error",
        word_borders: Collection[str] = BORDERS,
    ) -> None:
        self.schema, self.model, self.data, self.keep_errors = schema, model, data, keep_errors
        self.misaligned, self.word_borders = misaligned, word_borders
        self._cut: list[Problem] = []
        self._symmetric = schema.symmetric if schema else frozenset()
        self._known = _known_labels(schema)
        self._modelled = {
            "entities": schema is None or schema.entity_types is not None,
            "relations": schema is None or schema.relation_types is not None,
            "events": schema is None or schema.event_types is not None,
        }
        self._n = 0
        self._records: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self._tp, self._predicted, self._gold = ({metric: Counter[str]() for metric in METRICS} for _ in range(3))
        self._unknown: dict[str, Counter[str]] = {metric: Counter() for metric in self._known}
        self._errors: list[dict[str, object]] = []

    def add(self, gold: IERecord, predicted: IERecord) -> None:
        """Count one record.

        Raises:
            DataError: The two are not the same text, or a relation has no entity at one of its ends.
        """
        _check_same_text(gold, predicted, self._n)
        self._n += 1
        if cut := alignment_problems(gold, self.word_borders):
            self._cut += cut
            if self.misaligned != "error":
                gold, _ = align_record(gold, self.misaligned, self.word_borders)
        gold_items, predicted_items = record_items(gold, self._symmetric), record_items(predicted, self._symmetric)
        for group, metrics in GROUPS.items():
            if getattr(gold, group) is None:
                continue
            if not self._modelled[group]:
                self._ignored[group] += 1
                continue
            for metric in metrics:
                self._records[metric] += 1
                self._add_items(metric, gold_items[metric], predicted_items.get(metric, frozenset()))
        if self.keep_errors:
            self._keep_errors(gold, predicted)

    def report(self) -> IEReport:
        """The scores of all records so far."""
        scored = [metric for metric in METRICS if self._records[metric]]
        return IEReport(
            model=self.model,
            data=self.data,
            n=self._n,
            metrics={metric: sum(self._label_counts(metric).values(), Counts()) for metric in scored},
            per_label={metric: self._per_label(metric) for metric in scored if metric in LABELLED},
            records={metric: self._records[metric] for metric in scored},
            unknown_labels={m: dict(sorted(labels.items())) for m, labels in self._unknown.items() if labels},
            left_out=self._left_out(),
            error_records=tuple(self._errors),
            misaligned=self._misaligned(),
        )

    def _misaligned(self) -> dict[str, Any]:
        if not self._cut:
            return {}
        places = [str(replace(problem, remedy="")) for problem in self._cut[:SHOWN_PROBLEMS]]
        return {"policy": self.misaligned, "spans": len(self._cut), "places": places}

    def _add_items(self, metric: str, gold: frozenset[Item], predicted: frozenset[Item]) -> None:
        is_labelled = metric in LABELLED
        for count, items in ((self._tp, gold & predicted), (self._predicted, predicted), (self._gold, gold)):
            count[metric].update(str(item[-1]) if is_labelled else "" for item in items)
        for item in gold if metric in self._known else ():
            if item[-1] not in self._known[metric]:
                self._unknown[metric][str(item[-1])] += 1

    def _keep_errors(self, gold: IERecord, predicted: IERecord) -> None:
        groups = [g for g, modelled in self._modelled.items() if modelled and getattr(gold, g) is not None]
        mistakes = find_mistakes(gold, predicted, groups=groups, symmetric=self._symmetric, index=self._n - 1)
        if mistakes is not None:
            self._errors.append(mistakes)

    def _per_label(self, metric: str) -> dict[str, Counts]:
        counts = self._label_counts(metric)
        names = set(counts) | _labels_of(self.schema, metric)
        return {name: counts.get(name, Counts()) for name in sorted(names)}

    def _label_counts(self, metric: str) -> dict[str, Counts]:
        tp, predicted, gold = self._tp[metric], self._predicted[metric], self._gold[metric]
        return {label: Counts(tp[label], predicted[label], gold[label]) for label in predicted.keys() | gold.keys()}

    def _left_out(self) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for group, metrics in GROUPS.items():
            if self._ignored[group]:
                reasons[group] = f"the model does not predict them ({self._ignored[group]} records annotate them)"
            elif self._n and self.schema is not None and self._modelled[group] and not self._records[metrics[0]]:
                reasons[group] = "no record annotates them"
        return reasons


def score_records(
    gold: Iterable[IERecord],
    predicted: Iterable[IERecord],
    *,
    schema: IESchema | None = None,
    model: str = "",
    data: str = "",
) -> IEReport:
    """Score predictions against gold records, in the same order.

    Raises:
        DataError: The two have different lengths or hold different texts.

    >>> from nlpkit.ie.types import Entity
    >>> text = {"text": "Bo met Al"}
    >>> gold = IERecord(**text, entities=(Entity(start=0, end=2, type="Person"), Entity(start=7, end=9, type="Person")))
    >>> found = IERecord(**text, entities=(Entity(start=0, end=2, type="Place"), Entity(start=7, end=9, type="Person")))
    >>> score_records([gold], [found]).scores()
    {'entity': 0.5, 'span': 1.0}
    """
    scorer = IEScorer(schema, model=model, data=data)
    for position, (one, other) in enumerate(zip_longest(gold, predicted)):
        if one is None or other is None:
            kind = "gold record" if one is None else "prediction"
            raise DataError(f"record {position}: there is no {kind}; expected one prediction for each gold record")
        scorer.add(one, other)
    return scorer.report()


def dev_score_parts(gold: Iterable[IERecord], schema: IESchema) -> tuple[str, ...]:
    """The metrics whose mean F1 is the dev score: those of :data:`SELECTED` that have something to find in ``gold``.

    They depend on the gold records alone, so that the scores of all epochs can be compared.

    >>> from nlpkit.ie.types import Entity
    >>> gold = [IERecord(tokens=("Bo",), entities=(Entity(start=0, end=1, type="Person"),), relations=())]
    >>> dev_score_parts(gold, IESchema(entity_types=("Person",), relation_types=()))
    ('entity',)
    """
    scorer = IEScorer(schema, keep_errors=False)
    for record in gold:
        scorer.add(record, record)
    counts = scorer.report().metrics
    return tuple(name for name in SELECTED if isinstance(found := counts.get(name), Counts) and found.gold)


def dev_score_notes(parts: Sequence[str], schema: IESchema) -> list[str]:
    """What the dev score is, and what of the labels it says nothing about, as there is none in the dev data."""
    modelled = {
        "entity": ("entities", schema.entity_types),
        "relation_strict": ("relations", schema.relation_types),
        "trigger": ("events", schema.event_types),
        "argument": ("arguments", schema.roles),
    }
    lacking = [name for metric, (name, labels) in modelled.items() if labels and metric not in parts]
    if not parts:
        return [f"warning: the dev records have no {' and no '.join(lacking)}; the last epoch counts as the best"]
    mean = f"the mean F1 of {', '.join(parts)}" if len(parts) > 1 else f"the F1 of {parts[0]}"
    notes = [f"dev score: {mean} on the dev records, in percent; the epoch with the highest one is kept"]
    if lacking:
        notes.append(
            f"warning: the dev records have no {' and no '.join(lacking)}, which have no part in the dev score"
        )
    return notes


def record_items(record: IERecord, symmetric: frozenset[str] = frozenset()) -> dict[str, frozenset[Item]]:
    """The items of each metric, without those of groups that the record does not annotate.

    >>> from nlpkit.ie.types import Entity
    >>> record_items(IERecord(tokens=("Bo",), entities=(Entity(start=0, end=1, type="Person"),)))
    {'entity': frozenset({(0, 1, 'Person')}), 'span': frozenset({(0, 1)})}
    """
    items: dict[str, frozenset[Item]] = {}
    if record.entities is not None:
        items["entity"] = frozenset((e.start, e.end, e.type) for e in record.entities)
        items["span"] = frozenset((e.start, e.end) for e in record.entities)
    if record.relations is not None:
        items["relation"] = frozenset(relation_items(record, symmetric, is_strict=False))
        items["relation_strict"] = frozenset(relation_items(record, symmetric, is_strict=True))
    if record.events is not None:
        triggers = [event.trigger for event in record.events]
        arguments = [(a, event.trigger.type) for event in record.events for a in event.arguments]
        items["trigger_id"] = frozenset((t.start, t.end) for t in triggers)
        items["trigger"] = frozenset((t.start, t.end, t.type) for t in triggers)
        items["argument_id"] = frozenset((a.start, a.end, event_type) for a, event_type in arguments)
        items["argument"] = frozenset((a.start, a.end, event_type, a.role) for a, event_type in arguments)
    return items


def relation_items(record: IERecord, symmetric: frozenset[str], *, is_strict: bool) -> list[Item]:
    """Each relation as (head, tail, type); the ends of a symmetric type are sorted.

    Raises:
        DataError: A relation has no entity at one of its ends.
    """
    entities = record.entities or ()
    items: list[Item] = []
    for position, relation in enumerate(record.relations or ()):
        if not (0 <= relation.head < len(entities) and 0 <= relation.tail < len(entities)):
            message = (
                f"head {relation.head} and tail {relation.tail}, the record has {counted(len(entities), 'entity')}"
            )
            raise DataError([Problem(message=message, record_id=record.id, field=f"relations[{position}]")])
        ends: list[tuple[int | str, ...]] = [
            (e.start, e.end, e.type) if is_strict else (e.start, e.end)
            for e in (entities[relation.head], entities[relation.tail])
        ]
        if relation.type in symmetric:
            ends.sort()
        items.append((*ends, relation.type))
    return items


def _misaligned_note(misaligned: Mapping[str, Any]) -> str:
    n, places = misaligned["spans"], list(misaligned["places"])[:_SHOWN_PLACES]
    then = {
        "error": f"can only be missed; correct {plural(n, 'it', 'them')}",
        "widen": f"{plural(n, 'is', 'are')} scored as the whole words, as in training",
        "skip": f"{plural(n, 'is', 'are')} left out with what hangs on {plural(n, 'it', 'them')}, as in training",
    }[misaligned["policy"]]
    more = f"; and {n - len(places)} more" if n > len(places) else ""
    return f"{counted(n, 'gold span cuts', 'gold spans cut')} a word and {then}: {'; '.join(places)}{more}."


def _known_labels(schema: IESchema | None) -> dict[str, set[str]]:
    """The labels of the schema for each metric whose unknown labels are listed; each label is listed by one metric."""
    if schema is None:
        return {}
    return {metric: _labels_of(schema, metric) for metric in ("entity", "relation", "trigger", "argument")}


def _labels_of(schema: IESchema | None, metric: str) -> set[str]:
    if schema is None:
        return set()
    if metric == "entity":
        return set(schema.entity_types or ())
    if metric in ("relation", "relation_strict"):
        return {r.name for r in schema.relation_types or ()}
    return set(schema.roles if metric == "argument" else schema.trigger_types)


def _check_same_text(gold: IERecord, predicted: IERecord, position: int) -> None:
    if gold.text == predicted.text and gold.tokens == predicted.tokens:
        return
    raise DataError(
        [
            Problem(
                message=f"prediction {position} (id {shown_id(predicted.id)}) is of another text than the gold record",
                remedy="give the predictions in the order of the gold records and in the same form (text or tokens)",
                file=gold.source.file if gold.source else None,
                line=gold.source.line if gold.source else None,
                record_id=gold.id,
            )
        ]
    )
