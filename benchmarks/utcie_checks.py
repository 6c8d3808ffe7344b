"""Checks of UTC-IE on real data: each prints the value found beside the value expected, as JSON.

    python benchmarks/utcie_checks.py [--data DATA/ie]

DATA/ie holds the folders conll04, scierc, phee and germeval14, each with train.jsonl, dev.jsonl and test.jsonl.
Exit status 1 if a value is not the expected one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from _data import add_data_option, require

from nlpkit.ie.metrics import IEScorer
from nlpkit.ie.overlap import Candidate, resolve_overlap
from nlpkit.ie.reader import read_records
from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import IERecord
from nlpkit.ie.utcie.assemble import assemble
from nlpkit.ie.utcie.decode import DecodeSettings, decode_windows
from nlpkit.ie.utcie.labels import LabelLayout, gold_cells
from nlpkit.ie.words import word_view


def main() -> int:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser)
    folder = parser.parse_args().data
    require(folder)
    checks: list[dict[str, object]] = []

    def check(name: str, found: float, expected: float, tolerance: float = 0.05) -> None:
        ok = abs(found - expected) <= tolerance
        checks.append({"check": name, "found": round(found, 4), "expected": expected, "ok": ok})

    for data in ("conll04", "scierc"):
        for split in ("train", "dev", "test"):
            for metric in ("entity", "relation_strict"):
                check(
                    f"{data} {split}, gold cells, any: {metric} F1",
                    gold_scores(folder / data, split)[metric],
                    100.0,
                    0.0,
                )
    phee = folder / "phee"
    several = gold_scores(phee, "test")
    check("phee test, gold cells, any overlap, several roles: argument F1", several["argument"], 99.2)
    check("phee test, gold cells, any overlap, several roles: argument precision", several["argument precision"], 98.5)
    check("phee test, gold cells, any overlap, several roles: argument recall", several["argument recall"], 100.0)
    nested = gold_scores(phee, "test", argument_overlap="nested")
    check("phee test, gold cells, nested (7 gold arguments cross others): argument F1", nested["argument"], 99.2)
    one = gold_scores(phee, "test", multi_label=False)
    check("phee test, gold cells, any overlap, one role a pair: argument F1", one["argument"], 90.8)
    for order, expected in (("longest", 67.5), ("shortest", 80.9)):
        flat = gold_scores(phee, "test", argument_overlap="flat", multi_label=False, prefer=order)
        check(f"phee test, gold cells, flat, one role, {order} first: argument F1", flat["argument"], expected)
    shared = gold_scores(phee, "test", split_links=False)
    check("phee test, links as in the paper (one channel for both ends): argument F1", shared["argument"], 93.8)
    kept, total = kept_spans(folder / "scierc", "flat")
    check("scierc test, flat policy on gold spans, shortest first: percent kept", 100 * kept / total, 98.9, 0.1)
    kept, total = kept_spans(folder / "germeval14", "nested")
    check("germeval14 test, no-crossing policy: distinct spans kept", kept, 6690, 0)
    check("germeval14 test: distinct spans (6,693 entities, one span has two types)", total, 6692, 0)
    print(json.dumps({"checks": checks, "ok": all(c["ok"] for c in checks)}, indent=1))
    return 0 if all(c["ok"] for c in checks) else 1


def gold_scores(
    folder: Path, split: str, *, split_links: bool = True, prefer: str | None = None, **settings: object
) -> dict[str, float]:
    """Scores, in percent, of what the decoder makes of the gold cells of a split; all spans may overlap unless said."""
    schema = IESchema.from_file(folder / "schema.json")
    records = list(read_records(folder / f"{split}.jsonl"))
    layout = LabelLayout(
        IESchema.from_dict({**schema.to_dict(), "discontinuous": any(_fragments(records))}), split_links
    )
    base: dict[str, object] = {"entity_overlap": "any", "trigger_overlap": "any", "argument_overlap": "any"}
    decode = DecodeSettings(**{**base, **settings})  # type: ignore[arg-type]
    scorer = IEScorer(layout.schema, keep_errors=False)
    for record in records:
        view = word_view(record)
        logits = gold_logits(record, layout, prefer)
        mask = torch.ones(1, len(view.words), dtype=torch.bool)
        extraction = assemble(decode_windows(logits, mask, [0], layout, decode)[0], view, layout, decode)
        scorer.add(
            record,
            IERecord(
                id=record.id,
                tokens=record.tokens,
                entities=extraction.entities,
                relations=extraction.relations,
                events=extraction.events,
            ),
        )
    report = scorer.report()
    out = {name: 100 * (value or 0.0) for name, value in report.scores().items()}
    for name, counts in report.metrics.items():
        out[f"{name} precision"] = 100 * (counts.precision or 0.0)  # type: ignore[union-attr]
        out[f"{name} recall"] = 100 * (counts.recall or 0.0)  # type: ignore[union-attr]
    return out


def gold_logits(record: IERecord, layout: LabelLayout, prefer: str | None = None) -> torch.Tensor:
    """Scores of +10 in gold cells and -10 elsewhere; ``prefer`` ranks argument spans by length. Shape: (1, W, W, K)"""
    view = word_view(record)
    n_words = len(view.words)
    logits = torch.full((1, n_words, n_words, layout.n_labels), -10.0)
    for channels in (layout.relations, layout.roles):
        if channels.n_types:
            logits[..., channels.threshold] = 0.0
    cells = gold_cells(view, layout)
    for i, j, k in cells.spans:
        score = 10.0
        if prefer and k == layout.argument.start:
            length = abs(i - j) + 1
            score = 1.0 + 0.01 * (length if prefer == "longest" else -length)
        logits[0, i, j, k] = score
    for i, j, k in cells.relations:
        logits[0, i, j, layout.relations.types.start + k] = 10.0
    for i, j, k in cells.roles:
        logits[0, i, j, layout.roles.types.start + k] = 10.0
    return logits


def kept_spans(folder: Path, policy: str) -> tuple[int, int]:
    """Distinct gold spans of the test set that a policy keeps, and all of them."""
    kept = total = 0
    for record in read_records(folder / "test.jsonl"):
        spans = {(e.start, e.end) for e in record.entities or ()}
        total += len(spans)
        kept += len(resolve_overlap([Candidate(s, e, 0, 1 / (e - s)) for s, e in spans], policy))  # type: ignore[arg-type]
    return kept, total


def _fragments(records: Sequence[IERecord]) -> Iterable[bool]:
    return (a.group is not None for r in records for e in r.events or () for a in e.arguments)


if __name__ == "__main__":
    sys.exit(main())
