"""The word view: spans on words and back to the very characters, for all kinds of text and misaligned spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import ConfigError, DataError
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Source, Trigger
from nlpkit.ie.words import alignment_problems, word_view

HARD = [
    "",
    " ",
    "\r\n\t",
    "a",
    "one\r\ntwo\r\n",
    "trailing blanks   ",
    "   leading",
    "cafe\u0301 re\u0301sume\u0301",
    "family 👨‍👩‍👧‍👦 and flag 🇩🇪, rocket 👩🏽‍🚀!",
    "İstanbul'da İ İİ",
    "ﬁne ﬂow ½ ², ß",
    "zero\u200bwidth \u200b and \ufeff bom",
    "שלום עולם, مرحبا بالعالم",
    "\u202eright\u202c to left",
    "東京は日本の首都です。",
    "ภาษาไทยไม่มีช่องว่าง",
    "한국어 조사를 봅니다",
    "e-mail: a.b@c.de, 3.14 U.S.-based O'Neill's",
    "\u2028line\u2029paragraph\x85next\x0b",
    "a" * 500,
    "#tag @user http://x.y/z?q=1&r=2",
    "𝒜𝓃𝓃 \U0001f600\ufe0f",
]


def entity(start, end, label="P"):
    return Entity(start=start, end=end, type=label)


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_every_run_of_words_maps_back_to_its_characters(text):
    view = word_view(IERecord(text=text))
    assert view.text == text
    assert len(view.words) == len(view.offsets)
    assert "".join(view.words).split() == "".join("".join(text.split())).split()
    for first in range(len(view.words)):
        for last in range(first + 1, min(first + 6, len(view.words)) + 1):
            start, end = view.unit_span(first, last)
            assert text[start:end] == view.surface(first, last)
            assert view.surface(first, last).startswith(view.words[first])
            assert view.surface(first, last).endswith(view.words[last - 1])
            back = word_view(IERecord(text=text, entities=(entity(start, end),)))
            assert back.entities == ((first, last, "P"),)


@given(st.text(st.sampled_from(" \r\n\tab.,'-İé\u0301😀\u200d👩🚀\u200b東京ไทย한שא\u202e5%"), max_size=30))
def test_any_text_maps_back_to_its_characters(text):
    view = word_view(IERecord(text=text))
    spans = [view.unit_span(n, n + 1) for n in range(len(view.words))]
    assert all(text[start:end] == word for (start, end), word in zip(spans, view.words, strict=True))
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered for place, char in enumerate(text) if not char.isspace() and char not in "\u0301\u200d")
    entities = tuple(entity(start, end) for start, end in spans)
    again = word_view(IERecord(text=text, entities=entities))
    assert again.entities == tuple((n, n + 1, "P") for n in range(len(spans)))


@given(st.text(st.sampled_from(" ab.é\u0301👩\u200d🚀京"), min_size=1, max_size=20), st.data())
def test_widening_takes_the_words_that_a_span_touches_and_skipping_none(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    record = IERecord(text=text, entities=(entity(start, end),))
    wide = word_view(record, "widen")
    skipped = word_view(record, "skip")
    is_exact = not alignment_problems(record)
    assert bool(wide.skipped) == bool(skipped.skipped) == (not is_exact)
    assert skipped.entities == (wide.entities if is_exact else ())
    touched = [n for n, (first, last) in enumerate(wide.offsets) if first < end and last > start]
    assert wide.entities == (((touched[0], touched[-1] + 1, "P"),) if touched else ())
    assert is_exact == (bool(touched) and wide.unit_span(touched[0], touched[-1] + 1) == (start, end))


def test_tokens_are_seen_as_they_are():
    tokens = ("New", " ", "", "York\u200b", "a b")
    record = IERecord(
        tokens=tokens,
        entities=(entity(0, 4),),
        relations=(),
        events=(
            Event(trigger=Trigger(start=4, end=5, type="E"), arguments=(Argument(start=1, end=2, role="R", group=1),)),
        ),
    )
    view = word_view(record)
    assert view.words == tokens
    assert view.offsets is None
    assert view.entities == ((0, 4, "P"),)
    assert view.relations == ()
    assert view.events == record.events
    assert view.unit_span(1, 3) == (1, 3)
    assert view.surface(0, 4) == "New    York\u200b"
    assert view.skipped == ()


@pytest.mark.parametrize(
    "record", [IERecord(tokens=("a",)), IERecord(text="a"), IERecord(text=""), IERecord(tokens=())]
)
def test_what_is_not_annotated_stays_so(record):
    view = word_view(record)
    assert view.entities is view.relations is view.events is None


@pytest.mark.parametrize("span", [(0, 0), (1, 0), (-1, 1), (0, 3)])
def test_unit_span_refuses_what_is_no_span(span):
    with pytest.raises(ValueError, match="expected 0 <= start < end <= 2"):
        word_view(IERecord(text="a b")).unit_span(*span)


def cut_record():
    #       0         1         2
    #       012345678901234567890123456
    text = "Annalena met Bob near Berlin"
    return IERecord(
        id="x",
        text=text,
        entities=(entity(13, 16), entity(0, 3), entity(0, 8), entity(22, 28)),
        relations=(
            Relation(head=0, tail=1, type="A"),
            Relation(head=0, tail=2, type="A"),
            Relation(head=1, tail=2, type="B"),
            Relation(head=3, tail=0, type="C"),
        ),
        events=(
            Event(
                trigger=Trigger(start=9, end=12, type="Meet"),
                arguments=(Argument(start=0, end=4, role="R"), Argument(start=0, end=8, role="R", score=0.5)),
            ),
            Event(trigger=Trigger(start=9, end=11, type="Meet"), arguments=(Argument(start=13, end=16, role="R"),)),
        ),
        source=Source(file="a.jsonl", line=7),
    )


def test_every_cut_span_is_an_error_with_place_and_remedy():
    with pytest.raises(DataError) as caught:
        word_view(cut_record())
    problems = caught.value.problems
    assert [p.field for p in problems] == ["entities[1]", "events[0].arguments[0]", "events[1].trigger"]
    assert {(p.file, p.line, p.record_id) for p in problems} == {("a.jsonl", 7, "x")}
    assert all("misaligned='widen'" in p.remedy and "skip" in p.remedy for p in problems)
    assert list(problems) == alignment_problems(cut_record())


def test_skip_takes_everything_that_hangs_on_a_cut_span():
    view = word_view(cut_record(), "skip")
    assert view.entities == ((2, 3, "P"), (0, 1, "P"), (4, 5, "P"))
    assert view.relations == ((0, 1, "A"), (2, 0, "C"))  # positions in the entities that are left
    [event] = view.events
    assert [(a.start, a.end) for a in event.arguments] == [(0, 1)]
    assert [note.split(":")[0].split(" left")[0] for note in view.skipped] == [
        "entities[1]",
        "relations[0]",
        "relations[2]",
        "events[0].arguments[0]",
        "events[1].trigger",
        "events[1]",
    ]


def test_widen_merges_what_becomes_one_span():
    view = word_view(cut_record(), "widen")
    assert view.entities == ((2, 3, "P"), (0, 1, "P"), (4, 5, "P"))
    assert view.relations == ((0, 1, "A"), (2, 0, "C"))  # one of each; nobody is related to himself
    assert [(e.trigger.start, e.trigger.end) for e in view.events] == [(1, 2), (1, 2)]
    assert [[(a.start, a.end) for a in e.arguments] for e in view.events] == [[(0, 1)], [(2, 3)]]
    assert any("relations[2] left out" in note for note in view.skipped)


@pytest.mark.parametrize("policy", ["error", "widen", "skip"])
@pytest.mark.parametrize(
    "record",
    [
        IERecord(text="abc", entities=(entity(0, 9),)),
        IERecord(tokens=("a",), entities=(entity(1, 1),)),
        IERecord(text="abc", entities=(entity(0, 3),), relations=(Relation(head=0, tail=1, type="A"),)),
        IERecord(text="abc", relations=(Relation(head=0, tail=1, type="A"),)),
        IERecord(text="abc", events=(Event(trigger=Trigger(start=-3, end=3, type="E")),)),
    ],
)
def test_positions_outside_the_record_are_an_error_under_every_policy(record, policy):
    with pytest.raises(DataError, match=r"entity|entities|events"):
        word_view(record, policy)


def test_an_unknown_policy_is_named():
    with pytest.raises(ConfigError, match=r"data\.misaligned: expected one of error, widen, skip, got 'drop'"):
        word_view(IERecord(text="a"), "drop")


def test_the_record_is_untouched_and_long_texts_are_fast():
    text = "word " * 20_000
    record = IERecord(text=text, entities=tuple(entity(5 * n, 5 * n + 4) for n in range(20_000)))
    view = word_view(record)
    assert view.entities[-1] == (19_999, 20_000, "P")
    assert record.text is text
