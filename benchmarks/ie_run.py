"""Train and score UTC-IE on a data set in one run, and time it; prints one JSON object.

    python benchmarks/ie_run.py [--data DATA/ie/conll04] [--out FOLDER] [--set model.layers=0 seed=2 ...]

Settings are the defaults of ``nlpkit fit utcie``, except for those named with ``--set``. The dev scores are of the
epoch that dev picks; the test set is scored once, with its weights. Speed is that of ``predict`` on the test sentences
with one thread, words in and results out: the median of three passes after one that is not counted.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import yaml
from _data import DATA, add_data_option, require

from nlpkit.threads import wait_passively


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, DATA / "conll04")
    parser.add_argument("--out", type=Path, help="run folder, new or empty (default: none is kept)")
    parser.add_argument("--threads", type=int, default=2, help="threads for training")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings other than the default")
    parser.add_argument("--no-test", action="store_true", help="score dev only, while settings are being chosen")
    args = parser.parse_args()
    require(args.data)

    wait_passively()  # before torch is imported
    import torch

    from nlpkit.configs import from_dict, nest
    from nlpkit.ie import UTCIE, UTCIEConfig

    torch.set_num_threads(args.threads)
    model = UTCIE(
        from_dict(
            UTCIEConfig, nest({key: yaml.safe_load(value) for key, _, value in (s.partition("=") for s in args.set)})
        )
    )
    summary = model.fit(args.data / "train.jsonl", args.data / "dev.jsonl", out=args.out)
    seconds = [float(row["seconds"] or 0) for row in summary.history]
    result: dict[str, object] = {
        "data": args.data.name,
        "settings": args.set,
        "threads": args.threads,
        "epochs": summary.epochs,
        "best_epoch": summary.best_epoch,
        "minutes": round(summary.seconds / 60, 1),
        "seconds_per_epoch": round(statistics.median(seconds), 1),
        "dev_by_epoch": [
            [percent(row.get("dev_entity")), percent(row.get("dev_relation_strict"))] for row in summary.history
        ],
        "dev": {name: percent(value) for name, value in summary.dev.items()},
    }
    if not args.no_test:
        result["test"] = {n: percent(v) for n, v in model.evaluate(args.data / "test.jsonl").scores().items()}
        result["sentences_per_second_one_thread"] = speed(model, args.data / "test.jsonl")
    result["peak_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(result))


def percent(value: object) -> float | None:
    """A fraction of 1 as percent with two decimals."""
    return round(100 * value, 2) if isinstance(value, float) else None


def speed(model: object, path: Path) -> dict[str, float]:
    """Sentences a second of one thread: wall time and processor time, in batches and one by one."""
    import torch

    from nlpkit.ie.reader import read_records

    torch.set_num_threads(1)
    words = [list(record.tokens or ()) for record in read_records(path)]

    def timed(run: object) -> tuple[float, float]:
        wall, processor = [], []
        for _ in range(4):
            start = time.perf_counter(), time.process_time()
            run()  # type: ignore[operator]
            wall.append(time.perf_counter() - start[0])
            processor.append(time.process_time() - start[1])
        return round(len(words) / statistics.median(wall[1:]), 1), round(
            len(words) / statistics.median(processor[1:]), 1
        )

    batched = timed(lambda: list(model.predict(words)))  # type: ignore[attr-defined]
    single = timed(lambda: [next(model.predict([sentence])) for sentence in words])  # type: ignore[attr-defined]
    return {"batched": batched[0], "batched_cpu": batched[1], "one_by_one": single[0], "one_by_one_cpu": single[1]}


if __name__ == "__main__":
    main()
