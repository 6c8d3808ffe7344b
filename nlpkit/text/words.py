"""Cut text into words with exact offsets, for scripts with and without blanks."""

from __future__ import annotations

from functools import cache

import regex

WORD_RULES = 1
"""Number of the rules in this module. A saved model names it, since other words would be other inputs."""

UNSPACED_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"),
    *("Tai_Tham", "Tai_Le", "New_Tai_Lue", "Javanese", "Balinese"),
)
"""Scripts that put no blank between words; each of their graphemes is a word."""


def split_words(text: str) -> list[tuple[int, int]]:
    """The words of a text as ``(start, end)`` in code points.

    Runs of letters and digits are words, and so is each other visible character. A number keeps its decimal points.
    Everything that is no white space lies in a word, and a grapheme (an emoji with joiners, a letter with accents) is
    never cut. Scripts without blanks give one grapheme a word, so that any mention can be told apart.

    >>> text = "Acme's 3.5 t in 東京"
    >>> [text[start:end] for start, end in split_words(text)]
    ['Acme', "'s", '3.5', 't', 'in', '東', '京']
    """
    return [match.span() for match in _pattern().finditer(text) if not match.group().isspace()]


@cache
def _pattern() -> regex.Pattern[str]:
    """Each alternative eats whole graphemes (``\\X``), so that the scan is always at a grapheme border."""
    # Script extensions also hold signs that several scripts share, such as the long-vowel mark of Japanese.
    unspaced = "".join(rf"\p{{scx={script}}}" for script in UNSPACED_SCRIPTS)
    plain = rf"(?=[\p{{L}}\p{{N}}])(?![{unspaced}\p{{Script=Hangul}}])\X"
    decimal = r"(?<=\p{Nd})[.,٫٬](?=\p{Nd})"
    return regex.compile(
        rf"""
        (?:{plain}) (?: (?: [\u00ad\u2060]+ | {decimal} )? {plain} )*+       # soft hyphens and word joiners do not part
        | (?: (?=[\p{{L}}\p{{N}}]) (?=\p{{Script=Hangul}}) \X )++         # Korean particles, but not on a Latin name
        | (?<=\p{{L}}) ['’] (?i:s|t|m|d|re|ve|ll) (?=\s|\p{{P}}|\Z)       # English endings
        | ([-–—._=*~#]) \1{{2,}} (?![\p{{GCB=Extend}}\p{{GCB=ZWJ}}\p{{GCB=SpacingMark}}])    # rulers and dots
        | \X
        """,
        regex.VERBOSE,
    )
