"""Streams that must not decide how a work ends."""

from __future__ import annotations

from contextlib import suppress
from typing import TextIO


class Unheard:
    """A stream to which nobody may listen any more: what cannot be written is lost, and the work goes on.

    >>> import io
    >>> closed = io.StringIO()
    >>> closed.close()
    >>> Unheard(closed).write("lost")
    4
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Hands on what was written."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        with suppress(OSError, ValueError):
            return self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
