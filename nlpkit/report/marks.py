"""Marks on a text, drawn as labelled lines under the words; nested and crossing marks take lines of their own.

The text stays one run of inline elements: it wraps, keeps its white space, follows its own direction, and what a reader
copies is the very text. Labels come from CSS, so they are no part of it.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import bidirectional, category, east_asian_width

from nlpkit.report.html import escape

LABEL = 15
"""Height of a label in pixels: room for accents and descenders at the size below."""

LABEL_FONT = 11
"""Size of a label's letters in pixels."""

THIN, THICK = 4, 6
"""Thickness of lines in pixels."""

LANE = LABEL + THICK
"""Height of a line of marks with its labels in pixels."""

LABEL_WIDTH = 0.8
"""Width of a character of a label, in characters of the text."""

STYLE = f"""
.text{{white-space:pre-wrap;overflow-wrap:anywhere;padding-inline-end:4rem;
line-height:calc(1.75em + var(--lanes,0)*{LANE}px);
margin:calc(.2rem - var(--lanes,0)*{LANE / 2}px) 0 calc(.5rem + var(--lanes,0)*{LANE / 2}px)}}
.text span{{position:relative;padding-bottom:calc(var(--lanes)*{LANE}px);background-repeat:no-repeat}}
.text b{{position:absolute;inset-inline-start:0;width:max-content;max-width:16rem;overflow:hidden;
overflow:clip visible;text-overflow:ellipsis;white-space:nowrap;user-select:none;pointer-events:none;
font:600 {LABEL_FONT}px/{LABEL}px system-ui,sans-serif}}
.text b::after{{content:attr(data-l);unicode-bidi:isolate}}
.text b[data-s]::before{{content:attr(data-s);float:inline-end;font-weight:400;margin-inline-start:.4em}}
"""

_LINES = {
    "solid": "linear-gradient({c} 0 0)",
    "double": "linear-gradient({c} 0 1px,transparent 1px 2px,{c} 2px)",
    "dashed": "repeating-linear-gradient(90deg,{c} 0 7px,transparent 7px 11px)",
    "dash-dot": "repeating-linear-gradient(90deg,{c} 0 9px,transparent 9px 12px,{c} 12px 14px,transparent 14px 17px)",
    "dotted": "repeating-linear-gradient(90deg,{c} 0 2px,transparent 2px 5px)",
}


@dataclass(frozen=True)
class Mark:
    """A labelled span of a text, in code points.

    Attributes:
        start: First code point.
        end: The code point after the last one.
        label: What is written under the start of the line.
        colour: Any CSS colour.
        line: ``solid``, ``double``, ``dashed``, ``dash-dot`` or ``dotted``.
        is_thick: Draw a thicker line.
        score: What is written after the label, less bold; nothing when empty.
        note: What a pointer on the words shows; the label when empty.
    """

    start: int
    end: int
    label: str
    colour: str
    line: str = "solid"
    is_thick: bool = False
    score: str = ""
    note: str = ""


def line_image(line: str, colour: str) -> str:
    """A CSS image of a line, to be used as a background.

    >>> line_image("solid", "red")
    'linear-gradient(red 0 0)'
    """
    return _LINES[line].format(c=colour)


def marked_text(text: str, marks: Iterable[Mark]) -> str:
    """The text with its marks as a paragraph of HTML, to be styled by ``STYLE``.

    >>> marked_text("Hi <Bo>", [Mark(4, 6, "Person", "red")]).count('data-l="Person"')
    1
    """
    marks = sorted({m for m in marks if 0 <= m.start < m.end <= len(text)}, key=_order)
    lanes = assign_lanes(text, marks)
    n_lanes = 1 + max(lanes.values(), default=-1)
    starts: dict[int, list[Mark]] = defaultdict(list)
    for mark in marks:
        starts[mark.start].append(mark)
    parts: list[str] = []
    open_marks: list[Mark] = []
    cuts = sorted({0, len(text), *(c for m in marks for c in (m.start, _first_word_end(text, m), m.end))})
    for start, end in pairwise(cuts):
        open_marks = [m for m in open_marks if m.end > start] + starts.get(start, [])
        parts.append(_segment(text[start:end], end, open_marks, starts.get(start, []), lanes, n_lanes))
    return f'<p class="text" dir="auto" style="--lanes:{n_lanes}">{"".join(parts)}</p>'


def assign_lanes(text: str, marks: Sequence[Mark]) -> dict[Mark, int]:
    """A line for each mark, counted from the words downwards, shorter marks first.

    No two marks in a line meet; a mark takes as much room as its label needs.
    """
    lanes: list[list[tuple[int, int]]] = []
    found: dict[Mark, int] = {}
    for mark in sorted(marks, key=lambda m: (m.end - m.start, *_order(m))):
        room = mark.start, max(mark.end, mark.start + _label_room(text, mark))
        number = next((n for n, taken in enumerate(lanes) if _is_free(taken, *room)), len(lanes))
        if number == len(lanes):
            lanes.append([])
        insort(lanes[number], room)
        found[mark] = number
    return found


def _is_free(taken: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a part meets none of the parts that are taken, which are in order."""
    place = bisect(taken, (start, end))
    return (place == 0 or taken[place - 1][1] <= start) and (place == len(taken) or end <= taken[place][0])


def _segment(
    text: str, end: int, marks: Sequence[Mark], starting: Sequence[Mark], lanes: Mapping[Mark, int], n_lanes: int
) -> str:
    if not marks:
        return escape(text)
    lines = []
    side = "100%" if any(bidirectional(char) in ("R", "AL") for char in text) else "0"
    for mark in marks:
        thickness = THICK if mark.is_thick else THIN
        below = (n_lanes - lanes[mark]) * LANE - thickness
        image = line_image(mark.line, mark.colour)
        width = "calc(100% - 2px)" if mark.end == end else "100%"
        lines.append(f"{image} {side} calc(100% - {below}px)/{width} {thickness}px no-repeat")
    labels = "".join(
        f'<b aria-hidden="true" data-l="{escape(m.label)}"{_score(m)} '
        f'style="bottom:{(n_lanes - 1 - lanes[m]) * LANE}px;color:{m.colour}"></b>'
        for m in starting
    )
    notes = "\n".join(dict.fromkeys(m.note or m.label for m in marks))
    return f'<span title="{escape(notes)}" style="background:{",".join(lines)}">{labels}{escape(text)}</span>'


def _score(mark: Mark) -> str:
    return f' data-s="{escape(mark.score)}"' if mark.score else ""


def _order(mark: Mark) -> tuple[int, int, str, str]:
    return mark.start, -mark.end, mark.label, mark.line


def _first_word_end(text: str, mark: Mark) -> int:
    """Where the first word of a mark ends: the label hangs on a part that does not wrap."""
    from nlpkit.text.words import split_words

    words = split_words(text[mark.start : min(mark.end, mark.start + 40)])
    return mark.start + words[0][1] if words else mark.end


def _label_room(text: str, mark: Mark) -> int:
    """How many characters of the text, from the start of the mark on, its label covers."""
    wanted = min(LABEL_WIDTH * _width(f"{mark.label} {mark.score}") + 2, 40)
    for position in range(mark.start, len(text)):
        if wanted <= 0:
            return position - mark.start
        is_joined = position > mark.start and text[position - 1] == "\u200d"
        wanted -= 0 if is_joined else _width(text[position])
    return len(text) - mark.start + 1


def _width(text: str) -> int:
    """Columns of a terminal that the text would take."""
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1 for c in text)
