"""Ctrl-C, SIGTERM and a closed terminal while training: finish the step, write a checkpoint, stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(BaseException):
    """Training was asked to stop. Not ``KeyboardInterrupt``, at which Lightning ends the whole process."""


class StopSignals:
    """While entered, the first signal is noted in ``is_requested``, the second one stops at once.

    Outside the main thread signals cannot be handled, and nothing happens. A signal that is ignored, as under nohup,
    stays ignored.
    """

    def __init__(self) -> None:
        self.is_requested = False
        self._is_held = self._is_late = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in _STOPPING}
            self._before = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
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

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is inside comes to its end, and a second signal stops after it: a file is not left half written."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._is_late:
            raise Interrupted

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested and self._is_held:
            self._is_late = True
            return
        if self.is_requested:
            raise Interrupted
        self.is_requested = True
        with suppress(OSError):  # nobody may be there to read it
            # Not print: the signal may have come in the middle of another one.
            os.write(2, b"\nstopping after this step and its checkpoint; once more stops at once\n")
