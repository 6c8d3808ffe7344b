"""Colours for labels: stable, told apart within a page, and readable on a light and on a dark ground."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable
from functools import cache
from zlib import crc32

LIGHT, DARK = "#ffffff", "#16191e"
"""The two grounds of a page."""

HUES = (212, 25, 130, 280, 52, 330, 178, 358, 238, 12, 100, 305, 38, 345, 158, 195)
"""Hues in degrees; the first half is easily told apart and used first."""

CONTRAST = 5.5
"""Least contrast between a colour and its ground (WCAG asks 4.5 of text)."""


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` as WCAG 2 defines it, 0 for black to 1 for white."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, from 1 to 21.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def shade(hue: int, ground: str) -> str:
    """The colour of a hue that is nearest to middle lightness and readable on the ground."""
    steps = range(50, 0, -1) if luminance(ground) > 0.5 else range(50, 100)
    for lightness in steps:
        red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness / 100, 0.72)
        colour = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        if contrast(colour, ground) >= CONTRAST:
            break
    return colour


def slots(labels: Iterable[str]) -> dict[str, int]:
    """A colour number for each label; the same label has the same one on every page, unless two labels would share it.

    >>> slots(["Person", "Place"]) == slots(["Place", "Person", "Place"])
    True
    """
    half = len(HUES) // 2
    found: dict[str, int] = {}
    for label in sorted(set(labels)):
        wanted = crc32(label.encode("utf-8", "surrogatepass")) % half
        order = [first + (wanted + step) % half for first in (0, half) for step in range(half)]
        taken = set(found.values())
        found[label] = next((slot for slot in order if slot not in taken), wanted)
    return found


def palette_css() -> str:
    """CSS variables ``--c0`` and so on, for both grounds."""

    def variables(ground: str) -> str:
        return "".join(f"--c{i}:{shade(hue, ground)};" for i, hue in enumerate(HUES))

    return f":root{{{variables(LIGHT)}}}@media (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
