"""A bar where a person waits and nothing else stands, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nlpkit.cli.progress import Tempo, progress_bar

Command = Callable[..., list[str]]


def on_terminal(words: list[str], environment: dict[str, str], *, stdout: bool, stdin: bytes = b"") -> tuple[str, str]:
    """What a command writes to a terminal that is its standard error, and also its output if ``stdout``; and to a pipe.

    Few lines only: the pipe is read when the terminal is closed.
    """
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=inside if stdout else subprocess.PIPE,
        stderr=inside,
        env=environment | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(inside)
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    seen = b""
    try:
        while data := os.read(outside, 65536):
            seen += data
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    os.close(outside)
    piped = process.stdout.read().decode() if process.stdout else ""
    if process.stdout:
        process.stdout.close()
    assert process.wait() == 0, seen
    return seen.decode(), piped


def test_results_into_a_pipe_have_a_bar_beside_them(
    command: Command, environment: dict[str, str], folder: Path, texts: Path
) -> None:
    words = command(["predict", folder, texts, texts])
    seen, piped = on_terminal(words, environment, stdout=False)
    assert "6 of 6 texts" in seen
    assert "a second" in seen
    assert piped.count("\n") == 6
    assert "\x1b" not in piped


def test_results_on_the_terminal_have_none(
    command: Command, environment: dict[str, str], folder: Path, texts: Path
) -> None:
    seen, _ = on_terminal(command(["predict", folder, texts]), environment, stdout=True)
    assert seen.count("|") == 9
    assert "texts" not in seen
    assert "\x1b" not in seen


def test_of_standard_input_the_end_is_not_known(command: Command, environment: dict[str, str], folder: Path) -> None:
    words = command(["predict", folder])
    seen, piped = on_terminal(words, environment, stdout=False, stdin=b"one\ntwo\n")
    assert "2 texts" in seen
    assert " of " not in seen
    assert piped.count("\n") == 2


def test_without_a_terminal_nothing_is_shown(nlpkit: Callable[..., object], folder: Path, texts: Path) -> None:
    assert nlpkit("predict", folder, texts).err == ""


def test_time_left_is_of_the_whole_run_and_runs_on() -> None:
    tempo = Tempo("record", 400, now=0.0)
    assert tempo.describe(now=3.0) == "0 of 400 records"
    for _ in range(200):  # a burst after ten seconds
        tempo.advance(now=10.0)
    assert tempo.describe(now=10.0) == "200 of 400 records, 20 a second, 10 s left"
    assert tempo.describe(now=14.0) == "200 of 400 records, 20 a second, 6 s left"
    assert tempo.describe(now=90.0).endswith(", 0 s left")


def test_a_rate_without_an_end() -> None:
    tempo = Tempo("text", None, now=0.0)
    tempo.advance(now=2.0)
    assert tempo.describe(now=2.0) == "1 text, 0.5 a second"


def test_a_bar_that_is_not_shown_takes_advances(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar("text", 2, is_shown=False) as advance:
        advance()
    assert capfd.readouterr() == ("", "")
