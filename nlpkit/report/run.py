"""The report of a training run: curves of loss and dev scores, and all figures of each epoch."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from nlpkit.errors import DataError
from nlpkit.report.curves import STYLE, line_chart
from nlpkit.report.html import Section, data_table, escape, html_page
from nlpkit.results import percent

SELECT = "dev_score"
"""The column that picks the best epoch."""

RUN_STYLE = (
    STYLE + "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);padding:.8rem;font-size:.85rem}"
)

Row = dict[str, str]


def run_report(folder: str | Path) -> str:
    """One self-contained page about a run folder, from its ``metrics.csv`` and ``config.yaml``.

    Columns that the page does not know are listed and not drawn. Each phase of a run gets parts of its own.

    Raises:
        DataError: The folder has no readable ``metrics.csv``.
    """
    folder = Path(folder)
    rows = _read_rows(folder / "metrics.csv")
    phases: dict[str, list[Row]] = {}
    for row in rows:
        phases.setdefault(row.get("phase") or "", []).append(row)
    sections, lead = [], []
    for phase, part in phases.items():
        prefix = f"{phase}: " if phase else ""
        sections += _phase_sections(part, prefix)
        lead.append(_lead(part, prefix))
    if not rows:
        sections.append(Section("Epochs", "<p>No epoch is finished.</p>"))
    settings = _settings(folder / "config.yaml")
    return html_page(f"Run {folder.resolve().name}", [*sections, *settings], lead="".join(lead))


def _phase_sections(rows: Sequence[Row], prefix: str) -> list[Section]:
    columns = list(dict.fromkeys(name for row in rows for name in row if name))
    numeric = [c for c in columns if any(_value(row.get(c)) is not None for row in rows)]
    x = next((name for name in ("epoch", "step") if name in numeric), None)
    losses = [c for c in numeric if "loss" in c or c.startswith("train_")]
    rates = [c for c in numeric if c.startswith("lr")]
    scores = [c for c in numeric if c.startswith(("dev_", "val_", "test_")) and c not in losses]
    best = _best(rows)
    is_share = _are_shares(rows, scores)
    sections = []
    for title, names in (("Dev scores", scores), ("Loss", losses), ("Learning rate", rates)):
        if names:
            series = {name: _points(rows, x, name) for name in names}
            chart = line_chart(
                prefix + title,
                series,
                x_label=x or "row",
                is_share=is_share and names is scores,
                best=_value(best.get(x)) if best is not None and x else None,
            )
            sections.append(Section(prefix + title, chart, RUN_STYLE))
    percents = scores if is_share else []
    shown = [c for c in columns if c == x or c in scores or "loss" in c or c == "seconds"]
    rest = [c for c in columns if c == x or c not in shown]
    table = _epochs(rows, shown, numeric, percents, best)
    if len(rest) > 1 or not x:
        table += f"<details><summary>Other columns</summary>{_epochs(rows, rest, numeric, [], best)}</details>"
    return [*sections, Section(prefix + "Epochs", table, RUN_STYLE)]


def _epochs(
    rows: Sequence[Row], columns: Sequence[str], numeric: Sequence[str], percents: Sequence[str], best: Row | None
) -> str:
    """A table of epochs; the first column of the best one says so."""

    def cell(row: Row, column: str) -> str:
        value = _value(row.get(column))
        if column in percents and value is not None:
            return percent(value)
        return _cell(row.get(column)) + (" (best)" if row is best and column == columns[0] else "")

    return data_table(
        columns,
        [[cell(row, c) for c in columns] for row in rows],
        caption="Scores in percent." if percents else "",
        numeric=[i for i, c in enumerate(columns) if c in numeric],
        best=next((i for i, row in enumerate(rows) if row is best), None),
    )


def _lead(rows: Sequence[Row], prefix: str) -> str:
    best = _best(rows)
    if best is None:
        return ""
    if not (_value(best[SELECT]) or 0) > 0:
        return f'<p class="soft">{escape(prefix)}No dev score is above 0; the weights of the last epoch are kept.</p>'
    score = percent(_value(best[SELECT])) + " percent" if _are_shares(rows, [SELECT]) else _cell(best[SELECT])
    text = f"{prefix}Best dev score: {score} in epoch {best.get('epoch', '?')} of {len(rows)}."
    return f'<p class="soft">{escape(text)}</p>'


def _are_shares(rows: Sequence[Row], columns: Sequence[str]) -> bool:
    """Whether all values are fractions of 1."""
    values = [value for row in rows for c in columns if (value := _value(row.get(c))) is not None]
    return all(0 <= value <= 1 for value in values)


def _best(rows: Sequence[Row]) -> Row | None:
    """The first row with the highest dev score; where nothing is above 0, the last one, as in training."""
    scored = [(value, row) for row in rows if (value := _value(row.get(SELECT))) is not None]
    if not scored:
        return None
    value, row = max(scored, key=lambda pair: pair[0])
    return row if value > 0 else rows[-1]


def _points(rows: Sequence[Row], x: str | None, name: str) -> list[tuple[float, float]]:
    points = []
    for number, row in enumerate(rows, 1):
        value, place = _value(row.get(name)), _value(row.get(x)) if x else float(number)
        if value is not None and place is not None:
            points.append((place, value))
    return points


def _read_rows(path: Path) -> list[Row]:
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            return [{k: v for k, v in row.items() if isinstance(k, str)} for row in csv.DictReader(handle)]
    except (OSError, ValueError, csv.Error) as error:
        message = f"{path}: cannot be read ({error}); expected the folder of a run, as `nlpkit fit --out` writes it"
        raise DataError(message) from error


def _settings(path: Path) -> list[Section]:
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    return [Section("Settings", f"<pre>{escape(text)}</pre>", RUN_STYLE)]


def _value(text: str | None) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _cell(text: str | None) -> str:
    value = _value(text)
    if value is None:
        return text or ""
    return f"{value:.0f}" if value.is_integer() or abs(value) >= 1e4 else f"{value:.4g}"
