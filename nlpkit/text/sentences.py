"""Where sentences begin, by rules for any script: end marks, blank lines, and lines that were ended on purpose.

The rules rather miss an end than invent one: two sentences read as one cost little, a sentence cut in two loses what
links its halves.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

SENTENCE_ENDS = frozenset(".!?…。！？؟।۔።។။")
CLOSERS = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "」", "』"})

BULLETS = frozenset("-–—*•·▪◦‣#>")

ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st gen sen rep gov lt col sgt capt rev hon messrs mme mlle hr fr ing dipl sr sra jr vs cf "
    "no nr nos fig figs eq sec vol pp art abs approx ca bzw mt ft str "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
"""Words that are followed by a full stop and mostly go on, in lower case."""

FILLED = 0.9
"""A line that is filled up to this share of the longest one may have been broken by its writer for want of room."""

_Span = tuple[int, int]
_CHUNK = re.compile(r"\S+")


def sentence_starts(words: Sequence[str], text: str | None = None, offsets: Sequence[_Span] = ()) -> list[int]:
    """The first word of each sentence; none for no words.

    Args:
        words: The words of a text.
        text: The text itself, if it is known: then line breaks count too.
        offsets: Code points (start, end) of each word in ``text``.

    A line break ends a sentence if a blank line or a list item follows, or if the next word would well have fitted into
    the line, beside the longest line of the text, and is not in lower case: the line was ended on purpose.

    >>> sentence_starts("Mr . Bo met Al . They left . ”  so it went".split())
    [0, 6]
    >>> text = "Plans for 2031\\n\\nThe firm grew."
    >>> from nlpkit.text.words import split_words
    >>> spans = split_words(text)
    >>> [text[slice(*spans[k])] for k in sentence_starts([text[a:b] for a, b in spans], text, spans)]
    ['Plans', 'The']
    """
    closing = _closing(words)
    ended = set(_ended_lines(text, offsets)) if text is not None else set()
    starts = [0] if words else []
    starts += [place for place in range(1, len(words)) if place in ended or _ends_by_mark(words, closing, place)]
    return starts


def _closing(words: Sequence[str]) -> list[bool]:
    """Which words close a quotation or a bracket; straight quotation marks open and close in turn."""
    closing, is_open = [], False
    for word in words:
        closing.append(word in CLOSERS and (word != '"' or is_open))
        is_open ^= word == '"'
    return closing


def _ends_by_mark(words: Sequence[str], closing: Sequence[bool], place: int) -> bool:
    """Whether a mark ends a sentence before the word at ``place``."""
    following = words[place]
    if closing[place] or following[:1].islower() or following[:1] in ",;:":
        return False
    last = place - 1
    while last > 0 and closing[last]:
        last -= 1
    mark = words[last][-1:]
    if mark not in SENTENCE_ENDS:
        return False
    return mark != "." or not _is_abbreviation(words[last][:-1] or (words[last - 1] if last else ""))


def _is_abbreviation(stem: str) -> bool:
    """Whether a full stop is part of a word: an initial, an ordinal such as ``13.``, ``U.S.``, a known abbreviation."""
    if len(stem) < 3 and (stem.isdigit() or (len(stem) == 1 and stem.isalpha())):
        return True
    return "." in stem or stem.lower() in ABBREVIATIONS


def _ended_lines(text: str, offsets: Sequence[_Span]) -> Iterator[int]:
    """The words in front of which the writer ended a line on purpose."""
    begins = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    longest = max((len(line) for line in text.splitlines()), default=0)
    line = 0  # that of the word before
    for place, (start, end) in enumerate(offsets):
        here = bisect_right(begins, start) - 1
        if place and here > line:
            width = offsets[place - 1][1] - begins[line]
            chunk = _CHUNK.match(text, start)  # what a writer moves to the next line as a whole
            had_room = chunk is not None and width + 1 + chunk.end() - start <= FILLED * longest
            if here > line + 1 or text[start] in BULLETS or (had_room and not text[start].islower()):
                yield place
        line = bisect_right(begins, end - 1) - 1
