"""Model folders on disk, strict when they are read; :mod:`nlpkit.saving` writes them.

A folder holds parts (files or folders) and the manifest ``nlpkit.json``, which names them and their checksums. A reader
that finds no folder because a new one takes its place, or because of a kill then, takes the old one beside it; it
begins anew if the folder became another meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from nlpkit.errors import ConfigError, ModelFormatError

FORMAT = 1
"""Format of the model folders that this version writes; it reads this one and older ones."""

MANIFEST = "nlpkit.json"
OLD = ".old-"
"""Stands, in the name of an old model, before a number, while a new one takes its place."""

_TRIES = 10

Found = TypeVar("Found")


def read_manifest(folder: str | Path, *, verify: bool = True) -> dict[str, Any]:
    """The manifest of a model folder, after a check that its parts are there and unchanged.

    Args:
        folder: The model folder.
        verify: Compare the checksums, which reads every part.

    Raises:
        ModelFormatError: If the folder holds no model, one of a newer format, or one that is not whole.
    """
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        what = "no model folder: it has no " + MANIFEST if Path(folder).is_dir() else "no folder"
        raise ModelFormatError(f"{str(folder)!r} is {what}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFormatError(f"cannot read {str(path)!r}: {error}") from error
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFormatError(f"{str(path)!r} is no manifest of a model: it has no format number")
    if version > FORMAT:
        raise ModelFormatError(
            f"{str(folder)!r} has model format {version}, this version of nlpkit reads up to {FORMAT}; "
            "upgrade nlpkit-torch"
        )
    for section in ("parts", "checksums"):
        content = manifest.setdefault(section, {})
        if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
            raise ModelFormatError(f"{str(path)!r}: expected names and texts under {section!r}")
    for relative in [*manifest["parts"].values(), *manifest["checksums"]]:
        if not is_inside(relative):
            raise ModelFormatError(f"{str(path)!r} names the part {relative!r}, which is outside of the folder")
        part = Path(folder) / relative
        if not part.exists():
            raise ModelFormatError(f"{str(folder)!r} is not whole: the part {relative!r} is missing; copy it again")
        if not (part.is_file() or part.is_dir()):  # a named pipe would be waited for
            raise ModelFormatError(f"{str(folder)!r} is damaged: the part {relative!r} is no file; copy it again")
    if verify:
        for relative, checksum in manifest["checksums"].items():
            if checksum_of(Path(folder) / relative) != checksum:
                raise ModelFormatError(
                    f"{str(folder)!r} is damaged: {relative!r} does not have the checksum that the manifest gives; "
                    "copy it again"
                )
    return manifest


def part_path(folder: str | Path, manifest: Mapping[str, Any], part: str) -> Path:
    """Where a part of a model lies.

    Raises:
        ModelFormatError: If the model has no such part.
    """
    if part not in manifest["parts"]:
        raise ModelFormatError(f"the model in {str(folder)!r} has no part {part!r}")
    return Path(folder) / manifest["parts"][part]


def as_folder(name: object) -> Path:
    """The path of a folder that a caller named.

    Raises:
        ConfigError: If it cannot be one: empty (which Python takes for the working folder), bytes, None, with a zero.

    >>> as_folder("models/news").name
    'news'
    """
    text = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError(f"expected the path of a folder, found {name!r}")
    return Path(text)


def resolve_model_folder(name: str | Path) -> Path:
    """The model folder that a name stands for: itself, or the best model of a run folder.

    Raises:
        ConfigError: If it is no path at all.
        ModelFormatError: If there is no model.
    """
    folder = as_folder(name)
    with suppress(RuntimeError):  # "~name" of nobody is a name like any other
        folder = folder.expanduser()
    for place in (folder, folder / "best"):
        if _place_of(place):
            return place
    if not folder.exists():
        raise ModelFormatError(
            f"found no folder {str(name)!r}; expected a model folder or a run folder of 'nlpkit fit'"
        )
    if not folder.is_dir():
        raise ModelFormatError(
            f"{str(name)!r} is a file; expected a model folder or a run folder of 'nlpkit fit', before the data files"
        )
    if (folder / "last").is_dir() or (folder / "config.yaml").is_file():
        raise ModelFormatError(f"the run in {str(name)!r} has not saved a model yet")
    raise ModelFormatError(f"{str(name)!r} is no model folder: it has no {MANIFEST}")


def read_whole(find: Callable[[], Path], read: Callable[[Path], Found]) -> Found:
    """What is read from a model folder, all of it of one model: if it is saved anew meanwhile, it is read again.

    Args:
        find: Gives its name.
        read: Reads the folder that it is given, which may have another name for a moment.

    Raises:
        ModelFormatError: It was saved anew each time.
    """
    for number in range(_TRIES):
        time.sleep(0.02 * number)
        name = find()
        folder = _place_of(name) or name
        before = _identity(folder)
        try:
            found = read(folder)
        except Exception:  # parts of two models may break anywhere
            if number == _TRIES - 1 or (before is not None and _identity(folder) == before):
                raise
        else:
            if _identity(folder) == before:
                return found
    raise ModelFormatError(f"{str(name)!r} was saved anew each of {_TRIES} times that it was read; load it later")


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """What changes when another model takes the place; None while there is none."""
    with suppress(OSError):
        manifest = os.stat(folder / MANIFEST)
        return os.stat(folder).st_ino, manifest.st_ino, manifest.st_mtime_ns
    return None


def _place_of(target: Path) -> Path | None:
    """Where the model of this name lies; while a new one takes its place, or after a kill then, beside it."""
    for _ in range(_TRIES):  # the old one may go between two looks, but then the new one is there
        is_there = target.exists()
        if (target / MANIFEST).is_file():
            return target
        for old in [] if is_there else beside(Path(os.path.realpath(target)), OLD):
            if (old / MANIFEST).is_file():
                return old
    return None


def beside(target: Path, kind: str) -> list[Path]:
    """The folders that saving made beside the target."""
    pattern = re.compile(re.escape(f".{target.name}{kind}") + "[0-9a-f]{8}")
    with suppress(OSError):
        return [path for path in sorted(target.parent.iterdir()) if pattern.fullmatch(path.name)]
    return []


def is_inside(relative: str) -> bool:
    """Whether the name of a part stays in its folder."""
    path = PurePosixPath(relative)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in relative


def checksum_of(path: Path, *, sync: bool = False) -> str:
    """The SHA-256 of a file; with ``sync`` it is forced to disk first."""
    try:
        with open(path, "rb") as file:
            if sync:
                os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()
    except IsADirectoryError:
        return ""
