"""Colours for labels: stable, told apart within a page, and readable on a light and on a dark ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

LIGHT, DARK = "#ffffff", "#16191e"
"""The two grounds of a page."""

COLOURS = (
    ("#235193", "#5787ce"),
    ("#03642b", "#82ec9c"),
    ("#9e2e21", "#f07968"),
    ("#8811d0", "#b96dfc"),
    ("#9f6700", "#e3a757"),
    ("#b82d67", "#f85093"),
    ("#6140f4", "#9fa1f5"),
    ("#cf19b4", "#eea0db"),
    ("#ac38b8", "#bb6cc2"),
    ("#4a3595", "#8c7de4"),
    ("#4a6600", "#a5de08"),
    ("#7e2b14", "#f34e1b"),
    ("#af5362", "#f693a0"),
    ("#1468a3", "#70bbfc"),
    ("#8c395f", "#d36495"),
    ("#517a28", "#88cb43"),
)
"""The colours on the light and on the dark ground.

Any two differ in hue or lightness. Each half of eight is chosen so that its colours also differ for eyes that lack the
red or the green receptors; the two halves are told apart by the style of the line.
"""

LINES = ("solid", "double", "dashed", "dash-dot")
"""Styles of lines, one for each eight labels."""

HALF = len(COLOURS) // 2


@dataclass(frozen=True)
class Look:
    """How a label is drawn: a CSS colour for either ground, and the style of its line."""

    colour: str
    line: str


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """A look for each label; the same label has the same one on every page, unless two labels would share it.

    No two of the first 32 labels look alike, and the first eight have solid lines.

    >>> looks(["Person", "Place"]) == looks(["Place", "Person", "Place"])
    True
    """
    slots: dict[str, int] = {}
    for label in sorted(set(labels)):
        wanted = crc32(label.encode("utf-8", "surrogatepass")) % HALF
        order = [first + (wanted + step) % HALF for first in range(0, HALF * len(LINES), HALF) for step in range(HALF)]
        taken = set(slots.values())
        slots[label] = next((slot for slot in order if slot not in taken), wanted)
    return {label: Look(colour(slot), LINES[slot // HALF]) for label, slot in slots.items()}


def colour(number: int) -> str:
    """A CSS colour for a number from 0 on; they repeat after sixteen.

    >>> colour(0) == colour(16)
    True
    """
    return f"var(--c{number % len(COLOURS)})"


def palette_css() -> str:
    """CSS variables ``--c0`` and so on, for both grounds; paper is always light."""
    light, dark = ("".join(f"--c{i}:{pair[ground]};" for i, pair in enumerate(COLOURS)) for ground in (0, 1))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
