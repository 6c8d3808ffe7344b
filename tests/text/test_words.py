"""Word splitting: exact offsets on text that careless code breaks."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.text.words import split_words


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in split_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n\u3000\u00a0", []),
        ("Tim Cook met Angela Merkel in Berlin.", ["Tim", "Cook", "met", "Angela", "Merkel", "in", "Berlin", "."]),
        ("Acme's don't  ", ["Acme", "'s", "don", "'t"]),
        ("O'Brien said 'so'", ["O", "'", "Brien", "said", "'", "so", "'"]),
        ("$1,250.75m, v2.0.", ["$", "1,250.75m", ",", "v2.0", "."]),
        ("COVID-19 (a_b@c.de)", ["COVID", "-", "19", "(", "a", "_", "b", "@", "c", ".", "de", ")"]),
        ("Wait... ?!", ["Wait", "...", "?", "!"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("cafe\u0301s nai\u0308f", ["cafe\u0301s", "nai\u0308f"]),
        ("İstanbul'da ıslak", ["İstanbul", "'", "da", "ıslak"]),
        ("ok 👩\u200d👩\u200d👧\u200d👦! 🏳️\u200d🌈🇩🇪🇫🇷 👍🏽 1\ufe0f\u20e3",
         ["ok", "👩\u200d👩\u200d👧\u200d👦", "!", "🏳️\u200d🌈", "🇩🇪", "🇫🇷", "👍🏽", "1\ufe0f\u20e3"]),
        ("北京3月,Apple在上海。", ["北", "京", "3", "月", ",", "Apple", "在", "上", "海", "。"]),
        ("東京タワーへ", ["東", "京", "タ", "ワ", "ー", "へ"]),
        ("か\u3099く", ["か\u3099", "く"]),
        ("ภาษาไทยกำ", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย", "กำ"]),
        ("삼성전자 TV는 3월", ["삼성전자", "TV", "는", "3", "월"]),
        ("שָׁלוֹם עולם.", ["שָׁלוֹם", "עולם", "."]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("co\u00adoperate a\u200bb", ["co\u00adoperate", "a", "\u200b", "b"]),
        ("end \u200b", ["end", "\u200b"]),
        ("\ufeffBOM \u200fx", ["\ufeff", "BOM", "\u200f", "x"]),
        ("a \u0301b", ["a", " \u0301", "b"]),
        ("\x00a\x07", ["\x00", "a", "\x07"]),
        ("ﬁne ﬃ", ["ﬁne", "ﬃ"]),
    ],
)  # fmt: skip
def test_words_of_hard_texts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_lone_surrogates_do_not_crash() -> None:
    assert words("a \ud800 b") == ["a", "\ud800", "b"]


ALPHABET = st.sampled_from(
    list("ab Z19.,'-_() \t\r\n\u00a0\u0301\u0308\u200b\u200c\u200d\u00ad\u2060\ufe0f\u20e3"
         "👩👧🏽🇩🇪🏳北京かカー\u3099ภำไລកម\u1039\u1100\u1161\u11a8삼ש\u0600क\u094dषİ’s")
)  # fmt: skip
TEXTS = st.one_of(st.text(ALPHABET, max_size=40), st.text(max_size=40))


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_offsets_are_ordered_cover_everything_visible_and_cut_no_grapheme(text: str) -> None:
    spans = split_words(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    assert [c for i, c in enumerate(text) if i not in covered and not c.isspace()] == []
    assert not any(text[start:end].isspace() for start, end in spans)
    borders = {m.start() for m in regex.finditer(r"\X", text)} | {len(text)}
    assert {i for span in spans for i in span} <= borders


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_a_line_break_separates_texts(left: str, right: str) -> None:
    spans = split_words(left.rstrip() + "\n\n" + right)
    shift = len(left.rstrip()) + 2
    assert split_words(right) == [(s - shift, e - shift) for s, e in spans if s >= shift]


def test_long_text_is_split_in_linear_time() -> None:
    assert len(split_words("word, " * 50_000)) == 100_000
    assert len(split_words("-" * 100_000)) == 1
    assert len(split_words("-" * 20_000 + "\u0301!")) == 3
    assert len(split_words("a" * 100_000)) == 1
