"""Where results go: standard output as they come, or a file that is complete or not there."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, TypeVar, cast

from nlpkit.errors import ConfigError

T = TypeVar("T")
_File = tuple[int, int]

STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output, which may be a file that the shell opened."""

UNFINISHED: set[str] = set()
"""Temporary files that hold results; whoever ends the process without an error removes them."""

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextmanager
def open_output(path: str | None, *, force: bool) -> Iterator[TextIO]:
    """A text file to write to: standard output for None and ``-``.

    A file is written beside its place and moved there at the end, so that an error or a kill leaves what was there
    before. A name that ends in ``.gz`` is compressed. What is no regular file, such as ``/dev/null`` or a named pipe,
    is written to directly.

    Args:
        path: The file, as :func:`require_places` allows it.
        force: Replace what is there.

    Raises:
        ConfigError: The file has come into being meanwhile; what was written is kept under another name.
    """
    if path is None or path in STDOUT:
        yield sys.stdout
        return
    require_places(path, inputs=(), force=force)
    target = Path(os.path.realpath(path))
    if _is_special(target):
        with _naming(path), target.open("w", encoding="utf-8", newline="") as handle:
            yield handle
        return
    try:
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(number)
    except OSError as error:  # name the file that the user asked for, not the temporary one
        raise type(error)(error.errno, error.strerror, path) from error
    UNFINISHED.add(name)
    try:
        opener = gzip.open if target.suffix.lower() == ".gz" else open
        with _naming(path), cast(TextIO, opener(name, "wt", encoding="utf-8", newline="")) as handle:
            yield handle
        os.chmod(name, _mode(target))
        if not force and target.exists():
            raise FileExistsError
        os.replace(name, target)
    except FileExistsError:
        message = "has come into being while this ran, and is kept; what was to be written there is in"
        raise ConfigError(f"{message} {name}", key=path) from None
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    finally:
        UNFINISHED.discard(name)


def require_places(*paths: str | None, inputs: Sequence[str], force: bool) -> None:
    """Refuse files that must not or could not be written, before anything slow begins; None and ``-`` are none.

    Args:
        paths: The files to write; one cannot be written twice.
        inputs: Files, folders and ``-`` that are read, and must not be lost.
        force: Files that are there already may be replaced, but not an input.

    Raises:
        ConfigError: A file would be lost.
        OSError: A file could not be written.
    """
    kept = {file for path in inputs for file in _files_of(path)}
    if _standard_file(sys.stdout) in kept:
        raise ConfigError("standard output goes into a file that is also an input; send it to another one")
    taken: set[Path] = set()
    for path in paths:
        if path is None or path in STDOUT:
            continue
        if not path:
            raise ConfigError("expected the name of a file to write, found an empty one")
        target = Path(os.path.realpath(path))
        if _file_at(target) in kept:
            raise ConfigError("is also an input, and would be lost; name another file to write", key=path)
        if target in taken and not _is_special(target):
            raise ConfigError(f"{path}: two things would be written to this file; name two files")
        taken.add(target)
        if target.is_file() and not force:
            raise ConfigError("is there already; add --force to replace it, or name another file to write", key=path)
        if target.is_dir():
            raise IsADirectoryError(21, "is a folder; expected the name of a file to write", path)
        if not target.parent.is_dir():
            raise FileNotFoundError(2, "its folder does not exist", path)


def flushed(items: Iterable[T], handle: TextIO) -> Iterator[T]:
    """The items; what was written for one goes out before the next is asked for, so that a reader need not wait."""
    for item in items:
        yield item
        handle.flush()


def is_terminal(handle: TextIO) -> bool:
    """Whether a person looks at it."""
    try:
        return handle.isatty()
    except (AttributeError, ValueError):
        return False


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let the error of a full disk name the file, which Python's own does not."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        raise OSError(error.errno, f"{error.strerror}; the file is not written", path) from error


def _files_of(path: str) -> Iterator[_File]:
    """The files that are read with an input: itself, or those of a folder."""
    found = [_standard_file(sys.stdin)] if path == "-" else [_file_at(Path(path))]
    if path != "-" and Path(path).is_dir():
        found = [_file_at(place) for place in Path(path).rglob("*")]
    yield from filter(None, found)


def _file_at(path: Path) -> _File | None:
    """Which file has this name, of the many that links may give it; None for what is no regular file."""
    try:
        return _regular(path.stat())
    except (OSError, ValueError):
        return None


def _standard_file(stream: TextIO) -> _File | None:
    """The file that the shell has opened as standard input or output."""
    try:
        return _regular(os.fstat(stream.fileno()))
    except (OSError, ValueError, AttributeError):
        return None


def _regular(found: os.stat_result) -> _File | None:
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _is_special(target: Path) -> bool:
    """Whether it is a device or a pipe, which is written to in place."""
    return target.exists() and not target.is_file()


def _mode(target: Path) -> int:
    """The rights of the file that is replaced, else those of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
