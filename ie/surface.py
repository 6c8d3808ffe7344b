"""Surface texts that are not in a text letter by letter but look as if they were, and what differs.

Two spellings look alike if they differ in blanks, invisible characters, Unicode normal form, letters that stand for
others (ligatures, full-width forms), or upper and lower case. Nothing is corrected: the user is told the place.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from unicodedata import category, combining, normalize

# In this order each is tried to be left out of the answer: a ligature is also resolved by folding case.
_KINDS = ("case", "compatibility", "invisible", "blanks", "form")

_SHORT = 64
"""Letters of a surface text up to which it is looked for at each character of a text anew, which is faster."""


def squeezed(text: str) -> str:
    """Text without white space, for comparing where it is free."""
    return "".join(text.split())


def difference(surface: str, found: str) -> str | None:
    """In which ways two texts that look alike differ, in words; None if they do not look alike.

    >>> difference("New York", "New\\u00a0York"), difference("Rome", "Roma")
    ('the blanks differ', None)
    """
    if not _is_equal(surface, found, _KINDS):
        return None
    needed = list(_KINDS)
    for kind in _KINDS:
        if _is_equal(surface, found, [other for other in needed if other != kind]):
            needed.remove(kind)
    says = {
        "case": "upper and lower case differ",
        "compatibility": "ligatures, full-width or other letters stand for plain ones in one of them",
        "invisible": "one of them has invisible characters",
        "blanks": "the blanks differ",
        "form": _form(surface, found),
    }
    return " and ".join(says[kind] for kind in needed) or "they are equal"


def places(surface: str, text: str) -> list[int]:
    """Where a surface text stands in a text, occurrences that overlap included; in linear time.

    >>> places("aa", "aaa aa")
    [0, 1, 4]
    """
    if not surface or surface not in text:
        return []
    if len(surface) <= _SHORT:
        return [match.start() for match in re.finditer(f"(?={re.escape(surface)})", text)]
    # Knuth, Morris, Pratt: what was read is not read again, however much of it repeats.
    borders = [0]
    for char in surface[1:]:
        length = borders[-1]
        while length and surface[length] != char:
            length = borders[length - 1]
        borders.append(length + (surface[length] == char))
    found, length = [], 0
    for index, char in enumerate(text):
        while length and (length == len(surface) or surface[length] != char):
            length = borders[length - 1]
        length += surface[length] == char
        if length == len(surface):
            found.append(index + 1 - length)
    return found


def alike_places(surface: str, text: str) -> list[tuple[int, int]]:
    """Where a text has something that looks like the surface text: start and exclusive end, in order.

    >>> alike_places("New York", "In new  york.")
    [(3, 12)]
    """
    # Only letters of another case inside a longer word, as 'IT' in 'with', are another word.
    same_case = set(_equal_places(surface, text, tuple(kind for kind in _KINDS if kind != "case")))
    return [
        span for span in _equal_places(surface, text, _KINDS) if span in same_case or not _is_inside_word(text, *span)
    ]


def spelt_out(text: str) -> str:
    """A text in quotes in which blanks, invisible characters and combining marks can be seen.

    >>> print(spelt_out("Jose" + chr(0x301)))
    'Jose\\u0301'
    """
    return "".join(f"\\u{ord(char):04x}" if combining(char) else char for char in repr(text))


def _equal_places(surface: str, text: str, kinds: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where a text equals the surface text but for some kinds of differences."""
    wanted = "".join(char for char, _ in _folded(surface, kinds)).strip()
    line, index = _folded_text(text, kinds)
    found = []
    for first in places(wanted, line):
        after = first + len(wanted)
        starts_whole = first == 0 or index[first - 1] != index[first]
        ends_whole = after == len(line) or (index[after] != index[after - 1] and not combining(line[after]))
        if starts_whole and ends_whole:
            found.append((index[first], index[after - 1] + 1))
    return found


@lru_cache(maxsize=4)
def _folded_text(text: str, kinds: tuple[str, ...]) -> tuple[str, list[int]]:
    """The text of a record, which many surface texts are looked for in."""
    folded = _folded(text, kinds)
    return "".join(char for char, _ in folded), [place for _, place in folded]


def _folded(text: str, kinds: Collection[str]) -> list[tuple[str, int]]:
    """The characters that are compared, each with the position of the one in the text that it comes from."""
    form = "NFKD" if "compatibility" in kinds else "NFD" if "form" in kinds else None
    out: list[tuple[str, int]] = []
    marks: list[tuple[str, int]] = []  # their order is free
    for index, char in enumerate(text):
        if "invisible" in kinds and category(char) == "Cf":
            continue
        is_blank = "blanks" in kinds and char.isspace()
        parts = " " if is_blank else char.casefold() if "case" in kinds else char
        for part in normalize(form, parts) if form else parts:  # type: ignore[arg-type]
            if form and combining(part):
                marks.append((part, index))
                continue
            out += sorted(marks, key=_rank)
            marks.clear()
            if not is_blank or (out and out[-1][0] != " "):
                out.append((part, index))
    return out + sorted(marks, key=_rank)


def _rank(mark: tuple[str, int]) -> int:
    return combining(mark[0])


def _is_equal(one: str, other: str, kinds: Collection[str]) -> bool:
    first, second = ("".join(char for char, _ in _folded(text, kinds)) for text in (one, other))
    return first.strip() == second.strip() if "blanks" in kinds else first == second


def _is_inside_word(text: str, start: int, end: int) -> bool:
    return (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())


def _form(surface: str, found: str) -> str:
    is_composed = [text == normalize("NFC", text) for text in (surface, found)]
    if is_composed == [True, False]:
        return "the text has combining marks where the surface text has composed letters"
    if is_composed == [False, True]:
        return "the text has composed letters where the surface text has combining marks"
    return "they are of different Unicode normal forms"
