"""Cut text into words with exact offsets, for scripts with and without blanks."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import regex

WORD_RULES = 2
"""Number of the rules in this module. A saved model names it, since other words would be other inputs.

It did not go up when a mark behind a blank (and the blank) ceased to be a word. Models of every version read texts so:
no other word changed, and such a word was mostly an unknown piece, from which a model learns nothing.
"""

BORDERS = ("number-unit", "comma-list", "letter-digit", "decimal", "hangul")
"""Kinds of borders inside a run of letters and digits that can be switched; all of them are the finest rules."""

DEFAULT_BORDERS = ("number-unit", "comma-list")
"""The kinds that hold where nobody has said otherwise. Version 1 of the rules had none of them."""

UNSPACED_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"),
    *("Tai_Tham", "Tai_Le", "New_Tai_Lue", "Javanese", "Balinese"),
)
"""Scripts that put no blank between words; each of their graphemes is a word."""


def split_words(text: str, borders: Collection[str] = DEFAULT_BORDERS) -> list[tuple[int, int]]:
    """The words of a text as ``(start, end)`` in code points.

    Runs of letters and digits are words, and so is each other visible character. A number keeps its decimal marks.
    A grapheme (an emoji with joiners, a letter with accents) is never cut. Scripts without blanks give one grapheme a
    word, so that any mention can be told apart. Between words lies white space, and what marks nothing: a combining
    mark or a variation selector behind a blank or at the start of a text. Everything else lies in a word.

    Which borders lie inside a run is a matter of choice; a kind more only cuts words that are there without it:

    - ``number-unit``: where letters follow the number that a run begins with: ``200|mg``, ``30|Uhr``, ``3.5|t``.
      ``H2O``, ``p53`` and ``B2B`` begin with a letter and stay whole.
    - ``comma-list``: a comma between digits that belong to letters: ``Kolb1|,|2``; that of a number stays, ``67,20``.
    - ``letter-digit``: wherever letters and digits meet: ``Kolb|1``, ``H|2|O``.
    - ``decimal``: at the marks in a number: ``1998|.|12``.
    - ``hangul``: after each Korean syllable, so that a name can be told from its particle: ``김|민|수|가``.

    Args:
        text: Any text.
        borders: Kinds of borders inside a run, of :data:`BORDERS`.

    Raises:
        ValueError: There is no such kind.

    >>> text = "Acme's 3.5t in 東京"
    >>> [text[start:end] for start, end in split_words(text)]
    ['Acme', "'s", '3.5', 't', 'in', '東', '京']
    >>> [text[start:end] for start, end in split_words(text, ("decimal",))]
    ['Acme', "'s", '3', '.', '5t', 'in', '東', '京']
    """
    spans = [match.span() for match in _pattern(frozenset(borders)).finditer(text) if not match.group().isspace()]
    if not _BARE_MARK.search(text):
        return spans
    return [part.span(1) for span in spans for part in _PART.finditer(text, *span) if part.group(1)]


def graphemes(text: str) -> list[str]:
    """What people take for the characters of a text.

    >>> graphemes("e" + chr(0x301) + "🇩🇪" * 2) == ["e" + chr(0x301)] + ["🇩🇪"] * 2
    True
    """
    return _GRAPHEME.findall(text)


def is_visible(word: str) -> bool:
    """Whether anything of a word can be seen: more than blanks, control and zero-width characters.

    >>> is_visible("a\u200b"), is_visible("\u200b"), is_visible(" ")
    (True, False, False)
    """
    return _INVISIBLE.fullmatch(word) is None


_FLAG = r"[\U0001f1e6-\U0001f1ff]{1,2}+ [\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+"
"""The grapheme of a flag, the same as ``\\X``, which counts the letters of all flags before it at each flag anew."""

_GRAPHEME = regex.compile(rf"{_FLAG} | \X", regex.VERBOSE)

_BARE_MARK = regex.compile(
    r"(?<![^\s\p{GCB=Control}]) [\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}] | \p{GCB=Prepend} \s", regex.VERBOSE
)
"""Where a mark has nothing to mark, or a sign that belongs to what follows is followed by a blank."""

_PART = regex.compile(r"[\p{M}\u200c\u200d\U000e0020-\U000e007f]*+ (\S*+) \s*+", regex.VERBOSE)
"""What is left of a grapheme without blanks and marks behind them."""

_INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]*+")


@cache
def _pattern(borders: frozenset[str]) -> regex.Pattern[str]:
    """Each alternative eats whole graphemes (``\\X``), so that the scan is always at a grapheme border."""
    if unknown := borders.difference(BORDERS):
        raise ValueError(f"expected kinds of borders out of {', '.join(BORDERS)}, got {', '.join(sorted(unknown))}")
    korean = r"(?: (?=[\p{L}\p{N}]) (?=\p{Script=Hangul}) \X )" + ("" if "hangul" in borders else "++")
    return regex.compile(
        rf"""
        [A-Za-z]++ (?=[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]|\Z)           # a run as below, only faster
        | {_run(borders)}
        | {korean}                                                         # particles, but not on a Latin name
        | (?<=\p{{L}}) ['’] (?i:s|t|m|d|re|ve|ll) (?=\s|\p{{P}}|\Z)       # English endings
        | ([-–—._=*~#]) \1{{2,}} (?![\p{{GCB=Extend}}\p{{GCB=ZWJ}}\p{{GCB=SpacingMark}}])    # rulers and dots
        | {_FLAG}
        | \X
        """,
        regex.VERBOSE,
    )


def _run(borders: frozenset[str]) -> str:
    """The pattern of a run of letters and digits, in scripts that put blanks between words."""
    # Script extensions also hold signs that several scripts share, such as the long-vowel mark of Japanese.
    others = "".join(rf"\p{{scx={script}}}" for script in UNSPACED_SCRIPTS) + r"\p{Script=Hangul}"
    plain, letter, number = (rf"(?=[{kinds}])(?![{others}])\X" for kinds in (r"\p{L}\p{N}", r"\p{L}", r"\p{N}"))
    soft = r"[\u00ad\u2060]+"  # soft hyphens and word joiners do not part
    comma = r"(?<=\p{Nd})[,٬](?=\p{Nd})"
    if "comma-list" in borders:
        # Looking ahead first: to look behind at each digit of a long number would take quadratic time.
        comma = rf"(?=[,٬]\p{{Nd}}) (?<= (?<! (?![{others}]) [\p{{L}}\p{{M}}\p{{Nd}}] ) \p{{Nd}}+ ) [,٬]"
    glue = soft if "decimal" in borders else rf"{soft} | (?<=\p{{Nd}})[.٫](?=\p{{Nd}}) | {comma}"
    if "letter-digit" in borders:
        return rf"{letter} (?: (?:{soft})? {letter} )*+ | {number} (?: (?:{glue})? {number} )*+"
    if "number-unit" in borders:
        return rf"{letter} (?: (?:{glue})? {plain} )*+ | {number} (?: (?:{glue})? {number} )*+"
    return rf"{plain} (?: (?:{glue})? {plain} )*+"
