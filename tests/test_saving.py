"""Saving a model: whole after a kill or a full disk at any moment, for whoever reads meanwhile."""

from __future__ import annotations

import builtins
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError
from nlpkit.folder import FORMAT, MANIFEST, part_path, read_manifest, read_whole, resolve_model_folder
from nlpkit.saving import write_model_folder

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

    def read(folder: Path) -> str:
        manifest = read_manifest(folder)
        content = manifest["content"]
        encoder = part_path(folder, manifest, "encoder")
        files = [part_path(folder, manifest, "head"), encoder / "config.json", encoder / "model.safetensors"]
        assert [file.read_text() for file in files] == [content] * 3
        return str(content)

    try:
        name = resolve_model_folder(target)
    except ModelFormatError:
        return None
    return read_whole(lambda: name, read)


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


STARTS = ["nothing", "empty folder", "model", "second model", "model of an older version", "killed save", "killed swap"]
OWN = {"notes.txt", "encoder.7/a.txt", "head.9.safetensors", "encoder/mine.txt"}
"""Files that a user put into a model."""


def prepare(root: Path, start: str) -> Path:
    """A folder as it may be before a save."""
    target = root / "model"
    if start == "empty folder":
        target.mkdir()
    if start not in ("nothing", "empty folder"):
        save(target, "old-1")
        for name in OWN:
            (target / name).parent.mkdir(exist_ok=True)
            (target / name).write_text("mine")
    if start == "second model":
        save(target, "old-2")
    if start == "model of an older version":
        (target / "encoder" / "mine.txt").rename(target / "mine.txt")
        (target / "encoder").rename(target / "encoder.2")
        (target / "encoder.2" / "mine.txt").write_text("mine")
        manifest = json.loads((target / MANIFEST).read_text().replace('"encoder/', '"encoder.2/'))
        (target / MANIFEST).write_text(json.dumps({**manifest, "parts": {**PARTS, "encoder": "encoder.2"}}))
    if start.startswith("killed"):
        (root / ".model.saving-0123abcd" / "encoder").mkdir(parents=True)
        (root / ".model.saving-0123abcd" / "encoder" / "x").write_text("x")
    if start == "killed swap":
        target.rename(root / ".model.old-0123abcd")
    return target


def users_files(target: Path) -> list[str]:
    return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file() and is_mine(path))


def is_mine(path: Path) -> bool:
    return path.read_bytes() == b"mine"


def check_and_recover(target: Path, before: str | None, mine: list[str]) -> str | None:
    """What the crash left is the old model or the new one; the next save cleans up, and keeps what is the user's."""
    found = load(target)
    assert found in (before, "new")
    save(target, "after")
    assert load(target) == "after"
    assert read_manifest(target)["parts"] == PARTS
    assert users_files(target) == mine
    assert content_of(target) == sorted([MANIFEST, *read_manifest(target)["checksums"], *mine])
    assert [p.name for p in target.parent.iterdir()] == ["model"]
    return found


def files_of_user(root: Path) -> list[str]:
    return users_files(next((path for path in (root / "model", root / ".model.old-0123abcd") if path.exists()), root))


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
        before, mine = load(target), files_of_user(root)
        error = Killed() if how == "interrupt" else OSError(errno.ENOSPC, "No space left on device")
        done = False
        # Nothing but these two: a plain OSError would be a traceback for the user.
        with failing_at(number, error, once="for good" not in how) as events, suppress(Killed, NlpkitError):
            save(target, "new")
            done = True
        outcome = check_and_recover(target, before, mine)
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
    before, mine = cases.load(target), cases.files_of_user(place)
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
    outcome = cases.check_and_recover(target, before, mine)
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
        before, mine = load(target), files_of_user(root)
        with monkeypatch.context() as patch:
            patch.setattr(builtins, "open", full_open)
            patch.setattr(os, "fsync", full_fsync)
            left[0] = number
            with suppress(NlpkitError):
                save(target, "new")
            was_full, left[0] = left[0] < 0, 10**9
        outcome = check_and_recover(target, before, mine)
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
        assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["encoder", "head.safetensors", MANIFEST]
    assert read_manifest(tmp_path / "m")["parts"] == PARTS


def test_parts_that_the_new_model_does_not_have_go(tmp_path: Path) -> None:
    save(tmp_path / "m", "one", {**PARTS, "detector": "detector.safetensors"})
    (tmp_path / "m" / "notes.txt").write_text("the user's own")
    save(tmp_path / "m", "two")
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == [
        "encoder",
        "head.safetensors",
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


def test_a_damaged_model_can_be_replaced(tmp_path: Path) -> None:
    save(tmp_path / "m", "one")
    (tmp_path / "m" / MANIFEST).write_text("{")
    (tmp_path / "m" / "head.safetensors").unlink()
    save(tmp_path / "m", "two")
    assert load(tmp_path / "m") == "two"
    assert len(list((tmp_path / "m").iterdir())) == 3


def test_the_users_own_files_stay(tmp_path: Path) -> None:
    target = tmp_path / "m"
    save(target, "one")
    for name in OWN:
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text("mine")
    (target / "empty").mkdir()
    (target / "link").symlink_to("/nowhere")
    for content in ("two", "three"):
        save(target, content)
        assert load(target) == content
        assert set(users_files(target)) == OWN
        assert (target / "empty").is_dir()
        assert os.readlink(target / "link") == "/nowhere"


def test_a_file_of_the_user_where_a_part_goes_is_not_covered(tmp_path: Path) -> None:
    target = tmp_path / "m"
    save(target, "one")
    (target / "detector.safetensors").write_text("mine")
    with pytest.raises(ConfigError, match=r"'detector\.safetensors' stands where a part of the model goes"):
        save(target, "two", {**PARTS, "detector": "detector.safetensors"})
    assert load(target) == "one"
    assert users_files(target) == ["detector.safetensors"]
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("start", ["model", "model of an older version"])
def test_old_models_are_read_where_they_stand(start: str, tmp_path: Path) -> None:
    assert load(prepare(tmp_path, start)) == "old-1"


@pytest.mark.parametrize("name", ["model", "run"])
def test_a_model_is_found_after_a_kill_between_two_names(name: str, tmp_path: Path) -> None:
    target = tmp_path / "model" if name == "model" else tmp_path / "run" / "best"
    save(target, "one")
    target.rename(target.with_name(f".{target.name}.old-0123abcd"))
    assert resolve_model_folder(tmp_path / name) == target
    assert load(tmp_path / name) == "one"
    save(target, "two")
    assert load(tmp_path / name) == "two"
    assert [p.name for p in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_have_the_rights_that_the_umask_gives(umask: int, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    def write_parts(folder: Path) -> None:
        (folder / "encoder").mkdir()
        save_file({}, folder / "encoder" / "model.safetensors")
        save_file({}, folder / "head.safetensors")

    before = os.umask(umask)
    try:
        for _ in range(2):
            write_model_folder(tmp_path / "m", {"parts": PARTS}, write_parts)
            rights = {p.name: p.stat().st_mode & 0o777 for p in [tmp_path / "m", *(tmp_path / "m").rglob("*")]}
            files = dict.fromkeys(["model.safetensors", "head.safetensors", MANIFEST], 0o666 & ~umask)
            assert rights == {**files, "m": 0o777 & ~umask, "encoder": 0o777 & ~umask}
    finally:
        os.umask(before)


def test_the_rights_of_a_folder_stay(tmp_path: Path) -> None:
    save(tmp_path / "m", "one")
    (tmp_path / "m").chmod(0o2750)
    save(tmp_path / "m", "two")
    assert (tmp_path / "m").stat().st_mode & 0o7777 == 0o2750


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES])
def test_a_folder_that_cannot_be_renamed_says_so(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "m", "one")

    def rename(source: object, target: object) -> None:
        raise OSError(number, os.strerror(number), str(source))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(NlpkitError, match="name one that can be made and renamed where it lies"):
            save(tmp_path / "m", "two")
    assert load(tmp_path / "m") == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


LOOP = """
import importlib.util, os, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("cases", sys.argv[1])
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
os.fsync = lambda descriptor: None
end = time.monotonic() + 60
number = 0
while time.monotonic() < end and not Path(sys.argv[2] + ".stop").exists():
    number += 1
    cases.save(Path(sys.argv[2]), f"{sys.argv[3]}-{number}")
    time.sleep(0.01)
print(number)
"""


@pytest.mark.parametrize("savers", [["a"], ["a", "b"]])
def test_a_model_that_is_read_while_others_save_it_is_always_whole(savers: list[str], tmp_path: Path) -> None:
    target = tmp_path / "m"
    save(target, "first")
    (target / "notes.txt").write_text("mine")
    command = [sys.executable, "-c", LOOP, __file__, str(target)]
    running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for name in savers]
    found = []
    try:
        deadline = time.monotonic() + 40
        while len(set(found)) < 30 and time.monotonic() < deadline:
            found.append(load(target))
    finally:
        (tmp_path / "m.stop").touch()
        ended = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * len(running), ended
    assert None not in found
    assert len(set(found)) == 30
    assert load(target) is not None
    save(target, "last")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "m.stop"]
    assert users_files(target) == ["notes.txt"]


def test_a_model_that_changes_at_each_look_is_an_error_in_the_end(tmp_path: Path) -> None:
    target = tmp_path / "m"
    save(target, "one")

    def read(folder: Path) -> None:
        save(target, "two")

    with pytest.raises(ModelFormatError, match="was saved anew each of 10 times"):
        read_whole(lambda: target, read)


def test_a_fault_of_the_model_is_told_at_once(tmp_path: Path) -> None:
    target = tmp_path / "m"
    save(target, "one")
    looks = []

    def read(folder: Path) -> None:
        looks.append(folder)
        raise ModelFormatError("damaged")

    with pytest.raises(ModelFormatError, match="damaged"):
        read_whole(lambda: target, read)
    assert looks == [target]
