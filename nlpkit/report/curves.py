"""Line charts as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from nlpkit.report.html import escape
from nlpkit.report.palette import HUES

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 900, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 190, 14, 40
"""Room for the axis on the left, the names on the right, and the axis below."""

MOST_POINTS = 400
"""Longer curves are thinned out."""

LINE = 14
"""Distance of two names in pixels."""

STYLE = """
.chart{max-width:100%;height:auto;display:block} .chart path{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .grid{stroke:var(--line);stroke-width:1}
"""


def line_chart(title: str, series: Mapping[str, Points], *, x_label: str, is_share: bool = False) -> str:
    """A chart with one named line for each series.

    Values that are not finite are left out. The scale is logarithmic when positive values differ by more than 100
    times.

    Args:
        title: What the chart shows, for readers who do not see it.
        series: Name to (x, y) points.
        x_label: What x counts.
        is_share: Values are fractions of 1; the axis shows percent.

    >>> line_chart("Loss", {"train_loss": [(1, 2.0), (2, 1.0)]}, x_label="epoch").count("<circle")
    2
    """
    series = {name: _thin([p for p in points if all(map(math.isfinite, p))]) for name, points in series.items()}
    series = {name: points for name, points in series.items() if points}
    if not series:
        return '<p class="soft">Nothing to draw.</p>'
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    is_log = not is_share and min(ys) > 0 and max(ys) > 100 * min(ys)
    x_ticks, y_ticks = _x_ticks(min(xs), max(xs)), _log_ticks(min(ys), max(ys)) if is_log else _ticks(min(ys), max(ys))
    place_x = _scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    low, high = min(*ys, y_ticks[0]), max(*ys, y_ticks[-1])
    place_y = _scale(low, high, HEIGHT - BOTTOM, TOP, is_log=is_log)
    parts = [_axes(x_ticks, y_ticks, place_x, place_y, x_label, is_share), _lines(series, place_x, place_y)]
    ends = ", ".join(f"{name} ends at {_number(points[-1][1], is_share)}" for name, points in series.items())
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {_height(len(series))}" width="{WIDTH}" role="img">'
        f"<title>{escape(title)}</title><desc>{escape(ends)}</desc>{''.join(parts)}</svg>"
    )


def _height(n_series: int) -> int:
    return max(HEIGHT, TOP + LINE * n_series + BOTTOM)


def _axes(
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    place_x: Callable[[float], float],
    place_y: Callable[[float], float],
    x_label: str,
    is_share: bool,
) -> str:
    parts = []
    for tick in y_ticks:
        y = place_y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(tick, is_share)}</text>')
    for tick in x_ticks:
        parts.append(f'<text x="{place_x(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>')
    return "".join(parts)


def _lines(series: Mapping[str, Points], place_x: Callable[[float], float], place_y: Callable[[float], float]) -> str:
    parts = []
    ends = sorted((place_y(points[-1][1]), name) for name, points in series.items())
    names_at: dict[str, float] = {}
    free = float(TOP)
    for position, (y, name) in enumerate(ends):
        lowest = _height(len(series)) - BOTTOM - LINE * (len(ends) - 1 - position)
        names_at[name] = min(max(y, free), max(lowest, free))
        free = names_at[name] + LINE
    for number, (name, points) in enumerate(series.items()):
        colour, places = f"var(--c{number % len(HUES)})", [(place_x(x), place_y(y)) for x, y in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="{path}" style="stroke:{colour}"/>')
        if len(places) <= 40:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" style="fill:{colour}"/>' for x, y in places]
        (x, y), label_y = places[-1], names_at[name]
        right = WIDTH - RIGHT
        parts.append(
            f'<path d="M{x + 4:.1f} {y:.1f}L{right + 12} {label_y:.1f}" style="stroke:{colour};stroke-width:.6"/>'
            f'<text x="{right + 16}" y="{label_y + 4:.1f}" style="fill:{colour}">{escape(_short(name))}</text>'
        )
    return "".join(parts)


def _scale(low: float, high: float, start: float, end: float, *, is_log: bool = False) -> Callable[[float], float]:
    """Puts values from ``low`` to ``high`` between ``start`` and ``end``; a single value into the middle."""
    first, last = (math.log10(low), math.log10(high)) if is_log else (low, high)
    span = last - first

    def place(value: float) -> float:
        share = ((math.log10(value) if is_log else value) - first) / span if span else 0.5
        return start + share * (end - start)

    return place


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values that enclose the range."""
    if low == high:
        return [low]
    step = _round_step((high - low) / about)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _x_ticks(low: float, high: float) -> list[float]:
    """Round values inside the range, whole numbers where the range has several."""
    if low == high:
        return [low]
    step = _round_step((high - low) / 8)
    if high - low >= 2:
        step = max(step, 1.0)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    return [10.0**i for i in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= step * 0.999)


def _thin(points: Points) -> Points:
    """At most ``MOST_POINTS``, the last one among them."""
    stride = math.ceil(len(points) / MOST_POINTS)
    return points if stride <= 1 else [*points[:-1:stride], points[-1]]


def _number(value: float, is_share: bool) -> str:
    return f"{100 * value:.4g}" if is_share else f"{value:.4g}"


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
