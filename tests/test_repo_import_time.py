"""How long a user waits before anything happens. The best of several tries counts: a busy machine is not our fault."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

TRIES = 7
TIMED_IMPORT = "import time; t = time.perf_counter(); import nlpkit; print(time.perf_counter() - t)"


def test_importing_nlpkit_adds_under_50_ms(tmp_path: Path) -> None:
    run = [sys.executable, "-c", TIMED_IMPORT]
    times = [float(subprocess.check_output(run, cwd=tmp_path, text=True)) for _ in range(TRIES)]
    assert min(times) < 0.05, times


@pytest.mark.parametrize("args", [["--help"], ["models"], ["fit", "utcie", "--help"]], ids=" ".join)
def test_help_ends_within_half_a_second(args: list[str], tmp_path: Path) -> None:
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", "from nlpkit.cli.main import main; main()", *args],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        times.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stderr
        assert "utcie" in done.stdout or "fit" in done.stdout
        if times[-1] < 0.5:
            break
    assert min(times) < 0.5, times
