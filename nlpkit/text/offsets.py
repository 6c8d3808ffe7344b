"""Positions that other programs count in UTF-16 units or in bytes, as code points."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from typing import Literal, get_args

from nlpkit.errors import ConfigError
from nlpkit.wording import did_you_mean

OffsetUnit = Literal["codepoint", "utf16", "byte"]
"""What a position counts: code points as Python, UTF-16 units as JavaScript, Java, C#, or UTF-8 bytes as Go, Rust."""

OFFSET_UNITS: tuple[OffsetUnit, ...] = get_args(OffsetUnit)
UNIT_NAMES = {"codepoint": "character", "utf16": "UTF-16 unit", "byte": "byte"}
"""What people call one of them."""


def check_offset_unit(unit: object) -> None:
    """Refuse what is no unit.

    Raises:
        ConfigError: It names the units.
    """
    if unit not in OFFSET_UNITS:
        hint = did_you_mean(unit, OFFSET_UNITS) if isinstance(unit, str) else ""
        raise ConfigError(f"expected one of {', '.join(OFFSET_UNITS)}, got {unit!r}{hint}", key="data.offset_unit")


class Offsets:
    """The positions of one text in some unit.

    Args:
        text: The text, without lone surrogates.
        unit: What its positions count.

    >>> offsets = Offsets("a😀b", "utf16")
    >>> len(offsets), offsets.codepoint(3), offsets.codepoint(2)
    (4, 2, None)
    """

    def __init__(self, text: str, unit: OffsetUnit) -> None:
        self.text, self.unit = text, unit
        self.is_plain = unit == "codepoint" or text.isascii() or (unit == "utf16" and max(text) < "\U00010000")

    @cached_property
    def _starts(self) -> list[int]:
        """The position of each code point, and of the end."""
        if self.unit == "utf16":
            widths = [2 if char > "\uffff" else 1 for char in self.text]
        else:
            widths = [len(char.encode("utf-8", "surrogatepass")) for char in self.text]
        return list(accumulate(widths, initial=0))

    def __len__(self) -> int:
        """Units of the whole text."""
        return len(self.text) if self.is_plain else self._starts[-1]

    def codepoint(self, position: int) -> int | None:
        """The code point at a position from 0 to the end; None for one inside a character."""
        if self.is_plain:
            return position
        index = bisect_left(self._starts, position)
        return index if self._starts[index] == position else None

    def around(self, position: int) -> tuple[str, int, int]:
        """The character that a position lies inside, and where it begins and ends.

        >>> Offsets("a😀b", "utf16").around(2)
        ('😀', 1, 3)
        """
        index = bisect_left(self._starts, position)
        return self.text[index - 1], self._starts[index - 1], self._starts[index]
