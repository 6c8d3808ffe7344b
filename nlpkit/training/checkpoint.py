"""The run folder: checkpoints that a kill at any moment leaves whole, and the checks before a run goes on.

``OUT/last/state.json`` names the phase, the step and the checkpoint file, relative to OUT. A new checkpoint is written
beside the old one under a name of its own, ``state.json`` is replaced after that, and only then the old one removed.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import CheckpointIO

from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError

FORMAT = 1
STATE = "last/state.json"
MADE_BEFORE = {"config.yaml"}
"""What may lie in the folder of a new run: written before training by whoever calls it."""


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
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, pickle.UnpicklingError) as error:
        raise ModelFormatError(
            f"{path} is no checkpoint that can be read ({type(error).__name__}); "
            "copy the run folder again if it was moved, or train anew in another folder"
        ) from error
    return content


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
    """

    def __init__(self, out: Path, header: Mapping[str, Any]) -> None:
        self.out = out
        self.header = json.loads(json.dumps(header))  # as it will be read back: tuples become lists
        self.state: dict[str, Any] = {}
        self.is_resumed = False

    def begin(self) -> None:
        """Starts a new run: from here on it can be resumed."""
        self._check_empty()
        try:
            (self.out / "last").mkdir(parents=True, exist_ok=True)
            self._write_state({"phase": None, "step": 0, "epoch": 0, "checkpoint": None, "is_finished": False})
        except OSError as error:
            raise ConfigError(f"cannot write to {self.out}: {error.strerror or error}", key="out") from error

    def resume(self) -> None:
        """Takes up the run in the folder, after checking that it is the same run."""
        state = read_state(self.out)
        changes = [
            f"{key.removeprefix('settings.')}: {_show(state['header'], key)} in the run, {_show(self.header, key)} now"
            for key in _different(state["header"], self.header)
        ]
        if changes:
            raise ConfigError(
                f"{self.out} was trained with other settings; resume with the same ones, or train anew in another "
                "folder:\n" + "\n".join(changes),
                key="resume",
            )
        if state["checkpoint"] is not None and not (self.out / state["checkpoint"]).is_file():
            raise ModelFormatError(f"{self.out / STATE} names the checkpoint {state['checkpoint']}, which is missing")
        self.state, self.is_resumed = state, True

    def write(self, save: Any, *, phase: str, epoch: int, step: int) -> None:
        """Writes a checkpoint with ``save(path)``, then makes it the one to resume from."""
        name = f"{phase}-{step:09d}.ckpt"
        fresh, place = self.out / "last" / (name + ".tmp"), self.out / "last" / name
        try:
            save(fresh)
            os.replace(fresh, place)
            _sync_folder(place.parent)
            self._write_state(
                {"phase": phase, "step": step, "epoch": epoch, "checkpoint": f"last/{name}", "is_finished": False}
            )
            self._tidy(keep=name)
        except OSError as error:
            raise NlpkitError(
                f"cannot write the checkpoint of step {step} to {self.out / 'last'}: {error.strerror or error}; the "
                "checkpoint before it is whole. Make room, then go on with --resume"
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

    def _check_empty(self) -> None:
        if self.out.exists() and not self.out.is_dir():
            raise ConfigError(f"{self.out} is a file; expected a folder", key="out")
        found = sorted(p.name for p in self.out.iterdir() if p.name not in MADE_BEFORE) if self.out.exists() else []
        if found:
            raise ConfigError(
                f"{self.out} is not empty (it holds {', '.join(found[:5])}{', ...' if len(found) > 5 else ''}); "
                "choose another folder, or go on with the run in it with --resume",
                key="out",
            )


def check_out(out: Path, *, resume: bool) -> None:
    """Refuses a folder in which a run cannot begin, or cannot go on: to be called before work is put in."""
    if resume:
        read_state(out)
    else:
        RunFolder(out, {})._check_empty()


def read_state(out: Path) -> dict[str, Any]:
    """What ``state.json`` of a run folder says."""
    path = out / STATE
    try:
        state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no run to go on with in {out}; leave out --resume", key="resume") from None
    except ValueError as error:
        raise ModelFormatError(f"{path} is damaged: {error}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, dict) else None
        raise ModelFormatError(f"{path} has format {found!r}; this version of nlpkit reads {FORMAT}")
    needed = ("phase", "step", "epoch", "checkpoint", "is_finished", "header")
    if missing := [key for key in needed if key not in state]:
        raise ModelFormatError(f"{path} is damaged: it says nothing of {', '.join(missing)}; copy the run folder again")
    return state


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
