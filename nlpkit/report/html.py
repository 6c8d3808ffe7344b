"""The frame of every HTML page: one file without script or external resource; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape as _escape

from nlpkit.report.palette import DARK, LIGHT, palette_css

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_HTML = re.compile(r"[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

STYLE = f"""
:root{{color-scheme:light dark;--ground:{LIGHT};--ink:#1c2128;--soft:#59636e;--line:#d5dae0;
--panel:#f5f7f9;--shade:#0002;
--bad:#a4262c;--good:#1a6b3c}}
@media screen and (prefers-color-scheme:dark){{:root{{--ground:{DARK};--ink:#e4e7eb;--soft:#9aa4b0;
--line:#363d47;--panel:#1f242b;--shade:#fff3;
--bad:#ff9a94;--good:#7fd6a0}}}}
*{{box-sizing:border-box;print-color-adjust:exact;-webkit-print-color-adjust:exact}}
:focus-visible{{outline:2px solid var(--c0);outline-offset:2px}}
body{{margin:0 auto;max-width:62rem;padding:1.5rem 1.25rem 4rem;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}}
h1{{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}}
h2{{font-size:1.2rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.25rem;
overflow-wrap:anywhere}}
h3{{font-size:1rem;margin:0 0 .4rem}}
p{{margin:.4rem 0;overflow-wrap:anywhere}}
.soft{{color:var(--soft)}} .small{{font-size:.85rem}}
nav{{display:flex;flex-wrap:wrap;gap:.25rem 1rem;font-size:.9rem;overflow-wrap:anywhere}}
a{{color:inherit;text-decoration-color:var(--soft);text-underline-offset:.2em}}
.scroll{{overflow:auto;max-height:85vh;
background:linear-gradient(90deg,var(--ground) 40%,transparent) 0/3rem 100% no-repeat local,
linear-gradient(270deg,var(--ground) 40%,transparent) 100%/3rem 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) 0/1rem 100% no-repeat scroll,
linear-gradient(270deg,var(--shade),transparent) 100%/1rem 100% no-repeat scroll}}
table{{border-collapse:collapse;font-size:.92rem;margin:.3rem 0}}
caption{{text-align:left;color:var(--soft);font-size:.85rem;padding-bottom:.2rem}}
th,td{{padding:.28rem .8rem .28rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}}
thead th{{color:var(--soft);font-weight:600;white-space:nowrap}}
tbody th{{font-weight:400;overflow-wrap:anywhere;min-width:8.5rem;max-width:20rem}}
thead th{{position:sticky;top:0;background:var(--ground);z-index:1}}
th:first-child{{position:sticky;left:0;background:var(--ground)}} thead th:first-child{{z-index:2}}
tr.best>*{{font-weight:700;background:var(--panel)}}
tbody th.n{{min-width:0}} th.n,td.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
td.t{{white-space:pre-wrap;overflow-wrap:anywhere;min-width:6rem}}
details{{margin:.6rem 0}} summary{{cursor:pointer;color:var(--soft);font-size:.85rem}}
svg text{{fill:var(--soft);font:12px system-ui,sans-serif}}
@media print{{.scroll{{max-height:none;overflow:visible}} th{{position:static}} body{{max-width:none;padding:0}}}}
"""


@dataclass(frozen=True)
class Section:
    """A part of a page: ``title`` is plain text, ``body`` is finished HTML, ``style`` is the CSS that it needs."""

    title: str
    body: str
    style: str = ""


def escape(text: object) -> str:
    """Text for element content or a quoted attribute; what HTML cannot hold is shown as a replacement character.

    >>> escape('<b a="1">&')
    '&lt;b a=&quot;1&quot;&gt;&amp;'
    """
    safe = _CONTROL.sub(lambda m: chr(0x2400 + ord(m[0])) if m[0] != "\x7f" else "\u2421", str(text))
    return _escape(_NOT_HTML.sub("\ufffd", safe)).replace("\r", "&#13;")


def html_page(title: str, sections: Iterable[Section], *, lead: str = "") -> str:
    """A whole page.

    Args:
        title: Plain text.
        sections: The parts of the page, in order.
        lead: Finished HTML under the title.

    >>> page = html_page("A & B", [Section("Scores", "<p>85.5</p>")])
    >>> page.startswith("<!DOCTYPE html>"), "A &amp; B" in page
    (True, True)
    """
    sections = list(sections)
    styles = "".join(dict.fromkeys([STYLE, palette_css(), *(s.style for s in sections)]))
    links = "".join(f'<a href="#s{i}">{escape(s.title)}</a>' for i, s in enumerate(sections))
    nav = f'<nav aria-label="Sections">{links}</nav>' if 2 < len(sections) <= 30 else ""
    parts = "".join(
        f'<section id="s{i}"><h2>{escape(s.title)}</h2>\n{s.body}\n</section>\n' for i, s in enumerate(sections)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{styles}</style></head>\n"
        f"<body><header><h1>{escape(title)}</h1>{lead}{nav}</header>\n<main>\n{parts}</main></body></html>\n"
    )


def data_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    numeric: Collection[int] = (),
    best: int | None = None,
) -> str:
    """A table of plain values; the first cell of a row is its heading.

    Args:
        columns: The heads; long ones wrap behind an underscore.
        rows: The values of each row.
        caption: What the table shows.
        numeric: Positions of the columns that are set to the right.
        best: Position of a row to stand out.

    >>> data_table(["metric", "F1"], [["entity", "85.5"]], numeric=[1]).count("<th")
    4
    """

    def cell(position: int, value: object) -> str:
        if position == 0:
            return f'<th scope="row"{_kind(0, numeric, "")}>{escape(value)}</th>'
        return f"<td{_kind(position, numeric, 't')}>{escape(value)}</td>"

    heads = (escape(column).replace("_", "_<wbr>") for column in columns)
    head = "".join(f'<th scope="col"{_kind(i, numeric, "")}>{column}</th>' for i, column in enumerate(heads))
    marked = ' class="best"'
    body = "".join(
        f"<tr{marked if n == best else ''}>{''.join(cell(i, value) for i, value in enumerate(row))}</tr>"
        for n, row in enumerate(rows)
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return scroll_box(f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def scroll_box(table: str, css: str = "") -> str:
    """A table in a box that scrolls where it is too wide or too long, also by keyboard, with its heads in sight."""
    return f'<div class="scroll {css}" tabindex="0" role="region" aria-label="Table">{table}</div>'


def _kind(position: int, numeric: Collection[int], other: str) -> str:
    kind = "n" if position in numeric else other
    return f' class="{kind}"' if kind else ""
