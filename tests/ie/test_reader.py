"""Every fault of a record has one answer, all faults are named, and good records come through as they are."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nlpkit.errors import ConfigError, DataError
from nlpkit.ie.reader import parse_record, read_records, records_from
from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, InputInfo, Relation, Source, Trigger

TEXT = "Ann met Bob and Bob met Al."


def span(start, end, **more):
    return {"start": start, "end": end, "type": "P", **more}


def text_record(*entities, **more):
    return {"id": "r", "text": TEXT, "entities": list(entities), **more}


def event(trigger=None, arguments=(), **more):
    return {"trigger": trigger or span(4, 7), "arguments": list(arguments), **more}


FAULTS = {
    "leaves the text": (text_record(span(0, 99)), "entities[0]", "leaves the text, which has 27 characters"),
    "leaves the tokens": ({"tokens": ["a", "b"], "entities": [span(1, 3)]}, "entities[0]", "which has 2 words"),
    "before the text": (text_record(span(-1, 3)), "entities[0]", "leaves the text"),
    "empty span": (text_record(span(3, 3)), "entities[0]", "is empty"),
    "backward span": (text_record(span(7, 4)), "entities[0]", "starts after it ends"),
    "cut word": (text_record(span(0, 2)), "entities[0]", "whole words are 'Ann' (0 to 3)"),
    "blank span": (text_record(span(3, 4)), "entities[0]", "holds no word"),
    "blank at the end": (text_record(span(0, 4)), "entities[0]", "whole words are 'Ann' (0 to 3)"),
    "cut trigger": ({"text": TEXT, "events": [event(span(4, 6))]}, "events[0].trigger", "'me' (4 to 6)"),
    "cut argument": (
        {"text": TEXT, "events": [event(arguments=[{"start": 1, "end": 3, "role": "A"}])]},
        "events[0].arguments[0]",
        "word borders",
    ),
    "missing end": (text_record({"start": 0, "type": "P"}), "entities[0]", "'end' is missing, expected an integer"),
    "missing type": (text_record({"start": 0, "end": 3}), "entities[0]", "'type' is missing, expected a string"),
    "missing role": (
        {"text": TEXT, "events": [event(arguments=[{"start": 0, "end": 3}])]},
        "events[0].arguments[0]",
        "'role' is missing",
    ),
    "blank type": (text_record({"start": 0, "end": 3, "type": " "}), "entities[0].type", "blank"),
    "text position": (text_record(span("0", 3)), "entities[0].start", "expected an integer, found a string ('0')"),
    "boolean position": (text_record(span(False, 3)), "entities[0].start", "expected an integer, found a boolean"),
    "fractional position": (text_record(span(0, 3.0)), "entities[0].end", "expected an integer, found a number"),
    "enormous position": (text_record(span(0, 10**4200)), "entities[0]", "very large number) leaves the text"),
    "number as type": (text_record({"start": 0, "end": 3, "type": 7}), "entities[0].type", "expected a string"),
    "entity is a list": (text_record([0, 3, "P"]), "entities[0]", "expected an object, found a list"),
    "entities is an object": ({"text": TEXT, "entities": {"0": 1}}, "entities", "expected a list, found an object"),
    "id is no JSON": ({"id": {7}, "text": TEXT}, "id", "a set cannot be written as JSON"),
    "id is no number": ({"id": [float("nan")], "text": TEXT}, "id", "no JSON number"),
    "id is too long a number": ({"id": 10**5000, "text": TEXT}, "id", "a number with thousands of digits"),
    "text is a list": ({"text": ["Ann"]}, "text", "expected a string, found a list"),
    "tokens is a string": ({"tokens": "Ann met"}, "tokens", "expected a list, found a string"),
    "token is a number": ({"tokens": ["a", 5]}, "tokens[1]", "expected a string, found an integer (5)"),
    "token is null": ({"tokens": ["a", None]}, "tokens[1]", "expected a string, found null"),
    "sent_index is text": ({"text": TEXT, "sent_index": "4"}, "sent_index", "expected an integer"),
    "doc_id is a list": ({"text": TEXT, "doc_id": [4]}, "doc_id", "expected a string or a number, found a list"),
    "doc_id is a boolean": ({"text": TEXT, "doc_id": True}, "doc_id", "expected a string or a number"),
    "doc_id is no number": ({"text": TEXT, "doc_id": float("nan")}, "doc_id", "no JSON number"),
    "text and tokens": ({"text": TEXT, "tokens": ["a"]}, None, "both 'text' and 'tokens'"),
    "neither": ({"id": "r", "txt": TEXT}, None, "neither 'text' nor 'tokens'"),
    "missing entity": (
        text_record(span(0, 3), relations=[{"head": 0, "tail": 1, "type": "K"}]),
        "relations[0].tail",
        "entity 1 is missing, the record has 1 entity",
    ),
    "entity from the end": (
        text_record(span(0, 3), span(8, 11), relations=[{"head": 0, "tail": -1, "type": "K"}]),
        "relations[0].tail",
        "entity -1 is missing",
    ),
    "self link": (
        text_record(span(0, 3), relations=[{"head": 0, "tail": 0, "type": "K"}]),
        "relations[0]",
        "head and tail are the same entity",
    ),
    "self link by a repeated entity": (
        text_record(span(0, 3), span(0, 3), relations=[{"head": 0, "tail": 1, "type": "K"}]),
        "relations[0]",
        "head and tail are the same entity",
    ),
    "boolean head": (
        text_record(span(0, 3), span(8, 11), relations=[{"head": True, "tail": 0, "type": "K"}]),
        "relations[0].head",
        "expected an integer, found a boolean",
    ),
    "relations without entities": (
        {"text": TEXT, "relations": [{"head": 0, "tail": 1, "type": "K"}]},
        "relations",
        "no 'entities'",
    ),
    "event without trigger": ({"text": TEXT, "events": [{"arguments": []}]}, "events[0]", "'trigger' is missing"),
    "event without arguments": (
        {"text": TEXT, "events": [{"trigger": span(4, 7)}]},
        "events[0]",
        "'arguments' is miss",
    ),
    "group is text": (
        {"text": TEXT, "events": [event(arguments=[{"start": 0, "end": 3, "role": "A", "group": "1"}])]},
        "events[0].arguments[0].group",
        "expected an integer",
    ),
    "surface not found": (text_record({"text": "Eve", "type": "P"}), "entities[0].text", "'Eve' is not in the text"),
    "surface ambiguous": (
        text_record({"text": "Bob", "type": "P"}),
        "entities[0].text",
        "2 times in the text, at characters 8, 16",
    ),
    "nth too large": (text_record({"text": "Bob", "type": "P", "nth": 3}), "entities[0].nth", "'nth' is 3"),
    "nth zero": (text_record({"text": "Bob", "type": "P", "nth": 0}), "entities[0].nth", "'nth' is 0"),
    "nth is text": (text_record({"text": "Bob", "type": "P", "nth": "2"}), "entities[0].nth", "expected an integer"),
    "surface empty": (text_record({"text": "", "type": "P"}), "entities[0].text", "empty"),
    "surface is a number": (text_record({"text": 5, "type": "P"}), "entities[0].text", "expected a string"),
    "surface in tokens": (
        {"tokens": ["a"], "entities": [{"text": "a", "type": "P"}]},
        "entities[0]",
        "'start' and 'end' are missing, expected integers",
    ),
    "no place": (text_record({"type": "P"}), "entities[0]", "'start' and 'end' are missing, expected integers"),
    "surface is another": (
        text_record(span(0, 3, text="Bob")),
        "entities[0]",
        "'text' is 'Bob', but span 0 to 3 holds 'Ann'",
    ),
    "surface of tokens is another": (
        {"tokens": ["New", "York"], "entities": [span(0, 2, text="New Yorker")]},
        "entities[0]",
        "holds 'New York'",
    ),
    "score is NaN": (text_record(span(0, 3, score=float("nan"))), "entities[0].score", "the score is nan"),
    "score is infinite": (text_record(span(0, 3, score=float("inf"))), "entities[0].score", "the score is inf"),
    "score above one": (text_record(span(0, 3, score=1.5)), "entities[0].score", "the score is 1.5"),
    "score is enormous": (text_record(span(0, 3, score=10**4200)), "entities[0].score", "very large"),
    "score is text": (text_record(span(0, 3, score="0.5")), "entities[0].score", "expected a number, found a string"),
    "half a character in the text": ({"text": "a\ud800"}, "text", "surrogate"),
    "half a character in a token": ({"tokens": ["a", "\udfff"]}, "tokens[1]", "surrogate"),
    "half a character in a type": (
        text_record({"start": 0, "end": 3, "type": "\ud800"}),
        "entities[0].type",
        "surrogate",
    ),
    "half a character elsewhere": ({"text": TEXT, "note": {"a": ["\ud800"]}}, "note", "surrogate"),
    "NaN elsewhere": ({"text": TEXT, "note": [float("nan")]}, "note", "no JSON number"),
    "no JSON elsewhere": ({"text": TEXT, "note": {1, 2}}, "note", "cannot be written as JSON"),
    "input is text": ({"text": TEXT, "input": "x"}, "input", "expected an object"),
    "input without words": ({"text": TEXT, "input": {"pieces": 1, "windows": 1}}, "input", "'words' is missing"),
}


@pytest.mark.parametrize(("obj", "field", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_has_one_answer(obj, field, message):
    with pytest.raises(DataError) as caught:
        list(records_from([obj]))
    [problem] = caught.value.problems
    assert problem.field == field
    assert message in problem.message
    assert problem.remedy
    assert problem.severity == "error"
    assert len(problem.message) < 300
    str(caught.value).encode("utf-8")  # the message itself can be printed


def test_a_record_that_is_no_object_is_a_fault():
    record, [problem] = parse_record(["Ann"])
    assert record is None
    assert "expected an object, found a list" in problem.message


def test_a_key_of_several_lines_is_one_line_of_a_message():
    _, [problem] = parse_record({"text": "a", "two\nlines": float("nan")})
    assert str(problem).isprintable()


def test_deep_unknown_values_are_refused_and_shallow_ones_travel():
    def nest(depth):
        value = 0
        for _ in range(depth):
            value = [value]
        return value

    assert parse_record({"text": "a", "x": nest(90)})[0].extra == {"x": nest(90)}
    record, [problem] = parse_record({"text": "a", "x": nest(500)})
    assert record is None
    assert "nested more than" in problem.message


def test_a_cut_word_names_the_remedy_and_the_other_policies_keep_the_record():
    obj = text_record(span(0, 2))
    with pytest.raises(DataError, match=r"misaligned='widen' .* misaligned='skip'"):
        list(records_from([obj]))
    for policy in ("widen", "skip"):
        [record] = records_from([obj], misaligned=policy)
        assert (record.entities[0].start, record.entities[0].end) == (0, 2)


def test_all_problems_of_a_record_and_of_all_records_are_named(tmp_path):
    path = tmp_path / "bad.jsonl"
    one = text_record(
        span(0, 99), span(0, 2), span("x", 3), relations=[{"head": 5, "tail": 1, "type": ""}], events=[{}]
    )
    two = text_record(span(0, 2), events=[event(span(5, 7))])
    path.write_text("".join(f"{line}\n" for line in (json.dumps(one), "{", json.dumps(two), json.dumps({"text": 1}))))
    with pytest.raises(DataError) as caught:
        list(read_records([path]))
    places = [(p.line, p.field) for p in caught.value.problems]
    assert places == [
        *((1, field) for field in ("entities[0]", "entities[2].start", "relations[0].head")),
        *((1, field) for field in ("relations[0].type", "events[0]", "events[0]")),
        (2, None),
        *((3, field) for field in ("entities[0]", "events[0].trigger")),
        (4, "text"),
    ]
    assert all(p.file == str(path) for p in caught.value.problems)
    assert all(p.remedy for p in caught.value.problems)


def test_good_records_are_given_before_the_error_comes(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": 5}\n{"text": "b"}\n')
    stream = read_records(path)
    assert [next(stream).text, next(stream).text] == ["a", "b"]
    with pytest.raises(DataError):
        next(stream)


def test_collect_takes_the_problems_and_nothing_is_raised(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": 5}\n{"text": "b"}\n')
    problems = []
    assert [r.text for r in read_records([path, tmp_path / "none.jsonl"], collect=problems)] == ["b"]
    assert [(p.line, p.severity) for p in problems] == [(1, "error"), (None, "error")]


REPEATS = {
    "entity": (text_record(span(0, 3), span(0, 3, score=0.5)), "entities[1]"),
    "relation": (
        text_record(span(0, 3), span(8, 11), relations=[{"head": 0, "tail": 1, "type": "K"}] * 2),
        "relations[1]",
    ),
    "argument": (
        {"text": TEXT, "events": [event(arguments=[{"start": 0, "end": 3, "role": "A"}] * 2)]},
        "events[0].arguments[1]",
    ),
    "event": ({"text": TEXT, "events": [event()] * 2}, "events[1]"),
}


@pytest.mark.parametrize(("obj", "field"), REPEATS.values(), ids=REPEATS)
def test_repeated_labels_are_warned_of_and_count_once(obj, field):
    record, [problem] = parse_record(obj)
    assert problem.severity == "warning"
    assert problem.field == field
    assert "twice" in problem.message
    again, problems = parse_record(record.to_dict())
    assert again == record
    assert not problems


def test_relations_follow_the_entities_when_a_repeat_goes():
    obj = text_record(span(0, 3), span(0, 3), span(24, 26), relations=[{"head": 1, "tail": 2, "type": "K"}])
    record, _ = parse_record(obj)
    [relation] = record.relations
    assert [record.entities[i].start for i in (relation.head, relation.tail)] == [0, 24]


def test_what_is_no_repeat_is_kept_without_a_warning():
    role = {"start": 0, "end": 3, "role": "A"}
    obj = text_record(
        span(0, 3),
        span(0, 3) | {"type": "Q"},
        span(8, 11),
        relations=[{"head": 0, "tail": 2, "type": "K"}, {"head": 2, "tail": 0, "type": "K"}],
        events=[
            event(arguments=[role, role | {"role": "B"}, role | {"group": 0}, role | {"group": 1}]),
            event(span(4, 7) | {"type": "Other"}, [role]),
            event(arguments=[role]),
        ],
    )
    record, problems = parse_record(obj)
    assert not problems
    assert record.to_dict() == obj


def test_missing_null_and_empty_groups():
    record, problems = parse_record({"text": "a", "entities": [], "relations": None, "id": None})
    assert not problems
    assert record.entities == ()
    assert record.relations is None
    assert record.events is None
    assert parse_record({"text": "a", "relations": []})[0].relations == ()


@pytest.mark.parametrize("obj", [{"text": ""}, {"text": " \r\n"}, {"tokens": []}, {"tokens": ["", " ", "\u200b"]}])
def test_empty_and_blank_records_are_records(obj):
    assert next(records_from([obj])).to_dict() == obj


def test_unknown_keys_travel_untouched():
    obj = {"text": "a", "event_links": [{"head": [0, 1]}], "größe": {"x": None}, "n": 10**30}
    assert next(records_from([obj])).to_dict() == obj


def test_surface_text_is_found_and_nth_counts_from_one():
    obj = text_record(
        {"text": "Ann", "type": "P"}, {"text": "Bob", "type": "P", "nth": 1}, {"text": "Bob", "type": "P", "nth": 2}
    )
    assert [(e.start, e.end, e.text) for e in next(records_from([obj])).entities] == [
        (0, 3, None),
        (8, 11, None),
        (16, 19, None),
    ]


def test_surface_places_may_overlap_and_may_hold_signs_of_patterns():
    assert "3 times" in parse_record({"text": "aaaa", "entities": [{"text": "aa", "type": "P"}]})[1][0].message
    record, _ = parse_record({"text": "a (b.c) abc", "entities": [{"text": "(b.c)", "type": "P"}]})
    assert record.entities[0].start == 2


def test_surface_text_of_events_too():
    obj = {
        "text": TEXT,
        "events": [
            {
                "trigger": {"text": "met", "nth": 2, "type": "Meet"},
                "arguments": [{"text": "Al", "role": "A", "group": 0}],
            }
        ],
    }
    [found] = next(records_from([obj])).events
    assert found == Event(
        trigger=Trigger(start=20, end=23, type="Meet"), arguments=(Argument(start=24, end=26, role="A", group=0),)
    )


def test_a_result_reads_back_as_itself():
    result = IEResult(
        id="x",
        text="İ met\r\nBo ",
        entities=(
            Entity(start=0, end=1, type="P", score=0.9, text="İ"),
            Entity(start=7, end=9, type="P", score=1.0, text="Bo"),
        ),
        relations=(Relation(head=0, tail=1, type="K", score=0.5),),
        events=(
            Event(
                trigger=Trigger(start=2, end=5, type="Meet", score=0.7, text="met"),
                arguments=(Argument(start=7, end=9, role="A", group=0, score=0.6, text="Bo"),),
            ),
        ),
        input=InputInfo(words=3, pieces=4, windows=1, truncated=2, unknown=1, skipped=("a word",)),
        extra={"note": "mine"},
    )
    line = json.loads(json.dumps(result.to_dict()))
    [again] = records_from([line])
    assert again == result


def test_surface_text_of_tokens_may_have_other_white_space():
    [record] = records_from([{"tokens": ["New", " ", "York"], "entities": [span(0, 3, text="New   York")]}])
    assert record.entities[0].text == "New   York"


def test_plain_text_files_and_sources(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"Bo met Al.\r\n\n  {not json} \n"))
    records = list(read_records(path))
    assert [r.text for r in records] == ["Bo met Al.", "  {not json} "]
    assert [(r.source.file, r.source.line) for r in records] == [(str(path), 1), (str(path), 3)]


def test_crlf_in_a_jsonl_file_ends_lines_and_stays_in_texts(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "a\\r\\nb", "entities": [{"text": "b", "type": "P"}]}\r\n\r\n{"text": "c"}\r\n'
    )
    records = list(read_records(path))
    assert [r.text for r in records] == ["a\r\nb", "c"]
    assert records[0].entities[0].start == 3


def test_an_unknown_kind_of_file_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n")
    with pytest.raises(DataError, match=r"'\.csv' cannot be read; give \.jsonl"):
        list(read_records(path))


def test_training_files_need_records_with_labels(tmp_path):
    empty, plain, good = (tmp_path / name for name in ("empty.jsonl", "plain.txt", "good.jsonl"))
    empty.write_text("\n")
    plain.write_text("a\nb\n")
    good.write_text('{"text": "a"}\n{"text": "b", "entities": []}\n')
    assert list(read_records(empty)) == []
    with pytest.raises(DataError, match=r"empty\.jsonl: there is no record in it"):
        list(read_records(empty, require_groups=True))
    with pytest.raises(DataError, match="none of the 2 records has 'entities'"):
        list(read_records(plain, require_groups=True))
    assert len(list(read_records([empty, plain, good], require_groups=True))) == 4


def test_limit_stops_reading(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n{"text": 5}\n')
    assert [r.text for r in read_records([path, path], limit=2)] == ["a", "b"]
    assert list(read_records(path, limit=0)) == []
    with pytest.raises(DataError):
        list(read_records([path, path], limit=3))


def test_records_made_in_python_are_checked_too():
    bad = IERecord(tokens=("a",), entities=(Entity(start=0, end=2, type="P"),))
    with pytest.raises(DataError, match=r"<records>:2: entities\[0\]: span 0 to 2 leaves the text"):
        list(records_from([IERecord(text="a"), bad]))


EMOJI = "😀 Zoë met Al"  # Al is at 10 to 12, in UTF-16 units at 11 to 13, in bytes at 14 to 16


@pytest.mark.parametrize(("unit", "start"), [("codepoint", 10), ("utf16", 11), ("byte", 14)])
def test_positions_are_read_in_the_unit_that_the_user_says(unit, start, tmp_path):
    path = tmp_path / "a.jsonl"
    event = {"trigger": span(start, start + 2), "arguments": [{"start": start, "end": start + 2, "role": "r"}]}
    line = {"text": EMOJI, "entities": [span(start, start + 2), span(start, start + 2, text="Al", type="Q")]}
    path.write_text(json.dumps({**line, "events": [event]}))
    (record,) = read_records(path, offset_unit=unit)
    places = [*record.entities, record.events[0].trigger, *record.events[0].arguments]
    assert {(item.start, item.end) for item in places} == {(10, 12)}
    (again,) = records_from([record], offset_unit=unit)  # positions of records are code points
    assert again.entities == record.entities
    (words,) = records_from([{"tokens": ["😀", "Al"], "entities": [span(1, 2)]}], offset_unit=unit)
    assert words.entities[0].start == 1


@pytest.mark.parametrize(
    ("unit", "item", "message"),
    [
        ("utf16", span(1, 13), "entities[0].start: position 1 lies inside '😀', which is UTF-16 units 0 to 2"),
        ("byte", span(5, 8), "entities[0].end: position 8 lies inside 'ë', which is bytes 7 to 9"),
        ("utf16", span(11, 14), "entities[0]: span 11 to 14 leaves the text, which has 13 UTF-16 units"),
        ("byte", span(14, 17), "entities[0]: span 14 to 17 leaves the text, which has 16 bytes"),
        ("byte", span(14, 16, text="Zoë"), "entities[0]: 'text' is 'Zoë', but span 14 to 16 holds 'Al'"),
    ],
)
def test_a_position_that_cannot_be_in_its_unit_is_named(unit, item, message):
    problems: list = []
    assert list(records_from([{"text": EMOJI, "entities": [item]}], offset_unit=unit, collect=problems)) == []
    assert message in str(problems[0])


def test_an_unknown_unit_is_a_settings_error(tmp_path):
    for read in (lambda: records_from([], offset_unit="utf32"), lambda: read_records(tmp_path, offset_unit="utf32")):
        with pytest.raises(ConfigError, match=r"data.offset_unit: expected one of codepoint, utf16, byte"):
            list(read())


HUGE = 10**5000  # Python refuses to print it


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (IERecord(text="Bo", entities=(5,)), "entities[0]: expected an object, found an integer (5)"),
        (IERecord(text="Bo", entities=5), "entities: expected a list, found an integer (5)"),
        (IERecord(text="Bo", events=("x",)), "events[0]: expected an object, found a string ('x')"),
        (IERecord(text="Bo", events=(Event(trigger=None),)), "events[0]: 'trigger' is missing"),
        (IERecord(text="Bo", extra=None), "expected a mapping as 'extra', found null (None)"),
        (IERecord(text="Bo", source="a.txt"), "expected a Source with a file name and a line number"),
        (text_record(span(0, HUGE)), "entities[0].end: a number with thousands of digits"),
        (text_record({**span(0, 3), HUGE: 1}), "entities[0]: unknown key (a very large number) is not used"),
        ({"text": "Bo", "sent_index": HUGE}, "sent_index: a number with thousands of digits"),
        ({"text": "Bo", 5: 1}, "expected a string as key, found an integer (5)"),
    ],
)
def test_items_of_no_kind_are_one_problem_each(item, message):
    problems: list = []
    list(records_from(["Al left.", item], collect=problems))
    (problem,) = problems
    assert str(problem).startswith("<records>:2: ")
    assert message in str(problem)


WORDS = st.text(
    st.sampled_from("abcXYZéß東京İ\u0301😀👩\u200d🚀\ufe0f.,'-()\u05d0\u0627\u200b\u2028\x85#"), min_size=1, max_size=6
)
LABELS = st.sampled_from(["Person", "Org", "größe", "a b"])
SCORES = st.none() | st.floats(0, 1)


@st.composite
def records(draw):
    """Valid records of both forms with every kind of label; spans may be anywhere, as no alignment is asked here."""
    is_text = draw(st.booleans())
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    text = draw(st.sampled_from([" ", "\r\n", "\t ", ""])).join(words) if is_text else None
    size = len(words) if text is None else len(text)

    def labelled(key, **more):
        start = draw(st.integers(0, size - 1))
        end = draw(st.integers(start + 1, size))
        surface = " ".join(words[start:end]) if text is None else text[start:end]
        given = {"start": start, "end": end, key: draw(LABELS), "score": draw(SCORES), **more}
        return given | {"text": surface if draw(st.booleans()) else None}

    def distinct(items, key):
        return tuple({key(item): item for item in items}.values())

    entities = distinct(
        [Entity(**labelled("type")) for _ in range(draw(st.integers(0, 4)))], lambda e: (e.start, e.end, e.type)
    )
    pairs = [(i, j) for i in range(len(entities)) for j in range(len(entities)) if i != j]
    relations = distinct(
        [
            Relation(head=head, tail=tail, type=draw(LABELS), score=draw(SCORES))
            for head, tail in (draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else [])
        ],
        lambda r: (r.head, r.tail, r.type),
    )
    events = []
    for _ in range(draw(st.integers(0, 3))):
        arguments = [
            Argument(**labelled("role", group=draw(st.none() | st.integers(0, 2))))
            for _ in range(draw(st.integers(0, 3)))
        ]
        events.append(
            Event(
                trigger=Trigger(**labelled("type")),
                arguments=distinct(arguments, lambda a: (a.start, a.end, a.role, a.group)),
            )
        )
    events = distinct(
        events,
        lambda e: (
            (e.trigger.start, e.trigger.end, e.trigger.type),
            frozenset((a.start, a.end, a.role, a.group) for a in e.arguments),
        ),
    )
    has = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return IERecord(
        id=draw(st.none() | WORDS),
        text=text,
        tokens=None if is_text else tuple(words),
        entities=entities if has[0] else None,
        relations=(relations if has[0] else ()) if has[1] else None,
        events=events if has[2] else None,
        doc_id=draw(st.none() | WORDS),
        sent_index=draw(st.none() | st.integers(0, 5)),
        extra=draw(st.dictionaries(st.sampled_from(["note", "links"]), st.none() | st.lists(st.integers()))),
    )


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(records())
def test_any_record_goes_to_json_and_back(record):
    again, problems = parse_record(json.loads(json.dumps(record.to_dict())))
    assert not problems
    assert again == record


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from([TEXT, 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "id text tokens entities relations events start end type head tail trigger arguments role group nth "
                "score input words pieces windows skipped other source file line doc_id label".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_nothing_that_json_can_say_breaks_the_reader(obj):
    record, problems = parse_record(obj)
    assert (record is None) == any(p.severity == "error" for p in problems)
    for problem in problems:
        assert problem.remedy
        str(problem).encode("utf-8")


@pytest.mark.parametrize("single", [{"text": "Bo"}, IERecord(text="Bo"), "Bo met Al.", b"Bo", None, 5])
def test_one_record_is_no_list_of_records(single):
    with pytest.raises(DataError, match="put a single one into a list"):
        list(records_from(single))


def test_a_name_with_a_zero_is_no_file():
    with pytest.raises(DataError, match="cannot hold a zero character"):
        list(read_records("a\0b.jsonl"))


def test_a_folder_or_a_text_is_no_file(tmp_path):
    (tmp_path / "a.jsonl.gz").touch()
    with pytest.raises(DataError, match=r"is a folder, expected a file; name its files: .*/\*\.jsonl\.gz"):
        list(read_records(tmp_path))
    for text in ("Bo met Al.", "Bo met Al. " * 500):
        with pytest.raises(DataError, match=r"looks like a text; put texts into a \.txt file") as caught:
            list(read_records(text))
        assert len(str(caught.value)) < 250
    with pytest.raises(DataError, match="No such file"):
        list(read_records(tmp_path / "my data.jsonl"))


IDS = ["r", "", 7, 0, -1.5, 10**30, True, False, [1, "a"], {"doc": 1, "sent": [None]}, "a\u2028b"]


@pytest.mark.parametrize("value", IDS, ids=map(str, range(len(IDS))))
def test_an_id_is_any_json_value_and_is_written_as_given(value):
    [record] = records_from([{"id": value, "doc_id": 12, "text": "Bo met Al."}])
    assert json.dumps(record.to_dict()["id"]) == json.dumps(value)
    assert record.doc_id == 12
    again, problems = parse_record(json.loads(json.dumps(record.to_dict())))
    assert (again, problems) == (record, [])
    _, [problem] = parse_record({"id": value, "text": 5})
    assert f"record {value!r}: " in str(problem) or f"record {json.dumps(value)}: " in str(problem)


def test_a_result_line_gets_the_place_where_it_is_read_now(tmp_path):
    path = tmp_path / "out.jsonl"
    line = {"text": "Bo", "source": {"file": "in.txt", "line": 9}, "input": {"words": 1, "pieces": 1, "windows": 1}}
    path.write_text(json.dumps(line) + "\n")
    [record] = read_records(path)
    assert record.source == Source(file=str(path), line=1)
    assert record.to_dict()["source"] == {"file": str(path), "line": 1}
    assert not record.extra
    kept, _ = parse_record(line)  # from Python no other place is known
    assert kept.to_dict()["source"] == line["source"]
    assert parse_record(kept.to_dict())[0].source == kept.source


DECOMPOSED = "In Sa\u0303o Paulo, Jose\u0301 bought ﬁne\u00a0art from New\n  York with it."

ALIKE = {
    "composed": ("José", 15, 20, "the text has combining marks where the surface text has composed letters"),
    "ligature": ("fine", 28, 31, "ligatures"),
    "another blank": ("ﬁne art", 28, 35, "the blanks differ"),
    "a line feed": ("New York", 41, 51, "the blanks differ"),
    "blanks around": (" New York ", 41, 51, "the blanks differ"),
    "case": ("BOUGHT", 21, 27, "upper and lower case differ"),
    "two ways": ("new york", 41, 51, "upper and lower case differ and the blanks differ"),
    "invisible": ("bou\u00adght", 21, 27, "one of them has invisible characters"),
}


@pytest.mark.parametrize(("surface", "start", "end", "what"), ALIKE.values(), ids=ALIKE)
def test_a_surface_in_another_spelling_is_told_its_place_and_what_differs(surface, start, end, what):
    _, [problem] = parse_record({"text": DECOMPOSED, "entities": [{"text": surface, "type": "P"}]})
    assert f"at characters {start} to {end}: {what}" in problem.message
    assert f"'start': {start} and 'end': {end}" in problem.remedy
    assert problem.message.isprintable()
    found = DECOMPOSED[start:end]
    _, problems = parse_record({"text": DECOMPOSED, "entities": [{"text": found, "type": "P"}]})
    assert not problems


def test_the_other_normal_form_is_told_too():
    _, [problem] = parse_record({"text": "José left.", "entities": [{"text": "Jose\u0301", "type": "P"}]})
    assert "the text has composed letters where the surface text has combining marks" in problem.message
    text = "가 " + "\u1112\u1161\u11ab"  # Hangul in parts
    _, [problem] = parse_record({"text": text, "entities": [{"text": "한", "type": "P"}]})
    assert "at characters 2 to 5" in problem.message


@pytest.mark.parametrize("surface", ["Rome", "IT", "jos", "\u00a0", "\u200b"])
def test_what_only_resembles_a_part_of_a_word_is_not_in_the_text(surface):
    text = "With Jose\u0301."
    _, [problem] = parse_record({"text": text, "entities": [{"text": surface, "type": "P"}]})
    assert "is not in the text" in problem.message


def test_with_positions_blanks_are_free_and_spelling_is_not():
    place = {"start": 41, "end": 51, "type": "P"}
    record, problems = parse_record({"text": DECOMPOSED, "entities": [{**place, "text": "New York"}]})
    assert not problems
    assert (record.entities[0].start, record.entities[0].text) == (41, "New York")
    assert parse_record(record.to_dict()) == (record, [])
    place = {"start": 15, "end": 20, "type": "P"}
    _, [problem] = parse_record({"text": DECOMPOSED, "entities": [{**place, "text": "José"}]})
    assert "span 15 to 20 holds 'Jose\\u0301': the text has combining marks" in problem.message
    assert "leave 'text' out" in problem.remedy
    tokens = {"tokens": ["Jose\u0301"], "entities": [{"start": 0, "end": 1, "type": "P", "text": "José"}]}
    assert "combining marks" in parse_record(tokens)[1][0].message


MISNAMED = {
    "label": (text_record({"text": "Ann", "label": "P"}), "entities[0]", "label", "type"),
    "kind": (text_record({"text": "Ann", "kind": "P"}), "entities[0]", "kind", "type"),
    "Class": (text_record({"text": "Ann", "Class": "P"}), "entities[0]", "Class", "type"),
    "tag": ({"text": TEXT, "events": [event({"text": "Ann", "tag": "E"})]}, "events[0].trigger", "tag", "type"),
    "misspelt": (text_record({"text": "Ann", "tpye": "P"}), "entities[0]", "tpye", "type"),
    "role": (
        {"text": TEXT, "events": [event(arguments=[{"text": "Ann", "type": "A"}])]},
        "events[0].arguments[0]",
        "type",
        "role",
    ),
    "relation": (
        text_record(span(0, 3), span(24, 26), relations=[{"head": 0, "tail": 1, "label": "K"}]),
        "relations[0]",
        "label",
        "type",
    ),
    "tail": (
        text_record(span(0, 3), span(24, 26), relations=[{"head": 0, "object": 1, "type": "K"}]),
        "relations[0]",
        "object",
        "tail",
    ),
    "args": ({"text": TEXT, "events": [{"trigger": span(4, 7), "args": []}]}, "events[0]", "args", "arguments"),
    "stop": (text_record({"start": 0, "stop": 3, "type": "P"}), "entities[0]", "stop", "end"),
}


@pytest.mark.parametrize(("obj", "field", "found", "name"), MISNAMED.values(), ids=MISNAMED)
def test_a_key_of_another_name_is_named_with_the_missing_one(obj, field, found, name):
    _, [problem] = parse_record(obj)
    assert (problem.field, problem.message) == (field, f"'{name}' is missing, found '{found}'")
    assert problem.remedy == f"call it '{name}'"


def test_misnamed_positions_and_texts():
    _, [problem] = parse_record(text_record({"begin": 0, "stop": 3, "type": "P"}))
    assert "found 'begin' and 'stop'; call them 'start' and 'end'" in str(problem)
    _, [problem] = parse_record({"sentence": TEXT})
    assert str(problem).endswith("call it 'text'")
    _, [problem] = parse_record({"words": ["Bo"]})
    assert str(problem).endswith("call it 'tokens'")
    _, [problem] = parse_record(text_record({"text": "Ann", "type": "P", "scor": 1}))
    assert (problem.severity, problem.remedy) == ("warning", "did you mean 'score'?")


@pytest.mark.parametrize("own", ["web", 7, ["a"], {"file": "a"}, {"file": "a", "line": "3"}])
def test_a_source_of_the_users_own_travels_like_any_unknown_key(own: object) -> None:
    line = {"text": "Bo", "source": own}
    record, problems = parse_record(line, source=Source(file="mine.jsonl", line=4))
    assert problems == []
    assert record is not None
    assert record.source == Source(file="mine.jsonl", line=4)
    assert record.to_dict() == line
    result = IEResult(**{**vars(record), "entities": ()})
    assert result.to_dict()["source"] == own
