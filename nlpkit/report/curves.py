"""Line charts as inline SVG, with a key in HTML beside or below."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from nlpkit.report.html import escape
from nlpkit.report.palette import colour

Points = Sequence[tuple[float, float]]
Place = Callable[[float], float]

WIDTH, HEIGHT = 560, 310
FONT = 16
"""Size of letters; on a narrow screen the whole picture shrinks, and they stay readable."""

LEFT, RIGHT, TOP, BOTTOM = 72, 16, 48, 52
"""Room for the axes, and above for what the values are and for the best place."""

MOST_POINTS = 400
"""Longer curves are thinned out."""

DASHES = ("", "9 4", "3 3", "14 4 3 4", "7 3 2 3 2 3", "2 6")
"""Patterns of lines, so that a line shows through another one that covers it."""

PIECE = 8
"""Length of a piece where equal lines take turns."""

STYLE = f"""
.chart{{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;margin:0}}
.chart>svg{{flex:0 1 36rem;min-width:0;max-width:100%;height:auto}}
.chart text{{font-size:{FONT}px}}
.chart path{{fill:none;stroke-width:2.2;stroke-linejoin:round}}
.chart .grid{{stroke:var(--line);stroke-width:1}}
.chart .best{{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:2 3}}
.chart .best-name{{fill:var(--ink)}}
.keys{{flex:1 1 14rem;font-size:.85rem;overflow-wrap:anywhere}} .keys p{{margin:0}}
.keys ul{{list-style:none;margin:0;padding:0}} .keys svg{{vertical-align:middle;margin-right:.5rem}}
"""


def line_chart(
    title: str, series: Mapping[str, Points], *, x_label: str, is_share: bool = False, best: float | None = None
) -> str:
    """A chart with one named line for each series.

    Values that are not finite are left out. The scale is logarithmic, and says so, when positive values differ by more
    than 100 times. Series with the same points share one line in all their colours.

    Args:
        title: What the chart shows, for readers who do not see it.
        series: Name to (x, y) points.
        x_label: What x counts.
        is_share: Values are fractions of 1; the axis shows percent.
        best: The x to be marked as the best one.

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
    unit = "percent" if is_share else "logarithmic scale" if is_log else ""
    drawn, keys = _lines(series, place_x, place_y, is_share)
    parts = [_axes(x_ticks, y_ticks, place_x, place_y, x_label, is_share), _text(4, FONT, unit, "start")]
    if best is not None and min(xs) <= best <= max(xs):
        parts.append(_best(place_x(best), f"best {x_label}: {best:g}"))
    ends = ", ".join(f"{name} ends at {_number(points[-1][1], is_share)}" for name, points in series.items())
    note = f'<p class="soft">Values at {escape(x_label)} {max(xs):g}</p>'
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title><desc>{escape(ends)}</desc>'
        f'{"".join(parts)}{drawn}</svg><figcaption class="keys">{note}<ul>{keys}</ul></figcaption></figure>'
    )


def _axes(
    x_ticks: Sequence[float], y_ticks: Sequence[float], place_x: Place, place_y: Place, x_label: str, is_share: bool
) -> str:
    parts = []
    for tick in y_ticks:
        y = place_y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + FONT / 3, _number(tick, is_share), "end"))
    parts += [_text(place_x(tick), HEIGHT - BOTTOM + FONT + 6, f"{tick:g}", "middle") for tick in x_ticks]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label, "middle"))
    return "".join(parts)


def _best(x: float, name: str) -> str:
    anchor = "start" if x < WIDTH / 2 else "end"
    line = f'<line class="best" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{HEIGHT - BOTTOM}"/>'
    return line + _text(x, TOP - 10, name, anchor, "best-name")


def _text(x: float, y: float, text: str, anchor: str, css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(text)}</text>' if text else ""


def _lines(series: Mapping[str, Points], place_x: Place, place_y: Place, is_share: bool) -> tuple[str, str]:
    """All lines, broken ones above whole ones, and their keys, the line that ends highest first."""
    groups: dict[tuple[tuple[int, int], ...], list[int]] = {}
    names = list(series)
    for number, points in enumerate(series.values()):
        groups.setdefault(tuple((round(place_x(x)), round(place_y(y))) for x, y in points), []).append(number)
    lines: list[tuple[int, str]] = []
    keys: list[tuple[float, str]] = []
    for members in groups.values():
        points = series[names[members[0]]]
        places = [(place_x(x), place_y(y)) for x, y in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        lines.append((members[0] % len(DASHES), _strokes(path, members) + _dots(places, members)))
        width = max(36, 2 * PIECE * len(members))
        sample = f'<svg width="{width}" height="10" aria-hidden="true">{_strokes(f"M0 5H{width}", members)}</svg>'
        name = " = ".join(names[number] for number in members)
        keys.append((places[-1][1], f"<li>{sample}{escape(name)} {_number(points[-1][1], is_share)}</li>"))
    lines.sort(key=lambda part: part[0])
    keys.sort(key=lambda part: part[0])
    return "".join(part for _, part in lines), "".join(part for _, part in keys)


def _strokes(path: str, members: Sequence[int]) -> str:
    """One line; where several series share it, their colours take turns."""
    if len(members) == 1:
        dash = DASHES[members[0] % len(DASHES)]
    else:
        dash = f"{PIECE} {PIECE * (len(members) - 1)}"
    return "".join(
        f'<path d="{path}" style="stroke:{colour(number)};stroke-dasharray:{dash or "none"};'
        f'stroke-dashoffset:{-PIECE * turn}px"/>'
        for turn, number in enumerate(members)
    )


def _dots(places: Points, members: Sequence[int]) -> str:
    if len(places) > 40:
        return ""
    return "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" style="fill:{colour(members[i % len(members)])}"/>'
        for i, (x, y) in enumerate(places)
    )


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
    step = _round_step((high - low) / 6)
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
    if is_share:
        return f"{100 * value:.4g}"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"
