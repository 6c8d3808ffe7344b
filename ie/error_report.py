"""What an extraction model gets wrong, for an HTML page: confusions of types, and errors drawn in their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit.errors import shown_id
from nlpkit.ie.report import STYLE, arrow, capped, chip, draw, legend_key
from nlpkit.ie.types import IERecord
from nlpkit.report.html import Section, escape, scroll_box
from nlpkit.report.marks import Mark
from nlpkit.wording import counted, plural

if TYPE_CHECKING:
    from nlpkit.ie.metrics import IEReport

SHOWN_RECORDS = 50
"""How many records with errors a page draws."""

SHOWN_ERRORS = 100
"""How many errors of one record are drawn as rows."""

SHOWN_LABELS = 24
"""How many labels a table of confusions has at most."""

LONG_TEXT = 2500
"""Characters from which on a drawn text gets a box of its own to scroll in."""

MATRIX_STYLE = """
.confusion td,.confusion th{padding:.25rem .55rem}
.confusion thead th{vertical-align:bottom;font-weight:400}
.confusion thead th span{display:inline-block;writing-mode:vertical-rl;transform:rotate(180deg);max-height:12rem;
white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.confusion thead th:first-child span{writing-mode:horizontal-tb;transform:none}
.confusion td{text-align:right;font-variant-numeric:tabular-nums}
.confusion td.right{font-weight:600} .confusion td.zero{color:var(--soft)}
"""

ERROR_STYLE = (
    STYLE
    + """
.badge{display:inline-block;min-width:11rem;font-size:.85rem;font-weight:600;color:var(--how)}
.badge small{font-weight:400;color:var(--soft)}
.long{max-height:26rem;overflow-y:auto;border:1px solid var(--line);padding:0 .8rem}
"""
)

NAMES = {"missed": "missed", "spurious": "spurious", "wrong_type": "wrong type", "wrong_boundary": "wrong boundary"}
COLOURS = {"missed": "var(--bad)", "spurious": "var(--c0)", "wrong_type": "var(--c3)", "wrong_boundary": "var(--c4)"}
LINES = {"missed": "dashed", "spurious": "dotted", "wrong_type": "solid", "wrong_boundary": "solid"}

KIND_METRICS = {"entity": "entity", "relation": "relation_strict", "trigger": "trigger", "argument": "argument"}

Item = Mapping[str, Any]


def confusion_sections(report: IEReport) -> list[Section]:
    """For each kind of item a table of gold types against predicted types, where any two were confused."""
    sections = []
    for kind, metric in KIND_METRICS.items():
        if metric not in report.per_label:
            continue
        pairs = Counter(
            (_label(pair["gold"]), _label(pair["predicted"]))
            for record in report.error_records
            for pair in _list(record["wrong_type"])
            if pair["gold"]["kind"] == kind and _label(pair["gold"]) != _label(pair["predicted"])
        )
        if pairs:
            sections.append(Section(f"Confusions: {kind}", _confusion(report, metric, pairs), MATRIX_STYLE))
    return sections


def error_section(report: IEReport) -> Section:
    """The first records with errors, drawn."""
    records = report.error_records[:SHOWN_RECORDS]
    if not records:
        return Section("Errors", "<p>No errors were kept, or there are none.</p>", ERROR_STYLE)
    total = len(report.error_records)
    shown = "" if total == len(records) else f"; the first {len(records)} are shown"
    of_all = f"{total:,} of {counted(report.n, 'record')} {plural(total, 'has', 'have')} an error"
    lead = f'<p class="soft">{of_all}{shown}.</p>'
    body = "".join(_error_article(record) for record in records)
    return Section("Errors", lead + _legend() + body, ERROR_STYLE)


def _confusion(report: IEReport, metric: str, pairs: Counter[tuple[str, str]]) -> str:
    counts = report.per_label[metric]
    weight: Counter[str] = Counter()
    for (gold, predicted), n in pairs.items():
        weight.update({gold: n, predicted: n})
    labels = sorted(label for label, _ in weight.most_common(SHOWN_LABELS))
    names = ["gold \\ predicted", *labels, "not found"]
    head = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in names)
    rows = []
    for gold in labels:
        own = counts[gold]
        lost = own.gold - own.tp - sum(n for (g, _), n in pairs.items() if g == gold)
        cells = [own.tp if gold == predicted else pairs[gold, predicted] for predicted in labels]
        tds = "".join(_cell(n, own.gold, gold == p) for n, p in zip(cells, labels, strict=True))
        rows.append(f'<tr><th scope="row">{escape(gold)}</th>{tds}{_cell(lost, own.gold, False)}</tr>')
    lost_row = [
        counts[p].predicted - counts[p].tp - sum(n for (_, other), n in pairs.items() if other == p) for p in labels
    ]
    tds = "".join(_cell(n, 0, False) for n in lost_row)
    rows.append(f'<tr><th scope="row">not in gold</th>{tds}<td></td></tr>')
    note = '<p class="soft small">Rows: gold; columns: predicted, with the same boundaries.</p>'
    left = len(weight) - len(labels)
    note += f'<p class="soft small">{left} labels with fewer confusions are not shown.</p>' if left else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return note + scroll_box(table, "confusion")


def _cell(n: int, of: int, is_right: bool) -> str:
    css = ' class="right"' if is_right else ' class="zero"' if n == 0 else ""
    share = round(55 * n / of) if of else 0
    colour = "--good" if is_right else "--bad"
    style = f' style="background:color-mix(in srgb,var({colour}) {share}%,transparent)"' if share else ""
    return f"<td{css}{style}>{n}</td>"


def _legend() -> str:
    texts = {
        "missed": "missed: in the gold data only",
        "spurious": "spurious: predicted only",
        "wrong_type": "wrong type: gold → predicted",
        "wrong_boundary": "wrong boundary: gold, and predicted (dotted)",
    }
    keys = "".join(legend_key(text, LINES[how], COLOURS[how]) for how, text in texts.items())
    return f'<div class="legend" role="note" aria-label="Legend">{keys}</div>'


def _error_article(record: Mapping[str, object]) -> str:
    tokens = record.get("tokens")
    text = (
        IERecord(tokens=tuple(str(t) for t in _list(tokens)))
        if tokens is not None
        else IERecord(text=str(record["text"]))
    )
    drawn = draw(text, _marks(record))
    size = sum(len(t) + 1 for t in text.tokens) if text.tokens is not None else len(text.text or "")
    if size > LONG_TEXT:
        drawn = f'<div class="long" tabindex="0" role="region" aria-label="Text">{drawn}</div>'
    rows = list(_rows(record))
    shown = capped(rows[:SHOWN_ERRORS], len(rows), "errors", "`--errors F.jsonl` writes all")
    return f'<article><h3 class="id">{escape(_place(record))}</h3>{drawn}{shown}</article>'


def _place(record: Mapping[str, object]) -> str:
    place = f"{record['file']}:{record['line']}" if "file" in record else f"record {record['record']}"
    return f"{place} · {shown_id(record['id'])}" if "id" in record else place


def _marks(record: Mapping[str, object]) -> Iterable[Mark]:
    """Spans with errors; relations have none of their own."""
    for how in ("missed", "spurious"):
        for item in _list(record[how]):
            if "start" in item:
                yield Mark(item["start"], item["end"], f"{NAMES[how]} {_label(item)}", COLOURS[how], LINES[how])
    for pair in _list(record["wrong_type"]):
        gold, predicted = pair["gold"], pair["predicted"]
        if "start" in gold:
            label = f"{_label(gold)} → {_label(predicted)}"
            if _label(gold) == _label(predicted):  # the same role in an event of another type
                label = f"{_label(gold)} of {gold['event_type']} → {predicted['event_type']}"
            yield Mark(gold["start"], gold["end"], label, COLOURS["wrong_type"], LINES["wrong_type"])
    for pair in _list(record["wrong_boundary"]):
        gold, predicted = pair["gold"], pair["predicted"]
        if "start" in gold:
            yield Mark(gold["start"], gold["end"], f"gold {_label(gold)}", COLOURS["wrong_boundary"], "solid")
            yield Mark(
                predicted["start"], predicted["end"], f"predicted {_label(gold)}", COLOURS["wrong_boundary"], "dotted"
            )


def _rows(record: Mapping[str, object]) -> Iterable[str]:
    for how in ("missed", "spurious"):
        for item in _list(record[how]):
            yield _badge(how, item) + _item(item, COLOURS[how])
    for how, word in (("wrong_type", "predicted as"), ("wrong_boundary", "predicted as")):
        for pair in _list(record[how]):
            gold, predicted = (_item(pair[side], COLOURS[how]) for side in ("gold", "predicted"))
            yield f'{_badge(how, pair["gold"])}{gold} <span class="role">{word}</span> {predicted}'


def _badge(how: str, item: Item) -> str:
    return f'<span class="badge" style="--how:{COLOURS[how]}">{NAMES[how]} <small>{escape(item["kind"])}</small></span>'


def _item(item: Item, colour: str) -> str:
    if item["kind"] == "relation":
        head, tail = (chip(item[end]["text"], item[end]["type"], colour) for end in ("head", "tail"))
        return head + arrow(item["type"]) + tail
    label = f"{item['role']} of {item['event_type']}" if item["kind"] == "argument" else item["type"]
    return chip(item["text"], label, colour, note=f"[{item['start']}, {item['end']})")


def _label(item: Item) -> str:
    return str(item["role"] if item["kind"] == "argument" else item["type"])


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, Sequence) else ()
