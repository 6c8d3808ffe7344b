"""A user's first steps with an installed nlpkit; `make wheel-test` runs them on the wheel, `make slow` in place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("nlpkit")


def nlpkit(*args: str | Path, stdin: str | None = None) -> str:
    """Standard output of the command."""
    command = [str(COMMAND), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif("NLPKIT_INSTALLED" not in os.environ, reason="not run from a wheel")
def test_the_wheel_is_what_is_tested() -> None:
    import nlpkit as package
    import nlpkit.ie

    for module in (package, nlpkit.ie):
        assert Path(str(module.__file__)).is_relative_to(os.environ["NLPKIT_INSTALLED"])


def test_help_and_the_zoo() -> None:
    assert "fit" in nlpkit("--help")
    assert "--model.channels" in nlpkit("fit", "utcie", "--help")
    assert "utcie" in nlpkit("models")


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    import nlpkit as package

    assert package.__version__ == version("nlpkit-torch")


@pytest.fixture(scope="module")
def run_folder(
    tiny_encoder: Path, sample_path: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    small = ("--model.channels", "8", "--model.biaffine_dim", "16", "--model.layers", "1", "--trainer.epochs", "1")
    nlpkit(
        *("fit", "utcie", "--train", sample_path("train"), "--dev", sample_path("dev"), "--out", out),
        *("--encoder.name", tiny_encoder, "--limit", "24", "--trainer.device", "cpu", *small),
    )
    return out


def test_fit_leaves_a_run_folder(run_folder: Path) -> None:
    assert {"config.yaml", "metrics.csv", "log.txt", "best", "last"} <= {path.name for path in run_folder.iterdir()}


def test_predict_answers_each_line(run_folder: Path) -> None:
    text = "Anna Berg joined Norlake Systems.\nNothing happened.\n"
    lines = nlpkit("predict", run_folder, "-", "--format", "jsonl", stdin=text).splitlines()
    assert [json.loads(line)["text"] for line in lines] == text.splitlines()


def test_evaluate_counts_every_record(run_folder: Path, sample_path: Callable[[str], Path]) -> None:
    test = sample_path("test")
    report = json.loads(nlpkit("evaluate", run_folder, test, "--json"))
    assert report["n"] == len(test.read_text(encoding="utf-8").splitlines())
    assert {"entity", "relation", "trigger", "argument"} <= set(report["metrics"])
    assert report["metrics"]["entity"]["gold"] > 0


def test_check_accepts_the_sample(sample_path: Callable[[str], Path]) -> None:
    nlpkit("check", sample_path("train"), "--task", "ie")


def test_show_names_the_model(run_folder: Path) -> None:
    assert "utcie" in nlpkit("show", run_folder)


def test_python_loads_what_the_command_line_trained(run_folder: Path) -> None:
    import nlpkit as package

    results = list(package.load(run_folder).predict(["Anna Berg joined Norlake Systems."]))
    assert results[0].text == "Anna Berg joined Norlake Systems."
