"""The run folder: checkpoints that a kill at any moment leaves whole, and the checks before a run goes on.

``OUT/last/state.json`` names the phase, the step and the checkpoint file, relative to OUT. A new checkpoint is written
beside the old one under a name of its own, ``state.json`` is replaced after that, and only then the old one removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import CheckpointIO

from nlpkit.configs import write_yaml
from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError
from nlpkit.training.config import FREE_SETTINGS
from nlpkit.wording import counted, setting

FORMAT = 1
STATE = "last/state.json"
EPOCHS = "settings.trainer.epochs"
SETTINGS = "config.yaml"
BEGUN = {SETTINGS, "log.txt", "last"}
"""What a start leaves that came to nothing. A new run may begin over it, and over temporary files."""

TEMPORARY = re.compile(r".+\.tmp|\.best\.(saving|old|gone)-[0-9a-f]{8}")
CHECKPOINT = re.compile(r"last/[^/\\\0]+\.ckpt")


class FileCheckpointIO(CheckpointIO):
    """Writes a checkpoint straight into its file and waits for the disk; reads it without unpickling objects."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Writes the file; it is whole when this returns."""
        with open(path, "wb") as file:
            try:
                torch.save(checkpoint, file)
            except RuntimeError as error:  # at a full disk torch hides the error of the system behind one of its own
                if isinstance(error.__context__, OSError):
                    raise error.__context__ from None
                raise
            file.flush()
            os.fsync(file.fileno())

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = True) -> dict[str, Any]:
        """Reads tensors and plain values only, whatever the caller asked for."""
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """Removes the file."""
        os.unlink(path)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint's content, on the CPU."""
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # bytes of chance make the loader fail in any way
        raise _unreadable(path, type(error).__name__) from error
    needed = ("state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks", "epoch", "global_step")
    if not isinstance(content, dict) or not all(key in content for key in needed):
        raise _unreadable(path, "it holds something else")
    return content


def _unreadable(path: Path, why: str) -> ModelFormatError:
    return ModelFormatError(
        f"{path} is no checkpoint that can be read ({why}); copy the run folder again if it was moved, or train anew "
        "in another folder"
    )


def replace_file(path: Path, text: str) -> None:
    """Gives a file a new content; whoever reads it sees the old or the new one, never a part."""
    fresh = path.with_name(path.name + ".tmp")
    with open(fresh, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Waits until a renaming is on disk; systems that cannot open a folder do without."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class RunFolder:
    """The folder of one run, with its checkpoints in ``last``.

    Args:
        out: The folder.
        header: What each ``state.json`` of this run holds: settings, seed, fingerprints of the data.
        settings: What ``config.yaml`` is to hold; None writes none.

    Attributes:
        state: What ``state.json`` says.
        is_resumed: Whether the run was in the folder already.
        changes: Settings that differ from those the run was begun with, in words.
    """

    def __init__(self, out: Path, header: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> None:
        self.out = out
        self.header = json.loads(json.dumps(header))  # as it will be read back: tuples become lists
        self.settings = settings
        self.state: dict[str, Any] = {}
        self.is_resumed = False
        self.changes: list[str] = []
        self._lock: int | None = None

    def begin(self) -> None:
        """Starts a new run: from here on it can be resumed."""
        check_out(self.out, resume=False)
        try:
            (self.out / "last").mkdir(parents=True, exist_ok=True)
            self._take()
            state = {"phase": None, "step": 0, "epoch": 0, "is_finished": False}
            self._write_state({**state, "checkpoint": None, "checksum": None})
            self._write_settings()
        except OSError as error:
            raise ConfigError(f"cannot write to {self.out}: {error.strerror or error}", key="out") from error

    def resume(self) -> None:
        """Takes up the run in the folder, after checking that it is the same run."""
        self.state, self.is_resumed = read_state(self.out), True
        self._take()
        if self.state["checkpoint"] is None:  # nothing is trained yet that other settings could not belong to
            self._write_state(self.state)
            self._write_settings()
            return
        self.changes = changes_allowed(self.out, self.state["header"], self.header)
        _check_checkpoint(self.out, self.state)
        if self.changes:
            self._write_settings()

    def close(self) -> None:
        """Lets another process have the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        """Keeps other processes out until this one closes the folder, or ends in whatever way."""
        if os.name != "posix":
            return
        import fcntl

        handle = os.open(self.out / "last", os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise _in_use(self.out) from None
        except OSError:  # a file system without locks
            os.close(handle)
            return
        self._lock = handle

    def _write_settings(self) -> None:
        if self.settings is not None:
            replace_file(self.out / SETTINGS, write_yaml(self.settings))

    def write(self, save: Any, *, phase: str, epoch: int, step: int) -> None:
        """Writes a checkpoint with ``save(path)``, then makes it the one to resume from."""
        name = f"{phase}-{step:09d}.ckpt"
        fresh, place = self.out / "last" / (name + ".tmp"), self.out / "last" / name
        try:
            save(fresh)
            checksum = _checksum(fresh)
            os.replace(fresh, place)
            _sync_folder(place.parent)
            state = {"phase": phase, "step": step, "epoch": epoch, "is_finished": False}
            self._write_state({**state, "checkpoint": f"last/{name}", "checksum": checksum})
            self._tidy(keep=name)
        except OSError as error:
            raise NlpkitError(
                f"cannot write the checkpoint of step {step} to {self.out / 'last'}: {error.strerror or error}; the "
                f"checkpoint before it is whole. Make room, then go on with {setting('resume', True)}"
            ) from error

    def finish(self) -> None:
        """Marks the run as finished."""
        self._write_state({**self.state, "is_finished": True})

    def _write_state(self, state: dict[str, Any]) -> None:
        content = {**state, "format": FORMAT, "n_threads": torch.get_num_threads(), "header": self.header}
        replace_file(self.out / STATE, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        self.state = content

    def _tidy(self, keep: str) -> None:
        """Removes older checkpoints, and what a kill left half written."""
        for path in sorted((self.out / "last").iterdir()):
            if path.name != keep and path.name.endswith((".ckpt", ".ckpt.tmp")):
                os.unlink(path)


def check_out(out: Path, *, resume: bool) -> None:
    """Refuses a folder in which a run cannot begin, or cannot go on: to be called before work is put in."""
    if _is_in_use(out):
        raise _in_use(out)
    if resume:
        read_state(out)
        return
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; expected a folder", key="out")
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    if _is_only_begun(out, found):
        return
    if not (out / STATE).is_file():
        shown = f"{', '.join(found[:5])}{', ...' if len(found) > 5 else ''}"
        raise ConfigError(f"{out} is not empty: it holds {shown}; choose another folder", key="out")
    raise ConfigError(f"{out} is not empty: {_describe_run(out)}", key="out")


def _is_only_begun(out: Path, found: Sequence[str]) -> bool:
    """Whether the folder holds nothing, or what is left of a start that made no checkpoint and no model."""
    if not all(name in BEGUN or TEMPORARY.fullmatch(name) for name in found):
        return False
    last = out / "last"
    names = [path.name for path in last.iterdir()] if last.is_dir() else []
    if not all(name == Path(STATE).name or name.endswith(".tmp") for name in names):
        return False
    try:
        return not (out / STATE).is_file() or read_state(out)["checkpoint"] is None
    except NlpkitError:
        return False


def _describe_run(out: Path) -> str:
    """What run is in a folder that another one was to begin in, and what can be done."""
    other, resume = "choose another folder", setting("resume", True)
    try:
        state = read_state(out)
    except NlpkitError:
        return f"it holds a run whose {STATE} cannot be read; {other}, or delete it"
    epochs = counted(state["epoch"], "epoch", "epochs")
    if state["is_finished"]:
        further = f"train it further with {resume} and more {setting('trainer.epochs')}"
        return f"it holds a finished run of {epochs}; {other}, {further}, or delete it"
    return (
        f"it holds a run that stopped after {epochs} (step {state['step']}); go on with it with {resume}, {other}, or "
        "delete it"
    )


def read_state(out: Path) -> dict[str, Any]:
    """What ``state.json`` of a run folder says, of the form that :class:`RunFolder` writes.

    Raises:
        ConfigError: There is none.
        ModelFormatError: It is damaged, or of another version; the message names the file.
    """
    path = out / STATE
    try:
        state: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        leave_out = f"leave out {setting('resume', True)}"
        raise ConfigError(f"there is no run to go on with in {out}; {leave_out}", key="resume") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is damaged: {error}; copy the run folder again") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, dict) else None
        raise ModelFormatError(f"{path} has format {found!r}; this version of nlpkit reads {FORMAT}")
    if wrong := [key for key, (_, is_right) in _ENTRIES.items() if not is_right(state.get(key))]:
        expected = " and ".join(f"{_ENTRIES[key][0]} as {key!r}" for key in wrong)
        raise ModelFormatError(f"{path} is damaged: expected {expected}; copy the run folder again")
    return state


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_header(value: object) -> bool:
    settings = value.get("settings") if isinstance(value, dict) else None
    trainer = settings.get("trainer", {}) if isinstance(settings, dict) else None
    return isinstance(trainer, dict) and _is_count(trainer.get("epochs", 0))


_ENTRIES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "phase": ("a name or null", lambda value: value is None or isinstance(value, str)),
    "step": ("a count", _is_count),
    "epoch": ("a count", _is_count),
    "n_threads": ("a count", _is_count),
    "checkpoint": (
        "a file in last/ or null",
        lambda value: value is None or (isinstance(value, str) and CHECKPOINT.fullmatch(value) is not None),
    ),
    "checksum": ("a text or null", lambda value: value is None or isinstance(value, str)),
    "is_finished": ("true or false", lambda value: isinstance(value, bool)),
    "header": ("the settings of the run", _is_header),
}
"""What each entry of ``state.json`` has to be, in words and as a check."""


def _check_checkpoint(out: Path, state: Mapping[str, Any]) -> None:
    """Refuses a checkpoint that is not the one that was written, before anything is read from it."""
    path = out / state["checkpoint"]
    if not path.is_file():
        raise ModelFormatError(f"{out / STATE} names the checkpoint {state['checkpoint']}, which is missing")
    if not path.resolve().is_relative_to(out.resolve()):
        raise ModelFormatError(f"{path} is a link that leads out of the run folder, and is not followed")
    if _checksum(path) != state["checksum"]:
        raise _unreadable(path, "it does not have the checksum that last/state.json gives")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_in_use(out: Path) -> bool:
    """Whether another process trains in the folder."""
    if os.name != "posix":
        return False
    import fcntl

    with suppress(OSError):
        handle = os.open(out / "last", os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False


def _in_use(out: Path) -> ConfigError:
    return ConfigError(f"another process is training in {out}; wait for its end, or choose another folder", key="out")


def changes_allowed(out: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The settings that are others than the run was begun with, in words.

    Raises:
        ConfigError: One of them makes the result, so that this would be another run.
    """
    free = {f"settings.trainer.{name}" for name in FREE_SETTINGS}
    changed = _different(before, now)
    shown = {
        key: f"{key.removeprefix('settings.')}: {_show(before, key)} in the run, {_show(now, key)} now"
        for key in changed
    }
    if others := [shown[key] for key in changed if key not in free]:
        raise ConfigError(
            f"{out} was trained with other settings; resume with the same ones, or train anew in another folder:\n"
            + "\n".join(others),
            key="resume",
        )
    epochs = (
        [header["settings"]["trainer"].get("epochs", 0) for header in (before, now)] if EPOCHS in changed else [0, 0]
    )
    if epochs[1] < epochs[0]:
        raise ConfigError(
            f"{epochs[0]} in the run, {epochs[1]} now: a run can be taken further, not cut short; its best epoch so "
            "far is a whole model, in best/",
            key="trainer.epochs",
        )
    return [shown[key] for key in changed]


def _different(a: Any, b: Any, prefix: str = "") -> list[str]:
    """Dotted keys under which two trees of plain values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [key for name in sorted({*a, *b}) for key in _different(a.get(name), b.get(name), f"{prefix}{name}.")]
    return [] if a == b else [prefix[:-1]]


def _show(tree: Any, key: str) -> str:
    for name in key.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    text = json.dumps(tree, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
