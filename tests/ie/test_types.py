"""Records and results as people meet them in Python: printed, and followed from relations to entities."""

from __future__ import annotations

import io

import pytest

from nlpkit.errors import DataError
from nlpkit.ie.types import Entity, IERecord, IEResult, InputInfo, Relation
from nlpkit.ie.writer import SHORT_ROWS, SHORT_TEXT, write_table

ANN, BOB = Entity(start=0, end=3, type="Person", score=0.9), Entity(start=8, end=11, type="Person", score=0.8)
KNOWS = Relation(head=1, tail=0, type="Knows", score=0.7)
INFO = InputInfo(words=3, pieces=3, windows=2)
RESULT = IEResult(id="x", text="Ann met Bob", entities=(ANN, BOB), relations=(KNOWS,), input=INFO)


def test_printing_a_result_shows_the_table_of_the_command_line():
    out = io.StringIO()
    write_table([RESULT], out)
    assert str(RESULT) == out.getvalue().rstrip("\n")
    assert [line.split() for line in str(RESULT).splitlines()] == [
        ["x:", "Ann", "met", "Bob"],
        ["entity", "Person", "Ann", "0.90"],
        ["entity", "Person", "Bob", "0.80"],
        ["relation", "Knows", "Bob", "->", "Ann", "0.70"],
        ["read", "in", "2", "windows"],
    ]


def test_a_record_prints_too_and_one_without_anything_says_so():
    assert str(IERecord(tokens=("Bo", "met"), entities=None)).splitlines() == ["Bo met", "  nothing found"]


def test_a_long_result_does_not_fill_the_screen_and_says_what_is_not_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = "word " * 5000
    entities = tuple(Entity(start=5 * k, end=5 * k + 4, type="W") for k in range(1000))
    shown = str(IEResult(text=text, entities=entities))
    assert len(shown.splitlines()) < 30
    assert shown.count("entity") == SHORT_ROWS
    assert f"... and {1000 - SHORT_ROWS} rows more" in shown
    assert "(25,000 characters)" in " ".join(shown.split())
    assert len(shown.partition("...")[0]) <= SHORT_TEXT + 10
    whole = str(IEResult(text=text, entities=(Entity(start=0, end=25_000, type="All"),)))
    assert len(whole.splitlines()) < 20

    out = io.StringIO()
    write_table([IEResult(text=text, entities=entities)], out)
    assert out.getvalue().count("entity") == 1000


def test_printing_sends_no_control_characters_and_no_colours(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in str(IEResult(text="a \x1b[31m b", entities=(Entity(start=0, end=1, type="\x1b[0m"),)))


def test_repr_still_tells_every_field():
    names = {"Entity": Entity, "Relation": Relation, "IEResult": IEResult, "InputInfo": InputInfo}
    assert eval(repr(RESULT), names) == RESULT


def test_a_relation_is_followed_to_its_entities():
    assert (RESULT.head_of(KNOWS), RESULT.tail_of(KNOWS)) == (BOB, ANN)


@pytest.mark.parametrize("index", [-1, 2])
def test_a_relation_of_another_record_is_not_followed_anywhere(index):
    relation = Relation(head=index, tail=index, type="Knows")
    with pytest.raises(DataError, match=f"the head is entity {index}, the record has 2 entities"):
        RESULT.head_of(relation)
    with pytest.raises(DataError, match="the tail is entity"):
        RESULT.tail_of(relation)
    with pytest.raises(DataError, match="has 0 entities"):
        IERecord(text="").head_of(relation)
