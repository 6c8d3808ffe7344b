"""What a text of several sentences costs: sentences joined to texts of 1, 2, 5 and 10; prints one JSON object.

    python benchmarks/long_texts.py [--data conll04|sample] [--seeds 1 2 3] [--part test] [--set trainer.epochs=5 ...]

Sentences are joined in the order of the file, a blank between them; the gold annotation is theirs and nothing else.
Two models are trained for each seed: ``before`` on the records as they are, reading texts in windows of up to 200
words, and ``after`` with the default settings: longer texts in training, and windows of whole sentences.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from _data import DATA, require

SIZES = (1, 2, 5, 10)
METRICS = ("entity", "relation_strict", "trigger", "argument")
BEFORE = {"data.join_share": 0.0}


def main() -> None:
    """Train, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("conll04", "sample"), default="sample")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="dev while settings are being chosen")
    parser.add_argument("--arms", nargs="+", choices=("before", "after"), default=["before", "after"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of both models")
    parser.add_argument("--save", type=Path, help="keep the models in this folder; those that are there are scored")
    args = parser.parse_args()
    files = _files(args.data)
    settings = {key: yaml.safe_load(value) for key, _, value in (text.partition("=") for text in args.set)}
    runs = []
    for seed in args.seeds:
        for arm in args.arms:
            chosen = {**settings, "seed": seed, **(BEFORE if arm == "before" else {})}
            place = args.save / f"{args.data}-{arm}-{seed}" if args.save else None
            runs.append({"arm": arm, "seed": seed, **run(files, chosen, arm, args.part, place)})
            print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
    result = {"data": args.data, "part": args.part, "settings": args.set, "runs": runs, "mean": summary(runs)}
    print(json.dumps(result))
    print(table(result), file=sys.stderr)


def run(files: dict[str, Path], settings: dict[str, Any], arm: str, part: str, place: Path | None) -> dict[str, Any]:
    """One model, trained or loaded, and its scores at each size."""
    import nlpkit
    from nlpkit.configs import from_dict, nest
    from nlpkit.ie import UTCIE, UTCIEConfig
    from nlpkit.ie.reader import read_records

    if place is not None and (place / "best").exists():
        model: Any = nlpkit.load(place)
        times = [float(row["seconds"]) for row in _rows(place / "metrics.csv")]
    else:
        model = UTCIE(from_dict(UTCIEConfig, nest(settings)))
        times = [float(row["seconds"] or 0) for row in model.fit(files["train"], files["dev"], out=place).history]
    if arm == "before":
        model.seen = None  # then texts are read in windows as long as the settings allow
    records = list(read_records(files[part]))
    scores = {}
    for size in SIZES:
        found = model.evaluate(list(joined(records, size))).scores()
        scores[size] = {name: round(100 * found[name], 2) for name in METRICS if found.get(name) is not None}
    return {"minutes": round(sum(times) / 60, 1), "dev": model.dev_scores, "scores": scores}


def joined(records: Sequence[Any], size: int) -> Iterator[Any]:
    """Texts of ``size`` records each, in their order; spans, and what links them, moved to their new places."""
    from nlpkit.ie.types import IERecord

    for start in range(0, len(records), size):
        group = records[start : start + size]
        entities, relations, events = [], [], []
        place = 0
        for record in group:
            relations += [
                replace(r, head=r.head + len(entities), tail=r.tail + len(entities)) for r in record.relations or ()
            ]
            entities += [_moved(entity, place) for entity in record.entities or ()]
            events += [
                replace(e, trigger=_moved(e.trigger, place), arguments=tuple(_moved(a, place) for a in e.arguments))
                for e in record.events or ()
            ]
            place += len(record.tokens) if record.text is None else len(record.text) + 1
        first = group[0]
        yield IERecord(
            text=None if first.text is None else " ".join(record.text for record in group),
            tokens=None if first.tokens is None else tuple(word for record in group for word in record.tokens),
            entities=None if first.entities is None else tuple(entities),
            relations=None if first.relations is None else tuple(relations),
            events=None if first.events is None else tuple(events),
        )


def _moved(span: Any, by: int) -> Any:
    return replace(span, start=span.start + by, end=span.end + by)


def _files(name: str) -> dict[str, Path]:
    if name == "sample":
        from nlpkit.ie.sample import sample_path

        return {part: Path(sample_path(part)) for part in ("train", "dev", "test")}
    require(DATA / name)
    return {part: DATA / name / f"{part}.jsonl" for part in ("train", "dev", "test")}


def _rows(path: Path) -> list[dict[str, str]]:
    import csv

    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over seeds, by arm, size and metric."""
    out: dict[str, Any] = {}
    for arm in dict.fromkeys(run["arm"] for run in runs):
        mine = [run for run in runs if run["arm"] == arm]
        out[arm] = {"minutes": round(statistics.mean(run["minutes"] for run in mine), 1)}
        for size in SIZES:
            values = {name: [run["scores"][size][name] for run in mine] for name in mine[0]["scores"][size]}
            out[arm][str(size)] = {
                name: {
                    "mean": round(statistics.mean(found), 2),
                    "sd": round(statistics.stdev(found), 2) if len(found) > 1 else None,
                }
                for name, found in values.items()
            }
    return out


def table(result: dict[str, Any]) -> str:
    """The means as a Markdown table."""
    names = [name for name in METRICS if name in next(iter(result["mean"].values()))["1"]]
    lines = [f"| {result['data']} {result['part']} | sentences a text | {' | '.join(names)} | minutes |"]
    lines.append("|" + "---|" * (len(names) + 3))
    for arm, means in result["mean"].items():
        for size in SIZES:
            cells = [f"{means[str(size)][name]['mean']:.1f}" for name in names]
            lines.append(f"| {arm} | {size} | {' | '.join(cells)} | {means['minutes']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
