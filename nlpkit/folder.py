"""Model folders on disk: written so that a kill or a full disk at any moment leaves a whole model, old or new.

A folder holds parts (files or folders) and the manifest ``nlpkit.json``, which names them and their checksums. A new
folder is made under another name and renamed. In an existing one new parts are put beside the old ones under free
names; replacing the manifest, a single operation, makes them valid, and only then the old ones go.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from nlpkit.errors import ConfigError, ModelFormatError, NlpkitError

FORMAT = 1
"""Format of the model folders that this version writes; it reads this one and older ones."""

MANIFEST = "nlpkit.json"
_STAGE = ".saving-"


def write_model_folder(
    target: str | Path, manifest: Mapping[str, Any], write_parts: Callable[[Path], object]
) -> dict[str, Any]:
    """Write a model so that, whatever happens, ``target`` holds the old model or the new one.

    Args:
        target: The folder: new, empty, or one with a model, which is replaced.
        manifest: Plain JSON values; ``parts`` maps the name of each part to its file or folder. The format number, the
            checksums, and the final names of the parts are filled in.
        write_parts: Writes exactly these parts into the folder that it is given.

    Returns:
        The manifest as it was written.

    Raises:
        ConfigError: If the target is a file, a folder with something else in it, or no path at all.
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
            raise NlpkitError(
                f"cannot save the model to {str(target)!r}: {error}; what was there before is as it was"
            ) from error
        raise


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
        if not _is_inside(relative):
            raise ModelFormatError(f"{str(path)!r} names the part {relative!r}, which is outside of the folder")
        part = Path(folder) / relative
        if not part.exists():
            raise ModelFormatError(f"{str(folder)!r} is not whole: the part {relative!r} is missing; copy it again")
        if not (part.is_file() or part.is_dir()):  # a named pipe would be waited for
            raise ModelFormatError(f"{str(folder)!r} is damaged: the part {relative!r} is no file; copy it again")
    if verify:
        for relative, checksum in manifest["checksums"].items():
            if _checksum(Path(folder) / relative) != checksum:
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
        if (place / MANIFEST).is_file():
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


def _replace_model(target: Path, manifest: Mapping[str, Any], write_parts: Callable[[Path], object]) -> dict[str, Any]:
    canonical = {*manifest["parts"].values(), *(_named_parts(target) or ())}
    _check_target(target, canonical)
    is_new = not target.exists()
    place, prefix = (target.parent, f".{target.name}{_STAGE}") if is_new else (target, _STAGE)
    place.mkdir(parents=True, exist_ok=True)
    _remove_stages(place, prefix)
    stage = place / (prefix + secrets.token_hex(4))
    try:
        os.mkdir(stage)
        write_parts(stage)
        return (_publish_new if is_new else _publish_over)(stage, target, manifest)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not is_new:
            _remove_leftovers(target, canonical)


def _check_target(target: Path, canonical: set[str]) -> None:
    if target.exists() and not target.is_dir():
        raise ConfigError(f"cannot save a model to {str(target)!r}: it is a file; name a folder")
    if not target.is_dir() or (target / MANIFEST).exists():
        return
    if any(not _is_stage(path, _STAGE) and not _is_generation(path, canonical) for path in target.iterdir()):
        raise ConfigError(
            f"cannot save a model to {str(target)!r}: it holds other files and no model; name a new or empty folder"
        )


def _publish_new(stage: Path, target: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: name for name in _written_parts(stage, manifest)}
    complete = _complete(stage, manifest, names)
    _write_file(stage / MANIFEST, _to_json(complete))
    _sync_folder(stage)
    os.replace(stage, target)
    _sync_folder(target.parent)
    return complete


def _publish_over(stage: Path, target: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: _free_name(target, name) for name in _written_parts(stage, manifest)}
    complete = _complete(stage, manifest, names)
    _write_file(stage / MANIFEST, _to_json(complete))
    for name, final in names.items():
        os.rename(stage / name, target / final)
    _sync_folder(target)
    os.replace(stage / MANIFEST, target / MANIFEST)
    _sync_folder(target)
    return complete


def _written_parts(stage: Path, manifest: Mapping[str, Any]) -> list[str]:
    written, expected = sorted(p.name for p in stage.iterdir()), sorted(set(manifest["parts"].values()))
    if written != expected:
        raise ValueError(f"expected the parts {expected}, but {written} were written")
    return written


def _complete(stage: Path, manifest: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The manifest with format, final names and checksums; on the way all files are forced to disk."""
    checksums = {}
    for path in sorted(stage.rglob("*")):
        if path.is_dir():
            _sync_folder(path)
            continue
        top, *inner = path.relative_to(stage).parts
        checksums["/".join([names[top], *inner])] = _checksum(path, sync=True)
    parts = {part: names[name] for part, name in manifest["parts"].items()}
    return {"format": FORMAT, **manifest, "parts": parts, "checksums": checksums}


def _to_json(manifest: Mapping[str, Any]) -> bytes:
    return (json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _generations(name: str) -> Iterator[str]:
    """The names that a part may have: its own, then numbered ones."""
    yield name
    path = PurePosixPath(name)
    number = 2
    while True:
        yield f"{path.stem}.{number}{path.suffix}"
        number += 1


def _is_generation(path: Path, canonical: set[str]) -> bool:
    split = [(re.escape(PurePosixPath(name).stem), re.escape(PurePosixPath(name).suffix)) for name in canonical]
    return any(re.fullmatch(rf"{stem}(\.\d+)?{suffix}", path.name) for stem, suffix in split)


def _is_stage(path: Path, prefix: str) -> bool:
    return re.fullmatch(re.escape(prefix) + "[0-9a-f]{8}", path.name) is not None


def _free_name(target: Path, name: str) -> str:
    return next(candidate for candidate in _generations(name) if not os.path.lexists(target / candidate))


def _named_parts(target: Path) -> set[str] | None:
    """The top-level names that the manifest in place needs; None if there is none that can be read."""
    try:
        manifest = json.loads((target / MANIFEST).read_bytes())
        return {PurePosixPath(part).parts[0] for part in manifest["parts"].values()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _remove_leftovers(target: Path, canonical: set[str]) -> None:
    """Remove parts that the manifest in place does not name: of the model before, or of a save that was cut short."""
    used = _named_parts(target)
    if used is None and (target / MANIFEST).exists():
        return
    with suppress(OSError):  # what was saved is safe by now
        for path in target.iterdir():
            if path.name not in (used or ()) and _is_generation(path, canonical):
                _remove(path)


def _remove_stages(place: Path, prefix: str) -> None:
    """Remove what killed saves left behind."""
    for path in place.iterdir():
        if _is_stage(path, prefix):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _is_inside(relative: str) -> bool:
    path = PurePosixPath(relative)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in relative


def _checksum(path: Path, *, sync: bool = False) -> str:
    try:
        with open(path, "rb") as file:
            if sync:
                os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()
    except IsADirectoryError:
        return ""


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
