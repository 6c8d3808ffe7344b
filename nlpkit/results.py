"""What an evaluation gives back; every model's report prints, goes to JSON and to HTML in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from nlpkit.metrics.counts import Counts
from nlpkit.wording import counted

if TYPE_CHECKING:
    from rich.table import Table

    from nlpkit.report.html import Section

Metric = Counts | float | None
"""A score with its counts, a plain number, or None where it is undefined."""

WIDTH = 80
"""Columns of the printed tables."""


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """The scores of one model on one data set.

    Attributes:
        model: Name of the model, as the user gave it.
        data: Name of the data, as the user gave it.
        n: Number of records.
        metrics: Score by metric name; a metric that the data do not annotate is absent.
        per_label: For metrics with labels: label to counts, for every label of the model and of the gold data.
        records: For each metric the number of records that annotate it.
        unknown_labels: By metric, gold labels that the model cannot predict, with their number. They count as missed.
        left_out: Kinds of annotation that were not scored, with the reason.
        error_records: One JSON-ready object for each record with an error; see :meth:`errors`.

    >>> report = EvaluationReport(model="m", data="test.jsonl", n=2, metrics={"entity": Counts(1, 2, 1), "auroc": None})
    >>> report.to_dict()["metrics"]["entity"]["precision"]
    0.5
    >>> report.scores()
    {'entity': 0.6666666666666666, 'auroc': None}
    """

    model: str
    data: str
    n: int
    metrics: Mapping[str, Metric]
    per_label: Mapping[str, Mapping[str, Counts]] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    unknown_labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    error_records: tuple[Mapping[str, object], ...] = field(default=(), compare=False, repr=False)

    label_tables: ClassVar[tuple[str, ...] | None] = None
    """Metrics whose labels are printed; None prints all of them."""

    def scores(self) -> dict[str, float | None]:
        """One number for each metric: F1 where the metric has counts."""
        return {name: m.f1 if isinstance(m, Counts) else m for name, m in self.metrics.items()}

    def errors(self) -> list[dict[str, object]]:
        """One JSON-ready object for each record with an error, in the order of the data."""
        return [dict(record) for record in self.error_records]

    def to_dict(self) -> dict[str, object]:
        """The report as plain JSON values: fractions of 1, None where undefined. Errors are not part of it."""
        return {
            "model": self.model,
            "data": self.data,
            "n": self.n,
            "metrics": {k: m.to_dict() if isinstance(m, Counts) else m for k, m in self.metrics.items()},
            "per_label": {k: {label: c.to_dict() for label, c in v.items()} for k, v in self.per_label.items()},
            "records": dict(self.records),
            "unknown_labels": {k: dict(v) for k, v in self.unknown_labels.items()},
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """The inverse of :meth:`to_dict`."""
        values = dict(data)
        values["metrics"] = {k: _metric(v) for k, v in _mapping(data["metrics"]).items()}
        values["per_label"] = {
            k: {label: _metric(c) for label, c in _mapping(v).items()}
            for k, v in _mapping(data.get("per_label", {})).items()
        }
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Tables of percent, plain text, 80 columns."""
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        console = Console(file=out, width=WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
        title = f"{self.model or 'model'} on {self.data or 'records'}, {counted(self.n, 'record')}"
        for part in (title, *self._tables(), *self.notes()):
            console.print(part)
        lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        return re.sub(r"\n{3,}", "\n\n", lines).rstrip("\n")

    def notes(self) -> list[str]:
        """What one must know to read the scores, in sentences."""
        notes = [f"Not scored: {kind}: {reason}." for kind, reason in self.left_out.items()]
        by_count: dict[int, list[str]] = {}
        for metric, count in self.records.items():
            if metric in self.metrics and count != self.n:
                by_count.setdefault(count, []).append(metric)
        for count, names in by_count.items():
            notes.append(f"Scored on the {counted(count, 'record')} that annotate it: {', '.join(names)}.")
        for metric, labels in self.unknown_labels.items():
            listed = ", ".join(f"{label} ({count})" for label, count in labels.items())
            notes.append(f"Unknown to the model, counted as missed ({metric}): {listed}.")
        return notes

    def to_html(self) -> str:
        """One self-contained page: scores, scores of each label, and what else the task can show."""
        from nlpkit.report.html import html_page

        return html_page(f"{self.model or 'Model'} on {self.data or 'records'}", self._sections())

    def _sections(self) -> list[Section]:
        """Parts of the HTML page; a task appends its own."""
        from nlpkit.report.scores import label_sections, score_section

        return [score_section(self), *label_sections(self, self._label_tables())]

    def _label_tables(self) -> tuple[str, ...]:
        names = tuple(self.per_label) if self.label_tables is None else self.label_tables
        return tuple(name for name in names if self.per_label.get(name))

    def _tables(self) -> list[Table]:
        counts = {k: m for k, m in self.metrics.items() if isinstance(m, Counts)}
        numbers = {k: m for k, m in self.metrics.items() if not isinstance(m, Counts)}
        tables = [_count_table("metric", counts)] if counts else []
        if numbers:
            tables.append(_number_table(numbers))
        return tables + [_count_table(name, self.per_label[name]) for name in self._label_tables()]


def percent(value: float | None) -> str:
    """A fraction of 1 as percent with one decimal, a hyphen for None.

    >>> percent(0.85549), percent(None)
    ('85.5', '-')
    """
    return "-" if value is None else f"{100 * value:.1f}"


def _count_table(title: str, rows: Mapping[str, Counts]) -> Table:
    from rich.text import Text

    table = _table(title, ("precision", "recall", "F1", "gold", "predicted", "correct"))
    for name, c in rows.items():
        cells = (percent(c.precision), percent(c.recall), percent(c.f1), str(c.gold), str(c.predicted), str(c.tp))
        table.add_row(Text(name), *cells)
    return table


def _number_table(rows: Mapping[str, float | None]) -> Table:
    from rich.text import Text

    table = _table("metric", ("percent",))
    for name, value in rows.items():
        table.add_row(Text(name), percent(value))
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column(title, min_width=16, max_width=28, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True, min_width=6)
    return table


def _metric(value: object) -> Metric:
    if isinstance(value, Mapping):
        return Counts(tp=value["tp"], predicted=value["predicted"], gold=value["gold"])
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"expected counts, a number or null, got {value!r}")


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, got {value!r}")
    return value
