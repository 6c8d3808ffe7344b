"""How long a user waits before nlpkit has done anything; prints JSON, in milliseconds.

    python benchmarks/startup.py

Each command runs in a fresh interpreter, in turn, after one round that is not counted; the median of eleven rounds is
given. ``import nlpkit`` is compared with an interpreter that imports nothing. Exit status 1 if a limit is not kept.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

ROUNDS = 11
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import nlpkit": ["-c", "import nlpkit, sys; assert 'torch' not in sys.modules"],
    "nlpkit --help": ["-m", "nlpkit", "--help"],
    "nlpkit fit utcie --help": ["-m", "nlpkit", "fit", "utcie", "--help"],
}
HELP_LIMIT, IMPORT_LIMIT = 500.0, 50.0


def main() -> int:
    """Time all commands."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS + 1):
        for name, words in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            times[name].append(1000 * (time.perf_counter() - start))
    median = {name: round(statistics.median(values[1:]), 1) for name, values in times.items()}
    added = round(median["import nlpkit"] - median["bare interpreter"], 1)
    ok = added < IMPORT_LIMIT and all(value < HELP_LIMIT for name, value in median.items() if name.endswith("--help"))
    print(
        json.dumps(
            {"milliseconds": median, "import nlpkit adds": added, "limits": [IMPORT_LIMIT, HELP_LIMIT], "ok": ok}
        )
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
