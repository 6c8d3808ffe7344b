"""How long a user waits for the first answer of ``nlpkit predict``; prints one JSON object, in seconds.

    python benchmarks/first_answer.py [FOLDER] [--rounds 5]

``predict FOLDER -`` reads one sentence and prints its result, as a process of its own, several times after one round
that is not counted: the median. Its parts are measured in one more process. Without FOLDER a model is trained for one
epoch on a few sentences of the sample; how long the answer takes does not depend on what it has learned.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nlpkit.threads import wait_passively

SENTENCE = "Sundervale Bank has bought Fenbrackel Pharma for 77 million euros.\n"

PARTS = """\
import json, sys, time
folder, sentence = sys.argv[1:]
times, last = {}, time.perf_counter()

def took(name):
    global last
    now = time.perf_counter()
    times[name], last = round(now - last, 3), now

import nlpkit.cli.predict
took("import command line")
import torch
took("import torch")
import transformers.modeling_utils
took("import transformers")
model = nlpkit.load(folder)
took("load model")
next(iter(model.predict([sentence])))
took("first answer")
next(iter(model.predict([sentence])))
took("second answer")
print(json.dumps(times))
"""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="a model or run folder")
    parser.add_argument("--rounds", type=int, default=5, help="processes whose median is given")
    args = parser.parse_args()
    wait_passively()  # what the command line does; the parts are measured in the same way
    with tempfile.TemporaryDirectory() as place:
        folder = args.folder or train(Path(place) / "run")
        seconds = [whole_process(folder) for _ in range(args.rounds + 1)][1:]
        words = [sys.executable, "-c", PARTS, str(folder), SENTENCE.strip()]
        parts = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
    result = {
        "seconds": round(statistics.median(seconds), 2),
        "fastest": round(min(seconds), 2),
        "slowest": round(max(seconds), 2),
        "rounds": args.rounds,
        "parts": parts,
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


def whole_process(folder: Path) -> float:
    """Seconds from the start of the command to its end."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "nlpkit", "predict", str(folder), "-", "--format", "jsonl"]
    done = subprocess.run(words, input=SENTENCE, stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(done.stdout)["text"] == SENTENCE.strip()
    return time.perf_counter() - start


def train(out: Path) -> Path:
    """A model that has the size of a real one."""
    from nlpkit.ie.sample import sample_path

    words = ["fit", "utcie", "--train", str(sample_path("train")), "--limit", "16", "--trainer.epochs", "1"]
    subprocess.run([sys.executable, "-m", "nlpkit", *words, "--out", str(out)], check=True, stderr=subprocess.DEVNULL)
    return out


if __name__ == "__main__":
    main()
