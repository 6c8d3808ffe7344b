"""Ctrl-C and SIGTERM while training: finish the step, write a checkpoint, stop."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupted(BaseException):
    """Training was asked to stop. Not ``KeyboardInterrupt``, at which Lightning ends the whole process."""


class StopSignals:
    """While entered, the first signal is noted in ``is_requested``, the second one stops at once.

    Outside the main thread signals cannot be handled, and nothing happens.
    """

    def __init__(self) -> None:
        self.is_requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            self.install()
        return self

    def install(self) -> None:
        """Takes the signals (again: Lightning puts a handler of its own in place when it starts)."""
        for number in self._before:
            signal.signal(number, self._note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None: the handler was not set from Python, and cannot be put back from Python.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            raise Interrupted
        self.is_requested = True
        # Not print: the signal may have come in the middle of another one.
        os.write(2, b"\nstopping after this step and its checkpoint; once more stops at once\n")
