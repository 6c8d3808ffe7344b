from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nlpkit.report.marks import LABEL, LABEL_FONT, LANE, THICK, Mark, assign_lanes, marked_text

HARD = [
    "",
    "plain words here",
    "  blanks   kept \t tab  ",
    "first\r\nsecond\nthird\r",
    "cafe\u0301 I\u0307stanbul \U0001f469\u200d\U0001f52c ok",
    "\u0627\u0644\u062a\u0642\u0649 \u0623\u062d\u0645\u062f \u0641\u064a \u0627\u0644\u0642\u0627\u0647\u0631\u0629",
    "\u6771\u4eac\u90fd\u306e\u5b89\u500d\u5546\u4e8b",
    "<script>alert('1')</script> & \"quotes\" </p>",
    "w" * 500,
    "\u202eoverride \u200b zero",
]


@st.composite
def texts_with_marks(draw: st.DrawFn) -> tuple[str, list[Mark]]:
    text = draw(st.sampled_from([text for text in HARD if text]))
    marks = []
    for number in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        marks.append(Mark(start, end, draw(st.sampled_from(["A", "<b>'\"", "long label of a mark"])), f"c{number}"))
    return text, marks


@pytest.mark.parametrize("text", HARD)
def test_text_stays_the_very_text(text: str, read_page) -> None:
    marks = [Mark(i, min(i + 5, len(text)), "L", f"c{i}") for i in range(0, len(text), 4)]
    page = read_page(marked_text(text, marks))
    assert page.texts("p") == [text]
    assert [tag for tag, _, _ in page.elements if tag not in ("p", "span", "b")] == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(case=texts_with_marks())
def test_every_mark_is_drawn_under_its_own_characters(case: tuple[str, list[Mark]], read_page) -> None:
    text, marks = case
    page = read_page(marked_text(text, marks))
    for mark in marks:
        drawn = [words for attributes, words in page.find("span") if f"({mark.colour} " in attributes["style"]]
        assert "".join(drawn) == text[mark.start : mark.end]
    labels = [attributes["data-l"] for attributes, _ in page.find("b")]
    assert sorted(labels) == sorted(mark.label for mark in marks)


@settings(deadline=None)
@given(texts_with_marks())
def test_marks_on_one_line_never_meet(case: tuple[str, list[Mark]]) -> None:
    text, marks = case
    lanes = assign_lanes(text, marks)
    assert lanes.keys() == set(marks)
    for mark in marks:
        for other in marks:
            if mark is not other and lanes[mark] == lanes[other]:
                assert mark.end <= other.start or other.end <= mark.start
    assert set(lanes.values()) == set(range(len(set(lanes.values())))), "no line is left empty"


def test_nested_marks_lie_under_the_inner_one_and_crossing_ones_apart() -> None:
    text = "University of California, Berkeley School of Law"
    inner, outer, crossing = Mark(14, 24, "Place", "a"), Mark(0, 34, "Org", "b"), Mark(26, 48, "Org", "c")
    lanes = assign_lanes(text, [outer, crossing, inner])
    assert lanes[inner] == 0
    assert lanes[inner] < lanes[outer]
    assert lanes[crossing] != lanes[outer]


def test_a_long_label_does_not_run_into_the_next_one() -> None:
    first, second = Mark(0, 2, "A_long_label_here", "a"), Mark(3, 5, "B", "b")
    assert len(set(assign_lanes("Bo Al and many more words", [first, second]).values())) == 2
    near, far = Mark(0, 2, "P", "a"), Mark(17, 22, "B", "b")
    assert set(assign_lanes("Bo Al and many more words", [near, far]).values()) == {0}


def test_marks_that_only_touch_share_a_line() -> None:
    marks = [Mark(0, 8, "A", "a"), Mark(8, 16, "B", "b")]
    assert set(assign_lanes("x" * 16, marks).values()) == {0}


def test_lines_lie_inside_the_room_below_the_words(read_page) -> None:
    marks = [Mark(0, 20 - i, "L", f"c{i}") for i in range(5)]
    page = read_page(marked_text("x" * 30, marks))
    heights = [
        int(h)
        for attributes, _ in page.find("span")
        for h in re.findall(r"\) 0 calc\(100% - (\d+)px\)/", attributes["style"])
    ]
    assert len(set(heights)) == 5
    assert min(heights) >= 0
    assert max(heights) < 5 * LANE
    assert page.find("p")[0][0]["style"] == "--lanes:5"


def test_marks_outside_the_text_are_left_out(read_page) -> None:
    page = read_page(marked_text("abc", [Mark(-1, 2, "L", "c"), Mark(2, 9, "L", "c"), Mark(1, 1, "L", "c")]))
    assert page.find("span") == []


def test_letters_with_accents_and_descenders_have_room_in_their_line() -> None:
    # From the top of an accented capital to the end of a descender, common fonts need 1.36 times their size.
    assert LABEL >= 1.36 * LABEL_FONT
    assert LABEL + THICK <= LANE


def test_score_stands_behind_the_label_and_takes_room(read_page) -> None:
    page = read_page(marked_text("Bo met Al", [Mark(0, 2, "P", "a", score="0.93"), Mark(7, 9, "P", "a")]))
    assert [attributes.get("data-s") for attributes, _ in page.find("b")] == ["0.93", None]
    assert page.texts("p") == ["Bo met Al"]
    near = Mark(3, 6, "P", "a")
    assert len(set(assign_lanes("Bo met Al", [Mark(0, 2, "P", "a", score="0.93"), near]).values())) == 2


def test_thousands_of_marks_take_little_time() -> None:
    marks = [Mark(i, i + 3, "L", "c") for i in range(0, 60_000, 4)]
    before = process_time()
    assign_lanes("x" * 60_000, marks)
    assert process_time() - before < 5
