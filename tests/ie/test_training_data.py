"""Training data: what is refused, what is noted, and that labels come from the training records alone."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from nlpkit.errors import ConfigError, DataError
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.training_data import describe, load_training_data, read_or_check
from nlpkit.ie.types import Entity, IERecord


def line(text: str, *entities: tuple[int, int, str], **more: Any) -> dict[str, Any]:
    return {"text": text, "entities": [{"start": s, "end": e, "type": t} for s, e, t in entities], **more}


TRAIN = [line(f"Person{k} left", (0, 7, "Person")) for k in range(10)]
DEV = [line("Ada stayed", (0, 3, "Place"))]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def to_file(name: str, records: list[Any]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return to_file


def test_files_records_dicts_and_generators_give_the_same(write):
    file = write("train.jsonl", TRAIN)
    dev = write("dev.jsonl", DEV)
    made = [IERecord(text=r["text"], entities=tuple(Entity(**e) for e in r["entities"])) for r in TRAIN]
    for train in (file, str(file), [file], TRAIN, made, (r for r in TRAIN)):
        data = load_training_data(train, dev)
        assert data.train == made
        assert [r.text for r in data.dev] == ["Ada stayed"]


def test_several_files_are_read_in_their_order(write):
    first, second = write("a.jsonl", TRAIN[:3]), write("b.jsonl", TRAIN[3:5])
    data = load_training_data([second, first], DEV)
    assert [r.text for r in data.train] == [TRAIN[k]["text"] for k in (3, 4, 0, 1, 2)]


def test_labels_of_dev_are_not_learned(write):
    assert load_training_data(TRAIN, DEV).schema.entity_types == ("Person",)


def test_every_label_of_the_records_is_learned_when_some_are_held_out():
    rare = [line("x y", (0, 1, f"T{k}")) for k in range(10)]
    data = load_training_data([*TRAIN, *rare], None, dev_share=0.3)
    assert data.schema.entity_types == ("Person", *(f"T{k}" for k in range(10)))
    assert len(data.dev) == 6
    assert not any("can only be missed" in note for note in data.notes)


def test_all_faults_of_train_and_dev_are_named_at_once(write):
    train = write("train.jsonl", [*TRAIN, line("Bo", (0, 9, "Person")), line("Al", (2, 1, "Person"))])
    dev = write("dev.jsonl", [line("Bosnia", (0, 2, "Place"))])
    with pytest.raises(DataError) as raised:
        load_training_data(train, dev)
    places = [(Path(p.file or "").name, p.line) for p in raised.value.problems]
    assert places == [("train.jsonl", 11), ("train.jsonl", 12), ("dev.jsonl", 1)]


def test_a_cut_word_is_left_to_the_word_view_when_the_user_says_so(write):
    train = write("train.jsonl", [*TRAIN, line("Bosnia", (0, 2, "Place"))])
    for policy in ("widen", "skip"):
        assert len(load_training_data(train, DEV, misaligned=policy).train) == 11


def test_borders_that_training_spans_need_are_learned_and_those_of_dev_are_not(write):
    korean, glued = line("김민수가 왔다", (0, 3, "Person")), line("Kolb1", (0, 4, "Person"))
    data = load_training_data(write("train.jsonl", [*TRAIN, korean]), [*DEV, glued])
    assert data.word_borders == ("number-unit", "comma-list", "hangul")
    assert [note for note in data.notes if "borders" in note] == [
        "words also part at borders of the kind hangul (1 span, such as '김민수' in '김민수가' (line 11))"
    ]
    assert data.identity()["word_borders"] == list(data.word_borders)
    for policy in ("widen", "skip"):  # a span that can be had is not widened
        again = load_training_data([*TRAIN, korean, line("Bosnia", (0, 2, "Place"))], DEV, misaligned=policy)
        assert again.word_borders == data.word_borders
    assert load_training_data(TRAIN, DEV).word_borders == ("number-unit", "comma-list")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_training_file_is_refused_by_name(tmp_path, content):
    file = tmp_path / "nothing.jsonl"
    file.write_text(content, encoding="utf-8")
    for dev in (DEV, None):
        with pytest.raises(DataError, match=r"nothing\.jsonl.*no record"):
            load_training_data(file, dev)


@pytest.mark.parametrize("dev", [None, DEV])
def test_no_records_at_all_are_refused(dev):
    with pytest.raises(DataError, match="no record"):
        load_training_data([], dev)


def test_an_empty_dev_file_is_refused_by_name(write):
    with pytest.raises(DataError, match=r"dev\.jsonl.*no dev record"):
        load_training_data(TRAIN, write("dev.jsonl", []))


@pytest.mark.parametrize("records", [[{"text": "Bo left"}], [line("Bo left")], [{**line("Bo left"), "relations": []}]])
def test_data_without_any_label_is_refused(records):
    with pytest.raises(DataError, match="nothing can be learned"):
        load_training_data(records, DEV)


def test_a_given_schema_makes_records_without_labels_usable():
    schema = IESchema(entity_types=("Person",))
    assert load_training_data([line("Bo left")], DEV, schema=schema).schema == schema


def test_a_schema_without_labels_is_refused():
    with pytest.raises(DataError, match="nothing can be learned"):
        load_training_data([line("Bo left")], DEV, schema=IESchema(entity_types=()))


def test_relations_without_entities_are_refused():
    schema = IESchema(relation_types=(RelationType(name="met"),), event_types={"Meeting": ()})
    with pytest.raises(DataError, match=r"relation types \(met\) but no entity types"):
        load_training_data(TRAIN, DEV, schema=schema)


def test_the_held_out_share_is_seeded_said_and_a_partition():
    data = load_training_data(TRAIN, None, dev_share=0.2, seed=3)
    again = load_training_data(TRAIN, None, dev_share=0.2, seed=3)
    assert (data.train, data.dev) == (again.train, again.dev)
    assert len(data.dev) == 2
    assert sorted(r.text or "" for r in data.train + data.dev) == sorted(r["text"] for r in TRAIN)
    assert [r.text for r in data.train] == [r["text"] for r in TRAIN if r["text"] in {t.text for t in data.train}]
    assert any("2 of 10 training records (20%) are held out" in note for note in data.notes)
    assert any("2 dev records cannot tell which epoch is the best" in note for note in data.notes)
    choices = {tuple(r.text for r in load_training_data(TRAIN, None, dev_share=0.2, seed=s).dev) for s in range(8)}
    assert len(choices) > 1


def test_no_share_holds_out_nothing():
    data = load_training_data(TRAIN, None, dev_share=0.0)
    assert (len(data.train), data.dev, data.notes) == (10, [], ())


def test_a_single_record_is_never_held_out():
    data = load_training_data(TRAIN[:1], None)
    assert (len(data.train), data.dev) == (1, [])
    assert any("nothing can be held out: there is one record" in note for note in data.notes)


def test_dev_equal_to_train_is_a_warning():
    (note,) = load_training_data(TRAIN, TRAIN).notes
    assert note.startswith("warning")
    assert "every dev text" in note


def test_some_shared_texts_are_counted_whatever_their_labels():
    shared = [line(TRAIN[0]["text"]), *DEV]
    note, _ = load_training_data(TRAIN, shared).notes
    assert "1 of 2 dev texts" in note


def test_the_same_words_as_text_and_as_tokens_are_different_texts():
    tokens = [{"tokens": TRAIN[0]["text"].split(), "entities": []}]
    assert load_training_data(TRAIN, tokens).notes == ()


def test_limit_is_of_the_training_records_only(write):
    data = load_training_data(write("train.jsonl", TRAIN), TRAIN[5:], limit=4)
    assert (len(data.train), len(data.dev)) == (4, 5)
    assert len(load_training_data(TRAIN, DEV, limit=4).train) == 4


def test_labels_that_the_schema_lacks_are_listed():
    record = {
        **line("Bo left Acme", (0, 2, "Person"), (8, 12, "Firm")),
        "relations": [{"head": 0, "tail": 1, "type": "works_for"}],
        "events": [
            {
                "trigger": {"start": 3, "end": 7, "type": "Exit"},
                "arguments": [{"start": 0, "end": 2, "role": "who"}],
            }
        ],
    }
    schema = IESchema(entity_types=("Person",), relation_types=(), event_types={"Entry": ()})
    notes = load_training_data([record], DEV, schema=schema).notes
    for missing in ("entity types", "relation types", "event types", "roles"):
        assert any(missing in note for note in notes), missing
    assert any("Firm" in note and "Person" not in note for note in notes)


def test_only_labels_that_are_scored_can_be_missed():
    dev = [{**DEV[0], "events": [{"trigger": {"start": 4, "end": 10, "type": "Stay"}, "arguments": []}]}]
    notes = load_training_data(TRAIN, dev).notes
    assert notes == (
        "warning: entity types in the dev data that are not known from training can only be missed: Place",
    )


def test_a_schema_file_is_read_and_a_wrong_one_is_named(write, tmp_path):
    file = tmp_path / "labels.json"
    file.write_text(json.dumps({"entity_types": ["Person", "Extra"]}), encoding="utf-8")
    assert load_training_data(TRAIN, DEV, schema=file).schema.entity_types == ("Person", "Extra")
    file.write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.json"):
        load_training_data(TRAIN, DEV, schema=file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"entity_types": "Person"}, "entity_types: expected a list of names, found 'Person'"),
        ({"entity_types": [1]}, "entity_types: expected a list of names"),
        ({"entity_types": [" "]}, "entity_types: expected a list of names"),
        ({"entity_types": ["A", "A"]}, "entity_types: A given twice"),
        ({"entity_types": ["A"], "relation_types": "r"}, "relation_types: expected a list"),
        ({"entity_types": ["A"], "relation_types": [{"type": "r"}]}, "objects with a 'name'"),
        ({"entity_types": ["A"], "relation_types": [{"nmae": "r"}]}, "unknown key 'nmae', did you mean 'name'?"),
        ({"relation_types": [{"name": "r", "symetric": True}]}, "r: unknown key 'symetric', did you mean 'symmetric'?"),
        (
            {"relation_types": [{"name": "r", "signature": []}]},
            "r: unknown key 'signature', did you mean 'signatures'?",
        ),
        ({"entity_types": ["A"], "entity_type": ["B"]}, "unknown key 'entity_type', did you mean 'entity_types'?"),
        ({"entity_types": ["A"], "relation_types": ["r", {"name": "r"}]}, "relation_types: r given twice"),
        ({"entity_types": ["A"], "relation_types": [{"name": "r", "symmetric": "no"}]}, "symmetric: expected true or"),
        ({"entity_types": ["A"], "relation_types": [{"name": "r", "signatures": ["AB"]}]}, "r: expected pairs"),
        ({"event_types": ["E"]}, "event_types: expected an object"),
        ({"event_types": {"E": "buyer"}}, "event_types.E: expected a list of names, found 'buyer'"),
        ({"entity_type": ["A"], "event_types": {"E": []}}, "unknown key 'entity_type', did you mean 'entity_types'?"),
    ],
)
def test_each_fault_of_a_schema_file_is_named(content, message, tmp_path):
    file = tmp_path / "labels.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        IESchema.from_file(file)
    assert message in str(caught.value)


def test_a_schema_file_may_hold_more_than_labels(tmp_path):
    file = tmp_path / "labels.json"
    file.write_text('\ufeff{"entity_types": ["A"], "author": "me"}', encoding="utf-8")
    assert IESchema.from_file(file) == IESchema(entity_types=("A",))
    noted = IESchema.from_dict({"relation_types": [{"name": "r", "description": "what it means"}]})
    assert noted.relation_types == (RelationType(name="r"),)


def test_doubtful_training_data_are_said_as_check_says_them(write, tmp_path):
    from nlpkit.ie.check import check_files

    records = [line("Bo met Al", (0, 2, name), (7, 9, name)) | {"id": n % 2} for n, name in enumerate("PPpP")]
    records += [{"text": "Nobody looked"}, {"text": "Or misspelt", "entitys": []}]
    path = write("doubtful.jsonl", records) if callable(write) else None
    notes = "\n".join(load_training_data(path, DEV).notes)
    said = {problem.message for problem in check_files(path).warnings}
    for message in (
        "the same id is there 2 times (lines 1, 3)",
        "unknown key 'entitys' is carried along but not read",
        "one entity type in several spellings is learned as several: 'P' (6, first doubtful.jsonl:1), 'p' (2, first",
    ):
        assert message in notes
        assert any(message in text for text in said)
    assert str(tmp_path) not in notes


def test_records_that_lack_a_group_are_said_and_many_warnings_are_counted(write):
    records = [line(f"Bo met Al {n}", (0, 2, "P")) | {"id": f"r{n // 2}"} for n in range(20)]
    notes = load_training_data(write("ids.jsonl", [*records, {"text": "Nobody looked"}]), DEV).notes
    warnings = [note for note in notes if note.startswith("warning: ") and "id" in note]
    assert len([note for note in warnings if "the same id" in note]) == 5
    assert any("and 5 more of this kind" in note for note in notes)
    assert any("1 of 21 records has no 'entities' (line 21)" in note for note in notes)


def test_a_given_schema_is_completed_by_the_training_data():
    record = {
        **line("Bo met Al", (0, 2, "P"), (7, 9, "P")),
        "relations": [{"head": 0, "tail": 1, "type": "met"}],
        "events": [
            {
                "trigger": {"start": 3, "end": 6, "type": "Meeting"},
                "arguments": [{"start": s, "end": s + 2, "role": "who", "group": 1} for s in (0, 7)],
            }
        ],
    }
    given = IESchema.from_dict(
        {"entity_types": ["P"], "relation_types": ["met", "knows"], "event_types": {"Meeting": ["who"]}}
    )
    schema = load_training_data([record], DEV, schema=given, symmetric=["met"]).schema
    assert schema.relation_types == (
        RelationType(name="met", symmetric=True, signatures=(("P", "P"),)),
        RelationType(name="knows"),
    )
    assert schema.discontinuous


def test_symmetric_types_are_marked_and_misspelled_ones_said():
    record = {**line("Bo Al", (0, 2, "P"), (3, 5, "P")), "relations": [{"head": 0, "tail": 1, "type": "spouse"}]}
    data = load_training_data([record], DEV, symmetric=["spouse", "spuose"])
    assert data.schema.relation_types == (RelationType(name="spouse", symmetric=True, signatures=(("P", "P"),)),)
    assert any("'spuose'" in note for note in data.notes)
    assert not any("'spouse'" in note for note in data.notes)


def test_provenance_has_the_file_name_its_hash_and_no_folder(write, tmp_path):
    file = write("train.jsonl", TRAIN)
    (source,) = load_training_data(file, DEV).sources
    assert source["file"] == "train.jsonl"
    assert source["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert str(tmp_path) not in json.dumps(load_training_data(file, DEV).sources)
    assert (source["records"], source["licence"]) == (10, None)
    (made,) = load_training_data(TRAIN, DEV, licence="CC0-1.0").sources
    assert (made["file"], made["records"], made["licence"]) == (None, 10, "CC0-1.0")
    assert made["sha256"] != load_training_data(TRAIN[1:], DEV).sources[0]["sha256"]
    (part,) = load_training_data(file, None, limit=4).sources
    assert part["records"] == 4


def test_provenance_of_a_pipe_is_that_of_its_records(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = "".join(json.dumps(r) + "\n" for r in TRAIN)
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()
    (source,) = load_training_data(pipe, DEV).sources
    writer.join()
    assert source["sha256"] == load_training_data(TRAIN, DEV).sources[0]["sha256"]


def test_identity_changes_with_every_annotation():
    before = load_training_data(TRAIN, DEV).identity()
    assert load_training_data([*map(dict, TRAIN)], DEV).identity() == before
    other = [line("Ada stayed", (4, 10, "Place"))]
    assert load_training_data(TRAIN, other).identity() == before | {"dev": ANY}
    assert load_training_data(TRAIN, other).identity() != before


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit):
    with pytest.raises(ConfigError, match="limit: expected at least 1"):
        load_training_data(TRAIN, DEV, limit=limit)


@pytest.mark.parametrize(("unit", "start"), [("utf16", 3), ("byte", 5)])
def test_positions_of_another_unit_are_read_as_the_user_says(unit, start, write):
    records = [{"text": "😀 Bo left", "entities": [{"start": start, "end": start + 2, "type": "P"}]}]
    for data in (records, write("a.jsonl", records)):
        found = load_training_data(data, data, offset_unit=unit)
        assert [(r.entities[0].start, r.entities[0].end) for r in (*found.train, *found.dev)] == [(2, 4)] * 2
        (checked,) = read_or_check(data, offset_unit=unit)
        assert checked.entities[0].start == 2


def test_read_or_check_takes_what_fit_takes(write):
    file = write("a.jsonl", TRAIN)
    texts = [r["text"] for r in TRAIN]
    for data in (file, [file], TRAIN, iter(TRAIN)):
        assert [r.text for r in read_or_check(data)] == texts
    assert list(read_or_check([])) == []


def test_describe_names_files_only(write):
    assert describe("a/b.jsonl") == "a/b.jsonl"
    assert describe(["a.jsonl", Path("b.jsonl")]) == "a.jsonl, b.jsonl"
    assert describe(TRAIN) == describe([]) == "<records>"
