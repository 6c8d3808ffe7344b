"""Writers: lines that read back, columns with one tag a word, tables that cannot steer a terminal, streaming."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from nlpkit.ie.reader import read_records
from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, InputInfo, Relation, Trigger
from nlpkit.ie.words import word_view
from nlpkit.ie.writer import formats, write_conll, write_jsonl, write_table

RESULT = IEResult(
    id="x1",
    text="Ann Lee met Bob.\r\nİ 東京 \u2028 👩‍🚀",
    entities=(
        Entity(start=0, end=7, type="Person", score=0.91, text="Ann Lee"),
        Entity(start=12, end=15, type="Person", score=0.5, text="Bob"),
    ),
    relations=(Relation(head=0, tail=1, type="Knows", score=0.75),),
    events=(
        Event(
            trigger=Trigger(start=8, end=11, type="Meet", score=0.8, text="met"),
            arguments=(Argument(start=0, end=7, role="Visitor", group=0, score=0.6, text="Ann Lee"),),
        ),
    ),
    input=InputInfo(words=11, pieces=12, windows=2, truncated=3, skipped=("a long word",)),
)


def written(name, results, encoding="utf-8"):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="")
    formats[name](results, out)
    out.flush()
    return raw.getvalue().decode(encoding)


class FlushCounter(io.StringIO):
    """Remembers what had been written at each flush."""

    def __init__(self):
        super().__init__()
        self.flushed = []

    def flush(self):
        self.flushed.append(self.getvalue())


def test_the_formats_that_the_command_line_offers():
    assert set(formats) == {"jsonl", "table", "html", "conll"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_jsonl_reads_back_as_data(tmp_path, encoding):
    path = tmp_path / "out.jsonl"
    plain = IEResult(text="", entities=(), input=InputInfo(words=0, pieces=0, windows=0))
    path.write_text(written("jsonl", [RESULT, plain], encoding), encoding="utf-8", newline="")
    problems = []
    assert list(read_records(path, collect=problems)) == [RESULT, plain]
    assert not problems


def test_jsonl_lines_are_lines_for_every_reader():
    ends = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    result = IEResult(
        id=ends, text=f"a{ends}b", entities=(Entity(start=0, end=1, type=ends, text="a"),), extra={ends: [ends]}
    )
    for encoding in ("utf-8", "ascii"):
        lines = written("jsonl", [result, result], encoding).splitlines()
        assert [json.loads(line) for line in lines] == [result.to_dict()] * 2


def test_ids_and_labels_break_no_format():
    ends = "\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    result = IEResult(id=[ends], tokens=("a", f"b{ends}c"), entities=(Entity(start=0, end=2, type=f"P{ends}"),))
    assert len(written("conll", [result]).splitlines()) == 4  # the id, two words, a blank line
    assert [line.count("\t") for line in written("conll", [result]).splitlines()] == [0, 1, 1, 0]
    table = written("table", [result])
    assert not set(table.replace("\n", "")) & set(ends)
    assert written("conll", [IEResult(id=7, text="")]).startswith("# id: 7\n")
    assert written("table", [IEResult(id={"n": 1}, text="Bo")]).startswith('{"n": 1}: Bo')
    assert "1 · 7" in written("html", [IEResult(id=7, text="Bo")])


def test_jsonl_keeps_characters_readable_where_it_can():
    assert "東京" in written("jsonl", [RESULT])
    assert "東京" not in written("jsonl", [RESULT], "ascii")


@pytest.mark.parametrize("write", [write_jsonl, write_table, write_conll])
def test_each_result_is_out_before_the_next_is_asked_for(write):
    out = FlushCounter()

    def results():
        for name in ("first", "second"):
            yield IEResult(text=name, entities=())
            assert name in out.flushed[-1]

    write(results(), out)


def test_jsonl_refuses_what_is_no_json():
    with pytest.raises(ValueError, match="JSON compliant"):
        write_jsonl([IEResult(text="a", extra={"x": float("nan")})], io.StringIO())


def test_the_table_says_all_that_was_found():
    lines = written("table", [RESULT]).splitlines()
    table = "\n".join(" ".join(line.split()) for line in lines)
    for expected in (
        "x1: Ann Lee met Bob.\\r\\nİ 東京 \\u2028 👩‍🚀",
        "entity Person Ann Lee 0.91",
        "entity Person Bob 0.50",
        "relation Knows Ann Lee -> Bob 0.75",
        "event Meet met 0.80",
        "Visitor Ann Lee (part of 0) 0.60",
        "read in 2 windows",
        "3 pieces of words longer than the encoder were left out",
        "a long word",
    ):
        assert expected in table
    assert all(line == line.rstrip() for line in lines)
    assert "nothing found" in written("table", [IEResult(text="Ann", entities=())])


def test_the_table_takes_text_as_text():
    text = "[bold]x[/bold] :smile: \x1b[31mred\x07\x9b2J [/] http://a.b"
    result = IEResult(id="[red]", text=text, entities=(Entity(start=0, end=len(text), type="[i]T", score=1.0),))
    table = written("table", [result])
    assert "[bold]x[/bold] :smile: \\x1b[31mred\\x07\\x9b2J [/]" in table
    assert "[red]: " in table
    assert "[i]T" in table
    assert not set(table) & {"\x1b", "\x07", "\x9b"}
    assert "\\u6771" in written("table", [RESULT], "ascii")


def columns(text):
    """The records of CoNLL columns as lists of (word, tag)."""
    records = []
    for block in text.split("\n\n")[:-1]:
        records.append([tuple(line.split("\t")) for line in block.split("\n") if "\t" in line])
    return records


def test_conll_has_each_word_once_with_one_tag():
    records = columns(
        written("conll", [RESULT, IEResult(tokens=("Bob", "#"), entities=(Entity(start=0, end=1, type="P"),))])
    )
    assert [word for word, _ in records[0]] == list(word_view(RESULT).words)
    assert [tag for _, tag in records[0][:4]] == ["B-Person", "I-Person", "O", "B-Person"]
    assert records[1] == [("Bob", "B-P"), ("#", "O")]


def test_conll_gives_the_longest_entity_and_says_what_it_left_out():
    result = IEResult(
        id="n\n1",
        tokens=("University", "of", "York", "staff", "a", "b"),
        entities=(
            Entity(start=2, end=3, type="Loc", score=0.99),
            Entity(start=0, end=3, type="Org", score=0.6),
            Entity(start=2, end=4, type="Crossing", score=0.99),
            Entity(start=4, end=5, type="Less", score=0.6),
            Entity(start=4, end=5, type="More", score=0.7),
            Entity(start=5, end=6, type="More", score=0.7),
        ),
    )
    text = written("conll", [result])
    assert text == (
        "# id: n 1\n"
        "# left out, overlaps a longer entity: Loc words 2 to 3: York\n"
        "# left out, overlaps a longer entity: Crossing words 2 to 4: York staff\n"
        "# left out, overlaps a longer entity: Less words 4 to 5: a\n"
        "University\tB-Org\nof\tI-Org\nYork\tI-Org\nstaff\tO\na\tB-More\nb\tB-More\n\n"
    )


def test_conll_says_that_it_holds_no_relations_and_events():
    record = IERecord(
        tokens=("Bo", "met", "Al"),
        entities=(Entity(start=0, end=1, type="P"), Entity(start=2, end=3, type="P")),
        relations=(Relation(head=0, tail=1, type="met"),),
        events=(Event(trigger=Trigger(start=1, end=2, type="Meeting")),),
    )
    comments = [line for line in written("conll", [record]).splitlines() if line.startswith("#")]
    assert comments == [f"# left out, not of this format: 1 {what}" for what in ("relation", "event")]
    plain = replace(record, relations=(), events=None)
    assert "#" not in written("conll", [plain])


def test_conll_columns_stand_whatever_a_word_holds():
    tokens = ("a\tb", "", " ", "c\nd", "\u2028", "e f", "\x1b")
    result = IEResult(tokens=tokens, entities=(Entity(start=0, end=2, type="A\tB\n", score=1.0),))
    [record] = columns(written("conll", [result]))
    assert record == [
        ("a_b", "B-A_B_"),
        ("_", "I-A_B_"),
        ("_", "O"),
        ("c_d", "O"),
        ("_", "O"),
        ("e_f", "O"),
        ("_", "O"),
    ]


def test_conll_of_a_text_without_words_is_a_blank_record():
    assert written("conll", [IEResult(text=" ", entities=())]) == "\n"


def test_html_is_one_page_with_everything_drawn():
    pytest.importorskip("nlpkit.ie.report")
    page = written("html", [RESULT, IEResult(text="<script>alert(1)</script>", entities=())])
    assert page.count("<html") == 1
    assert "東京" in page
    assert "<script>alert(1)" not in page
    assert "&#26481;" in written("html", [RESULT], "ascii")


def test_jsonl_lines_are_objects_a_line():
    lines = written("jsonl", [RESULT] * 3).split("\n")
    assert [json.loads(line)["id"] for line in lines[:-1]] == ["x1"] * 3
    assert lines[-1] == ""


def test_conll_words_are_as_fine_as_the_spans_need():
    result = IEResult(text="김민수가 H2O", entities=(Entity(start=0, end=3, type="Person"),))
    out = io.StringIO()
    write_conll([result], out)
    assert out.getvalue() == "김\tB-Person\n민\tI-Person\n수\tI-Person\n가\tO\nH2O\tO\n\n"
