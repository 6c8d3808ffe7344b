"""``check_files`` names every fault with its line and a remedy, and what is odd about good files."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import ConfigError
from nlpkit.ie.check import check_files, overlap_counts
from nlpkit.ie.types import Entity, IEResult, InputInfo
from nlpkit.ie.writer import write_jsonl

MEET = {"text": "Ann met Bob.", "entities": [{"text": "Ann", "type": "P"}, {"text": "Bob", "type": "P"}]}


def write(path, *lines):
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return path


def good(n, **more):
    """A record without anything odd; each has another text."""
    text = f"Ann met Bob in room {n}."
    return {
        "id": f"r{n}",
        "text": text,
        "entities": [{"text": "Ann", "type": "P"}, {"text": "Bob", "type": "P"}],
    } | more


def entity(**fields):
    return {"text": "Ann met Bob.", "entities": [fields]}


TWENTY = [
    (b'{"text": "Ann met', "cut off"),
    (b"Ann met Bob.", "no JSON"),
    (b'["Ann"]', "found a list"),
    (b'{"text": "Ann \xff"}', "no UTF-8"),
    (b'{"text": "a", "text": "b"}', "twice in one object"),
    (entity(start=0, end=99, type="P"), "leaves the text"),
    (entity(start=4, end=4, type="P"), "is empty"),
    (entity(start=7, end=4, type="P"), "starts after it ends"),
    (entity(start=0, end=2, type="P"), "word borders"),
    (MEET | {"relations": [{"head": 0, "tail": 2, "type": "K"}]}, "entity 2 is missing"),
    (MEET | {"relations": [{"head": 1, "tail": 1, "type": "K"}]}, "same entity"),
    (entity(start=0, end=3), "'type' is missing"),
    (entity(start=True, end=3, type="P"), "found a boolean"),
    ({"id": "x"}, "neither 'text' nor 'tokens'"),
    ({"text": "a", "tokens": ["a"]}, "both 'text' and 'tokens'"),
    (entity(text="Eve", type="P"), "is not in the text"),
    ({"text": "Bob met Bob.", "entities": [{"text": "Bob", "type": "P"}]}, "at characters 0, 8"),
    (entity(text="Bob", type="P", nth=2), "'nth' is 2"),
    ({"text": "Ann met.", "relations": [{"head": 0, "tail": 1, "type": "K"}]}, "no 'entities'"),
    ({"text": "Ann met.", "events": [{"arguments": []}]}, "'trigger' is missing"),
    (entity(start=0, end=3, type="P", score=float("nan")), "NaN"),
    (b'{"text": "a", "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "too deep"),
    (b'{"text": "a\\ud800"}', "surrogate"),
]


def test_a_file_with_all_faults_names_each_with_line_and_remedy(tmp_path):
    path = write(tmp_path / "bad.jsonl", good(1), *(line for line, _ in TWENTY))
    report = check_files([path])
    assert len(TWENTY) >= 20
    assert [p.line for p in report.errors] == list(range(2, len(TWENTY) + 2))
    for problem, (_, message) in zip(report.errors, TWENTY, strict=True):
        assert message in problem.message
        assert problem.remedy
        assert problem.file == str(path)
    assert not report.is_ok
    assert report.n_records == 1
    assert json.loads(json.dumps(report.to_dict()))["errors"][0]["line"] == 2
    assert str(report).count("error: ") == len(TWENTY)


def test_a_good_file_has_figures_and_nothing_else(tmp_path):
    report = check_files(write(tmp_path / "a.jsonl", *map(good, range(5))))
    assert report.is_ok
    assert not report.warnings
    assert report.n_records == 5
    assert any("5 records, entities in 5" in note for note in report.notes)
    assert any("10 entities: 0 nested, 0 crossing, 0 on one span" in note for note in report.notes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "no record"),
        ("a.jsonl", b"\n \n", "no record"),
        ("a.txt", b"", "no record"),
        ("a.jsonl", b"\0\1\2", "binary"),
        ("a.jsonl.gz", b"{}", "broken"),
        ("a.parquet", b"PAR1", "'.parquet' cannot be read"),
    ],
)
def test_a_file_without_a_record_is_one_error(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    [problem] = check_files(path).errors
    assert message in problem.message
    assert problem.remedy


def test_an_id_twice_is_a_warning_in_one_file_and_nothing_across_files(tmp_path):
    one = write(tmp_path / "one.jsonl", good(1), good(2), good(3, id="r1"), *(good(n, id=7) for n in range(4, 9)))
    two = write(tmp_path / "two.jsonl", good(9, id="r1"), good(10, id="7"), good(11, id=7))
    report = check_files([one, two])
    assert report.is_ok
    first, second = report.warnings
    assert (first.file, first.line, first.record_id, first.field) == (str(one), 1, "r1", "id")
    assert "the same id is there 2 times (lines 1, 3)" in first.message
    assert "the same id is there 5 times (lines 4, 5, 6, ...)" in second.message


def test_records_that_lack_what_others_have_are_counted(tmp_path):
    lacking = [good(n) for n in (3, 4)]
    for record in lacking:
        del record["entities"]
    path = write(tmp_path / "a.jsonl", good(1), good(2), *lacking, good(5, relations=[]))
    relations, entities = check_files(path).warnings  # by line
    assert str(entities).startswith(
        f"{path}:3: 2 of 5 records have no 'entities' (lines 3, 4), as if nobody had looked"
    )
    assert "4 of 5 records have no 'relations' (lines 1, 2, 3, ...)" in relations.message
    assert 'write "entities": []' in entities.remedy


SPELLINGS = {
    "case": ("Person", "person", "'Person' (2, first a.jsonl:1), 'person' (1, first a.jsonl:2)"),
    "blanks": ("Person", " Person", "' Person' (1, first a.jsonl:2)"),
    "normal form": ("Lé", "Le\u0301", "'Le\\u0301' (1, first a.jsonl:2)"),
    "full width": ("Org", "Ｏrg", "'Ｏrg' (1, first a.jsonl:2)"),
}


@pytest.mark.parametrize(("one", "other", "shown"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_label_in_two_spellings_is_one_warning(tmp_path, one, other, shown):
    lines = [good(n, entities=[{"text": "Ann", "type": name}]) for n, name in enumerate((one, other, one))]
    [warning] = check_files(write(tmp_path / "a.jsonl", *lines)).warnings
    assert warning.line == 2
    assert warning.message.startswith("one entity type in several spellings is learned as several: ")
    assert shown in warning.message
    assert warning.remedy


def test_spellings_are_compared_across_files_and_within_a_kind(tmp_path):
    event = {"trigger": {"text": "met", "type": "p"}, "arguments": []}
    one = write(tmp_path / "one.jsonl", good(1, events=[event]), good(2, events=[event]))
    assert not check_files(one).warnings
    two = write(tmp_path / "two.jsonl", *(good(n, entities=[{"text": "Ann", "type": "p"}]) for n in (3, 4)))
    [warning] = check_files([one, two]).warnings
    assert "'P' (4, first one.jsonl:1), 'p' (2, first two.jsonl:1)" in warning.message


WARNINGS = {
    "repeated text": ([good(1), good(2), good(1, id="x")], 3, "the same text as in line 1"),
    "repeated text in tokens": (
        [{"tokens": ["Ann", "met."], "entities": []}, {"text": "Ann met.", "entities": []}],
        2,
        "the same text as in line 1",
    ),
    "other labels": ([good(1), good(1, id="x", entities=[])], 2, "with other labels"),
    "no labels": ([{"text": "Ann"}, {"text": "Bob"}], None, "no record has 'entities'"),
    "a label seen once": ([good(1, entities=[{"text": "Ann", "type": "Pesron"}])], 1, "'Pesron' occurs only once"),
    "blank word": ([{"tokens": ["a", "\u200b"], "entities": []}], 1, "'\\u200b' has no visible character"),
    "blank record": ([good(1), {"text": " \u200b", "entities": []}], 2, "no word"),
    "mistyped key": ([good(1), {"text": "Ann.", "entitys": []}], 2, "'entitys' is carried along but not read"),
    "repeated entity": (
        [good(1, entities=[{"text": "Ann", "type": "P"}] * 2), good(2)],
        1,
        "same entity is there twice",
    ),
    "unknown key of a label": (
        [good(1, entities=[{"text": "Ann", "type": "P", "nt": 1}]), good(2)],
        1,
        "'nt' is not used",
    ),
}


@pytest.mark.parametrize(("records", "line", "message"), WARNINGS.values(), ids=WARNINGS)
def test_each_oddity_is_one_warning_and_an_error_under_strict(tmp_path, records, line, message):
    path = write(tmp_path / "a.jsonl", *records)
    report = check_files(path)
    assert report.is_ok
    [warning] = report.warnings
    assert (warning.line, warning.severity) == (line, "warning")
    assert message in warning.message
    assert warning.remedy
    strict = check_files(path, strict=True)
    assert not strict.is_ok
    assert [(p.message, p.severity) for p in strict.errors] == [(warning.message, "error")]
    assert not strict.warnings


def test_a_key_of_ones_own_is_no_oddity(tmp_path):
    records = [good(1, note=1, origin="web", event_links=[]), good(2)]
    assert not check_files(write(tmp_path / "a.jsonl", *records)).warnings


def test_texts_in_two_files_are_a_leak(tmp_path):
    train = write(tmp_path / "train.jsonl", *map(good, range(6)))
    dev = write(tmp_path / "dev.jsonl", good(9), *map(good, range(5)))
    [warning] = check_files([train, dev]).warnings
    assert warning.file == str(dev)
    assert f"5 texts are also in {train}: line 2 is line 1" in warning.message
    assert "and 2 more" in warning.message
    assert not check_files([train, train]).warnings  # one file, named twice


def test_labels_are_counted_over_all_files(tmp_path):
    one = write(tmp_path / "one.jsonl", good(1, entities=[{"text": "Ann", "type": "P"}]))
    two = write(tmp_path / "two.jsonl", good(2, entities=[{"text": "Ann", "type": "P"}]))
    assert not check_files([one, two]).warnings
    assert len(check_files([one]).warnings) == 1


def test_overlaps_are_counted_for_the_choice_of_a_policy(tmp_path):
    spans = [(0, 3, "P"), (0, 7, "Q"), (4, 12, "P"), (0, 3, "Q")]
    record = {
        "tokens": list("abcdefghijkl"),
        "entities": [dict(zip(("start", "end", "type"), s, strict=True)) for s in spans],
    }
    trigger = {"start": 0, "end": 1, "type": "E"}
    arguments = [[{"start": s, "end": e, "role": "R"}] for s, e in ((1, 3), (2, 3))]
    record["events"] = [{"trigger": trigger, "arguments": a} for a in arguments]
    notes = "\n".join(check_files(write(tmp_path / "a.jsonl", record)).notes)
    assert "4 entities: 2 nested, 1 crossing, 1 on one span" in notes
    assert "2 triggers: 0 nested, 0 crossing, 1 on one span" in notes
    assert "2 arguments: 1 nested, 0 crossing, 0 on one span" in notes
    assert "1 record has two events of one type on one trigger" in notes


def test_texts_beyond_the_encoder_are_forecast(tmp_path, tiny_encoder):
    long_text = {"tokens": ["the"] * 300 + ["x"] * 211, "entities": []}
    fits = {"tokens": ["the"] * 510, "entities": []}
    long_word = {"tokens": ["z" * 600], "entities": []}
    path = write(tmp_path / "a.jsonl", fits, long_text, long_word)
    report = check_files(path, encoder=str(tiny_encoder))
    assert [(w.line, w.message.split(",")[0]) for w in report.warnings] == [
        (2, "511 pieces"),
        (3, "600 pieces"),
        (3, "word 0 has 600 pieces"),
    ]
    assert "90 more than the encoder reads" in report.warnings[2].message
    assert f"{path}: 2 records are longer than the encoder's 510 pieces; the longest has 600" in report.notes
    alone = check_files(write(tmp_path / "b.jsonl", long_word), encoder=str(tiny_encoder)).notes
    assert f"{tmp_path / 'b.jsonl'}: 1 record is longer than the encoder's 510 pieces; the longest has 600" in alone
    assert f"{tmp_path / 'b.jsonl'}: 1 record, entities in 1" in alone


def test_words_that_the_encoder_does_not_know_are_one_warning_for_each_file(tmp_path, tiny_encoder):
    one = [good(1), good(2, text="Ann met Bob. ሰላም ዓለም 🚀"), good(3, text="Ann met Bob. ሰላም \u200b 饭")]
    path = write(tmp_path / "a.jsonl", *one)
    other = write(tmp_path / "b.jsonl", good(4), good(5))
    report = check_files([path, other], encoder=str(tiny_encoder))
    [warning] = report.warnings
    assert (warning.file, warning.line) == (str(path), None)
    assert warning.message == (
        "5 of 21 words (23.8%) are unknown to the encoder's tokenizer, wholly or in part: "
        "'ሰላም' (line 2), 'ዓለም' (line 2), '🚀' (line 2)"
    )
    assert "encoder.name" in warning.remedy


def test_borders_that_spans_need_are_a_note_and_no_error(tmp_path):
    texts = {"김민수가 왔다": "김민수", "이서준은 갔다": "이서준", "Kolb1,2": "Kolb", "200mg": "200"}
    records = [{"text": text, "entities": [{"text": surface, "type": "P"}]} for text, surface in texts.items()]
    path = write(tmp_path / "a.jsonl", *records)
    report = check_files(path)
    assert report.is_ok
    needs = [note for note in report.notes if "spans need" in note]
    learned = "a model learns them from its training data"
    assert needs == [
        f"{path}: spans need word borders of the kind letter-digit (1 span, such as 'Kolb' in 'Kolb1' (line 3)); "
        + learned,
        f"{path}: spans need word borders of the kind hangul (2 spans, such as '김민수' in '김민수가' (line 1)); "
        + learned,
    ]


def test_a_wrong_encoder_is_an_error_and_a_missing_default_a_note(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", good(1), good(2))
    with pytest.raises(ConfigError, match=r"encoder\.name"):
        check_files(path, encoder=str(tmp_path / "none"))
    monkeypatch.setattr("nlpkit.encoder.folder.find_spec", lambda name: None)
    report = check_files(path)
    assert report.is_ok
    assert any("no forecast" in note and "pip install" in note for note in report.notes)


def test_misaligned_spans_under_each_policy(tmp_path):
    path = write(tmp_path / "a.jsonl", *(good(n) for n in range(2)), entity(start=0, end=2, type="P"))
    assert not check_files(path).is_ok
    assert check_files(path, misaligned="widen").is_ok
    assert check_files(path, misaligned="skip").is_ok


def shifted(unit, *names):
    text = "😀 Zoë met Al in Málaga 👍 today."

    def units(part):
        return {"codepoint": part, "utf16": part.encode("utf-16-le")[::2], "byte": part.encode()}[unit]

    places = [(len(units(text[: text.index(name)])), len(units(name))) for name in names]
    return {"text": text, "entities": [{"start": at, "end": at + n, "type": "P"} for at, n in places]}


@pytest.mark.parametrize("misaligned", ["error", "widen", "skip"])
@pytest.mark.parametrize(
    ("unit", "given", "units"),
    [("utf16", "codepoint", "UTF-16 units"), ("byte", "codepoint", "bytes"), ("codepoint", "byte", "characters")],
)
def test_another_unit_that_explains_the_errors_is_suggested(unit, given, units, misaligned, tmp_path):
    path = write(tmp_path / "a.jsonl", MEET, shifted(unit, "Zoë", "Al", "today"), shifted(unit, "Málaga"))
    report = check_files(path, offset_unit=given, misaligned=misaligned)
    (said,) = [str(problem) for problem in report.warnings if "seem to count" in problem.message]
    assert said.startswith(f"{path}: the positions seem to count {units}, which leaves none of ")
    assert said.endswith(f"use offset_unit={unit!r}")
    right = check_files(path, offset_unit=unit)
    assert right.is_ok
    assert right.n_records == 3
    assert "seem to count" not in str(right)


def test_errors_that_no_unit_explains_suggest_none(tmp_path):
    wrong = {"text": "😀 Zoë met Al", "entities": [{"start": 3, "end": 4, "type": "P"}, {"text": "Bo", "type": "P"}]}
    path = write(tmp_path / "a.jsonl", {"text": "Bob", "entities": [{"start": 0, "end": 2, "type": "P"}]}, wrong)
    report = check_files(path)
    assert len(report.errors) == 2
    assert "seem to count" not in str(report)


def test_result_lines_are_good_data(tmp_path):
    path = tmp_path / "out.jsonl"
    results = [
        IEResult(
            id=str(n),
            text=f"Ann met Bob {n}",
            entities=(
                Entity(start=0, end=3, type="P", score=0.5, text="Ann"),
                Entity(start=8, end=11, type="P", score=1.0),
            ),
            input=InputInfo(words=4, pieces=4, windows=1),
        )
        for n in range(3)
    ]
    with path.open("w", encoding="utf-8") as out:
        write_jsonl(results, out)
    report = check_files(path, strict=True)
    assert report.is_ok
    assert report.n_records == 3


def test_check_loads_neither_torch_nor_transformers(tmp_path):
    import subprocess
    import sys

    path = write(tmp_path / "a.jsonl", good(1))
    code = (
        "import sys; from nlpkit.ie.check import check_files; from nlpkit.ie.writer import formats; "
        f"check_files({str(path)!r}); print(sorted({{'torch', 'transformers'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_lines_that_are_left_out_are_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Bo left", "entities": []}\n{"text": 5, "entities": 6}\n\n{"tokens": [1]}\n')
    assert f"{path}: 1 record, entities in 1, 2 lines left out for errors" in check_files(path).notes


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), max_size=12))
def test_overlaps_are_counted_as_pair_by_pair(places):
    spans = sorted(((start, start + n) for start, n in places), key=lambda span: (span[0], -span[1]))
    expected = Counter({"e": len(spans)} if spans else {})
    for (start, end), other in combinations(spans, 2):
        if other[0] < end:
            how = "on one span" if other == (start, end) else "nested" if other[1] <= end else "crossing"
            expected[f"e {how}"] += 1
    assert overlap_counts("e", spans) == expected
