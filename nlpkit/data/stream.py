"""Lines from a pipe as they come, and chunks that wait for no more input than there is."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import IO, Final, Literal, TypeVar

from nlpkit.errors import DataError, Problem

T = TypeVar("T")


class Flush(Enum):
    """The type of ``FLUSH``."""

    FLUSH = "flush"


FLUSH: Final = Flush.FLUSH
"""Stands between two items of a stream when nothing waits to be read: answer now what has been asked."""

PATIENCE = 0.01
"""Seconds that more input is waited for before ``FLUSH``: a fast writer should not be answered line by line."""

_CHUNK = 1 << 16
_BOM = b"\xef\xbb\xbf"


def read_stream(source: int | IO[bytes] | IO[str], *, name: str = "-") -> Iterator[str | Literal[Flush.FLUSH]]:
    """The lines of a stream without their ends, and ``FLUSH`` whenever all that was written so far has been read.

    Lines end at line feeds only; a carriage return in front of one belongs to the end. Blank lines are lines. Memory is
    bounded by the longest line.

    Args:
        source: A file descriptor, or a file, whose descriptor is read past any buffer of its own.
        name: What error messages call the stream.

    Raises:
        DataError: If a line is no UTF-8; the lines before it have been given by then.

    >>> import io
    >>> list(read_stream(io.BytesIO(b"one\\r\\n\\ntwo")))
    ['one', '', 'two']
    """
    number = 0
    for line in _raw_lines(_chunks(source)):
        if isinstance(line, Flush):
            yield line
            continue
        number += 1
        if number == 1 and line.startswith(_BOM):
            line = line[len(_BOM) :]
        try:
            yield line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            problem = Problem(
                message=f"expected UTF-8, found the byte 0x{line[error.start]:02x} at byte {error.start + 1}",
                remedy="convert the input to UTF-8 text",
                file=name,
                line=number,
            )
            raise DataError([problem]) from None


def lookahead(items: Iterable[T | Literal[Flush.FLUSH]], size: int) -> Iterator[list[T]]:
    """Chunks of ``size`` items, in order; a shorter one where the stream says ``FLUSH``, and at the end.

    An error of the stream comes after the items before it.

    >>> list(lookahead(["a", "b", "c", FLUSH, "d"], size=2))
    [['a', 'b'], ['c'], ['d']]
    """
    if size < 1:
        raise ValueError(f"expected a size of at least 1, got {size}")
    chunk: list[T] = []
    stream = iter(items)
    while True:
        try:
            item = next(stream)
        except StopIteration:
            break
        except Exception:
            if chunk:
                yield chunk
            raise
        if not isinstance(item, Flush):
            chunk.append(item)
        if chunk and (isinstance(item, Flush) or len(chunk) == size):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _chunks(source: int | IO[bytes] | IO[str]) -> Iterator[bytes | Flush]:
    """Bytes as they come; ``FLUSH`` before each wait for more."""
    try:
        descriptor = source if isinstance(source, int) else source.fileno()
    except OSError:  # a file in memory: nothing to wait for
        assert not isinstance(source, int)
        while text := source.read(_CHUNK):
            yield text.encode("utf-8") if isinstance(text, str) else text
        return
    while True:
        if not _has_input(descriptor):
            yield FLUSH
        data = os.read(descriptor, _CHUNK)
        if not data:
            return
        yield data


def _has_input(descriptor: int) -> bool:
    try:
        return bool(select.select([descriptor], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # not every system can ask about a pipe; then each read may have to wait
        return False


def _raw_lines(chunks: Iterable[bytes | Flush]) -> Iterator[bytes | Flush]:
    """Whole lines; the pieces of a long one are joined once."""
    rest: list[bytes] = []
    has_lines = False
    for data in chunks:
        if isinstance(data, Flush):
            if has_lines:
                yield data
            has_lines = False
            continue
        first, *others = data.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest)
            has_lines = True
            rest = [other]
    if last := b"".join(rest):
        yield last
