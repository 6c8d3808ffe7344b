"""UTC-IE as a user runs it: processes that are killed, streams that stay open, output that becomes data."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SMALL = [
    "--model.channels=16", "--model.biaffine_dim=32", "--model.layers=1", "--trainer.epochs=3",
    "--trainer.batch_size=4",
    "--trainer.accumulate=2", "--trainer.checkpoint_steps=3", "--trainer.device=cpu",
]  # fmt: skip


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "nlpkit", *map(str, words)]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="module")
def fit_words(tiny_encoder: Path, sample_path: Callable[[str], Path]) -> list[str]:
    return [
        "fit", "utcie", "--train", str(sample_path("train")), "--dev", str(sample_path("dev")), "--limit", "80",
        f"--encoder.name={tiny_encoder}", *SMALL,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory, fit_words: list[str]) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    subprocess.run(command(*fit_words, "--out", out), check=True, env=environment(), capture_output=True)
    return out


LOGGER = """
import json, os, signal, sys
import nlpkit.training.trainer as trainer
plain, path, kill_at = trainer.train, sys.argv[1], int(sys.argv[2])
def on_batch(epoch, step, ids):
    with open(path, "a") as file:
        file.write(json.dumps([epoch, step, list(ids)]) + "\\n")
    if kill_at and step >= kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
def train(*args, **kwargs):
    return plain(*args, **kwargs, on_batch=on_batch)
trainer.train = train
import nlpkit.training as package
package.train = train
from nlpkit.cli.main import main
sys.exit(main(sys.argv[3:]))
"""


def logged_run(log: Path, kill_at: int, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOGGER, str(log), str(kill_at), *words],
        env=environment(),
        capture_output=True,
        text=True,
    )


def batches(log: Path) -> list[list[object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_killed_and_moved_run_goes_on_with_the_same_batches_and_ends_with_the_same_weights(
    fit_words: list[str], tmp_path: Path
) -> None:
    whole, log = tmp_path / "whole", tmp_path / "whole.log"
    assert logged_run(log, 0, [*fit_words, "--out", str(whole)]).returncode == 0
    expected = batches(log)
    steps_an_epoch = max(step for epoch, step, _ in expected if epoch == 1) + 1  # type: ignore[type-var, operator]
    first, killed_log = tmp_path / "first", tmp_path / "killed.log"
    killed = logged_run(killed_log, steps_an_epoch + 5, [*fit_words, "--out", str(first)])
    assert killed.returncode == -signal.SIGKILL
    moved, resumed_log = tmp_path / "elsewhere" / "moved", tmp_path / "resumed.log"
    moved.parent.mkdir()
    first.rename(moved)
    resumed = logged_run(resumed_log, 0, [*fit_words, "--out", str(moved), "--resume"])
    assert resumed.returncode == 0, resumed.stderr
    again = batches(resumed_log)
    assert again[0][0] == 2
    assert again[0][1] > steps_an_epoch  # in the middle of epoch 2
    assert again == expected[-len(again) :]
    for part in ("head.safetensors", "encoder/model.safetensors"):
        assert (moved / "best" / part).read_bytes() == (whole / "best" / part).read_bytes(), part


def test_resume_with_other_settings_names_them(whole_run: Path, fit_words: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole_run, out)
    done = subprocess.run(
        command(*fit_words, "--out", out, "--resume", "--trainer.head_lr=0.5"),
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "trainer.head_lr" in done.stderr
    assert "Traceback" not in done.stderr


def test_answers_come_while_standard_input_is_open(whole_run: Path) -> None:
    process = subprocess.Popen(
        command("predict", whole_run, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for text in ("Ada Holm joined Kestrel Works.", "Nothing here."):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], 120)
            assert ready, "no answer while standard input is open"
            assert json.loads(process.stdout.readline())["text"] == text
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()


def test_head_ends_it_quietly(whole_run: Path, sample_path: Callable[[str], Path]) -> None:
    line = " ".join(command("predict", whole_run, sample_path("train"))) + " | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], env=environment(PYTHONUNBUFFERED="1"), capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["text"]


def test_predictions_are_data(
    whole_run: Path, fit_words: list[str], sample_path: Callable[[str], Path], tmp_path: Path
) -> None:
    predicted = tmp_path / "predicted.jsonl"
    subprocess.run(
        command("predict", whole_run, sample_path("dev"), "--output", predicted, "--threshold", "0.02"),
        check=True, env=environment(), capture_output=True,
    )  # fmt: skip
    assert any(json.loads(line)["entities"] for line in predicted.read_text().splitlines())
    checked = subprocess.run(command("check", predicted), env=environment(), capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    words = [*fit_words, "--out", str(tmp_path / "again"), "--trainer.epochs=1"]
    words[words.index("--train") + 1] = str(predicted)
    fitted = subprocess.run(command(*words), env=environment(), capture_output=True, text=True)
    assert fitted.returncode == 0, fitted.stderr


def test_a_stream_of_10000_sentences_needs_constant_memory(
    whole_run: Path, sample_path: Callable[[str], Path], tmp_path: Path
) -> None:
    sentences = [json.loads(line)["text"] for line in sample_path("train").read_text(encoding="utf-8").splitlines()]
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"{n} {sentences[n % len(sentences)]}\n" for n in range(10_000)), encoding="utf-8")
    process = subprocess.Popen(command("predict", whole_run, texts), stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    peaks = {}
    for n, line in enumerate(process.stdout, start=1):
        assert json.loads(line)["text"].startswith(f"{n - 1} ")
        if n in (2_000, 10_000):
            status = Path(f"/proc/{process.pid}/status").read_text()
            peaks[n] = int(status.split("VmHWM:")[1].split()[0]) / 1024
    assert process.wait(60) == 0
    assert peaks[10_000] - peaks[2_000] < 50, peaks


def test_a_run_killed_by_hand_at_any_time_can_be_resumed(fit_words: list[str], whole_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for n, pause in enumerate((6.0, 9.0, 12.0)):
        words = [*fit_words, "--out", str(out), *(["--resume"] if n and out.exists() else [])]
        process = subprocess.Popen(command(*words), env=environment(), stderr=subprocess.DEVNULL)
        time.sleep(pause)
        process.kill()
        process.wait()
    done = subprocess.run(
        command(*fit_words, "--out", out, "--resume"), env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for part in ("head.safetensors", "encoder/model.safetensors"):
        assert (out / "best" / part).read_bytes() == (whole_run / "best" / part).read_bytes(), part
