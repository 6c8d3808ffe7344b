"""Extraction results as one HTML page: spans under their words, relations and events as rows, all items as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nlpkit.errors import shown_id
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.writer import input_notes
from nlpkit.report.html import Section, data_table, escape, html_page
from nlpkit.report.marks import STYLE as MARK_STYLE
from nlpkit.report.marks import THICK, THIN, Mark, line_image, marked_text
from nlpkit.report.palette import Look, looks
from nlpkit.wording import counted

STYLE = (
    MARK_STYLE
    + """
.legend{border-bottom:1px solid var(--line);padding:.5rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;
font-size:.85rem;overflow-wrap:anywhere}
.legend span{display:inline-flex;align-items:center}
.legend i{flex:none;width:2rem;margin-right:.4rem}
article{border-bottom:1px solid var(--line);padding:1rem 0 .8rem;
content-visibility:auto;contain-intrinsic-size:auto 12rem}
article:last-child{border-bottom:0}
.id{color:var(--soft);font-size:.8rem;font-weight:400;overflow-wrap:anywhere}
ul.rows{list-style:none;margin:.4rem 0;padding:0} ul.rows li{margin:.3rem 0;line-height:1.9}
.chip{display:inline-block;max-width:100%;border:1px solid;border-radius:.35rem;padding:.08rem .4rem;line-height:1.4;
white-space:pre-wrap;overflow-wrap:anywhere}
.chip q{quotes:none;color:var(--ink)} .chip small{font-weight:600;margin-inline-start:.45rem}
.trigger{border-width:2px}
.role{color:var(--soft);font-size:.85rem;margin:0 .3rem 0 .8rem}
.arg{display:inline-flex;align-items:baseline;max-width:100%} .arg .role{flex:none;max-width:50%}
.link{display:inline-flex;align-items:center;vertical-align:middle;font-size:.85rem;font-weight:600;margin:0 .35rem;
max-width:100%;overflow-wrap:anywhere}
.score{color:var(--soft);font-size:.8rem;font-weight:400;font-variant-numeric:tabular-nums;margin-inline-start:.35rem}
.link svg{margin-left:-1px;flex:none}
.none{color:var(--soft);font-style:italic}
"""
)


SHOWN_TEXTS = 1000
"""How many texts a page shows."""

SHOWN_ROWS = 100
"""How many relations and events of one text are drawn as rows."""

PAGE_ROWS = 2000
"""How many relations and events of all texts together are drawn as rows."""

LISTED_ITEMS = 20_000
"""How many items the tables of a page list."""

ALL_ITEMS = "`--format jsonl` writes all"

ARGUMENT = Look("var(--soft)", "dotted")
"""The look of an argument that is no entity."""


@dataclass(frozen=True)
class _Looks:
    """The look of each entity type and event type of a page."""

    entities: Mapping[str, Look]
    events: Mapping[str, Look]

    @classmethod
    def of(cls, records: Sequence[IERecord]) -> _Looks:
        entities = {e.type for r in records for e in r.entities or ()}
        events = {e.trigger.type for r in records for e in r.events or ()}
        found = looks(entities | events)
        return cls(
            {label: found[label] for label in sorted(entities)}, {label: found[label] for label in sorted(events)}
        )


def render_results(results: Iterable[IERecord], title: str = "Extraction") -> str:
    """One self-contained page that draws records or results.

    >>> record = IERecord(text="Bo left.", entities=(Entity(start=0, end=2, type="Person"),))
    >>> page = render_results([record], "One text")
    >>> "<title>One text</title>" in page, "http" in page.replace("http-equiv", "")
    (True, False)
    """
    results = list(results)
    shown = results[:SHOWN_TEXTS]
    found = _Looks.of(shown)
    rows = _shares([_n_rows(r) for r in shown], SHOWN_ROWS, PAGE_ROWS)
    listed = _shares([_n_items(r) for r in shown], LISTED_ITEMS, LISTED_ITEMS)
    articles = [
        _article(number, r, found, *caps) for number, (r, *caps) in enumerate(zip(shown, rows, listed, strict=True), 1)
    ]
    body = legend(found.entities, found.events, _has_free_arguments(shown)) + "".join(articles)
    lead = [f"{counted(len(results), 'text')}, {_totals(results)}."]
    if len(shown) < len(results):
        lead.append(f"The first {counted(len(shown), 'text is', 'texts are')} shown; {ALL_ITEMS}.")
    if any(map(_has_scores, shown)):
        lead.append("Behind each label stands how probable it is, from 0 to 1.")
    section = Section("Texts", body or '<p class="none">There are no texts.</p>', STYLE)
    return html_page(title, [section], lead=f'<p class="soft">{escape(" ".join(lead))}</p>')


def legend(entities: Mapping[str, Look], events: Mapping[str, Look], has_arguments: bool) -> str:
    """What the lines mean; empty when there is nothing to explain."""
    keys = [legend_key(label, look.line, look.colour) for label, look in entities.items()]
    keys += [legend_key(f"{label} (trigger)", look.line, look.colour, THICK) for label, look in events.items()]
    if has_arguments:
        keys.append(legend_key("role of an argument", ARGUMENT.line, ARGUMENT.colour))
    return f'<div class="legend" role="note" aria-label="Legend">{"".join(keys)}</div>' if keys else ""


def legend_key(label: str, line: str, colour: str, thickness: int = THIN) -> str:
    """A piece of a line and what it means."""
    return f'<span><i style="height:{thickness}px;background:{line_image(line, colour)}"></i>{escape(label)}</span>'


def capped(parts: Sequence[str], n_all: int, what: str, where: str) -> str:
    """Parts as a list, and a line that says how many of all there are and where the others are."""
    rows = f'<ul class="rows">{"".join(f"<li>{part}</li>" for part in parts)}</ul>' if parts else ""
    if len(parts) == n_all:
        return rows
    said = f"{len(parts):,} of {n_all:,} {what} are drawn; {where}."
    return f'{rows}<p class="soft small">{escape(said)}</p>'


def _shares(wanted: Sequence[int], each: int, together: int) -> list[int]:
    """How many of its items each record may show, given the most for one record and for all together."""
    shares = []
    for n in wanted:
        shares.append(min(n, each, together))
        together -= shares[-1]
    return shares


def _article(number: int, record: IERecord, found: _Looks, n_drawn: int, n_listed: int) -> str:
    name = f"{number}" if record.id is None else f"{number} · {shown_id(record.id)}"
    parts = [
        f'<h3 class="id">{escape(name)}</h3>',
        draw(record, record_marks(record, found)),
        capped(_drawn_rows(record, found, n_drawn), _n_rows(record), "relations and events", "the table lists all"),
    ]
    if not _n_items(record):
        parts.append('<p class="none">Nothing found.</p>')
    else:
        parts.append(f"<details><summary>All items as a table</summary>{item_table(record, n_listed)}</details>")
    return f"<article>{''.join(parts)}{_input_note(record)}</article>"


def _drawn_rows(record: IERecord, found: _Looks, n: int) -> list[str]:
    """The ``n`` most probable relations and events, in their order."""
    items: list[Relation | Event] = [*(record.relations or ()), *(record.events or ())]
    scores = [item.score if isinstance(item, Relation) else item.trigger.score for item in items]
    kept = sorted(range(len(items)), key=lambda i: -(scores[i] or 0.0))[:n]
    return [
        _relation_row(record, item, found) if isinstance(item, Relation) else _event_row(record, item, found)
        for item in (items[i] for i in sorted(kept))
    ]


def draw(record: IERecord, marks: Iterable[Mark]) -> str:
    """The text of a record with marks in the record's own positions."""
    if record.tokens is None:
        return marked_text(record.text or "", marks)
    starts, position = [], 0
    for token in record.tokens:
        starts.append(position)
        position += len(token) + 1
    moved = [
        replace(m, start=starts[m.start], end=starts[m.end - 1] + len(record.tokens[m.end - 1]))
        for m in marks
        if 0 <= m.start < m.end <= len(record.tokens)
    ]
    return marked_text(" ".join(record.tokens), moved)


def record_marks(record: IERecord, found: _Looks) -> list[Mark]:
    """Entities, triggers, and the arguments that are no entity, as marks."""

    def mark(item: Entity | Trigger | Argument, label: str, look: Look, is_thick: bool = False) -> Mark:
        note = _note(record, item, f"{label} (trigger)" if is_thick else label)
        return Mark(item.start, item.end, label, look.colour, look.line, is_thick, _brief(item.score), note)

    marks = [mark(e, e.type, found.entities[e.type]) for e in record.entities or ()]
    for event in record.events or ():
        marks.append(mark(event.trigger, event.trigger.type, found.events[event.trigger.type], is_thick=True))
        marks += [mark(a, a.role, ARGUMENT) for a in _free_arguments(record, event)]
    return marks


def item_table(record: IERecord, most: int) -> str:
    """Items of a record as rows: kind, label, text, positions, score."""
    rows: list[tuple[object, ...]] = []
    for e in record.entities or ():
        rows.append(("entity", e.type, record.surface(e.start, e.end), e.start, e.end, _score(e.score)))
    for r in record.relations or ():
        head, tail = _ends(record, r)
        text = f"{record.surface(head.start, head.end)} → {record.surface(tail.start, tail.end)}"
        rows.append(("relation", r.type, text, head.start, tail.end, _score(r.score)))
    for event in record.events or ():
        t = event.trigger
        rows.append(("trigger", t.type, record.surface(t.start, t.end), t.start, t.end, _score(t.score)))
        for a in event.arguments:
            label = f"{a.role} of {t.type}"
            rows.append(("argument", label, record.surface(a.start, a.end), a.start, a.end, _score(a.score)))
    caption = f"Positions in {'code points' if record.tokens is None else 'words'}, end exclusive"
    if most < len(rows):
        caption += f". The first {most:,} of {counted(len(rows), 'item')}; {ALL_ITEMS}"
    columns = ("kind", "label", "text", "start", "end", "score")
    return data_table(columns, rows[:most], caption=caption, numeric=(3, 4, 5))


def chip(text: str, label: str, colour: str, *, css: str = "", score: str = "", note: str = "") -> str:
    """A piece of text with its label and score in a frame."""
    small = f"<small>{escape(label)}</small>" if label else ""
    title = f' title="{escape(note)}"' if note else ""
    parts = f'<q dir="auto">{escape(text)}</q>{small}{_score_part(score)}'
    return f'<span class="chip {css}" style="color:{colour}"{title}>{parts}</span>'


def arrow(label: str, score: str = "") -> str:
    """A labelled arrow from what stands before it to what stands after it."""
    head = (
        '<svg width="34" height="12" viewBox="0 0 34 12" role="img" aria-label="to">'
        '<path d="M2 6H30M25 2l6 4-6 4" fill="none" stroke="currentColor" stroke-width="1.6"/></svg>'
    )
    return f'<span class="link"><span>{escape(label)}{_score_part(score)}&nbsp;</span>{head}</span>'


def _score_part(score: str) -> str:
    return f'<span class="score">{escape(score)}</span>' if score else ""


def _relation_row(record: IERecord, relation: Relation, found: _Looks) -> str:
    head, tail = (
        chip(record.surface(e.start, e.end), e.type, found.entities[e.type].colour, note=_note(record, e, e.type))
        for e in _ends(record, relation)
    )
    return head + arrow(relation.type, _brief(relation.score)) + tail


def _event_row(record: IERecord, event: Event, found: _Looks) -> str:
    t = event.trigger
    colour, note = found.events[t.type].colour, _note(record, t, t.type)
    surface = record.surface(t.start, t.end)
    parts = [chip(surface, t.type, colour, css="trigger", score=_brief(t.score), note=note)]
    for fragments in _whole_arguments(event):
        text = " … ".join(record.surface(a.start, a.end) for a in fragments)
        note = "; ".join(_note(record, a, a.role) for a in fragments)
        score = " ".join(dict.fromkeys(_brief(a.score) for a in fragments))
        role = f'<span class="role">{escape(fragments[0].role)}</span>'
        parts.append(f'<span class="arg">{role}{chip(text, "", "var(--soft)", score=score, note=note)}</span>')
    return "".join(parts)


def _whole_arguments(event: Event) -> list[list[Argument]]:
    """Arguments with their fragments together, in the order of the event."""
    wholes: dict[object, list[Argument]] = {}
    for position, a in enumerate(event.arguments):
        wholes.setdefault(("single", position) if a.group is None else ("group", a.role, a.group), []).append(a)
    return [sorted(fragments, key=lambda a: a.start) for fragments in wholes.values()]


def _free_arguments(record: IERecord, event: Event) -> list[Argument]:
    """Arguments whose span is not drawn as an entity."""
    drawn = {(e.start, e.end) for e in record.entities or ()}
    return [a for a in event.arguments if (a.start, a.end) not in drawn]


def _has_free_arguments(records: Iterable[IERecord]) -> bool:
    return any(_free_arguments(record, event) for record in records for event in record.events or ())


def _ends(record: IERecord, relation: Relation) -> tuple[Entity, Entity]:
    entities = record.entities or ()
    return entities[relation.head], entities[relation.tail]


def _note(record: IERecord, item: Entity | Trigger | Argument, label: str) -> str:
    score = "" if item.score is None else f", score {_score(item.score)}"
    return f"{label}: {record.surface(item.start, item.end)} [{item.start}, {item.end}){score}"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _brief(score: float | None) -> str:
    """A score where room is short."""
    return "" if score is None else f"{score:.2f}"


def _has_scores(record: IERecord) -> bool:
    groups = (record.entities or (), record.relations or (), [e.trigger for e in record.events or ()])
    return any(item.score is not None for group in groups for item in group)


def _n_rows(record: IERecord) -> int:
    return len(record.relations or ()) + len(record.events or ())


def _n_items(record: IERecord) -> int:
    return len(record.entities or ()) + _n_rows(record) + sum(len(e.arguments) for e in record.events or ())


def _input_note(record: IERecord) -> str:
    said = "; ".join(input_notes(record))
    return f'<p class="soft small">{escape(said)}</p>' if said else ""


def _totals(records: Sequence[IERecord]) -> str:
    groups = (("entities", "entity"), ("relations", "relation"), ("events", "event"))
    return ", ".join(counted(sum(len(getattr(r, group) or ()) for r in records), noun) for group, noun in groups)
