"""How messages say numbers of things."""

from __future__ import annotations


def plural(n: int, one: str, many: str | None = None) -> str:
    """The noun, or the words, that go with a number.

    Args:
        n: The number.
        one: The words for 1, such as ``record`` or ``record has``.
        many: The words for every other number; by default ``one`` with the usual ending.

    >>> plural(1, "entity"), plural(2, "entity"), plural(0, "batch"), plural(2, "record has", "records have")
    ('entity', 'entities', 'batches', 'records have')
    """
    if n == 1:
        return one
    if many is not None:
        return many
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{one[:-1]}ies"
    return f"{one}es" if one.endswith(("s", "x", "ch", "sh")) else f"{one}s"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number and what it counts; arguments as for :func:`plural`.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entity"), counted(1, "text is", "texts are")
    ('1 record', '1,200 records', '0 entities', '1 text is')
    """
    return f"{n:,} {plural(n, one, many)}"
