"""Train UTC-IE on the bundled sample, compare it with a dictionary, extract from new sentences and draw them.

Run by ``make demo``. Everything that is written goes to ``demo-output/``: a run that was stopped goes on there, and one
that came to its end is overwritten. The exit status is 0 only if the model is clearly ahead of the dictionary on every
score, and 130 if it was stopped.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from nlpkit.errors import NlpkitError
from nlpkit.threads import wait_passively

if TYPE_CHECKING:
    from nlpkit.ie import UTCIE
    from nlpkit.ie.types import IERecord

OUT = Path(__file__).resolve().parent.parent / "demo-output"

METRICS = ("entity", "relation", "relation_strict", "trigger", "argument")

CLEAR_LEAD = 0.10
"""The model is clearly ahead if its F1 score is higher by at least this."""

LEARNED_SENTENCES = (
    "Harvenmoor has bought Tresselby for $12 million.",
    "Edda Korhavan started as treasurer of Wickenbeck Energy on 3 March.",
    "Penharrow Labs has sued Candlewright Optics over a patent.",
    "Lisbrooke Foods launched the Sollumar in Vellbridge on Monday.",
)
"""Said as some training sentence says it, of names that occur nowhere in the sample."""

HARDER_SENTENCES = (
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


def fit_or_go_on(model: UTCIE, train: list[IERecord], dev: list[IERecord], run: Path, console: Console) -> None:
    """Train the model; a run that was stopped goes on where it was, if it is still the same run."""
    from nlpkit.errors import ConfigError, ModelFormatError

    if (run / "last" / "state.json").exists():
        console.print("Going on with the run that was stopped.")
        try:
            model.fit(train, dev, out=run, resume=True)
            return
        except (ConfigError, ModelFormatError) as error:
            if isinstance(error, ConfigError) and error.key == "out":  # another process trains there
                raise
            console.print(f"It cannot go on, so it begins anew: {error}", markup=False)
    if run.exists():
        shutil.rmtree(run)
    model.fit(train, dev, out=run)


def main(out: Path = OUT) -> int:
    """Run the demo and return its exit status."""
    wait_passively()  # before torch is imported
    try:
        return run_demo(out)
    except NlpkitError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; make demo goes on from here", file=sys.stderr)
        return 130


def run_demo(out: Path) -> int:
    """Train, compare, extract, draw."""
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
    sentences = (*LEARNED_SENTENCES, *HARDER_SENTENCES)
    console.print(
        f"This trains UTC-IE on {len(train)} invented news sentences ({len(dev)} more pick the best epoch),\n"
        f"scores it on {len(test)} others beside a dictionary, and lets it read {len(sentences)} new ones.\n"
        "It takes five to eight minutes on two idle cores.\n"
        "Ctrl-C stops it; make demo then goes on from there.\n"
    )

    page = out / "extraction.html"
    if page.exists():  # the demo came to its end, and is to be seen again
        shutil.rmtree(out)
    config = UTCIEConfig(
        # a narrower network and fewer epochs than by default, so that the demo takes minutes
        model=UTCIEModelConfig(channels=32, schema_filter=True),
        trainer=TrainConfig(epochs=10),
    )
    model = UTCIE(config)
    fit_or_go_on(model, train, dev, out / "run", console)

    report = model.evaluate(test)
    baseline = DictionaryBaseline().fit(train)
    baseline_report = score_records(test, (baseline.predict(record) for record in test), schema=None)
    rows = compare(report.scores(), baseline_report.scores())
    console.print(score_table(rows, len(test)))
    message, status = verdict(rows)
    console.print(message)

    results = list(model.predict(sentences))
    console.print("\nNew sentences, said as the training sentences are, of new names:\n")
    formats["table"](results[: len(LEARNED_SENTENCES)], sys.stdout)
    console.print("New sentences that say more at once; here it makes more mistakes:\n")
    formats["table"](results[len(LEARNED_SENTENCES) :], sys.stdout)
    page.write_text(render_results(results, "New sentences"), encoding="utf-8")
    console.print(f"The same, drawn: {page}", soft_wrap=True)
    console.print(f"The model: {out / 'run'}", soft_wrap=True)
    console.print(f"All this took {time.monotonic() - started:.0f} seconds.")
    return status


if __name__ == "__main__":
    sys.exit(main())
