"""Word splitting: exact offsets on text that careless code breaks."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from itertools import combinations, pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.text.words import BORDERS, DEFAULT_BORDERS, UNSPACED_SCRIPTS, graphemes, is_visible, split_words


def words(text: str, borders: Collection[str] = DEFAULT_BORDERS) -> list[str]:
    return [text[start:end] for start, end in split_words(text, borders)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n\u3000\u00a0", []),
        ("Tim Cook met Angela Merkel in Berlin.", ["Tim", "Cook", "met", "Angela", "Merkel", "in", "Berlin", "."]),
        ("Acme's don't  ", ["Acme", "'s", "don", "'t"]),
        ("O'Brien said 'so'", ["O", "'", "Brien", "said", "'", "so", "'"]),
        ("$1,250.75m, v2.0.", ["$", "1,250.75", "m", ",", "v2.0", "."]),
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
        ("a \u0301b", ["a", "b"]),
        ("norm ❤ \ufe0f enjoyed", ["norm", "❤", "enjoyed"]),
        ("\u0301a \u0301\u0323", ["a"]),
        ("a\n\u0301b\u200b\u0301", ["a", "b", "\u200b"]),
        ("a \u200d 🏽 \u0e33 \ufe0f🏽", ["a", "🏽", "\u0e33", "🏽"]),
        ("\u0600 a \u0d4e b", ["\u0600", "a", "\u0d4e", "b"]),
        ("\x00a\x07", ["\x00", "a", "\x07"]),
        ("ﬁne ﬃ", ["ﬁne", "ﬃ"]),
    ],
)  # fmt: skip
def test_words_of_hard_texts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_lone_surrogates_do_not_crash() -> None:
    assert words("a \ud800 b") == ["a", "\ud800", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200mg", "200 mg"),
        ("$5m 30Uhr 3D 1st 90er", "$ 5 m 30 Uhr 3 D 1 st 90 er"),
        ("10³kg ½kg 20°C", "10³ kg ½ kg 20 ° C"),
        ("3.5t 1.000.000,50EUR", "3.5 t 1.000.000,50 EUR"),
        ("H2O p53 COVID-19 B2B CO₂ m² IL2Ra x86", "H2O p53 COVID - 19 B2B CO₂ m² IL2Ra x86"),
        ("Kolb1,2 v2.0 5mg1,2", "Kolb1 , 2 v2.0 5 mg1 , 2"),
        ("67,20% 1998.12 ١٬٢", "67,20 % 1998.12 ١٬٢"),
        ("월3,5 月3,5", "월 3,5 月 3,5"),
        ("김민수가", "김민수가"),
    ],
)
def test_what_parts_by_default(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("number-unit", "200mg H2O Kolb1,2 1998.12 3.5t 김민수가", "200 mg H2O Kolb1,2 1998.12 3.5 t 김민수가"),
        ("comma-list", "200mg H2O Kolb1,2 1998.12 67,20 김민수가", "200mg H2O Kolb1 , 2 1998.12 67,20 김민수가"),
        ("letter-digit", "200mg H2O Kolb1 v1.2 1998.12 김민수가", "200 mg H 2 O Kolb 1 v 1.2 1998.12 김민수가"),
        ("decimal", "200mg H2O Kolb1,2 1998.12 v2.0 김민수가", "200mg H2O Kolb1 , 2 1998 . 12 v2 . 0 김민수가"),
        ("hangul", "200mg H2O Kolb1,2 1998.12 김민수가", "200mg H2O Kolb1,2 1998.12 김 민 수 가"),
    ],
)  # fmt: skip
def test_each_kind_of_border_alone(kind: str, text: str, expected: str) -> None:
    assert words(text, [kind]) == expected.split()


def test_an_unknown_kind_of_border_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected kinds of borders out of number-unit, .*, got syllable"):
        split_words("a", ("hangul", "syllable"))


def test_what_can_be_seen() -> None:
    assert not any(map(is_visible, ["", " ", "\u3000\t", "\u200b\u2060", "\ufeff", "\x07", "\ufe0f", "\u3164"]))
    assert all(map(is_visible, ["a", ".", "\u200ba", "ሰ", "😀", "\ufffd", "\ue000"]))


ALPHABET = st.sampled_from(
    list("ab Z19.,'-_() \t\r\n\u00a0\u0301\u0308\u200b\u200c\u200d\u00ad\u2060\ufe0f\u20e3"
         "👩👧🏽🇩🇪🏳北京かカー\u3099ภำไລកម\u1039\u1100\u1161\u11a8삼ש\u0600क\u094dषİ’s٣٫٬²½Ⅷ๑")
)  # fmt: skip
GLUED = st.text(st.sampled_from("aé\u03011²٣.,٬\u00ad삼가月๑ '"), max_size=16)
TEXTS = st.one_of(st.text(ALPHABET, max_size=40), GLUED, st.text(max_size=40))
KINDS = st.frozensets(st.sampled_from(BORDERS))


@settings(max_examples=400, deadline=None)
@given(TEXTS, KINDS)
def test_offsets_are_ordered_cover_everything_visible_and_cut_no_grapheme(text: str, borders: frozenset[str]) -> None:
    spans = split_words(text, borders)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    assert [c for i, c in enumerate(text) if i not in covered and not c.isspace() and not is_mark(c)] == []
    assert not any(char.isspace() for start, end in spans for char in text[start:end])
    assert not any(all(map(is_mark, text[start:end])) for start, end in spans)
    borders_of_graphemes = {m.start() for m in regex.finditer(r"\X", text)} | {len(text)}
    behind_blanks = {i for i in range(1, len(text)) if text[i - 1].isspace() or is_mark(text[i - 1])}
    assert {start for start, _ in spans} <= borders_of_graphemes | behind_blanks
    assert {end for _, end in spans} <= borders_of_graphemes | {i for i, c in enumerate(text) if c.isspace()}


def is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d" or "\U000e0020" <= char <= "\U000e007f"


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_graphemes_are_those_of_unicode(text: str) -> None:
    assert graphemes(text) == regex.findall(r"\X", text)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_more_kinds_of_borders_only_refine(text: str) -> None:
    found = {
        frozenset(kinds): {i for span in split_words(text, kinds) for i in span}
        for n in range(len(BORDERS) + 1)
        for kinds in combinations(BORDERS, n)
    }
    for kinds, places in found.items():
        assert all(places <= found[kinds | {kind}] for kind in BORDERS)


def words_of_version_1(text: str) -> list[tuple[int, int]]:
    """The rules as they were before their borders could be switched; models that were saved then need them."""
    unspaced = "".join(rf"\p{{scx={script}}}" for script in UNSPACED_SCRIPTS)
    plain = rf"(?=[\p{{L}}\p{{N}}])(?![{unspaced}\p{{Script=Hangul}}])\X"
    pattern = rf"""
        (?:{plain}) (?: (?: [\u00ad\u2060]+ | (?<=\p{{Nd}})[.,٫٬](?=\p{{Nd}}) )? {plain} )*+
        | (?: (?=[\p{{L}}\p{{N}}]) (?=\p{{Script=Hangul}}) \X )++
        | (?<=\p{{L}}) ['’] (?i:s|t|m|d|re|ve|ll) (?=\s|\p{{P}}|\Z)
        | ([-–—._=*~#]) \1{{2,}} (?![\p{{GCB=Extend}}\p{{GCB=ZWJ}}\p{{GCB=SpacingMark}}])
        | \X
    """
    return [m.span() for m in regex.finditer(pattern, text, regex.VERBOSE) if not m.group().isspace()]


def without_bare_marks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words without their blanks and the marks that mark nothing: behind a blank, and at the start of a word."""
    kept = []
    for start, end in spans:
        is_bare = True
        for place in range(start, end):
            is_blank = text[place].isspace()
            is_bare = is_blank or (is_bare and is_mark(text[place]))
            if not is_bare:
                kept.append((start, place))
    runs: list[list[int]] = []
    for (word, place), (word_before, before) in zip(kept, [(-1, -1), *kept], strict=False):
        if (word, place - 1) == (word_before, before):
            runs[-1][1] = place + 1
        else:
            runs.append([place, place + 1])
    return [(start, end) for start, end in runs]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_without_any_kind_of_border_the_rules_are_those_of_version_1_but_for_bare_marks(text: str) -> None:
    assert split_words(text, ()) == without_bare_marks(text, words_of_version_1(text))


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
    assert len(split_words("\U0001f1e9\U0001f1ea" * 20_000)) == 20_000
    assert split_words(" \u0301" * 20_000 + "\ufe0f" * 20_000) == []
    for glued in ("1," * 50_000, "1" * 100_000 + ",1", "a1," * 50_000, "삼" * 100_000):
        for borders in (DEFAULT_BORDERS, BORDERS):
            assert split_words(glued, borders)[-1][1] == len(glued)
