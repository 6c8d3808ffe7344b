"""Model folders: whole after a kill or a full disk at any moment, and strict when read."""

from __future__ import annotations

import builtins
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError
from nlpkit.folder import FORMAT, MANIFEST, part_path, read_manifest, resolve_model_folder, write_model_folder

PARTS = {"encoder": "encoder", "head": "head.safetensors"}
WATCHED = {
    "open",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.link",
    "os.scandir",
    "os.listdir",
    "nlpkit.step",
}


def save(target: Path, content: str, parts: dict[str, str] | None = None) -> dict[str, Any]:
    """A model of two files in a folder and one beside it, all holding ``content``."""

    def write_parts(folder: Path) -> None:
        for name in (parts or PARTS).values():
            if name == "encoder":
                os.mkdir(folder / name)
                for inner in ("config.json", "model.safetensors"):
                    write(folder / name / inner, content)
            else:
                write(folder / name, content)

    return write_model_folder(target, {"model": "toy", "content": content, "parts": parts or PARTS}, write_parts)


def write(path: Path, content: str) -> None:
    """Write in two steps, so that a kill can fall between them."""
    with open(path, "wb", buffering=0) as file:
        for half in (content[:2].encode(), content[2:].encode()):
            sys.audit("nlpkit.step")
            file.write(half)


def load(target: Path) -> str | None:
    """The content of a model that is whole in every part, or None where there is none at all."""
    if not target.exists() or not (target / MANIFEST).exists():
        return None
    manifest = read_manifest(target)
    content = manifest["content"]
    encoder = part_path(target, manifest, "encoder")
    files = [part_path(target, manifest, "head"), encoder / "config.json", encoder / "model.safetensors"]
    assert [file.read_text() for file in files] == [content] * 3
    return str(content)


def content_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# One hook for the whole run, since Python cannot take a hook away; it sleeps unless a test sets it.
_act: Callable[[str], None] | None = None


def _hook(event: str, _: object) -> None:
    if _act is not None and event in WATCHED:
        _act(event)


sys.addaudithook(_hook)


class Killed(BaseException):
    """Stands for the end of the process; no ``except Exception`` may swallow it."""


@contextmanager
def failing_at(number: int, error: BaseException, *, once: bool = True) -> Iterator[list[str]]:
    """Raise ``error`` in place of file operation ``number`` (from 0), and of all later ones unless ``once``."""
    global _act
    events: list[str] = []

    def act(event: str) -> None:
        events.append(event)
        if len(events) - 1 == number or (not once and len(events) > number):
            raise error

    _act = act
    try:
        yield events
    finally:
        _act = None


STARTS = ["nothing", "empty folder", "model", "second model", "killed save"]


def prepare(root: Path, start: str) -> Path:
    """A folder as it may be before a save."""
    target = root / "model"
    if start == "empty folder":
        target.mkdir()
    if start in ("model", "second model", "killed save"):
        save(target, "old-1")
    if start == "second model":
        save(target, "old-2")
        assert "encoder.2" in {p.name for p in target.iterdir()}
    if start == "killed save":
        (target / ".saving-0123abcd" / "encoder").mkdir(parents=True)
        (target / ".saving-0123abcd" / "encoder" / "x").write_text("x")
        (target / "encoder.2").mkdir()
        (target / "head.2.safetensors").write_text("half")
        (root / ".model.saving-0123abcd").mkdir()
    return target


def check_and_recover(target: Path, before: str | None) -> str | None:
    """Whatever the crash left is the old model or the new one, and the next save cleans up."""
    found = load(target)
    assert found in (before, "new")
    save(target, "after")
    assert load(target) == "after"
    manifest = read_manifest(target)
    assert content_of(target) == sorted([MANIFEST, *manifest["checksums"]])
    assert len(list(target.iterdir())) == 3
    if before is not None or found is not None:
        assert not [p.name for p in target.parent.iterdir() if p.name not in ("model", ".model.saving-0123abcd")]
    else:
        assert [p.name for p in target.parent.iterdir()] == ["model"]
    return found


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("how", ["interrupt", "full disk", "full disk for good"])
def test_a_save_stopped_at_each_operation_in_turn(
    tmp_path: Path, start: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # slow, and of no effect while the system is up
    outcomes: list[str | None] = []
    for number in range(1000):
        root = tmp_path / str(number)
        root.mkdir()
        target = prepare(root, start)
        before = load(target)
        error = Killed() if how == "interrupt" else OSError(errno.ENOSPC, "No space left on device")
        done = False
        # Nothing but these two: a plain OSError would be a traceback for the user.
        with failing_at(number, error, once="for good" not in how) as events, suppress(Killed, NlpkitError):
            save(target, "new")
            done = True
        outcome = check_and_recover(target, before)
        if done:
            assert outcome == "new"
        elif how.startswith("full disk"):
            assert outcome == before
        outcomes.append(outcome)
        shutil.rmtree(root)
        if done and len(events) <= number:
            break
    else:
        pytest.fail("the save never came to its end")
    assert len(outcomes) > 20
    assert {"open", "os.rename", "os.mkdir", "nlpkit.step"} <= set(events)
    assert before in outcomes
    assert outcomes[-1] == "new"


KILL_SCRIPT = """
import os, shutil, sys
from pathlib import Path
import importlib.util
spec = importlib.util.spec_from_file_location("cases", sys.argv[1])
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
root, start = Path(sys.argv[2]), sys.argv[3]
os.fsync = lambda descriptor: None
kills = {None: 0, "old": 0, "new": 0}
for number in range(1000):
    place = root / str(number)
    place.mkdir()
    target = cases.prepare(place, start)
    before = cases.load(target)
    child = os.fork()
    if child == 0:
        count = 0
        def act(event):
            global count
            if count == number:
                os._exit(9)
            count += 1
        cases._act = act
        cases.save(target, "new")
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9), status
    outcome = cases.check_and_recover(target, before)
    kills["old" if outcome == before else outcome] += 1
    shutil.rmtree(place)
    if status == 0:
        break
print(kills["old"], kills["new"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("start", STARTS)
def test_a_process_that_ends_at_each_operation_in_turn(tmp_path: Path, start: str) -> None:
    command = [sys.executable, "-c", KILL_SCRIPT, __file__, str(tmp_path), start]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    n_old, n_new = map(int, done.stdout.split())
    assert n_old > 20
    assert n_new > 1


@pytest.mark.parametrize("start", STARTS)
def test_a_disk_that_fills_up_at_each_write(tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = builtins.open
    left = [10**9]

    def spend() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    class Full:
        """A file whose writes may fail after half of the data, as on a real disk."""

        def __init__(self, file: Any) -> None:
            self._file = file

        def write(self, data: bytes) -> int:
            if left[0] == 0:
                self._file.write(data[: len(data) // 2])
            spend()
            return int(self._file.write(data))

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    def full_open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        opened = real_open(file, mode, *args, **kwargs)
        return Full(opened) if "w" in mode else opened

    def full_fsync(descriptor: int) -> None:
        spend()

    for number in range(1000):
        root = tmp_path / str(number)
        root.mkdir()
        target = prepare(root, start)
        before = load(target)
        with monkeypatch.context() as patch:
            patch.setattr(builtins, "open", full_open)
            patch.setattr(os, "fsync", full_fsync)
            left[0] = number
            with suppress(NlpkitError):
                save(target, "new")
            was_full, left[0] = left[0] < 0, 10**9
        outcome = check_and_recover(target, before)
        if not was_full:
            assert outcome == "new"
            break
    assert number > 8


def test_a_real_limit_stops_the_weights_of_an_encoder(tiny_encoder: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limits of file sizes")
    from nlpkit.encoder import TextEncoder

    def write_parts(folder: Path) -> None:
        encoder.save(folder / "encoder")

    encoder = TextEncoder.from_folder(tiny_encoder)
    write_model_folder(tmp_path / "m", {"parts": {"encoder": "encoder"}}, write_parts)
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "m" / "encoder").iterdir()}
    before = read_manifest(tmp_path / "m")
    encoder.model.get_input_embeddings().weight.data += 1
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (sizes["model.safetensors"] - 1, sizes["tokenizer.json"] - 1, 10):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(NlpkitError, match="cannot save the model"):
                write_model_folder(tmp_path / "m", {"parts": {"encoder": "encoder"}}, write_parts)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert read_manifest(tmp_path / "m") == before
        assert len(list((tmp_path / "m").iterdir())) == 2
    write_model_folder(tmp_path / "m", {"parts": {"encoder": "encoder"}}, write_parts)
    after = read_manifest(tmp_path / "m")
    weight = TextEncoder.from_folder(part_path(tmp_path / "m", after, "encoder")).model.get_input_embeddings().weight
    assert weight.equal(encoder.model.get_input_embeddings().weight)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = save(tmp_path / "runs" / "new" / "model", "one")
    target = tmp_path / "runs" / "new" / "model"
    assert read_manifest(target) == written
    assert written["format"] == FORMAT
    assert written["parts"] == PARTS
    assert set(written["checksums"]) == {"head.safetensors", "encoder/config.json", "encoder/model.safetensors"}
    assert str(tmp_path) not in (target / MANIFEST).read_text()
    target.rename(tmp_path / "moved")
    assert load(tmp_path / "moved") == "one"


def test_many_saves_leave_one_model(tmp_path: Path) -> None:
    for content in ("one", "two", "three", "four"):
        save(tmp_path / "m", content)
        assert load(tmp_path / "m") == content
        assert len(list((tmp_path / "m").iterdir())) == 3
    assert read_manifest(tmp_path / "m")["parts"] == {"encoder": "encoder.2", "head": "head.2.safetensors"}


def test_parts_that_the_new_model_does_not_have_go(tmp_path: Path) -> None:
    save(tmp_path / "m", "one", {**PARTS, "detector": "detector.safetensors"})
    (tmp_path / "m" / "notes.txt").write_text("the user's own")
    save(tmp_path / "m", "two")
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == [
        "encoder.2",
        "head.2.safetensors",
        MANIFEST,
        "notes.txt",
    ]


def test_a_folder_with_a_link_to_it(tmp_path: Path) -> None:
    save(tmp_path / "real", "one")
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real") == "two"


def test_new_folders_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    save(tmp_path / "m", "one")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_other_folders_and_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x")
    with pytest.raises(ConfigError, match="holds other files"):
        save(tmp_path / "thesis", "one")
    assert content_of(tmp_path / "thesis") == ["chapter.tex"]
    with pytest.raises(ConfigError, match="it is a file"):
        save(tmp_path / "thesis" / "chapter.tex", "one")


def test_faults_of_the_caller_write_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected the parts"):
        write_model_folder(tmp_path / "m", {"parts": {"head": "head.safetensors"}}, lambda folder: None)
    for value in (float("nan"), {1}):
        with pytest.raises((ValueError, TypeError)):
            write_model_folder(tmp_path / "m", {"parts": {}, "x": value}, lambda folder: None)
    with pytest.raises(ZeroDivisionError):
        write_model_folder(tmp_path / "m", {"parts": {}}, lambda folder: 1 // 0)
    assert list(tmp_path.iterdir()) == []


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


def test_a_damaged_model_can_be_replaced(tmp_path: Path) -> None:
    save(tmp_path / "m", "one")
    (tmp_path / "m" / MANIFEST).write_text("{")
    (tmp_path / "m" / "head.safetensors").unlink()
    save(tmp_path / "m", "two")
    assert load(tmp_path / "m") == "two"
    assert len(list((tmp_path / "m").iterdir())) == 3


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
