"""Which borders inside words annotated spans need, and that nothing but those is taken."""

from __future__ import annotations

import pytest

from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Source, Trigger
from nlpkit.ie.words import alignment_problems, word_view
from nlpkit.text.words import DEFAULT_BORDERS

EXTRA = ("letter-digit", "decimal", "hangul")


def record(text: str, *surfaces: str, line: int | None = None) -> IERecord:
    spans = [(text.index(surface), text.index(surface) + len(surface)) for surface in surfaces]
    return IERecord(
        text=text,
        entities=tuple(Entity(start=start, end=end, type="T") for start, end in spans),
        source=None if line is None else Source(file="a.jsonl", line=line),
    )


@pytest.mark.parametrize(
    ("text", "surface", "kinds"),
    [
        ("김민수가 왔다", "김민수", ("hangul",)),
        ("서울에서는", "서울", ("hangul",)),
        ("siehe Kolb1,2", "Kolb", ("letter-digit",)),
        ("siehe Kolb1,2", "Kolb1", ()),
        ("am 1998.12", "1998", ("decimal",)),
        ("67,20%", "20", ("decimal",)),
        ("Kolb1.2 sagt", "1.", ("letter-digit", "decimal")),
        ("200mg", "200", ()),
        ("$5m", "$5", ()),
        ("um 30Uhr", "30", ()),
        ("H2O", "H2O", ()),
        ("H2O", "O", ("letter-digit",)),
        ("Bosnia", "Bos", ()),  # no rule parts letters
        ("e\u0301a", "e", ()),  # nor a grapheme
        ("a b", " ", ()),
    ],
)
def test_the_fewest_kinds_that_repair_a_span(text: str, surface: str, kinds: tuple[str, ...]) -> None:
    needs = BorderNeeds()
    given = record(text, surface)
    assert needs.add(given) == kinds
    assert needs.borders == (*DEFAULT_BORDERS, *kinds)
    if kinds:
        assert alignment_problems(given) == []
        [(start, end, _)] = word_view(given, borders=needs.borders).entities or ()
        assert word_view(given, borders=needs.borders).surface(start, end) == surface
        assert alignment_problems(given, DEFAULT_BORDERS)
        for left_out in kinds:
            assert alignment_problems(given, set(needs.borders) - {left_out})


def test_spans_of_events_count_and_words_do_not() -> None:
    needs = BorderNeeds()
    argument = Argument(start=4, end=6, role="who")
    event = Event(trigger=Trigger(start=0, end=2, type="E"), arguments=(argument,))
    assert needs.add(IERecord(text="구매가 서울에", events=(event,))) == ("hangul",)
    assert needs.described() == ["hangul (2 spans, such as '구매' in '구매가')"]
    assert BorderNeeds().add(IERecord(tokens=("김민수가",), entities=(Entity(start=0, end=1, type="T"),))) == ()
    assert BorderNeeds().add(IERecord(text="김민수가")) == ()


def test_needs_are_counted_over_records_and_named_with_a_line() -> None:
    needs = BorderNeeds()
    for line, (text, surface) in enumerate(
        [("박지영은", "박지영은"), ("이서준의", "이서준"), ("최하나는", "최하나")], 1
    ):
        needs.add(record(text, surface, line=line))
    needs.add(record("Kolb1", "Kolb", line=9))
    assert needs.borders == (*DEFAULT_BORDERS, "letter-digit", "hangul")
    assert needs.described() == [
        "letter-digit (1 span, such as 'Kolb' in 'Kolb1' (line 9))",
        "hangul (2 spans, such as '이서준' in '이서준의' (line 2))",
    ]


def test_text_without_spans_keeps_the_default_rules() -> None:
    assert BorderNeeds().borders == DEFAULT_BORDERS
    assert BorderNeeds().described() == []
