"""Scores of an evaluation as parts of an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nlpkit.metrics.counts import Counts
from nlpkit.report.html import Section, data_table, escape, scroll_box
from nlpkit.results import percent
from nlpkit.wording import plural

if TYPE_CHECKING:
    from nlpkit.results import EvaluationReport

COLUMNS = ("precision", "recall", "F1", "gold", "predicted", "correct")
BAR = "F1, 0 to 100"
"""The head of the column with bars."""

BAR_STYLE = """
.bars td,.bars th{padding-top:.2rem;padding-bottom:.2rem}
.bar{width:9rem;min-width:5rem} .bar svg{display:block;width:100%;height:.8rem}
"""


def score_section(report: EvaluationReport) -> Section:
    """All metrics of the report, with a bar for F1, and the notes."""
    counted = {k: m for k, m in report.metrics.items() if isinstance(m, Counts)}
    numbers = {k: m for k, m in report.metrics.items() if not isinstance(m, Counts)}
    parts: list[str] = []
    parts.append(
        f'<p class="soft">{report.n:,} {plural(report.n, "record")}. Scores in percent; '
        "a hyphen stands where a score is undefined.</p>"
    )
    if counted:
        parts.append(count_table("metric", counted))
    if numbers:
        parts.append(data_table(["metric", "percent"], [(k, percent(v)) for k, v in numbers.items()], numeric=[1]))
    parts += [f"<p>{escape(note)}</p>" for note in report.notes()]
    return Section("Scores", "".join(parts), BAR_STYLE)


def label_sections(report: EvaluationReport, metrics: tuple[str, ...]) -> list[Section]:
    """The scores of each label, one part for each metric, the most frequent label first."""
    sections = []
    for metric in metrics:
        rows = dict(sorted(report.per_label[metric].items(), key=lambda item: (-item[1].gold, item[0])))
        sections.append(Section(f"Labels of {metric}", count_table("label", rows), BAR_STYLE))
    return sections


def count_table(title: str, rows: Mapping[str, Counts]) -> str:
    """A table of counts with a bar for F1."""
    head = "".join(f'<th scope="col" class="n">{escape(column)}</th>' for column in COLUMNS)
    body = []
    for name, c in rows.items():
        values = (percent(c.precision), percent(c.recall), percent(c.f1), c.gold, c.predicted, c.tp)
        cells = "".join(f'<td class="n">{escape(value)}</td>' for value in values)
        bar = _bar(c.f1)
        body.append(f'<tr><th scope="row">{escape(name)}</th>{cells}<td class="bar">{bar}</td></tr>')
    return scroll_box(
        f'<table class="bars"><thead><tr><th scope="col">{escape(title)}</th>{head}'
        f'<th scope="col">{BAR}</th></tr></thead><tbody>{"".join(body)}</tbody></table>'
    )


def _bar(value: float | None) -> str:
    width = 100 * (value or 0)
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="100" height="10" style="fill:var(--line)"/>'
        f'<rect width="{width:.1f}" height="10" style="fill:var(--c0)"/></svg>'
    )
