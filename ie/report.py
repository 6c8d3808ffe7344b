"""Extraction results as one HTML page: spans under their words, relations and events as rows, all items as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nlpkit.errors import shown_id
from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, Relation, Trigger
from nlpkit.report.html import Section, data_table, escape, html_page
from nlpkit.report.marks import STYLE as MARK_STYLE
from nlpkit.report.marks import Mark, marked_text
from nlpkit.report.palette import slots
from nlpkit.wording import counted

STYLE = (
    MARK_STYLE
    + """
.legend{position:sticky;top:0;z-index:2;background:var(--ground);border-bottom:1px solid var(--line);padding:.5rem 0;
display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.85rem}
@media (max-width:45rem){.legend{position:static}} @media (min-width:45rem){.legend{max-height:7.5rem;overflow-y:auto}}
.legend span{white-space:nowrap} .legend i{display:inline-block;width:1.6rem;margin-right:.4rem;vertical-align:middle}
article{border-bottom:1px solid var(--line);padding:1rem 0 .8rem}
article:last-child{border-bottom:0}
.id{color:var(--soft);font-size:.8rem;overflow-wrap:anywhere}
ul.rows{list-style:none;margin:.4rem 0;padding:0} ul.rows li{margin:.3rem 0;line-height:1.9}
.chip{display:inline-block;max-width:100%;border:1px solid;border-radius:.35rem;padding:.08rem .4rem;line-height:1.4;
white-space:pre-wrap;overflow-wrap:anywhere}
.chip q{quotes:none;color:var(--ink)} .chip small{font-weight:600;margin-inline-start:.45rem}
.trigger{border-width:2px}
.role{color:var(--soft);font-size:.85rem;margin:0 .3rem 0 .8rem}
.arg{display:inline-flex;align-items:baseline;max-width:100%} .arg .role{flex:none;max-width:50%}
.link{display:inline-flex;align-items:center;vertical-align:middle;font-size:.85rem;font-weight:600;margin:0 .35rem}
.link svg{margin-left:-1px;flex:none}
.none{color:var(--soft);font-style:italic}
"""
)


@dataclass(frozen=True)
class _Colours:
    """A CSS colour for each entity type and event type of a page."""

    entities: Mapping[str, str]
    events: Mapping[str, str]

    @classmethod
    def of(cls, records: Iterable[IERecord]) -> _Colours:
        records = list(records)
        entities = {e.type for r in records for e in r.entities or ()}
        events = {e.trigger.type for r in records for e in r.events or ()}
        numbers = slots(entities | events)
        return cls(
            {label: f"var(--c{numbers[label]})" for label in sorted(entities)},
            {label: f"var(--c{numbers[label]})" for label in sorted(events)},
        )


def render_results(results: Iterable[IERecord], title: str = "Extraction") -> str:
    """One self-contained page that draws records or results.

    >>> record = IERecord(text="Bo left.", entities=(Entity(start=0, end=2, type="Person"),))
    >>> page = render_results([record], "One text")
    >>> "<title>One text</title>" in page, "http" in page.replace("http-equiv", "")
    (True, False)
    """
    results = list(results)
    colours = _Colours.of(results)
    articles = "".join(_article(number, record, colours) for number, record in enumerate(results, 1))
    body = legend(colours.entities, colours.events, _has_free_arguments(results)) + articles
    counts = f"{_count(len(results), 'text')}, {_totals(results)}"
    return html_page(title, [Section("Texts", body, STYLE)], lead=f'<p class="soft">{escape(counts)}</p>')


def legend(entities: Mapping[str, str], events: Mapping[str, str], has_arguments: bool) -> str:
    """What the lines mean; empty when there is nothing to explain."""
    entries = [_key(label, f"3px solid {colour}") for label, colour in entities.items()]
    entries += [_key(f"{label} (trigger)", f"5px solid {colour}") for label, colour in events.items()]
    if has_arguments:
        entries.append(_key("role of an argument", "3px dotted var(--soft)"))
    return f'<div class="legend" role="note" aria-label="Legend">{"".join(entries)}</div>' if entries else ""


def _key(label: str, border: str) -> str:
    return f'<span><i style="border-top:{border}"></i>{escape(label)}</span>'


def _article(number: int, record: IERecord, colours: _Colours) -> str:
    name = f"{number}" if record.id is None else f"{number} · {shown_id(record.id)}"
    parts = [
        f'<div class="id">{escape(name)}</div>',
        draw(record, record_marks(record, colours.entities, colours.events)),
    ]
    rows = [_relation_row(record, r, colours) for r in record.relations or ()]
    rows += [_event_row(record, e, colours) for e in record.events or ()]
    if rows:
        parts.append(f'<ul class="rows">{"".join(f"<li>{row}</li>" for row in rows)}</ul>')
    if not (record.entities or record.relations or record.events):
        parts.append('<p class="none">Nothing found.</p>')
    else:
        parts.append(f"<details><summary>All items as a table</summary>{item_table(record)}</details>")
    return f"<article>{''.join(parts)}{_input_note(record)}</article>"


def draw(record: IERecord, marks: Iterable[Mark]) -> str:
    """The text of a record with marks in the record's own positions."""
    if record.tokens is None:
        return marked_text(record.text or "", marks)
    starts, position = [], 0
    for token in record.tokens:
        starts.append(position)
        position += len(token) + 1
    moved = [
        Mark(starts[m.start], starts[m.end - 1] + len(record.tokens[m.end - 1]), m.label, m.colour, m.line, m.note)
        for m in marks
        if 0 <= m.start < m.end <= len(record.tokens)
    ]
    return marked_text(" ".join(record.tokens), moved)


def record_marks(record: IERecord, entities: Mapping[str, str], events: Mapping[str, str]) -> list[Mark]:
    """Entities, triggers, and the arguments that are no entity, as marks."""
    marks = [
        Mark(e.start, e.end, e.type, entities[e.type], "solid", _note(record, e, e.type)) for e in record.entities or ()
    ]
    for event in record.events or ():
        t = event.trigger
        marks.append(Mark(t.start, t.end, t.type, events[t.type], "thick", _note(record, t, f"{t.type} (trigger)")))
        for a in _free_arguments(record, event):
            marks.append(Mark(a.start, a.end, a.role, "var(--soft)", "dotted", _note(record, a, a.role)))
    return marks


def item_table(record: IERecord) -> str:
    """Every item of a record as a row: kind, label, text, positions, score."""
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
    unit = "code points" if record.tokens is None else "words"
    columns = ("kind", "label", "text", "start", "end", "score")
    return data_table(columns, rows, caption=f"Positions in {unit}, end exclusive", numeric=(3, 4, 5))


def chip(text: str, label: str, colour: str, *, css: str = "", note: str = "") -> str:
    """A piece of text with its label in a frame."""
    small = f"<small>{escape(label)}</small>" if label else ""
    title = f' title="{escape(note)}"' if note else ""
    return f'<span class="chip {css}" style="color:{colour}"{title}><q dir="auto">{escape(text)}</q>{small}</span>'


def arrow(label: str, *, note: str = "") -> str:
    """A labelled arrow from what stands before it to what stands after it."""
    title = f' title="{escape(note)}"' if note else ""
    head = (
        '<svg width="34" height="12" viewBox="0 0 34 12" role="img" aria-label="to">'
        '<path d="M2 6H30M25 2l6 4-6 4" fill="none" stroke="currentColor" stroke-width="1.6"/></svg>'
    )
    return f'<span class="link"{title}>{escape(label)}&nbsp;{head}</span>'


def _relation_row(record: IERecord, relation: Relation, colours: _Colours) -> str:
    head, tail = (
        chip(record.surface(e.start, e.end), e.type, colours.entities[e.type], note=_note(record, e, e.type))
        for e in _ends(record, relation)
    )
    return (
        head + arrow(relation.type, note=f"score {_score(relation.score)}" if relation.score is not None else "") + tail
    )


def _event_row(record: IERecord, event: Event, colours: _Colours) -> str:
    t = event.trigger
    parts = [
        chip(
            record.surface(t.start, t.end),
            t.type,
            colours.events[t.type],
            css="trigger",
            note=_note(record, t, t.type),
        )
    ]
    for fragments in _whole_arguments(event):
        text = " … ".join(record.surface(a.start, a.end) for a in fragments)
        note = "; ".join(_note(record, a, a.role) for a in fragments)
        role = f'<span class="role">{escape(fragments[0].role)}</span>'
        parts.append(f'<span class="arg">{role}{chip(text, "", "var(--soft)", note=note)}</span>')
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


def _input_note(record: IERecord) -> str:
    if not isinstance(record, IEResult) or record.input is None:
        return ""
    info = record.input
    notes = [f"read in {info.windows} windows"] if info.windows > 1 else []
    notes += [f"{info.truncated} pieces left out"] if info.truncated else []
    notes += [f"{counted(info.unknown, 'word')} unknown to the tokenizer"] if info.unknown else []
    notes += list(info.skipped)
    return f'<p class="soft small">{escape("; ".join(notes))}</p>' if notes else ""


def _totals(records: Sequence[IERecord]) -> str:
    nouns = (("entities", "entity", "entities"), ("relations", "relation", "relations"), ("events", "event", "events"))
    totals = [(sum(len(getattr(r, group) or ()) for r in records), one, many) for group, one, many in nouns]
    return ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in totals)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
