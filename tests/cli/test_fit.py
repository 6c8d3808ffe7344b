"""``nlpkit fit``: options, files of settings, their order of strength, and what reaches the model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nlpkit.configs import read_yaml, settings
from nlpkit.registry import get_spec

Run = Callable[..., object]


@pytest.fixture
def asked(nlpkit: Run, tmp_path: Path) -> Callable[..., dict[str, object]]:
    """Trains the fake model and says what it was asked for."""

    def run(*words: object) -> dict[str, object]:
        done = nlpkit("fit", "fake", "--train", "t.jsonl", "--out", tmp_path / "run", *words)
        assert (done.status, done.out) == (0, ""), done.err
        return json.loads(next(tmp_path.rglob("asked.json")).read_text())  # type: ignore[no-any-return]

    return run


def test_defaults(asked: Run, tmp_path: Path) -> None:
    found = asked()
    config = found.pop("config")
    assert found == {
        "train": ["t.jsonl"],
        "dev": None,
        "out": str(tmp_path / "run"),
        "schema": None,
        "init_from": None,
        "limit": None,
        "resume": False,
    }
    assert config["model"] == {"size": 4, "rare": 0.5, "mode": "long", "is_loud": False, "names": [], "depth": None}


def test_every_kind_of_value(asked: Run) -> None:
    found = asked(
        *("--model.size", 8), *("--model.rare", "1e-3"), "--model.mode=short", "--model.is_loud",
        *("--model.names", "a", "null"), *("--model.names", "12"), *("--model.depth", 3), *("--seed", 9),
        *("--dev", "d.jsonl", "--schema", "s.json", "--init-from", "m", "--limit", 7, "--resume"),
    )  # fmt: skip
    assert found["config"]["model"] == {
        "size": 8,
        "rare": 0.001,
        "mode": "short",
        "is_loud": True,
        "names": ["a", "null", "12"],
        "depth": 3,
    }
    assert found["config"]["seed"] == 9
    assert [found[key] for key in ("dev", "schema", "init_from", "limit", "resume")] == [
        ["d.jsonl"],
        "s.json",
        "m",
        7,
        True,
    ]


def test_a_flag_can_be_taken_back(asked: Run) -> None:
    assert asked("--model.is_loud", "false", "--model.depth", "null")["config"]["model"]["is_loud"] is False


def test_train_files_add_up(asked: Run) -> None:
    assert asked("--train", "u.jsonl", "v.jsonl")["train"] == ["t.jsonl", "u.jsonl", "v.jsonl"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model.size", "abc"], "--model.size: expected a whole number, found 'abc'"),
        (["--model.size", "4.0"], "--model.size: expected a whole number, found '4.0'"),
        (["--model.size"], "--model.size: expected one argument"),
        (["--model.depth", "x"], "--model.depth: expected a whole number or null, found 'x'"),
        (["--model.rare", "x"], "--model.rare: expected a number, found 'x'"),
        (["--model.rare", "nan"], "--model.rare: expected a number, found 'nan'"),
        (["--model.mode", "c"], "--model.mode: expected one of long, short, found 'c'"),
        (["--model.is_loud", "maybe"], "--model.is_loud: expected true or false, found 'maybe'"),
        (["--model.size", "3"], "--model.size: expected an even number, got 3"),
        (["--limit", "x"], "--limit: expected a whole number, found 'x'"),
        (["--limit", "0"], "--limit: expected at least 1, got 0"),
        (["--modle.size", "4"], "--modle.size: unknown option; did you mean --model.size?"),
        (["--size", "4"], "--size: unknown option; did you mean --model.size?"),
        (["--model.siz", "4"], "did you mean --model.size?"),
        (["--model.is-loud"], "did you mean --model.is_loud?"),
        (["--trian", "x"], "--trian: unknown option; did you mean --train?"),
        (["--init_from", "x"], "did you mean --init-from?"),
        (["--print_config"], "did you mean --print-config?"),
        (["--zzzzzz=1"], "--zzzzzz: unknown option"),
        (["--seed", "1", "stray"], "unexpected 'stray'"),
    ],
)
def test_a_wrong_option_is_named(nlpkit: Run, tmp_path: Path, words: list[str], message: str) -> None:
    done = nlpkit("fit", "fake", "--train", "t", "--out", tmp_path / "o", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(("words", "key"), [(["--out", "o"], "--train"), (["--train", "t"], "--out")])
def test_what_is_missing_is_named(nlpkit: Run, words: list[str], key: str) -> None:
    done = nlpkit("fit", "fake", *words)
    assert done.status == 2
    assert f"{key}: missing" in done.err


def test_the_model_comes_first(nlpkit: Run) -> None:
    assert "nlpkit fit MODEL" in nlpkit("fit", "--train", "t").err
    assert nlpkit("fit", "faek").status == 2
    assert "did you mean fake" in nlpkit("fit", "faek").err
    assert "cannot be trained" in nlpkit("fit", "minilm").err
    assert nlpkit("fit").status == 2


# The order of strength: command line > --config > defaults.


def test_command_line_over_file_over_defaults(asked: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "model:\n  size: 6\n  mode: short\nseed: 5\nrun:\n  dev: d.jsonl\n  limit: 3\n  train: [old.jsonl]\n"
    )
    found = asked("--config", path, "--model.size", 10, "--limit", 4)
    assert found["config"]["model"]["size"] == 10
    assert found["config"]["model"]["mode"] == "short"
    assert found["config"]["model"]["rare"] == 0.5
    assert found["config"]["seed"] == 5
    assert (found["dev"], found["limit"], found["train"]) == (["d.jsonl"], 4, ["t.jsonl"])


def test_the_command_line_can_say_the_default_again(asked: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("model: {size: 6, depth: 2, names: [x]}\n")
    found = asked("--config", path, "--model.size", 4, "--model.depth", "null", "--model.names")["config"]["model"]
    assert (found["size"], found["depth"], found["names"]) == (4, None, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model:\n  sise: 6\n", "c.yaml: model.sise: unknown setting; did you mean model.size?"),
        ("model:\n  size: six\n", "c.yaml: model.size: expected a whole number, found the text 'six'"),
        ("model:\n  size: 3\n", "c.yaml: model.size: expected an even number, got 3"),
        ("model: 3\n", "c.yaml: model: expected a section"),
        ("run: 3\n", "c.yaml: run: expected a section"),
        ("run:\n  model: utcie\n", "c.yaml: run.model: the settings are of the model 'utcie', not of 'fake'"),
        ("run:\n  tarin: a\n", "c.yaml: run.tarin: unknown setting; did you mean run.train?"),
        ("run:\n  limit: 0\n", "c.yaml: run.limit: expected at least 1"),
        ("run:\n  dev: [1]\n", "c.yaml: run.dev[0]: expected text, found 1"),
        ("a: [", "c.yaml: not a settings file"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--model.rare", "0.25"]], ids=["alone", "with an option"])
def test_a_bad_file_is_named(nlpkit: Run, tmp_path: Path, text: str, message: str, more: list[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    done = nlpkit("fit", "fake", "--train", "t", "--out", tmp_path / "o", "--config", path, *more)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_an_option_can_mend_a_file(asked: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("model:\n  size: 3\n")
    assert asked("--config", path, "--model.size", 2)["config"]["model"]["size"] == 2


def test_a_missing_file_of_settings(nlpkit: Run, tmp_path: Path) -> None:
    done = nlpkit("fit", "fake", "--config", tmp_path / "none.yaml")
    assert (done.status, "none.yaml: No such file" in done.err) == (1, True)


@pytest.mark.parametrize("model", ["fake", "utcie"])
def test_print_config_reproduces_the_run(nlpkit: Run, tmp_path: Path, model: str) -> None:
    words = [
        "--train",
        "a",
        "b",
        "--dev",
        "d",
        "--out",
        "o",
        "--limit",
        3,
        "--seed",
        4,
        "--encoder.word_pooling",
        "mean",
    ]
    first = nlpkit("fit", model, *words, "--print-config")
    assert (first.status, first.err) == (0, "")
    path = tmp_path / "c.yaml"
    path.write_text(first.out)
    again = nlpkit("fit", model, "--config", path, "--print-config")
    assert again.out == first.out
    data = read_yaml(path)
    assert data["run"] == {"model": model, "train": ["a", "b"], "dev": ["d"], "out": "o", "limit": 3}
    assert data["encoder"]["word_pooling"] == "mean"  # type: ignore[index]
    keys = {leaf.key.split(".")[0] for leaf in settings(get_spec(model).resolve("config"))}  # type: ignore[arg-type]
    assert set(data) == keys | {"run"}


def test_resume_takes_the_settings_that_the_run_keeps(asked: Run, tmp_path: Path) -> None:
    kept = tmp_path / "old" / "config.yaml"
    kept.parent.mkdir()
    kept.write_text("model: {size: 6}\nrun: {dev: [d], out: elsewhere}\n")
    found = asked("--resume", "--out", kept.parent)
    assert found["config"]["model"]["size"] == 6
    assert found["dev"] == ["d"]
    assert found["out"] == str(kept.parent)


# Help.


def options(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w.-]+)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("model", ["fake", "utcie"])
def test_help_shows_what_people_change_and_help_all_every_setting(nlpkit: Run, model: str) -> None:
    spec = get_spec(model)
    leaves = [f"--{leaf.key}" for leaf in settings(spec.resolve("config"))]  # type: ignore[arg-type]
    short, long = options(nlpkit("fit", model, "--help").out), options(nlpkit("fit", model, "--help-all").out)
    assert set(leaves) <= set(long)
    assert {f"--{key}" for key in spec.common_options} <= set(short) < set(long)
    assert {"--train", "--dev", "--out", "--config", "--schema", "--init-from", "--limit", "--resume", "--seed"} <= set(
        short
    )
    assert len(short) == len(set(short))
    assert len(long) == len(set(long))


def test_help_of_utcie_fits_on_a_screen_and_a_half(nlpkit: Run) -> None:
    text = nlpkit("fit", "utcie", "--help").out
    assert 18 <= len(options(text)) <= 30
    assert len(text.splitlines()) <= 52
    assert max(map(len, text.splitlines())) <= 100
    assert "--help-all" in text
    assert "a multiple of 8" in text
    assert "adaptive|bce" in nlpkit("fit", "utcie", "--help-all").out


def test_help_of_a_setting_says_when_to_change_it(nlpkit: Run) -> None:
    shown = options(nlpkit("fit", "utcie", "--help").out)
    helps = {f"--{leaf.key}": leaf.help for leaf in settings(get_spec("utcie").resolve("config"))}  # type: ignore[arg-type]
    silent = [key for key in shown if key in helps and not re.search(r"\b(if|for|to|fewer|more)\b", helps[key])]
    assert silent == []


@pytest.mark.parametrize(("key", "found", "meant"), [("device", "cuda", "gpu"), ("precision", "bf16-mixed", "bf16")])
def test_words_of_other_libraries_are_understood(nlpkit: Run, key: str, found: str, meant: str, tmp_path: Path) -> None:
    words = ["fit", "utcie", "--train", "a", "--out", "b"]
    done = nlpkit(*words, f"--trainer.{key}", found)
    assert done.status == 2
    assert f"--trainer.{key}: expected one of" in done.err
    assert f"found '{found}'; did you mean {meant}?" in done.err
    (tmp_path / "c.yaml").write_text(f"trainer:\n  {key}: {found}\n")
    assert f"'{found}'; did you mean {meant}?" in nlpkit(*words, "--config", tmp_path / "c.yaml").err


def test_help_texts_may_hold_percent_signs(nlpkit: Run) -> None:
    assert "How big it is, 100% honest (default: 4)" in nlpkit("fit", "fake", "--help").out
    assert "A setting that nobody changes" not in nlpkit("fit", "fake", "--help").out
    assert "A setting that nobody changes" in nlpkit("fit", "fake", "--help-all").out


# What goes wrong in training.


def test_bad_data_is_listed_without_a_traceback(nlpkit: Run, tmp_path: Path) -> None:
    done = nlpkit("fit", "fake", "--train", "bad", "--out", tmp_path / "o")
    assert (done.status, done.out) == (1, "")
    assert done.err.count("bad.jsonl:") == 20
    assert "and 5 more" in done.err
    assert "Traceback" not in done.err


def test_a_full_disk_is_said(nlpkit: Run, tmp_path: Path) -> None:
    done = nlpkit("fit", "fake", "--train", "full", "--out", tmp_path / "o")
    assert (done.status, done.err) == (1, "nlpkit: the/file: No space left on device\n")


def test_a_span_that_cuts_a_word_names_the_option_of_this_command(nlpkit: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text('{"text": "Bosnia", "entities": [{"start": 0, "end": 2, "type": "P"}]}\n')
    done = nlpkit("fit", "utcie", "--train", path, "--out", tmp_path / "run")
    assert done.status == 1
    assert "use --data.misaligned widen (whole words) or --data.misaligned skip (leave it out)" in done.err
    assert not (tmp_path / "run").exists()
