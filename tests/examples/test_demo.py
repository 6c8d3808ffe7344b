"""The demo ends in success only if the model is clearly ahead of the dictionary on every score."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"

GOOD = {"entity": 0.9, "relation": 0.8, "relation_strict": 0.8, "trigger": 0.9, "argument": 0.8, "span": 0.1}
BASE = {"entity": 0.5, "relation": 0.2, "relation_strict": 0.2, "trigger": 0.7, "argument": 0.3, "span": 0.9}


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_example_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_ahead_on_every_score_is_success(demo: ModuleType) -> None:
    rows = demo.compare(GOOD, BASE)
    assert [row.metric for row in rows] == ["entity", "relation", "relation_strict", "trigger", "argument"]
    message, status = demo.verdict(rows)
    assert status == 0
    assert "clearly beats" in message
    assert "20 points" in message


@pytest.mark.parametrize("metric", ["entity", "relation", "relation_strict", "trigger", "argument"])
@pytest.mark.parametrize("lead", [-0.2, 0.0, 0.09])
def test_behind_equal_or_hardly_ahead_on_one_score_is_failure(demo: ModuleType, metric: str, lead: float) -> None:
    message, status = demo.verdict(demo.compare(GOOD | {metric: BASE[metric] + lead}, BASE))
    assert status == 1
    assert message.endswith(f"on: {metric}.")


@pytest.mark.parametrize("broken", [None, float("nan")])
def test_a_score_that_is_undefined_is_failure(demo: ModuleType, broken: float | None) -> None:
    message, status = demo.verdict(demo.compare(GOOD | {"trigger": broken}, BASE))
    assert status == 1
    assert "trigger" in message


def test_a_score_that_is_missing_is_failure(demo: ModuleType) -> None:
    without = {key: value for key, value in GOOD.items() if key != "relation"}
    assert demo.verdict(demo.compare(without, BASE))[1] == 1
    assert demo.verdict([])[1] == 1


def test_the_table_shows_both_systems_in_percent(demo: ModuleType) -> None:
    from rich.console import Console

    console = Console(width=100)
    with console.capture() as capture:
        console.print(demo.score_table(demo.compare(GOOD | {"argument": None}, BASE), 255))
    lines = capture.get().splitlines()
    assert "255 held-out sentences" in lines[0]
    (entity,) = (line for line in lines if " entity " in line)
    assert all(number in entity for number in ("90.0", "50.0", "+40.0"))
    (argument,) = (line for line in lines if " argument " in line)
    assert "-30.0" in argument


def texts(split: str) -> list[str]:
    lines = (DEMO.parents[1] / "ie" / "sample" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def pattern(text: str) -> list[str]:
    """A sentence without its names and numbers."""
    return [word for word in re.findall(r"\w+|[^\w\s]", text) if word[0].islower() or not word[0].isalnum()]


def test_the_first_sentences_are_said_as_training_sentences_are(demo: ModuleType) -> None:
    taught = [pattern(text) for text in texts("train")]
    assert len(demo.LEARNED_SENTENCES) >= 3
    for sentence in demo.LEARNED_SENTENCES:
        assert pattern(sentence) in taught, sentence


def test_the_names_of_the_first_sentences_are_new(demo: ModuleType) -> None:
    known = " ".join(text for split in ("train", "dev", "test") for text in texts(split))
    for sentence in demo.LEARNED_SENTENCES:
        names = re.findall(r"[A-Z]\w{5,}", sentence)
        assert any(name not in known for name in names)
        assert sentence not in known


class Model:
    """What the demo asks of a model, and what it was asked."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault, self.asked = fault, []

    def fit(self, train: object, dev: object, *, out: Path, resume: bool = False) -> None:
        self.asked.append((resume, sorted(path.name for path in out.iterdir()) if out.exists() else None))
        if resume and self.fault:
            raise self.fault


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    (tmp_path / "run" / "last").mkdir(parents=True)
    (tmp_path / "run" / "last" / "state.json").write_text("{}")
    return tmp_path / "run"


def go(demo: ModuleType, model: Model, run: Path) -> str:
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as capture:
        demo.fit_or_go_on(model, [], [], run, console)
    return capture.get()


def test_a_run_that_was_stopped_goes_on(demo: ModuleType, stopped: Path) -> None:
    model = Model()
    assert "Going on" in go(demo, model, stopped)
    assert model.asked == [(True, ["last"])]


def test_a_run_that_cannot_go_on_begins_anew_and_says_why(demo: ModuleType, stopped: Path) -> None:
    from nlpkit.errors import ConfigError

    model = Model(ConfigError("other settings"))
    assert "other settings" in go(demo, model, stopped)
    assert model.asked == [(True, ["last"]), (False, None)]


def test_what_was_stopped_before_its_first_checkpoint_begins_anew(demo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    model = Model()
    assert go(demo, model, tmp_path / "run") == ""
    assert model.asked == [(False, None)]


def test_stopping_is_one_line(demo: ModuleType, tmp_path: Path, monkeypatch, capsys) -> None:
    def interrupt(out: Path) -> int:
        raise KeyboardInterrupt("interrupted at epoch 1")

    monkeypatch.setattr(demo, "run_demo", interrupt)
    assert demo.main(tmp_path) == 130
    assert capsys.readouterr() == ("", "stopped; make demo goes on from here\n")


def outside_make() -> dict[str, str]:
    """The environment as it is where no make has started the tests: one inside another says where it is."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def test_make_adds_nothing_at_ctrl_c_and_ends_as_interrupted(tmp_path: Path) -> None:
    """The recipe itself, with a stand-in for Python, on a terminal that sends the signal to all of them."""
    if not shutil.which("make"):
        pytest.skip("there is no make here")
    (tmp_path / "Makefile").write_text((DEMO.parents[1] / "Makefile").read_text(encoding="utf-8"))
    for name in ("constraints.txt", "pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".runtime").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\ntrap 'echo stopped; exit 130' INT\necho ready\nwhile :; do sleep 0.1; done\n")
    python.chmod(0o755)
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        ["make", "demo"],
        cwd=tmp_path,
        env=outside_make(),
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(outside, 1000)
    os.killpg(process.pid, signal.SIGINT)
    try:
        while data := os.read(outside, 1000):
            seen += data
    except OSError:  # the terminal is closed
        pass
    assert process.wait(timeout=20) == -signal.SIGINT
    assert seen.decode().split() == ["ready", "stopped"]


def test_the_demo_installs_no_linters_and_other_failures_stay_failures(tmp_path: Path) -> None:
    shown = subprocess.run(
        ["make", "-n", "demo", "-f", DEMO.parents[1] / "Makefile"],
        cwd=tmp_path,
        env=outside_make(),
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 2  # there is no constraints.txt
    for name in ("constraints.txt", "pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    for target, extras in (("demo", "[minilm]"), ("test", "[dev,minilm]")):
        run = ["make", "-n", target, "-f", DEMO.parents[1] / "Makefile"]
        shown = subprocess.run(run, cwd=tmp_path, env=outside_make(), capture_output=True, text=True)
        assert f"-e '.{extras}'" in shown.stdout
