from __future__ import annotations

import importlib.util
import os
import random
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from nlpkit.errors import DataError
from nlpkit.ie.metrics import IEScorer, dev_score_notes, dev_score_parts, record_items, score_records
from nlpkit.ie.reader import parse_record
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.metrics import Counts

TYPES = ("Person", "Org", "Place")
RELATIONS = ("works_for", "near", "owns")
EVENTS = ("Hire", "Sale")
ROLES = ("Who", "What")


def flat_spans(rng: random.Random, n_words: int) -> list[tuple[int, int, str]]:
    spans, start = [], 0
    while start < n_words:
        end = min(n_words, start + rng.randint(1, 3))
        if rng.random() < 0.5:
            spans.append((start, end, rng.choice(TYPES)))
        start = end
    return spans


def changed(rng: random.Random, spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Some spans are lost, some lose their last word, some get another type."""
    return [
        (start, end - (end - start > 1 and rng.random() < 0.2), label if rng.random() < 0.8 else rng.choice(TYPES))
        for start, end, label in spans
        if rng.random() < 0.8
    ]


def bio(spans: list[tuple[int, int, str]], n_words: int) -> list[str]:
    tags = ["O"] * n_words
    for start, end, label in spans:
        tags[start:end] = ["B-" + label] + ["I-" + label] * (end - start - 1)
    return tags


def random_record(rng: random.Random, record_id: str, n_words: int) -> IERecord:
    """Overlapping entities, several types on a span, relations (also of a span with itself) and events with repeats."""

    def span() -> dict[str, int]:
        start = rng.randrange(n_words)
        return {"start": start, "end": rng.randint(start + 1, min(n_words, start + 2))}

    entities = list({Entity(**span(), type=rng.choice(TYPES)) for _ in range(rng.randint(0, 5))})
    pairs = [(rng.randrange(len(entities)), rng.randrange(len(entities))) for _ in range(4)] if entities else []
    relations = tuple(Relation(head=h, tail=t, type=rng.choice(RELATIONS)) for h, t in pairs)
    events = tuple(
        Event(
            trigger=Trigger(**span(), type=rng.choice(EVENTS)),
            arguments=tuple(Argument(**span(), role=rng.choice(ROLES)) for _ in range(rng.randint(0, 4))),
        )
        for _ in range(rng.randint(0, 3))
    )
    tokens = tuple("abcdefgh"[:n_words])
    return IERecord(id=record_id, tokens=tokens, entities=tuple(entities), relations=relations, events=events)


def random_pairs(seed: int, n: int = 60) -> list[tuple[IERecord, IERecord]]:
    rng = random.Random(seed)
    sizes = [rng.randint(1, 4) for _ in range(n)]
    return [(random_record(rng, str(i), k), random_record(rng, str(i), k)) for i, k in enumerate(sizes)]


def shared_script() -> ModuleType:
    root = Path(os.environ.get("NLPKIT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
    path = root / "peers" / "ie" / "score.py"
    if not path.exists():
        pytest.skip(
            "the independent scorer peers/ie/score.py is not there; set NLPKIT_SHARED to the folder that has it"
        )
    spec = importlib.util.spec_from_file_location("peer_score", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(5))
def test_flat_entities_equal_seqeval(seed: int) -> None:
    from seqeval.metrics import classification_report, f1_score, precision_score, recall_score

    rng = random.Random(seed)
    gold_tags, predicted_tags, gold, predicted = [], [], [], []
    for _ in range(100):
        n_words = rng.randint(1, 12)
        gold_spans = flat_spans(rng, n_words)
        predicted_spans = changed(rng, gold_spans) if rng.random() < 0.7 else flat_spans(rng, n_words)
        for spans, tags, records in ((gold_spans, gold_tags, gold), (predicted_spans, predicted_tags, predicted)):
            tags.append(bio(spans, n_words))
            entities = tuple(Entity(start=s, end=e, type=t) for s, e, t in spans)
            records.append(IERecord(tokens=("x",) * n_words, entities=entities))
    report = score_records(gold, predicted)
    entity = report.metrics["entity"]
    assert isinstance(entity, Counts)
    assert entity.tp > 20, "the comparison must not be of zeros"
    assert entity.precision == pytest.approx(precision_score(gold_tags, predicted_tags))
    assert entity.recall == pytest.approx(recall_score(gold_tags, predicted_tags))
    assert entity.f1 == pytest.approx(f1_score(gold_tags, predicted_tags))
    labels = classification_report(gold_tags, predicted_tags, output_dict=True)
    for label in TYPES:
        assert report.per_label["entity"][label].f1 == pytest.approx(labels[label]["f1-score"])
        assert report.per_label["entity"][label].gold == labels[label]["support"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("symmetric", [frozenset(), frozenset({"near"})])
def test_entities_and_relations_equal_the_independent_scorer(seed: int, symmetric: frozenset[str]) -> None:
    peer = shared_script()
    pairs = random_pairs(seed)
    schema = IESchema(
        entity_types=TYPES,
        relation_types=tuple(RelationType(name=r, symmetric=r in symmetric) for r in RELATIONS),
        event_types={},
    )
    gold, predicted = ([pair[i] for pair in pairs] for i in (0, 1))
    expected = peer.score([g.to_dict() for g in gold], [p.to_dict() for p in predicted], symmetric)
    report = score_records(gold, predicted, schema=schema)
    for ours, theirs in (
        ("entity", "entities"),
        ("relation", "relations_boundaries"),
        ("relation_strict", "relations_strict"),
    ):
        row, counts = expected[theirs], report.metrics[ours]
        assert isinstance(counts, Counts)
        assert counts == Counts(tp=row["hits"], predicted=row["pred"], gold=row["gold"])
        assert counts.tp > 0, "the comparison must not be of zeros"
        assert round(100 * (counts.f1 or 0), 2) == row["f1"]


def direct_event_items(record: dict, metric: str) -> set[tuple]:
    """The definitions spelled out once more, from the JSON form."""
    found = set()
    for event in record["events"]:
        trigger = event["trigger"]
        if metric == "trigger_id":
            found.add((trigger["start"], trigger["end"]))
        if metric == "trigger":
            found.add((trigger["start"], trigger["end"], trigger["type"]))
        for argument in event["arguments"] if metric.startswith("argument") else ():
            place = (argument["start"], argument["end"], trigger["type"])
            found.add(place if metric == "argument_id" else (*place, argument["role"]))
    return found


@pytest.mark.parametrize("metric", ["trigger_id", "trigger", "argument_id", "argument"])
def test_events_equal_direct_counting(metric: str) -> None:
    pairs = random_pairs(11)
    report = score_records(*zip(*pairs, strict=True))
    sets = [[direct_event_items(record.to_dict(), metric) for record in pair] for pair in pairs]
    expected = Counts(
        tp=sum(1 for gold, predicted in sets for item in gold if item in predicted),
        predicted=sum(len(predicted) for _, predicted in sets),
        gold=sum(len(gold) for gold, _ in sets),
    )
    assert report.metrics[metric] == expected
    assert expected.tp > 0


def test_labels_add_up_to_the_metric() -> None:
    report = score_records(*zip(*random_pairs(3), strict=True))
    assert set(report.per_label) == {"entity", "relation", "relation_strict", "trigger", "argument_id", "argument"}
    for metric, labels in report.per_label.items():
        assert sum(labels.values(), Counts()) == report.metrics[metric]
    assert set(report.per_label["argument"]) == set(ROLES)
    assert set(report.per_label["argument_id"]) == set(EVENTS)


def two_people(**groups: object) -> IERecord:
    entities = (Entity(start=0, end=1, type="Person"), Entity(start=2, end=3, type="Person"))
    return IERecord(**{"tokens": ("Bo", "met", "Al"), "entities": entities, **groups})


def test_symmetric_relation_counts_once_in_either_order() -> None:
    gold = two_people(relations=(Relation(head=0, tail=1, type="met"),))
    turned = two_people(relations=(Relation(head=1, tail=0, type="met"), Relation(head=0, tail=1, type="met")))
    schema = IESchema(entity_types=("Person",), relation_types=(RelationType(name="met", symmetric=True),))
    directed = IESchema(entity_types=("Person",), relation_types=(RelationType(name="met"),))
    assert score_records([gold], [turned], schema=schema).metrics["relation_strict"] == Counts(1, 1, 1)
    assert score_records([gold], [turned], schema=directed).metrics["relation_strict"] == Counts(1, 2, 1)


def test_strict_relation_needs_both_entity_types_and_boundaries_do_not() -> None:
    gold = two_people(relations=(Relation(head=0, tail=1, type="met"),))
    entities = (Entity(start=0, end=1, type="Person"), Entity(start=2, end=3, type="Org"))
    report = score_records([gold], [two_people(entities=entities, relations=gold.relations)])
    assert report.metrics["relation"] == Counts(1, 1, 1)
    assert report.metrics["relation_strict"] == Counts(0, 1, 1)


def test_argument_does_not_depend_on_the_place_of_its_trigger() -> None:
    argument = Argument(start=0, end=1, role="Who")
    gold, found = (
        IERecord(
            tokens=("a", "b"), events=(Event(trigger=Trigger(start=s, end=2, type="Hire"), arguments=(argument,)),)
        )
        for s in (0, 1)
    )
    report = score_records([gold], [found])
    assert report.metrics["trigger"] == Counts(0, 1, 1)
    assert report.metrics["argument"] == Counts(1, 1, 1)


def test_groups_that_gold_does_not_annotate_are_left_out_record_by_record() -> None:
    met = (Relation(head=0, tail=1, type="met"),)
    gold = [two_people(), two_people(relations=()), two_people(relations=met)]
    predicted = [two_people(relations=met, events=())] * 3
    report = score_records(gold, predicted)
    assert report.metrics["relation"] == Counts(1, 2, 1)
    assert report.records == {"entity": 3, "span": 3, "relation": 2, "relation_strict": 2}
    assert "trigger" not in report.metrics
    assert "Scored on the 2 records that annotate it: relation, relation_strict." in str(report)


def test_a_group_that_is_not_predicted_counts_as_empty() -> None:
    gold = two_people(relations=(Relation(head=0, tail=1, type="met"),))
    assert score_records([gold], [two_people()]).metrics["relation"] == Counts(0, 0, 1)


def test_a_group_that_the_model_does_not_have_is_left_out_and_said_so() -> None:
    gold = two_people(relations=(Relation(head=0, tail=1, type="met"),))
    report = score_records([gold], [two_people()], schema=IESchema(entity_types=("Person",), relation_types=None))
    assert set(report.metrics) == {"entity", "span"}
    assert report.left_out == {"relations": "the model does not predict them (1 records annotate them)"}
    assert report.errors() == []


def test_a_group_that_only_the_model_has_is_said_to_be_unannotated() -> None:
    report = score_records([two_people()], [two_people()], schema=IESchema(entity_types=("Person",), event_types={}))
    assert report.left_out == {"events": "no record annotates them"}


def test_unknown_labels_count_as_missed_and_are_listed() -> None:
    trigger = Trigger(start=1, end=2, type="Meet")
    gold = two_people(
        entities=(Entity(start=0, end=1, type="Robot"), Entity(start=2, end=3, type="Person")),
        relations=(Relation(head=0, tail=1, type="met"),),
        events=(Event(trigger=trigger, arguments=(Argument(start=0, end=1, role="Host"),)),),
    )
    schema = IESchema(entity_types=("Person",), relation_types=(), event_types={"Hire": ("Who",)})
    found = two_people(entities=gold.entities[1:], relations=(), events=())
    report = score_records([gold, gold], [found, found], schema=schema)
    assert report.metrics["entity"] == Counts(2, 2, 4)
    assert report.unknown_labels == {
        "entity": {"Robot": 2},
        "relation": {"met": 2},
        "trigger": {"Meet": 2},
        "argument": {"Host": 2},
    }
    assert "Robot (2)" in str(report)
    assert report.per_label["trigger"] == {"Hire": Counts(), "Meet": Counts(0, 0, 2)}


def test_other_text_or_other_number_of_records_is_an_error() -> None:
    with pytest.raises(DataError, match="another text"):
        score_records([two_people()], [two_people(tokens=("Bo", "met", "Cy"))])
    with pytest.raises(DataError, match="no prediction"):
        score_records([two_people()], [])
    with pytest.raises(DataError, match="no gold record"):
        score_records([], [two_people()])


def test_relation_without_its_entity_is_an_error_and_not_the_last_entity() -> None:
    with pytest.raises(DataError, match="head -1"):
        record_items(two_people(relations=(Relation(head=-1, tail=0, type="met"),)))


def test_scores_without_errors_kept_are_the_same() -> None:
    scorer = IEScorer(keep_errors=False)
    pairs = random_pairs(5)
    for gold, predicted in pairs:
        scorer.add(gold, predicted)
    full = score_records(*zip(*pairs, strict=True))
    assert scorer.report() == full
    assert scorer.report().errors() == []
    assert full.errors() != []


def test_no_records_is_an_empty_report() -> None:
    report = score_records([], [], schema=IESchema(entity_types=("Person",)))
    assert report.n == 0
    assert report.metrics == {}
    assert "0 records" in str(report)


@pytest.mark.parametrize("seed", range(3))
def test_errors_account_for_every_missed_and_spurious_item(seed: int) -> None:
    pairs = random_pairs(seed)
    report = score_records(*zip(*pairs, strict=True))
    false: Counter[tuple[str, str]] = Counter()
    for record in report.errors():
        for item in record["missed"]:
            false[item["kind"], "gold"] += 1
        for item in record["spurious"]:
            false[item["kind"], "predicted"] += 1
        for pair in [*record["wrong_type"], *record["wrong_boundary"]]:
            for side, item in pair.items():
                false[item["kind"], side] += 1
    for kind, metric in (
        ("entity", "entity"),
        ("relation", "relation_strict"),
        ("trigger", "trigger"),
        ("argument", "argument"),
    ):
        counts = report.metrics[metric]
        assert isinstance(counts, Counts)
        assert false[kind, "gold"] == counts.gold - counts.tp > 0
        assert false[kind, "predicted"] == counts.predicted - counts.tp > 0


def test_the_parts_of_the_dev_score_are_what_the_gold_records_have() -> None:
    entity = {"start": 0, "end": 1, "type": "P"}
    trigger = {"start": 1, "end": 2, "type": "E"}
    record, _ = parse_record(
        {
            "tokens": ["a", "b", "c"],
            "entities": [entity],
            "relations": [],
            "events": [{"trigger": trigger, "arguments": []}],
        }
    )
    assert record is not None
    schema = IESchema(
        entity_types=("P",), relation_types=(RelationType(name="r"),), event_types={"E": ("who",), "F": ()}
    )
    parts = dev_score_parts([record], schema)
    assert parts == ("entity", "trigger")
    said, lacking = dev_score_notes(parts, schema)
    assert "mean F1 of entity, trigger" in said
    assert lacking.startswith("warning: the dev records have no relations and no arguments,")
    (nothing,) = dev_score_notes(dev_score_parts([], schema), schema)
    assert nothing.startswith("warning: the dev records have no entities and no relations and no events and no argum")
    assert "the last epoch counts as the best" in nothing
    # what the model does not have is no part, and not missed
    assert dev_score_parts([record], IESchema(entity_types=("P",))) == ("entity",)
    assert len(dev_score_notes(("entity",), IESchema(entity_types=("P",), relation_types=()))) == 1
