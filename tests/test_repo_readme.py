"""The README tells the truth: its data is read, its code finds its names, its options, targets and files exist."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from link_farm import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def help_of(*command: str) -> str:
    run = [sys.executable, "-m", "nlpkit.cli.main", *command]
    return subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT / "tests").stdout


def test_the_worked_example_is_clean_data(tmp_path: Path) -> None:
    from nlpkit.ie.reader import read_records

    path = tmp_path / "mine.jsonl"
    path.write_text(blocks("json")[0], encoding="utf-8")
    records = list(read_records(path, require_groups=True))
    spans = {r.text[e.start : e.end] for r in records if r.text for e in r.entities or ()}
    assert spans == {"Anna Berg", "Norlake", "Tarn", "Ove Lind"}
    assert [len(r.entities or ()) for r in records] == [2, 3, 2, 0]


def test_the_schema_is_one(tmp_path: Path) -> None:
    from nlpkit.ie.schema import IESchema

    schema = IESchema.from_dict(json.loads(blocks("json")[1]))
    assert schema.entity_types == ("Firm", "Person")
    assert schema.roles == ("buyer", "target")


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_code_finds_what_it_imports(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names)


@pytest.mark.slow
def test_the_python_code_runs(tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.configs import from_dict
    from nlpkit.ie.utcie.config import UTCIEConfig

    sample = tmp_path / "ie" / "sample"
    sample.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        lines = (ROOT / "ie" / "sample" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (sample / f"{split}.jsonl").write_text("".join(lines[:20]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    small = {
        "model": {"channels": 8, "biaffine_dim": 16, "layers": 1},
        "encoder": {"name": str(tiny_encoder)},
        "trainer": {"epochs": 1, "device": "cpu"},
    }
    code = "\n".join(blocks("python"))
    made = "UTCIE(UTCIEConfig(trainer=TrainConfig(epochs=10)))"
    assert made in code
    exec(code.replace(made, "UTCIE(SMALL)"), {"SMALL": from_dict(UTCIEConfig, small)})
    assert (tmp_path / "models" / "news" / "nlpkit.json").exists()


def test_every_option_exists() -> None:
    known = set(re.findall(r"--[\w.-]+", help_of("fit", "utcie", "--help-all")))
    for command in ("fit utcie", "predict", "evaluate", "check", "show"):
        known |= set(re.findall(r"--[\w.-]+", help_of(*command.split(), "--help")))
    named = set(re.findall(r"(?<![\w-])--[a-z][\w.-]*\w", README))
    assert named - known - {"--debug"} == set()
    assert {"--train", "--trainer.epochs"} <= named


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^    )make ([a-z-]+)", README, flags=re.MULTILINE))
    assert {"demo", "test"} <= named <= targets


def test_every_file_named_is_there() -> None:
    named = set(re.findall(r"\b(?:ie|nlpkit|recipes|tools)/[\w./-]*\w", README))
    links = set(re.findall(r"\]\(([\w./-]+)\)", README))
    assert {name for name in named | links if not (ROOT / name).exists()} == set()
