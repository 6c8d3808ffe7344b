"""Model folders are written so that a kill or a full disk at any moment leaves a whole model, old or new.

A new folder, ``.NAME.saving-...``, is written beside the old one, which is renamed to ``.NAME.old-...``, and takes its
place. Then the old one is ``.NAME.gone-...``: what the user had put into it moves over, and the rest of it goes. After
a kill the next save tidies up.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from nlpkit.errors import ConfigError, NlpkitError
from nlpkit.folder import FORMAT, MANIFEST, OLD, as_folder, beside, checksum_of, is_inside

_STAGE, _GONE = ".saving-", ".gone-"
_TRIES = 10
_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
"""Rights, and a folder that is a mount point."""


def write_model_folder(
    target: str | Path, manifest: Mapping[str, Any], write_parts: Callable[[Path], object]
) -> dict[str, Any]:
    """Write a model so that, whatever happens, ``target`` holds the old model or the new one.

    Args:
        target: The folder: new, empty, or one with a model, which is replaced; other files in it stay.
        manifest: Plain JSON values; ``parts`` maps the name of each part to its file or folder. The format number and
            the checksums are filled in.
        write_parts: Writes exactly these parts into the folder that it is given.

    Returns:
        The manifest as it was written.

    Raises:
        ConfigError: If the target is a file, a folder with something else in it, one with files of the user where
            parts belong, or no path at all.
        NlpkitError: If the parts could not be written; the old model is then as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     manifest = write_model_folder(root, {"parts": {"words": "words.txt"}}, _example_part)
    ...     (manifest["format"], sorted(p.name for p in Path(root).iterdir()))
    (1, ['nlpkit.json', 'words.txt'])
    """
    json.dumps(manifest, allow_nan=False)  # what is no JSON fails before anything is written
    place = as_folder(target)
    try:
        return _replace_model(Path(os.path.realpath(place)), manifest, write_parts)
    except Exception as error:
        if isinstance(error, OSError) or type(error).__name__ == "SafetensorError":
            remedy = ""
            if isinstance(error, OSError) and error.errno in _NO_RENAME:
                remedy = "; the folder is replaced as a whole, so name one that can be made and renamed where it lies"
            raise NlpkitError(
                f"cannot save the model to {str(target)!r}: {error}; what was there before is as it was{remedy}"
            ) from error
        raise


def _replace_model(target: Path, manifest: Mapping[str, Any], write_parts: Callable[[Path], object]) -> dict[str, Any]:
    target.parent.mkdir(parents=True, exist_ok=True)
    _tidy(target, manifest)
    _check_target(target)
    try:
        with _stage(target) as stage:
            write_parts(stage)
            complete = _finish(stage, manifest)
            with suppress(FileNotFoundError):  # there is none, or another saver is about to replace it
                _refuse_to_cover(target, stage, manifest)
                shutil.copymode(target, stage)
            _swap(stage, target)
            return complete
    finally:
        _tidy(target, manifest)


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A new folder beside the target; locked, so that other savers can tell it from what a kill left."""
    with ExitStack() as held:
        for _ in range(_TRIES):
            stage = _sibling(target, _STAGE)
            os.mkdir(stage)
            held.callback(shutil.rmtree, stage, ignore_errors=True)
            with suppress(BlockingIOError, FileNotFoundError):
                held.enter_context(_locked(stage))
                if stage.is_dir():  # else another saver was quicker, and took it for what a kill left
                    break
        yield stage


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock that ends with the process, where there are locks.

    Raises:
        BlockingIOError: Another process holds it.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def _check_target(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise ConfigError(f"cannot save a model to {str(target)!r}: it is a file; name a folder")
    names = [path.name for path in target.iterdir()] if target.is_dir() else []
    if names and MANIFEST not in names:
        raise ConfigError(
            f"cannot save a model to {str(target)!r}: it holds other files and no model; name a new or empty folder"
        )


def _finish(stage: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Write the manifest with format and checksums; all files are forced to disk, with the usual rights."""
    written, expected = sorted(p.name for p in stage.iterdir()), sorted(set(manifest["parts"].values()))
    if written != expected:
        raise ValueError(f"expected the parts {expected}, but {written} were written")
    checksums = {}
    for path in sorted(stage.rglob("*")):
        if path.is_dir():
            _sync_folder(path)
        else:
            checksums[path.relative_to(stage).as_posix()] = checksum_of(path, sync=True)
    complete = {"format": FORMAT, **manifest, "checksums": checksums}
    text = json.dumps(complete, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    _write_file(stage / MANIFEST, text.encode("utf-8"))
    for name in checksums:  # safetensors gives its files to their owner alone
        shutil.copymode(stage / MANIFEST, stage / name)
    _sync_folder(stage)
    return complete


def _refuse_to_cover(target: Path, stage: Path, manifest: Mapping[str, Any]) -> None:
    """Nothing of the user's may stand where a new part goes."""
    for name in _foreign(target, _written(target, manifest)):
        if os.path.lexists(stage / name):
            raise ConfigError(
                f"cannot save a model to {str(target)!r}: {name!r} stands where a part of the model goes, and was not "
                "written with the model that is there; move it away, or name another folder"
            )


def _swap(stage: Path, target: Path) -> None:
    """Give the stage the name of the target, whoever else does so at the same time."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            os.rename(target, _sibling(target, OLD))
        try:
            os.rename(stage, target)
        except OSError:
            if not target.is_dir():
                raise
        else:
            _sync_folder(target.parent)
            return
    raise NlpkitError(f"cannot save the model to {str(target)!r}: others save there all the time; try again later")


def _tidy(target: Path, manifest: Mapping[str, Any]) -> None:
    """Undo or complete what savers left: an old model without a new one comes back, else it goes."""
    with suppress(OSError):  # what is in place is whole
        for old in beside(target, OLD):
            with suppress(OSError):  # another saver was quicker, or something else stands there
                if not (target / MANIFEST).exists():
                    os.rename(old, target)
                else:  # a reader must not find it any more
                    os.rename(old, _sibling(target, _GONE))
        for gone in beside(target, _GONE) if (target / MANIFEST).exists() else []:
            with suppress(OSError):
                _move_over(gone, target, manifest)
        for stage in beside(target, _STAGE):
            with suppress(OSError), _locked(stage):
                shutil.rmtree(stage, ignore_errors=True)


def _sibling(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}{kind}{secrets.token_hex(4)}")


def _move_over(old: Path, target: Path, manifest: Mapping[str, Any]) -> None:
    """Move what is not of the old model to the new one, and remove the old one."""
    names = _written(old, manifest)
    for name in list(_foreign(old, names)):
        if not os.path.lexists(target / name):
            with suppress(OSError):
                for folder in reversed(PurePosixPath(name).parents[:-1]):
                    (target / folder).mkdir(exist_ok=True)
                os.rename(old / name, target / name)
    for name in sorted(names - {MANIFEST}):
        _remove(old / name)
    folders = {parent for name in names for parent in PurePosixPath(name).parents} - {PurePosixPath()}
    for folder in sorted(folders, reverse=True):
        with suppress(OSError):
            os.rmdir(old / folder)
    # The manifest goes last: without it nobody could tell what is of the model.
    if {path.name for path in old.iterdir()} <= {MANIFEST}:
        _remove(old / MANIFEST)
        os.rmdir(old)


def _written(folder: Path, manifest: Mapping[str, Any]) -> set[str]:
    """What saving wrote into a folder: what its manifest says, or else what a model such as this one is made of.

    Raises:
        OSError: The manifest cannot be read, though it may be whole.
    """
    names: Collection[str] = ()
    with suppress(FileNotFoundError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        old = json.loads((folder / MANIFEST).read_bytes())
        names = [str(name) for name in old.get("checksums") or old["parts"].values()]
    return {MANIFEST, *filter(is_inside, names or manifest["parts"].values())}


def _foreign(folder: Path, names: Collection[str], prefix: str = "") -> Iterator[str]:
    """What is in a folder beside these names; a folder that holds none of them as one."""
    with os.scandir(folder) as entries:  # they know what they are, even if another saver removes them meanwhile
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for own, is_folder in sorted(found):
        name = prefix + own
        if is_folder and any(known.startswith(f"{name}/") for known in names):
            yield from _foreign(folder / own, names, f"{name}/")
        elif name not in names:
            yield name


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _write_file(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Force names to disk, where the system can; a rename is then safe from a power cut, too."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _example_part(folder: Path) -> None:
    (folder / "words.txt").write_text("words", encoding="utf-8")
