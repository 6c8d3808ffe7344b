"""Where sentences begin: in words alone, and in texts with lines, headings, lists and quotations."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.sentences import sentence_starts
from nlpkit.text.words import split_words


def sentences(text: str) -> list[str]:
    offsets = split_words(text)
    words = [text[start:end] for start, end in offsets]
    starts = [*sentence_starts(words, text, offsets), len(words)]
    return [text[offsets[a][0] : offsets[b - 1][1]] for a, b in pairwise(starts)]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("Bo met Al . They left .", ["Bo met Al .", "They left ."]),
        ("Bo said. They left.", ["Bo said.", "They left."]),  # the mark may hang on the word
        ("Mr . Holm saw Dr . B . K . Lind .", ["Mr . Holm saw Dr . B . K . Lind ."]),
        ("The U.S. Congress met .", ["The U.S. Congress met ."]),
        ("Am 13 . Februar kam er . Dann ging er .", ["Am 13 . Februar kam er .", "Dann ging er ."]),
        ("It fell to 1990 . The firm grew .", ["It fell to 1990 .", "The firm grew ."]),
        ("He asked why ? and left .", ["He asked why ? and left ."]),  # it goes on in lower case
        ('" Stop . " Bo left .', ['" Stop . "', "Bo left ."]),
        ('Bo left . " Stop . " Al ran .', ["Bo left .", '" Stop . "', "Al ran ."]),  # the second quote opens
        ("( They left . ) Bo stayed .", ["( They left . )", "Bo stayed ."]),
        ("東京 に 行った 。 雨 だった 。", ["東京 に 行った 。", "雨 だった 。"]),
        ("वह गया । वह आया ।", ["वह गया ।", "वह आया ।"]),
        ("no marks at all", ["no marks at all"]),
    ],
)
def test_marks_end_sentences_but_not_abbreviations(words: str, parts: list[str]) -> None:
    given_words = words.split()
    starts = [*sentence_starts(given_words), len(given_words)]
    assert [" ".join(given_words[a:b]) for a, b in pairwise(starts)] == parts


def test_a_document_with_headings_lists_quotations_and_wrapped_lines() -> None:
    text = (
        "Annual report 2031\n"
        "\n"
        "Highlights\n"
        "- Sundervale Bank bought Fenbrackel\n"
        "- Profit rose to 3.5 million euros.\n"
        "\n"
        '"We did well," said Mr. Ove Lind. "It was a good\n'
        "year for the firm, and for Dr. B. K. Holm, who left\n"
        'Norlake in May." The board agreed.\n'
    )
    assert sentences(text) == [
        "Annual report 2031",
        "Highlights",
        "- Sundervale Bank bought Fenbrackel",
        "- Profit rose to 3.5 million euros.",
        '"We did well," said Mr. Ove Lind.',
        '"It was a good\nyear for the firm, and for Dr. B. K. Holm, who left\nNorlake in May."',
        "The board agreed.",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_line_ends_of_all_systems(end: str) -> None:
    lines = ["A long line that the writer wrapped where the next", "Word did not fit.", "", "Names", "Ove Lind"]
    assert sentences(end.join(lines)) == [f"{lines[0]}{end}{lines[1]}", "Names", "Ove Lind"]


def test_nothing_gives_nothing_and_blank_words_are_no_fault() -> None:
    assert sentence_starts([]) == []
    assert sentence_starts(["", " ", "."]) == [0]
    assert sentences(" \n\n ") == []


@given(st.text(alphabet="aB1.!?\"'”)\n\r \u2028-,東。", max_size=60))
def test_every_word_is_in_one_sentence(text: str) -> None:
    offsets = split_words(text)
    starts = sentence_starts([text[a:b] for a, b in offsets], text, offsets)
    assert starts == sorted(set(starts))
    assert (starts[:1] == [0]) == bool(offsets)
    assert all(start < len(offsets) for start in starts)


def test_time_grows_with_the_length() -> None:
    from time import process_time

    def seconds(n: int) -> float:
        text = "The firm grew.\nIt was sold.\n" * n
        offsets = split_words(text)
        words = [text[a:b] for a, b in offsets]
        start = process_time()
        sentence_starts(words, text, offsets)
        return process_time() - start

    seconds(100)
    assert seconds(8000) < 16 * max(seconds(1000), 0.002)
