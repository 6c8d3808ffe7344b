"""``nlpkit show`` and ``nlpkit models``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nlpkit.cli.models import weights_state
from nlpkit.registry import ModelSpec, get_spec, list_models

Run = Callable[..., object]


def test_show_is_a_table_of_the_manifest(nlpkit: Run, folder: Path) -> None:
    done = nlpkit("show", folder)
    assert (done.status, done.err) == (0, "")
    rows = dict(re.split("  +", line, maxsplit=1) for line in done.out.splitlines())
    assert (rows["model"], rows["folder"]) == ("fake", str(folder))
    assert rows["config.model.size"] == "4"
    assert rows["config.model.names"] == "a, b"
    assert rows["thresholds"] == "-"
    assert len({len(line) - len(re.split("  +", line, maxsplit=1)[1]) for line in done.out.splitlines()}) == 1


def test_show_begins_with_labels_and_scores_in_percent(nlpkit: Run, folder: Path) -> None:
    manifest = json.loads((folder / "nlpkit.json").read_text())
    manifest["schema"] = {
        "entity_types": ["P", "Q"],
        "relation_types": [
            {"name": "in", "symmetric": False, "signatures": [["P", "Q"], ["P", "P"]]},
            {"name": "near", "symmetric": True, "signatures": None},
        ],
        "event_types": {"Sale": ["buyer", "price"], "Fire": []},
        "empty": [],
    }
    manifest["dev"] = {"size": 0.87654, "other": None}
    (folder / "nlpkit.json").write_text(json.dumps(manifest))
    lines = [re.split("  +", line, maxsplit=1) for line in nlpkit("show", folder).out.splitlines()]
    assert lines[2:10] == [
        ["entity types", "P, Q"],
        ["relation types", "in: P-Q, P-P"],
        ["", "near: symmetric"],
        ["event types", "Sale: buyer, price"],
        ["", "Fire: none"],
        ["empty", "none"],
        ["dev scores, in percent", "size 87.7, other -"],
        ["thresholds", "-"],
    ]


def test_show_gives_each_note_lines_of_its_own(nlpkit: Run, folder: Path) -> None:
    manifest = json.loads((folder / "nlpkit.json").read_text())
    manifest["notes"] = ["2 records, of 10, are held out", "warning: too few"]
    (folder / "nlpkit.json").write_text(json.dumps(manifest))
    lines = [re.split("  +", line, maxsplit=1) for line in nlpkit("show", folder).out.splitlines()]
    place = lines.index(["notes", "2 records, of 10, are held out"])
    assert lines[place + 1] == ["", "warning: too few"]


def test_show_json_is_the_manifest(nlpkit: Run, folder: Path) -> None:
    manifest = json.loads((folder / "nlpkit.json").read_text())
    assert json.loads(nlpkit("show", folder, "--json").out) == manifest


def test_show_takes_a_run_folder(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    folder.rename(run / "best")
    assert str(run / "best") in nlpkit("show", run).out


@pytest.mark.parametrize(("name", "message"), [("utcie", "train it: nlpkit fit utcie"), ("minilm", "text encoder")])
def test_a_name_of_the_zoo_without_weights(
    nlpkit: Run, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("show", "predict"):
        done = nlpkit(command, name)
        assert (done.status, done.out) == (1, "")
        assert message in done.err


def test_a_folder_named_like_a_model_is_a_folder(
    nlpkit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.rename(tmp_path / "utcie")
    monkeypatch.chdir(tmp_path)
    assert nlpkit("show", "utcie").status == 0


def test_models_lists_name_task_weights_and_summary(nlpkit: Run) -> None:
    done = nlpkit("models")
    assert done.status == 0
    for name in set(list_models()) - {"fake-broken", "fake-wrong"}:
        spec = get_spec(name)
        line = next(line for line in done.out.splitlines() if line.split()[0] == name)
        assert spec.task in line.split()
        assert spec.summary in line
        assert weights_state(spec) in line
    assert "'fake-broken' cannot be imported" in done.err
    assert "fake-broken" not in done.out


def test_models_as_json(nlpkit: Run) -> None:
    rows = {row["name"]: row for row in nlpkit("models", "--json").lines}
    assert rows["utcie"]["weights"] == "train it"
    assert set(rows["fake"]) == {"name", "task", "weights", "summary"}


def test_weights_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.encoder import folder

    monkeypatch.setattr(folder, "PACKAGED", {"minilm": "a_package_that_nobody_has"})
    spec = ModelSpec(name="minilm", task="encoder", summary="", weights="nlpkit.encoder.folder:encoder_folder")
    assert weights_state(spec) == "not installed"
