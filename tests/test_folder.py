"""Model folders are strict when they are read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import ConfigError, ModelFormatError
from nlpkit.folder import FORMAT, MANIFEST, part_path, read_manifest, resolve_model_folder
from nlpkit.saving import write_model_folder

PARTS = {"encoder": "encoder", "head": "head.safetensors"}


def save(target: Path, content: str) -> None:
    """A model of two files in a folder and one beside it, all holding ``content``."""

    def write_parts(folder: Path) -> None:
        (folder / "encoder").mkdir()
        for name in ("encoder/config.json", "encoder/model.safetensors", "head.safetensors"):
            (folder / name).write_text(content)

    write_model_folder(target, {"model": "toy", "parts": PARTS}, write_parts)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: (m / MANIFEST).unlink(), "no model folder: it has no nlpkit.json"),
        (lambda m: shutil.rmtree(m), "is no folder"),
        (lambda m: (m / MANIFEST).write_text((m / MANIFEST).read_text()[:50]), "cannot read"),
        (lambda m: (m / MANIFEST).write_bytes(b""), "cannot read"),
        (lambda m: (m / MANIFEST).write_bytes(b"\xff\x00\x89PNG"), "cannot read"),
        (lambda m: (m / MANIFEST).write_text("[" * 100_000), "cannot read"),
        (lambda m: (m / MANIFEST).write_text("[]"), "has no format number"),
        (lambda m: edit(m, format="1"), "has no format number"),
        (lambda m: edit(m, format=True), "has no format number"),
        (lambda m: edit(m, format=FORMAT + 1), f"has model format {FORMAT + 1}.*upgrade"),
        (lambda m: edit(m, parts=["encoder"]), "expected names and texts under 'parts'"),
        (lambda m: edit(m, parts={"head": 1}), "expected names and texts under 'parts'"),
        (lambda m: edit(m, parts={"head": "../other"}), "outside of the folder"),
        (lambda m: edit(m, parts={"head": "/etc/passwd"}), "outside of the folder"),
        (lambda m: edit(m, parts={"head": "."}), "outside of the folder"),
        (lambda m: edit(m, checksums={"../other": "x"}), "outside of the folder"),
        (lambda m: (m / "head.safetensors").unlink(), "'head.safetensors' is missing"),
        (lambda m: (m / "encoder" / "config.json").unlink(), "'encoder/config.json' is missing"),
        (lambda m: shutil.rmtree(m / "encoder"), "'encoder' is missing"),
        (lambda m: pipe_in_place_of(m / "head.safetensors"), "'head.safetensors' is no file"),
        (lambda m: (m / "head.safetensors").write_text("onE"), "damaged: 'head.safetensors'"),
        (lambda m: (m / "head.safetensors").write_text(""), "damaged: 'head.safetensors'"),
    ],
)
def test_each_fault_of_a_folder_has_its_answer(tmp_path: Path, damage: Callable[[Path], object], message: str) -> None:
    save(tmp_path / "m", "one")
    damage(tmp_path / "m")
    with pytest.raises(ModelFormatError, match=message):
        read_manifest(tmp_path / "m")


def pipe_in_place_of(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def edit(folder: Path, **values: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **values}))


def test_checksums_can_be_left_out(tmp_path: Path) -> None:
    save(tmp_path / "m", "one")
    (tmp_path / "m" / "head.safetensors").write_text("onE")
    manifest = read_manifest(tmp_path / "m", verify=False)
    with pytest.raises(ModelFormatError, match="no part 'detector'"):
        part_path(tmp_path / "m", manifest, "detector")


def test_a_name_stands_for_a_model_or_the_best_of_a_run(tmp_path: Path) -> None:
    save(tmp_path / "run" / "best", "one")
    (tmp_path / "run" / "last").mkdir()
    assert resolve_model_folder(tmp_path / "run") == tmp_path / "run" / "best"
    assert resolve_model_folder(str(tmp_path / "run" / "best")) == tmp_path / "run" / "best"
    shutil.rmtree(tmp_path / "run" / "best")
    with pytest.raises(ModelFormatError, match="has not saved a model yet"):
        resolve_model_folder(tmp_path / "run")
    with pytest.raises(ModelFormatError, match="found no folder"):
        resolve_model_folder(tmp_path / "nowhere")
    with pytest.raises(ModelFormatError, match="is no model folder"):
        resolve_model_folder(tmp_path)


@pytest.mark.parametrize("name", ["", None, 5, b"model", "a\0b"])
def test_what_is_no_path_is_refused(name: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="expected the path of a folder"):
        write_model_folder(name, {"parts": {}}, lambda folder: None)
    with pytest.raises(ConfigError, match="expected the path of a folder"):
        resolve_model_folder(name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_tilde_of_nobody_is_a_name_like_any_other() -> None:
    with pytest.raises(ModelFormatError, match="found no folder"):
        resolve_model_folder("~nobody-of-this-name/model")
