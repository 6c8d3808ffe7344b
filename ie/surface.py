"""Surface texts that are not in a text letter by letter but look as if they were, and what differs.

Two spellings look alike if they differ in blanks, invisible characters, Unicode normal form, letters that stand for
others (ligatures, full-width forms), or upper and lower case. Nothing is corrected: the user is told the place.
"""

from __future__ import annotations

from collections.abc import Collection
from unicodedata import category, combining, normalize

# In this order each is tried to be left out of the answer: a ligature is also resolved by folding case.
_KINDS = ("case", "compatibility", "invisible", "blanks", "form")


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


def alike_places(surface: str, text: str) -> list[tuple[int, int]]:
    """Where a text has something that looks like the surface text: start and exclusive end, in order.

    >>> alike_places("New York", "In new  york.")
    [(3, 12)]
    """
    wanted = "".join(char for char, _ in _folded(surface, _KINDS)).strip()
    folded = _folded(text, _KINDS)
    line, index = "".join(char for char, _ in folded), [place for _, place in folded]
    places = []
    first = line.find(wanted) if wanted else -1
    while first >= 0:
        after = first + len(wanted)
        starts_whole = first == 0 or index[first - 1] != index[first]
        ends_whole = after == len(line) or (index[after] != index[after - 1] and not combining(line[after]))
        span = index[first], index[after - 1] + 1
        if starts_whole and ends_whole and not _is_other_word(surface, text, *span):
            places.append(span)
        first = line.find(wanted, first + 1)
    return places


def spelt_out(text: str) -> str:
    """A text in quotes in which blanks, invisible characters and combining marks can be seen.

    >>> print(spelt_out("Jose" + chr(0x301)))
    'Jose\\u0301'
    """
    return "".join(f"\\u{ord(char):04x}" if combining(char) else char for char in repr(text))


def _folded(text: str, kinds: Collection[str]) -> list[tuple[str, int]]:
    """The characters that are compared, each with the position of the one in the text that it comes from."""
    form = "NFKD" if "compatibility" in kinds else "NFD" if "form" in kinds else None
    out: list[tuple[str, int]] = []
    for index, char in enumerate(text):
        if "invisible" in kinds and category(char) == "Cf":
            continue
        if "blanks" in kinds and char.isspace():
            if out and out[-1][0] != " ":
                out.append((" ", index))
            continue
        parts = char.casefold() if "case" in kinds else char
        parts = normalize(form, parts) if form else parts  # type: ignore[arg-type]
        out += [(part, index) for part in parts]
        k = len(out) - 1
        while form and k > 0 and 0 < combining(out[k][0]) < combining(out[k - 1][0]):  # the order of marks is free
            out[k - 1], out[k] = out[k], out[k - 1]
            k -= 1
    return out


def _is_equal(one: str, other: str, kinds: Collection[str]) -> bool:
    first, second = ("".join(char for char, _ in _folded(text, kinds)) for text in (one, other))
    return first.strip() == second.strip() if "blanks" in kinds else first == second


def _is_other_word(surface: str, text: str, start: int, end: int) -> bool:
    """Whether only letters of another case inside a longer word were found, as 'IT' in 'with'."""
    is_inside = (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())
    without_case = [kind for kind in _KINDS if kind != "case"]
    return is_inside and not _is_equal(surface, text[start:end], without_case)


def _form(surface: str, found: str) -> str:
    is_composed = [text == normalize("NFC", text) for text in (surface, found)]
    if is_composed == [True, False]:
        return "the text has combining marks where the surface text has composed letters"
    if is_composed == [False, True]:
        return "the text has composed letters where the surface text has combining marks"
    return "they are of different Unicode normal forms"
