from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from nlpkit.report.curves import FONT, HEIGHT, MOST_POINTS, STYLE, WIDTH, line_chart

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
    assert set(series) == {name for key in page.texts("li") for name in key.rsplit(" ", 1)[0].split(" = ")}


def test_higher_values_are_drawn_higher_and_later_ones_to_the_right() -> None:
    (x1, y1), (x2, y2), (x3, y3) = coordinates(line_chart("t", {"a": [(1, 1), (2, 3), (5, 2)]}, x_label="x"))[:3]
    assert x1 < x2 < x3
    assert y2 < y3 < y1
    assert (x2 - x1) / (x3 - x1) == pytest.approx(1 / 4, abs=0.01)


def test_values_far_apart_get_a_logarithmic_scale() -> None:
    places = coordinates(line_chart("t", {"a": [(1, 1000), (2, 100), (3, 10), (4, 1)]}, x_label="x"))[:4]
    steps = [b[1] - a[1] for a, b in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_letters_are_readable_on_a_narrow_screen() -> None:
    narrow = 400 - 2 * 20  # what the margins of the page leave of a screen of 400 pixels
    assert FONT * narrow / WIDTH >= 9
    assert f".chart text{{font-size:{FONT}px}}" in STYLE


def test_keys_name_each_line_with_its_value_the_highest_first(read_page) -> None:
    chart = line_chart("t", {f"n{i}": [(1, 0.5), (2, 0.5 + i)] for i in range(12)}, x_label="epoch")
    page = read_page(chart)
    assert page.texts("li") == [f"n{i} {i + 0.5:g}" for i in reversed(range(12))]
    assert "Values at epoch 2" in page.texts("p")


def dashes(part: str) -> list[str]:
    return re.findall(r"stroke-dasharray:([^;]*);", part)


def test_lines_differ_in_more_than_colour() -> None:
    chart = line_chart("t", {f"n{i}": [(1, i), (2, i + 1)] for i in range(6)}, x_label="x").split("</svg>")[0]
    assert len(set(dashes(chart))) == 6
    assert dashes(chart)[0] == "none", "broken lines lie above whole ones"


def test_equal_lines_take_turns_so_that_each_is_seen(read_page) -> None:
    points = [(i, i) for i in range(5)]
    chart = line_chart("t", {"a": points, "b": points, "other": [(0, 3), (4, 0)], "c": points}, x_label="x")
    strokes = re.findall(
        r"stroke:(var[^;]*);stroke-dasharray:(\d+) (\d+);stroke-dashoffset:-?(\d+)px", chart.split("</svg>")[0]
    )
    shared = [(colour, int(on), int(off), int(shift)) for colour, on, off, shift in strokes if int(off) > int(on)]
    assert len({colour for colour, *_ in shared}) == 3
    assert all(off == 2 * on for _, on, off, _ in shared)
    assert sorted(shift for *_, shift in shared) == [0, 8, 16]
    assert "a = b = c 4" in read_page(chart).texts("li")


def test_a_logarithmic_scale_says_so(read_page) -> None:
    wide, narrow = ({"a": [(1, 1.0), (2, top)]} for top in (1000.0, 10.0))
    assert "logarithmic scale" in read_page(line_chart("t", wide, x_label="x")).texts("text")
    assert "logarithmic scale" not in read_page(line_chart("t", narrow, x_label="x")).texts("text")


@pytest.mark.parametrize("best", [1, 3, 4])
def test_the_best_place_has_a_mark(best: int, read_page) -> None:
    series = {"a": [(1, 0.1), (2, 0.2), (3, 0.5), (4, 0.4)]}
    page = read_page(line_chart("t", series, x_label="epoch", best=best))
    [(line, _)] = page.find("line", "best")
    assert line["x1"] == line["x2"]
    assert float(line["x1"]) == pytest.approx(coordinates(page.source)[best - 1][0], abs=0.1)
    assert f"best epoch: {best}" in page.texts("text")
    assert "best" not in line_chart("t", series, x_label="epoch")


def test_a_chart_has_a_name_and_a_description_for_who_does_not_see_it(read_page) -> None:
    page = read_page(line_chart("Loss", {"a": [(1, 1), (2, 3)]}, x_label="x"))
    assert page.find("svg")[0][0] | {"role": "img", "aria-label": "Loss"} == page.find("svg")[0][0]
    assert page.texts("desc") == ["a ends at 3"]


def test_shares_are_shown_as_percent_and_names_are_escaped(read_page) -> None:
    page = read_page(line_chart("<t>", {"<b>": [(1, 0.25), (2, 0.75)]}, x_label="<x>", is_share=True))
    assert page.texts("title") == ["<t>"]
    assert "<b> ends at 75" in page.texts("desc")[0]
    assert {"20", "80", "percent", "<x>"} <= set(page.texts("text"))
    assert page.texts("li") == ["<b> 75"]


def test_long_curves_are_thinned_and_keep_their_end() -> None:
    chart = line_chart("t", {"a": [(i, i) for i in range(10_000)]}, x_label="step")
    path = re.findall(r'd="(M[^"]*)"', chart)[0]
    assert path.count("L") <= MOST_POINTS
    end = coordinates(line_chart("t", {"a": [(0, 0), (9_999, 9_999)]}, x_label="step"))[1]
    assert coordinates(path)[-1] == end


def test_nothing_to_draw_is_said() -> None:
    assert "<svg" not in line_chart("t", {"a": [(1, NAN)]}, x_label="x")
