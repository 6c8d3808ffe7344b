"""How a command ends when its streams are closed or full, and when a signal comes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nlpkit.streams import Unheard

TRAIN = (
    '{"text": "Bo left Acme.", "entities": [{"text": "Bo", "type": "P"}]}\n'
    '{"text": "Al left Acme.", "entities": [{"text": "Al", "type": "P"}]}\n'
)
FIT = (
    (
        "fit utcie --train {train} --out {out} --encoder.name {encoder} --model.channels 8 --model.biaffine-dim 8 "
        "--model.layers 1 --trainer.epochs 2 --trainer.device cpu --trainer.dev-share 0"
    )
    .replace("biaffine-dim", "biaffine_dim")
    .replace("dev-share", "dev_share")
)


@pytest.fixture
def fit(tmp_path: Path, tiny_encoder: Path) -> str:
    """The words of a short training, into the folder ``run``."""
    (tmp_path / "train.jsonl").write_text(TRAIN)
    return FIT.format(train=tmp_path / "train.jsonl", out=tmp_path / "run", encoder=tiny_encoder)


def in_shell(line: str, environment: dict[str, str]) -> int:
    return subprocess.run(["bash", "-c", line], env=environment, timeout=200, capture_output=True).returncode


@pytest.mark.parametrize(
    "streams",
    [">&- 2>&-", ">/dev/full 2>/dev/full", "2>&1 | head -n 1", "2>&1 | true"],
    ids=["closed", "full", "head", "gone"],
)
def test_a_training_to_which_nobody_listens_comes_to_its_end(
    fit: str, tmp_path: Path, environment: dict[str, str], streams: str
) -> None:
    line = f"set -o pipefail; {sys.executable} -m nlpkit {fit} {streams}"
    assert in_shell(line, environment) == 0
    assert (tmp_path / "run" / "best" / "nlpkit.json").is_file()
    assert "trained: 2 epochs" in (tmp_path / "run" / "log.txt").read_text()


def test_a_training_that_fails_unheard_has_its_status(fit: str, environment: dict[str, str]) -> None:
    for streams in (">&- 2>&-", ">/dev/full 2>/dev/full"):
        assert in_shell(f"{sys.executable} -m nlpkit {fit} --trainer.device gpuu {streams}", environment) == 2


def test_what_cannot_be_written_is_lost(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        stream = Unheard(full)
        assert stream.write("lost") == 4
        stream.flush()
        assert not stream.isatty()
        assert stream.encoding == full.encoding
        with pytest.raises(OSError, match="space"):
            full.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_file_behind(
    folder: Path, tmp_path: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    run = [sys.executable, "-m", "nlpkit", "predict", str(folder), "-", "--output", str(target / "r.jsonl")]
    with subprocess.Popen(run, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not any(target.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert any(target.iterdir()), "the temporary file never came"
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert list(target.iterdir()) == []
    assert said.count("\n") <= 1


@pytest.mark.parametrize("wait", [0.15, 0.4, 0.8, 1.5, 2.5])
def test_an_interrupt_while_libraries_are_loaded_is_one_line(
    fit: str, environment: dict[str, str], wait: float
) -> None:
    run = [sys.executable, "-m", "nlpkit", *fit.split()]
    with subprocess.Popen(run, env=environment, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=100)
    assert "Traceback" not in said
    assert process.returncode == 130
    assert re.search(r"interrupted", said)


def test_a_name_that_is_no_text_is_refused_at_once(nlpkit, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    for words in (("--train", name, "--out", "x"), ("--train", "a.jsonl", "--out", name)):
        done = nlpkit("fit", "utcie", *words)
        assert done.status == 2
        assert r"the name 'caf\udce9.jsonl' is no UTF-8; rename it" in done.err
