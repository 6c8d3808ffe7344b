from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from nlpkit.report.curves import HEIGHT, MOST_POINTS, WIDTH, line_chart

NAN = math.nan


def coordinates(chart: str) -> list[tuple[float, float]]:
    pairs = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", chart)
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize(
    "series",
    [
        {"a": [(1, 0.5), (2, 0.7)], "b": [(1, 0.1), (2, 0.1)]},
        {"one point": [(1, 3.0)]},
        {"flat": [(1, 2.0), (2, 2.0)]},
        {"zero": [(0, 0.0)]},
        {"wide": [(i, 1200 * 0.5**i) for i in range(20)]},
        {"negative": [(1, -5.0), (2, 5000.0)]},
        {"gap": [(1, 1.0), (2, NAN), (3, math.inf), (4, 2.0)]},
        {f"many {i}": [(1, 0.5), (2, 0.5)] for i in range(30)},
    ],
)
def test_every_line_lies_inside_the_picture(series: dict, read_page) -> None:
    chart = line_chart("t", series, x_label="epoch")
    page = read_page(chart)
    height = float(page.find("svg")[0][0]["viewbox"].split()[3])
    assert height >= HEIGHT
    assert coordinates(chart)
    assert all(0 <= x <= WIDTH and 0 <= y <= height for x, y in coordinates(chart))
    assert "nan" not in chart
    assert "inf" not in chart
    for name in series:
        assert name in page.texts("text")


def test_higher_values_are_drawn_higher_and_later_ones_to_the_right() -> None:
    (x1, y1), (x2, y2), (x3, y3) = coordinates(line_chart("t", {"a": [(1, 1), (2, 3), (5, 2)]}, x_label="x"))[:3]
    assert x1 < x2 < x3
    assert y2 < y3 < y1
    assert (x2 - x1) / (x3 - x1) == pytest.approx(1 / 4, abs=0.01)


def test_values_far_apart_get_a_logarithmic_scale() -> None:
    places = coordinates(line_chart("t", {"a": [(1, 1000), (2, 100), (3, 10), (4, 1)]}, x_label="x"))[:4]
    steps = [b[1] - a[1] for a, b in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_names_at_the_ends_do_not_overlap(read_page) -> None:
    chart = line_chart("t", {f"n{i}": [(1, 0.5), (2, 0.5 + i / 1000)] for i in range(12)}, x_label="x")
    places = [float(attributes["y"]) for attributes, text in read_page(chart).find("text") if text.startswith("n")]
    assert len(places) == 12
    assert min(b - a for a, b in pairwise(sorted(places))) >= 12


def test_shares_are_shown_as_percent_and_names_are_escaped(read_page) -> None:
    page = read_page(line_chart("<t>", {"<b>": [(1, 0.25), (2, 0.75)]}, x_label="<x>", is_share=True))
    assert page.texts("title") == ["<t>"]
    assert "<b> ends at 75" in page.texts("desc")[0]
    assert {"20", "80", "<b>", "<x>"} <= set(page.texts("text"))


def test_long_curves_are_thinned_and_keep_their_end() -> None:
    chart = line_chart("t", {"a": [(i, i) for i in range(10_000)]}, x_label="step")
    path = re.findall(r'd="(M[^"]*)"', chart)[0]
    assert path.count("L") <= MOST_POINTS
    end = coordinates(line_chart("t", {"a": [(0, 0), (9_999, 9_999)]}, x_label="step"))[1]
    assert coordinates(path)[-1] == end


def test_nothing_to_draw_is_said() -> None:
    assert "<svg" not in line_chart("t", {"a": [(1, NAN)]}, x_label="x")
