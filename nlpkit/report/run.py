"""The report of a training run: curves of loss and dev scores, and all figures of each epoch."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from nlpkit.errors import DataError
from nlpkit.report.curves import STYLE, line_chart
from nlpkit.report.html import Section, data_table, escape, html_page

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
    phases = list(dict.fromkeys(row.get("phase", "") for row in rows))
    sections = []
    for phase in phases:
        part = [row for row in rows if row.get("phase", "") == phase]
        sections += _phase_sections(part, f"{phase}: " if phase else "")
    if not rows:
        sections.append(Section("Epochs", "<p>No epoch is finished.</p>"))
    settings = _settings(folder / "config.yaml")
    return html_page(f"Run {folder.resolve().name}", [*sections, *settings], lead=_lead(rows))


def _phase_sections(rows: Sequence[Row], prefix: str) -> list[Section]:
    columns = list(dict.fromkeys(name for row in rows for name in row if name))
    numeric = [c for c in columns if any(_value(row.get(c)) is not None for row in rows)]
    x = next((name for name in ("epoch", "step") if name in numeric), None)
    losses = [c for c in numeric if "loss" in c or c.startswith("train_")]
    rates = [c for c in numeric if c.startswith("lr")]
    scores = [c for c in numeric if c.startswith(("dev_", "val_", "test_")) and c not in losses]
    sections = []
    for title, names in (("Dev scores", scores), ("Loss", losses), ("Learning rate", rates)):
        if names:
            series = {name: _points(rows, x, name) for name in names}
            values = [y for points in series.values() for _, y in points]
            is_share = title == "Dev scores" and all(0 <= y <= 1 for y in values)
            chart = line_chart(title, series, x_label=x or "row", is_share=is_share)
            note = '<p class="soft small">Percent.</p>' if is_share else ""
            sections.append(Section(prefix + title, note + chart, RUN_STYLE))
    best = _best(rows)
    table = data_table(
        columns,
        [[_cell(row.get(c)) + (" (best)" if row is best and c == x else "") for c in columns] for row in rows],
        numeric=[i for i, c in enumerate(columns) if c in numeric],
    )
    return [*sections, Section(prefix + "Epochs", table, RUN_STYLE)]


def _lead(rows: Sequence[Row]) -> str:
    best = _best(rows)
    if best is None:
        return ""
    text = f"Best {SELECT}: {_cell(best[SELECT])} in epoch {best.get('epoch', '?')} of {len(rows)}."
    return f'<p class="soft">{escape(text)}</p>'


def _best(rows: Sequence[Row]) -> Row | None:
    """The first row with the highest dev score."""
    scored = [(value, row) for row in rows if (value := _value(row.get(SELECT))) is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


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
    return text or "" if value is None or value.is_integer() else f"{value:.4g}"
