from __future__ import annotations

import math
import re
from itertools import combinations

import pytest

from nlpkit.report.html import html_page
from nlpkit.report.palette import COLOURS, DARK, LIGHT, LINES, looks, palette_css

Rgb = tuple[float, ...]

# Linear RGB as seen without red and without green receptors (Machado, Oliveira and Fernandes 2009).
EYES = {
    "all receptors": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
}
TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB = (
    (0.2104542553, 0.793617785, -0.0040720468),
    (1.9779984951, -2.428592205, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.808675766),
)


def linear(colour: str) -> Rgb:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)


def times(matrix: tuple[Rgb, ...], values: Rgb) -> Rgb:
    return tuple(sum(a * b for a, b in zip(row, values, strict=True)) for row in matrix)


def contrast(one: str, other: str) -> float:
    low, high = sorted(times(((0.2126, 0.7152, 0.0722),), linear(colour))[0] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def distance(one: str, other: str, eyes: str = "all receptors") -> float:
    """About 0.02 is just seen side by side."""

    def lab(colour: str) -> Rgb:
        seen = (min(max(c, 0.0), 1.0) for c in times(EYES[eyes], linear(colour)))
        return times(TO_LAB, tuple(c ** (1 / 3) for c in times(TO_LMS, tuple(seen))))

    return math.dist(lab(one), lab(other))


@pytest.mark.parametrize("ground", [LIGHT, DARK])
@pytest.mark.parametrize("pair", COLOURS)
def test_every_colour_is_readable_on_both_grounds(pair: tuple[str, str], ground: str) -> None:
    colour = pair[(LIGHT, DARK).index(ground)]
    assert contrast(colour, ground) >= 4.5
    assert colour in palette_css()


@pytest.mark.parametrize("ground", [0, 1])
def test_sixteen_colours_are_told_apart(ground: int) -> None:
    assert len(COLOURS) >= 16
    assert min(distance(a[ground], b[ground]) for a, b in combinations(COLOURS, 2)) >= 0.05


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("ground", [0, 1])
def test_labels_with_lines_of_one_style_are_told_apart_by_all_eyes(ground: int, eyes: str) -> None:
    found = looks(f"label {i}" for i in range(32)).values()
    assert len(set(found)) == 32
    for line in LINES:
        colours = [COLOURS[int(look.colour[7:-1])][ground] for look in found if look.line == line]
        assert len(colours) == 8
        assert min(distance(a, b, eyes) for a, b in combinations(colours, 2)) >= 0.045


def test_fixed_colours_of_the_page_are_readable() -> None:
    page = html_page("x", [])
    for name in ("ink", "soft", "bad", "good"):
        light, dark = re.findall(rf"--{name}:(#[0-9a-f]{{6}})", page)
        assert contrast(light, LIGHT) >= 4.5
        assert contrast(dark, DARK) >= 4.5


def test_contrast_equals_published_values() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_labels_keep_their_colour_and_do_not_share_one() -> None:
    labels = [f"label{i}" for i in range(len(COLOURS))]
    assert len({look.colour for look in looks(labels).values()}) == len(COLOURS)
    alone = {label: looks([label])[label] for label in labels}
    assert looks(["label3", "label3"]) == {"label3": alone["label3"]}
    assert looks(f"label{i}" for i in range(100)).keys() == {f"label{i}" for i in range(100)}


def test_few_labels_get_whole_lines() -> None:
    assert {look.line for look in looks("abcdefgh").values()} == {"solid"}
