"""Where results go: standard output as they come, or a file that is complete or not there."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, TypeVar, cast

from nlpkit.errors import ConfigError

T = TypeVar("T")

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A text file to write to: standard output for None and ``-``.

    A file is written beside its place and moved there at the end, so that an error or a kill leaves what was there
    before; an input may therefore also be the output. A name that ends in ``.gz`` is compressed. What is no regular
    file, such as ``/dev/null`` or a named pipe, is written to directly.
    """
    if path is None or path == "-":
        yield sys.stdout
        return
    require_places(path)
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
    try:
        opener = gzip.open if target.suffix.lower() == ".gz" else open
        with _naming(path), cast(TextIO, opener(name, "wt", encoding="utf-8", newline="")) as handle:
            yield handle
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def require_places(*paths: str | None, inputs: Sequence[str] = ()) -> None:
    """Refuse files that could not be written at the end, before anything slow begins; None and ``-`` are none.

    Args:
        paths: The files to write; one cannot be written twice.
        inputs: Files that must not be lost.
    """
    kept = {os.path.realpath(path) for path in inputs}
    taken: set[Path] = set()
    for path in paths:
        if path is None or path == "-":
            continue
        if not path:
            raise ConfigError("expected the name of a file to write, found an empty one")
        target = Path(os.path.realpath(path))
        if str(target) in kept:
            raise ConfigError(f"{path}: is also an input, and would be lost; name another file to write")
        if target in taken and not _is_special(target):
            raise ConfigError(f"{path}: two things would be written to this file; name two files")
        taken.add(target)
        if target.is_dir():
            raise IsADirectoryError(21, "is a folder; expected a file", path)
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
