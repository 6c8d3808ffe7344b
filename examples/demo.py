"""Train UTC-IE on the bundled sample, compare it with a dictionary, extract from new sentences and draw them.

Run by ``make demo``; about four minutes on two cores. Everything that is written goes to ``demo-output/``, which is
overwritten. The exit status is 0 only if the model is clearly ahead of the dictionary on every score.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

OUT = Path(__file__).resolve().parent.parent / "demo-output"

METRICS = ("entity", "relation", "relation_strict", "trigger", "argument")

CLEAR_LEAD = 0.10
"""The model is clearly ahead if its F1 score is higher by at least this."""

NEW_SENTENCES = (
    "Harvenmoor Foods bought Tresselby Dairy for $12 million last week and named Edda Korhavan chief executive.",
    "Nils Asterhagen has moved from Wickenbeck Energy to the Vellmarsh office of Ostrane Bank.",
    "The Lisbrooke firm Candlewright Optics launched the Sollumar 3 on Monday and was sued by Penharrow Labs.",
)


@dataclass(frozen=True)
class Comparison:
    """The F1 scores of the model and of the baseline on one metric; None where a score is undefined."""

    metric: str
    model: float | None
    baseline: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the model is ahead by ``CLEAR_LEAD``; an undefined score counts as 0."""
        return (self.model or 0.0) - (self.baseline or 0.0) >= CLEAR_LEAD


def compare(model: Mapping[str, float | None], baseline: Mapping[str, float | None]) -> list[Comparison]:
    """The two systems side by side, a row for each metric of the demo."""
    return [Comparison(metric, model.get(metric), baseline.get(metric)) for metric in METRICS]


def verdict(rows: Sequence[Comparison]) -> tuple[str, int]:
    """What the comparison says, and the exit status."""
    behind = [row.metric for row in rows if not row.is_clear]
    if behind or not rows:
        return f"The model does not clearly beat the dictionary baseline on: {', '.join(behind) or 'anything'}.", 1
    lead = min((row.model or 0.0) - (row.baseline or 0.0) for row in rows)
    return (
        f"The model clearly beats the dictionary baseline on each score, by at least {100 * lead:.0f} points of F1.",
        0,
    )


def score_table(rows: Sequence[Comparison], n_sentences: int) -> Table:
    """The comparison as a table in percent."""
    table = Table(title=f"F1 (%) on {n_sentences} held-out sentences")
    table.add_column("score")
    for name in ("UTC-IE", "dictionary", "lead"):
        table.add_column(name, justify="right")
    for row in rows:
        lead = (row.model or 0.0) - (row.baseline or 0.0)
        table.add_row(row.metric, _percent(row.model), _percent(row.baseline), f"{100 * lead:+.1f}")
    return table


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{100 * score:.1f}"


def main(out: Path = OUT) -> int:
    """Run the demo and return its exit status."""
    from nlpkit.ie import UTCIE
    from nlpkit.ie.baseline import DictionaryBaseline
    from nlpkit.ie.metrics import score_records
    from nlpkit.ie.reader import read_records
    from nlpkit.ie.report import render_results
    from nlpkit.ie.sample import sample_path
    from nlpkit.ie.utcie.config import UTCIEConfig, UTCIEModelConfig
    from nlpkit.ie.writer import formats
    from nlpkit.training.config import TrainConfig

    started = time.monotonic()
    console = Console()
    train, dev, test = (list(read_records([sample_path(split)])) for split in ("train", "dev", "test"))
    console.print(
        f"The sample: {len(train)} sentences to train on, {len(dev)} to pick the best epoch, {len(test)} held out."
    )

    if out.exists():
        shutil.rmtree(out)
    config = UTCIEConfig(
        # a narrower network and fewer epochs than by default, so that the demo takes minutes
        model=UTCIEModelConfig(channels=32, schema_filter=True),
        trainer=TrainConfig(epochs=10),
    )
    model = UTCIE(config)
    model.fit(train, dev, out=out / "run")

    report = model.evaluate(test)
    baseline = DictionaryBaseline().fit(train)
    baseline_report = score_records(test, (baseline.predict(record) for record in test), schema=None)
    rows = compare(report.scores(), baseline_report.scores())
    console.print(score_table(rows, len(test)))
    message, status = verdict(rows)
    console.print(message)

    console.print("\nThree new sentences:")
    results = list(model.predict(NEW_SENTENCES))
    formats["table"](results, sys.stdout)
    page = out / "extraction.html"
    page.write_text(render_results(results, "Three new sentences"), encoding="utf-8")
    console.print(f"\nThe same, drawn: {page}", soft_wrap=True)
    console.print(f"The model: {out / 'run'}", soft_wrap=True)
    console.print(f"All this took {time.monotonic() - started:.0f} seconds.")
    return status


if __name__ == "__main__":
    sys.exit(main())
