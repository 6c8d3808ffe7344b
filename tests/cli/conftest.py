"""A model that another package brings, announced by its entry point, and the command line in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SITE = Path(__file__).parent / "site"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(autouse=True)
def _announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))


@pytest.fixture
def nlpkit(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``nlpkit("predict", folder, "a.txt")`` in this process."""
    from nlpkit.cli.main import main

    def run(*words: object) -> Done:
        capsys.readouterr()
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return run


@pytest.fixture
def command() -> Callable[[Sequence[object]], list[str]]:
    """The words that run ``nlpkit`` in a process of its own."""

    def make(words: Sequence[object]) -> list[str]:
        return [sys.executable, "-m", "nlpkit", *map(str, words)]

    return make


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment of such a process, in which the announced model is found."""
    path = os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH"))))
    # Not PYTHONUNBUFFERED, which some machines set: it hides a missing flush.
    return {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | {
        "PYTHONPATH": path,
        "PYTHONIOENCODING": "utf-8",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model of the announced kind."""
    place = tmp_path / "model"
    place.mkdir()
    manifest = {
        "format": 1,
        "model": "fake",
        "config": {"model": {"size": 4, "names": ["a", "b"]}},
        "schema": {"relation_types": [{"name": "in", "symmetric": False, "signatures": [["P", "Q"]]}], "empty": []},
        "thresholds": {},
        "dev": {"size": 0.87654},
        "parts": {},
        "checksums": {},
    }
    (place / "nlpkit.json").write_text(json.dumps(manifest))
    return place


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Three texts, the second one empty."""
    path = tmp_path / "in.txt"
    path.write_bytes("one two\r\n\nthrée\n".encode())
    return path


def run_in_shell(line: str, environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], env=environment, cwd=cwd, capture_output=True, text=True, timeout=60)
