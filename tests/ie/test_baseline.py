"""The dictionary baseline looks up what it saw in training, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlpkit.errors import DataError, NotFittedError
from nlpkit.ie.baseline import DictionaryBaseline, best_links
from nlpkit.ie.metrics import score_records
from nlpkit.ie.parse import parse_record
from nlpkit.ie.reader import read_records
from nlpkit.ie.sample import sample_path
from nlpkit.ie.types import Argument, Entity, IERecord


def record(text: str, entities: str = "", relations: tuple[tuple[int, int, str], ...] = (), **event: str) -> IERecord:
    """A record; ``entities`` is "Surface/Type, ...", ``event`` is trigger="word/Type" and role=surface."""
    data: dict[str, object] = {
        "text": text,
        "entities": [dict(zip(("text", "type"), e.split("/"), strict=True)) for e in entities.split(", ") if e],
        "relations": [{"head": head, "tail": tail, "type": label} for head, tail, label in relations],
        "events": [],
    }
    if event:
        surface, label = event.pop("trigger").split("/")
        arguments = [{"text": text, "role": role} for role, text in event.items()]
        data["events"] = [{"trigger": {"text": surface, "type": label}, "arguments": arguments}]
    parsed, problems = parse_record(data, source=None)
    assert parsed is not None, problems
    return parsed


def found(record: IERecord) -> list[tuple[str, str]]:
    return [((record.text or "")[e.start : e.end], e.type) for e in record.entities or ()]


def test_the_longest_match_wins_and_none_overlap() -> None:
    baseline = DictionaryBaseline().fit(
        [record("Aa Bb met Bb Cc.", "Aa Bb/Org, Bb Cc/Person"), record("Aa and Cc.", "Aa/City, Cc/City")]
    )
    assert found(baseline.predict(IERecord(text="Aa Bb Cc, Aa"))) == [("Aa Bb", "Org"), ("Cc", "City"), ("Aa", "City")]


def test_the_most_frequent_type_wins_and_case_is_ignored() -> None:
    train = [record("Aa ran.", "Aa/Person"), record("Aa fell.", "Aa/Org"), record("Aa rose.", "Aa/Org")]
    assert found(DictionaryBaseline().fit(train).predict(IERecord(text="So AA did."))) == [("AA", "Org")]
    assert found(DictionaryBaseline().fit(train[:2]).predict(IERecord(text="Aa"))) == [("Aa", "Org")]
    assert found(DictionaryBaseline().fit(train[1::-1]).predict(IERecord(text="Aa"))) == [("Aa", "Org")]


def test_a_word_is_matched_whole() -> None:
    baseline = DictionaryBaseline().fit([record("Aa ran.", "Aa/Person")])
    assert found(baseline.predict(IERecord(text="Aab, bAa, Aa-b"))) == [("Aa", "Person")]


def test_a_type_pair_gets_its_most_frequent_relation_in_its_direction() -> None:
    names = "Aa/Person, Bb/Org"
    train = [
        record("Aa works at Bb.", names, ((0, 1, "works_for"),)),
        record("Aa serves Bb.", names, ((0, 1, "works_for"),)),
        record("Aa made Bb.", names, ((0, 1, "founder_of"),)),
        record("Bb hired Aa.", names, ((0, 1, "works_for"),)),
    ]
    baseline = DictionaryBaseline().fit(train)
    result = baseline.predict(IERecord(text="Aa, then Bb, then Aa"))
    assert [(r.head, r.tail, r.type) for r in result.relations or ()] == [(0, 1, "works_for"), (2, 1, "works_for")]


def test_each_mention_gets_the_role_of_its_type() -> None:
    names = "Aa/Org, Bb/Org, 5/Money"
    train = [
        record("Aa bought Bb for 5.", names, trigger="bought/Deal", buyer="Aa", target="Bb", price="5"),
        record("Aa bought Cc for 5.", "Aa/Org, 5/Money", trigger="bought/Deal", buyer="Aa", price="5"),
    ]
    (event,) = DictionaryBaseline().fit(train).predict(IERecord(text="For 5, Bb bought it.")).events or ()
    assert (event.trigger.start, event.trigger.end, event.trigger.type) == (10, 16, "Deal")
    assert event.arguments == (Argument(start=4, end=5, role="price"), Argument(start=7, end=9, role="buyer"))


def test_pairs_are_linked_only_where_it_helps() -> None:
    rare = [record("Aa and Bb.", "Aa/Org, Bb/Org")] * 30 + [record("Aa, Bb", "Aa/Org, Bb/Org", ((1, 0, "owns"),))]
    common = [record("Cc at Dd.", "Cc/Person, Dd/Org", ((0, 1, "works_for"),))] * 10
    baseline = DictionaryBaseline().fit([*rare, *common])
    assert set(baseline.relations) == {("Person", "Org")}


def test_links_are_the_ones_with_the_best_f1() -> None:
    candidates = [(key, "x" if n < hits else None) for key, hits in (("a", 9), ("b", 5), ("c", 1)) for n in range(10)]
    # F1 with a: 18/25, with a and b: 28/35, with all: 30/45
    assert best_links(candidates) == {"a": "x", "b": "x"}
    assert best_links([("a", None)]) == {}


def test_groups_that_training_lacks_stay_absent() -> None:
    parsed, _ = parse_record({"text": "Aa ran.", "entities": [{"text": "Aa", "type": "Person"}]}, source=None)
    assert parsed is not None
    result = DictionaryBaseline().fit([parsed]).predict(IERecord(text="Aa", id="7"))
    assert result.relations is None
    assert result.events is None
    assert result.id == "7"


def test_tokens_are_positions_of_tokens_and_events_need_no_entities() -> None:
    data = {
        "tokens": ["rash", "after", "drug", "X"],
        "events": [
            {
                "trigger": {"start": 1, "end": 2, "type": "Effect"},
                "arguments": [{"start": 0, "end": 1, "role": "effect"}, {"start": 2, "end": 4, "role": "cause"}],
            }
        ],
    }
    parsed, problems = parse_record(data, source=None)
    assert parsed is not None, problems
    result = DictionaryBaseline().fit([parsed]).predict(IERecord(tokens=("a", "rash", "soon", "after", "drug", "X")))
    assert result.entities is None
    (event,) = result.events or ()
    assert (event.trigger.start, event.trigger.end) == (3, 4)
    assert event.arguments == (Argument(start=1, end=2, role="effect"), Argument(start=4, end=6, role="cause"))


def test_nothing_to_learn_and_nothing_learnt() -> None:
    with pytest.raises(DataError, match="no training record"):
        DictionaryBaseline().fit([])
    with pytest.raises(NotFittedError, match="fit"):
        DictionaryBaseline().predict(IERecord(text="Aa"))
    assert DictionaryBaseline().fit([record("Nobody came.")]).predict(IERecord(text="")).entities == ()


def test_gold_answers_are_not_used() -> None:
    baseline = DictionaryBaseline().fit([record("Aa ran.", "Aa/Person")])
    asked = record("Bb met Aa.", "Bb/Person, Aa/Person")
    assert baseline.predict(asked) == baseline.predict(IERecord(text=asked.text))


def test_it_knows_its_training_data_and_only_some_of_the_test_data() -> None:
    def scores(path: Path) -> dict[str, float | None]:
        gold = list(read_records([path]))
        return score_records(gold, [baseline.predict(r) for r in gold]).scores()

    baseline = DictionaryBaseline().fit(read_records([sample_path("train")]))
    train, test = scores(sample_path("train")), scores(sample_path("test"))
    for metric in ("entity", "relation", "relation_strict", "trigger", "argument"):
        in_train, in_test = train[metric], test[metric]
        assert in_train is not None
        assert in_test is not None
        assert in_train > 0.6
        # it scores something on new sentences, and leaves room above
        assert 0.1 < in_test < 0.8


def test_the_dictionary_splits_as_fine_as_its_training_spans_need():
    train = IERecord(text="김민수가 왔다", entities=(Entity(start=0, end=3, type="Person"),))
    baseline = DictionaryBaseline().fit([train])
    [entity] = baseline.predict(IERecord(text="어제 김민수를")).entities
    assert (entity.start, entity.end, entity.type) == (3, 6, "Person")
