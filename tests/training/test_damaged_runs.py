"""A run folder that was damaged, or made by somebody else, is refused with the name of the file."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
from pathlib import Path

import pytest
import torch

from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError
from nlpkit.training.checkpoint import FileCheckpointIO, check_out


def test_damaged_run_folders(tiny, tmp_path):
    out = tmp_path / "run"
    tiny.train(out, epochs=1)
    path = tiny.checkpoint_path(out)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFormatError, match="no checkpoint that can be read"):
        tiny.train(out, epochs=1, resume=True)
    path.unlink()
    with pytest.raises(ModelFormatError, match="missing"):
        tiny.train(out, epochs=1, resume=True)
    (out / "last" / "state.json").write_text("{")
    with pytest.raises(ModelFormatError, match="damaged"):
        tiny.train(out, epochs=1, resume=True)
    (out / "last" / "state.json").write_text('{"format": 2}')
    with pytest.raises(ModelFormatError, match="format 2"):
        tiny.train(out, epochs=1, resume=True)


@pytest.fixture
def run(tiny, tmp_path):
    """A whole run of one epoch, to be damaged, and what its ``state.json`` says."""
    tiny.train(tmp_path / "run", epochs=1)
    return tmp_path / "run", json.loads((tmp_path / "run" / "last" / "state.json").read_text())


def agree(out: Path, state: dict) -> None:
    """Writes a state whose checksum is that of the checkpoint: checksums keep accidents out, not people."""
    checksum = hashlib.sha256((out / state["checkpoint"]).read_bytes()).hexdigest()
    (out / "last" / "state.json").write_text(json.dumps({**state, "checksum": checksum}))


def test_a_checkpoint_that_runs_code_is_refused(tiny, run, tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "evil"),))

    out, state = run
    torch.save({"x": Evil()}, tiny.checkpoint_path(out))
    with pytest.raises(ModelFormatError, match="checksum"):
        tiny.train(out, epochs=1, resume=True)
    agree(out, state)
    with pytest.raises(ModelFormatError, match="no checkpoint that can be read"):
        tiny.train(out, epochs=1, resume=True)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("content", [{}, [1], {"state_dict": {}}])
def test_a_checkpoint_of_something_else_is_refused(tiny, run, content):
    out, state = run
    torch.save(content, tiny.checkpoint_path(out))
    agree(out, state)
    with pytest.raises(ModelFormatError, match="it holds something else"):
        tiny.train(out, epochs=2, resume=True)


def test_each_altered_byte_of_a_checkpoint_is_found(tiny, run):
    out, _ = run
    path = tiny.checkpoint_path(out)
    whole = path.read_bytes()
    chance = random.Random(0)
    for _ in range(20):
        place = chance.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << chance.randrange(8)]) + whole[place + 1 :])
        with pytest.raises(ModelFormatError, match=rf"{path.name} is no checkpoint .* checksum"):
            tiny.train(out, epochs=2, resume=True)
    path.write_bytes(whole)
    tiny.train(out, epochs=2, resume=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("phase", 5),
        ("step", "2"),
        ("step", -1),
        ("step", True),
        ("epoch", None),
        ("checkpoint", 7),
        ("checkpoint", "../run/last/main.ckpt"),
        ("checkpoint", "/etc/passwd"),
        ("checkpoint", "last/../../x.ckpt"),
        ("checkpoint", "last/state.json"),
        ("checksum", 3),
        ("is_finished", 1),
        ("n_threads", "two"),
        ("header", []),
        ("header", {"settings": {"trainer": {"epochs": "3"}}}),
        ("header", {"settings": {"trainer": 1}}),
    ],
)
def test_a_state_with_a_wrong_entry_is_refused(tiny, run, key, value):
    out, state = run
    (out / "last" / "state.json").write_text(json.dumps({**state, key: value}))
    with pytest.raises(ModelFormatError, match=rf"state\.json is damaged: expected .* as '{key}'") as caught:
        tiny.train(out, epochs=1, resume=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["step", "epoch", "is_finished", "header", "n_threads"])
def test_a_state_without_an_entry_is_refused(tiny, run, key):
    out, state = run
    del state[key]
    (out / "last" / "state.json").write_text(json.dumps(state))
    with pytest.raises(ModelFormatError, match=f"expected .* as '{key}'"):
        tiny.train(out, epochs=1, resume=True)


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000, b"", b"null", b"NaN", b'{"format": true}'])
def test_a_state_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "last").mkdir()
    (tmp_path / "last" / "state.json").write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"state\.json"):
        check_out(tmp_path, resume=True)
    with pytest.raises(ConfigError, match="is not empty"):
        check_out(tmp_path, resume=False)


def test_a_folder_in_place_of_the_state_is_refused(tmp_path):
    (tmp_path / "last" / "state.json").mkdir(parents=True)
    with pytest.raises(ModelFormatError, match=r"state\.json is damaged"):
        check_out(tmp_path, resume=True)


def test_nothing_is_followed_out_of_the_folder(tiny, run, tmp_path):
    out, _ = run
    path = tiny.checkpoint_path(out)
    shutil.move(path, tmp_path / "elsewhere.ckpt")
    path.symlink_to(tmp_path / "elsewhere.ckpt")
    with pytest.raises(ModelFormatError, match="leads out of the run folder"):
        tiny.train(out, epochs=1, resume=True)
    linked = tmp_path / "link"  # the folder itself may be anywhere
    path.unlink()
    shutil.move(tmp_path / "elsewhere.ckpt", path)
    linked.symlink_to(out)
    tiny.train(linked, epochs=1, resume=True)


@pytest.mark.parametrize(
    "left", [["config.yaml.tmp"], ["last/state.json.tmp"], [".best.saving-0a1b2c3d/nlpkit.json"], ["log.txt", "last/"]]
)
def test_what_a_killed_start_leaves_is_no_dead_end(tiny, tmp_path, left):
    out = tmp_path / "run"
    for name in left:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).mkdir() if name.endswith("/") else (out / name).write_text("")
    tiny.train(out, epochs=1)


def test_who_begins_where_another_process_trains_is_told_so_early(tiny, tmp_path):
    out = tmp_path / "run"
    said = []

    def on_batch(epoch, step, ids):
        if step == 3 and not said:
            for resume in (False, True):
                with pytest.raises(ConfigError) as caught:
                    check_out(out, resume=resume)
                said.append(str(caught.value))

    tiny.train(out, on_batch=on_batch)
    assert all("another process is training" in message for message in said)
    assert len(said) == 2
    check_out(out, resume=True)


def test_two_signals_while_a_checkpoint_is_written_leave_it_whole(tiny, full_run, tmp_path):
    class Interrupting(FileCheckpointIO):
        n_writes = 0

        def save_checkpoint(self, checkpoint, path, storage_options=None):
            Interrupting.n_writes += 1
            if Interrupting.n_writes == 5:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGTERM)
            super().save_checkpoint(checkpoint, path, storage_options)

    out = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlpkit.training._lightning.FileCheckpointIO", Interrupting)
        with pytest.raises(KeyboardInterrupt, match="checkpoint of step 8 is whole"):
            tiny.train(out)
    assert tiny.checkpoint(out)["global_step"] == 8
    tiny.train(out, resume=True)
    assert full_run.same(tiny.checkpoint(out)["state_dict"], full_run.last)


def test_ignored_signals_stay_ignored(tiny, tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        seen = []
        tiny.train(tmp_path / "run", epochs=1, on_batch=lambda *_: seen.append(signal.getsignal(signal.SIGHUP)))
        assert set(seen) == {signal.SIG_IGN}
    finally:
        signal.signal(signal.SIGHUP, before)


def test_records_are_known_by_their_keys(tiny, tmp_path):
    from dataclasses import replace

    data = replace(tiny.data(45, 0), keys=[str(k) for k in range(45)])
    tiny.train(tmp_path / "run", data=data, epochs=1)
    renamed = replace(data, ids=[f"./{name}" for name in data.ids])
    tiny.train(tmp_path / "run", data=renamed, epochs=1, resume=True)
    with pytest.raises(NlpkitError, match=r"data\.main\.train"):
        tiny.train(tmp_path / "run", data=replace(data, keys=data.ids), epochs=1, resume=True)


@pytest.mark.parametrize("limit", [1_000, 100_000, 200_200])
def test_a_full_disk_is_an_error_of_the_system_wherever_it_strikes(tmp_path, limit):
    """PyTorch would hide it behind an error of its own when it strikes in the middle of a tensor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            FileCheckpointIO().save_checkpoint({"weight": torch.zeros(50_000)}, tmp_path / "a.ckpt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
