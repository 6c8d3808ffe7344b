"""What is held out as dev: whole documents, no text twice, every label still in training, about the share asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nlpkit.ie.hold_out import HeldOut, hold_out, labels_of, text_key
from nlpkit.ie.reader import records_from
from nlpkit.ie.training_data import load_training_data
from nlpkit.ie.types import IERecord


def record(text: str, label: str | None = "P", doc: str | None = None, **more: Any) -> IERecord:
    spans = [{"start": 0, "end": len(text.split()[0]), "type": label}] if label else []
    (made,) = records_from([{"text": text, "entities": spans, **({"doc_id": doc} if doc else {}), **more}])
    return made


def documents(sizes: list[int]) -> list[IERecord]:
    return [record(f"Bo{d} left{k}", doc=f"d{d}") for d, size in enumerate(sizes) for k in range(size)]


def check(records: list[IERecord], held: HeldOut) -> None:
    assert sorted(map(repr, held.train + held.dev)) == sorted(map(repr, records)), "nothing is lost or made"
    assert held.train, "something is left to learn from"
    assert not {text_key(r) for r in held.train} & {text_key(r) for r in held.dev}
    labels = {label for r in records for label in labels_of(r)}
    assert {label for r in held.train for label in labels_of(r)} == labels


@pytest.mark.parametrize("seed", range(8))
def test_whole_documents_and_about_the_share_of_records(seed):
    rng = random.Random(seed)
    records = documents([rng.randint(1, 9) for _ in range(60)])
    rng.shuffle(records)
    held = hold_out(records, 0.1, seed)
    check(records, held)
    docs = {r.doc_id for r in held.dev}
    assert not docs & {r.doc_id for r in held.train}
    assert abs(len(held.dev) / len(records) - 0.1) < 0.02
    (note,) = held.notes
    assert note == (
        f"no dev data given: {len(held.dev)} of {len(records)} training records "
        f"({len(held.dev) / len(records):.0%}) of {len(docs)} whole documents are held out to pick the best epoch"
    )


def test_the_seed_chooses_and_the_order_of_the_records_stays():
    records = documents([3] * 40)
    held = hold_out(records, 0.1, 1)
    assert hold_out(records, 0.1, 1) == held
    assert len({tuple(r.doc_id for r in hold_out(records, 0.1, seed).dev) for seed in range(6)}) > 3
    for part in (held.train, held.dev):
        assert part == [r for r in records if r in part]


@pytest.mark.parametrize("seed", range(20))
def test_the_only_records_of_a_label_stay_whatever_kind_it_is(seed):
    pair = [{"start": 0, "end": 2, "type": "P"}, {"start": 3, "end": 6, "type": "P"}]
    who = {"start": 0, "end": 2, "role": "who"}
    sale = {"trigger": {"start": 3, "end": 6, "type": "Sale"}, "arguments": []}
    plain = [record(f"Bo met Al{k}", entities=pair, relations=[], events=[sale]) for k in range(8)]
    rare = [
        record("Bo met Cy", entities=[{**pair[0], "type": "Rare"}], relations=[], events=[]),
        record("Bo met Di", entities=pair, relations=[{"head": 0, "tail": 1, "type": "rare"}], events=[]),
        record(
            "Bo met Ed", entities=pair, relations=[], events=[{**sale, "trigger": {**sale["trigger"], "type": "R"}}]
        ),
        record("Bo met Fa", entities=pair, relations=[], events=[{**sale, "arguments": [who]}]),
    ]
    records = [*plain, *rare]
    held = hold_out(records, 0.3, seed)
    check(records, held)
    assert len(held.dev) == 4
    assert not set(map(text_key, rare)) & set(map(text_key, held.dev))
    assert held.notes[1].startswith("labels of a single text stay in training, so that the dev score says nothing")
    assert held.notes[1].endswith(": R, Rare, Sale.who, rare")


@pytest.mark.parametrize("seed", range(20))
def test_two_records_of_a_label_are_not_both_held_out(seed):
    records = [record(f"Bo{k} left", label=f"T{k // 2}") for k in range(20)]
    held = hold_out(records, 0.5, seed)
    check(records, held)
    assert len(held.dev) == 10


@pytest.mark.parametrize("seed", range(8))
def test_a_label_of_one_document_stays_with_the_document(seed):
    records = documents([4] * 10) + [record(f"Ada left{k}", label="Rare", doc="rare") for k in range(4)]
    held = hold_out(records, 0.2, seed)
    check(records, held)
    assert "rare" not in {r.doc_id for r in held.dev}
    assert len(held.dev) == 8
    assert held.notes[1].startswith("labels of a single document stay in training")


@pytest.mark.parametrize("seed", range(12))
def test_equal_texts_are_on_one_side_also_in_other_documents(seed):
    twins = [record("Bo stayed there", doc=doc) for doc in ("d1", "d2")]
    copies = [record("Al stayed here", label=label) for label in ("P", None, "P")]
    records = documents([3] * 20) + twins + copies
    held = hold_out(records, 0.3, seed)
    check(records, held)
    assert not {r.doc_id for r in held.dev if r.doc_id} & {r.doc_id for r in held.train if r.doc_id}
    assert len({r.doc_id in {d.doc_id for d in held.dev} for r in twins}) == 1


def test_a_stock_phrase_does_not_tie_all_documents_together():
    records = [record(text, doc=f"d{d}") for d in range(30) for text in (f"Bo{d} left", f"Al{d} left", "It rained")]
    held = hold_out(records, 0.1, 1)
    check(records, held)
    assert 4 <= len(held.dev) <= 9
    assert all(text_key(r) != ("It rained",) for r in held.dev)
    assert any("other documents have the same texts" in note for note in held.notes)


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([record("Bo left")], "there is one record"),
        ([record(f"Bo{k} left", doc="d") for k in range(50)], "all records are of one document"),
        ([record("Bo left"), record("Bo left")], "all texts are the same"),
        ([record(f"Bo{k} left", label=f"T{k}") for k in range(10)], "each text has a label that no other has"),
        (documents([50, 50]), "the smallest document that could be has 50 of 100 records"),
    ],
)
def test_where_nothing_can_be_held_out_it_is_said_and_all_is_trained_on(records, reason):
    held = hold_out(records, 0.1, 1)
    assert (held.train, held.dev) == (records, [])
    (note,) = held.notes
    assert note == (
        f"no dev data given, and nothing can be held out: {reason}; the last epoch counts as the best. "
        "Give some (dev) to pick the best epoch"
    )


def test_tiny_sets():
    two = [record("Bo left"), record("Al left")]
    assert len(hold_out(two, 0.1, 1).dev) == 1
    # a document of a third of all records is the most that is held out
    three = hold_out(documents([5, 5, 5]), 0.1, 1)
    assert len(three.dev) == 5
    # what has a label goes before what has none
    few = [record("Bo left"), record("Al left"), *(record(f"Nothing {k}", label=None) for k in range(8))]
    for seed in range(10):
        assert [e.type for r in hold_out(few, 0.1, seed).dev for e in r.entities or ()] == ["P"]


def test_training_data_are_split_so(tmp_path):
    records = documents([2] * 20)
    data = load_training_data(records, None, dev_share=0.1, seed=4)
    held = hold_out(records, 0.1, 4)
    assert (data.train, data.dev) == (held.train, held.dev)
    assert data.notes == held.notes
    assert load_training_data(records, None, dev_share=0.0).dev == []
