"""What the user sees while a model is trained: a bar on a terminal, a line an epoch elsewhere, and ``log.txt``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from nlpkit.streams import Unheard

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Reporter:
    """Messages to standard error and to a log file, and a progress bar if standard error is a terminal.

    That standard error is closed or full stops nothing.

    Args:
        log: The file that messages are added to, or None.
        is_live: Draw a bar; by default if standard error is a terminal.
    """

    def __init__(self, log: Path | None, *, is_live: bool | None = None) -> None:
        self._log: TextIO | None = log.open("a", encoding="utf-8", newline="\n") if log else None
        self._is_live = Unheard(sys.stderr).isatty() if is_live is None else is_live
        self._bar: Progress | None = None
        self._bar_task: TaskID | None = None

    def message(self, text: str) -> None:
        """Says something, a line or more, and logs it with the time."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=Unheard(sys.stderr), flush=True)
        self.log(text)

    def log(self, text: str) -> None:
        """Logs something with the time, without saying it."""
        if self._log:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            self._log.writelines(f"{stamp} {line}\n" for line in text.splitlines())
            self._log.flush()

    def start(self, total: int, done: int) -> None:
        """Opens a new bar; ``total`` and ``done`` are in the unit of the batches' cost, over all epochs."""
        if not self._is_live:
            return
        if self._bar is not None:
            self._bar.stop()
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=cast(TextIO, Unheard(sys.stderr))),
            speed_estimate_period=60,  # one slow batch does not make the time left jump
        )
        self._bar_task = self._bar.add_task("", total=total, completed=done, loss="", score="")
        self._bar.start()

    def advance(self, cost: int, *, where: str, loss: float | None) -> None:
        """Moves the bar on by one batch."""
        if self._bar is not None and self._bar_task is not None:
            shown = "" if loss is None else f"loss {loss:.4g}"
            self._bar.update(self._bar_task, advance=cost, description=where, loss=shown)

    def describe(self, where: str | None = None, *, score: str | None = None) -> None:
        """Changes the words of the bar."""
        if self._bar is not None and self._bar_task is not None:
            if where is not None:
                self._bar.update(self._bar_task, description=where)
            if score is not None:
                self._bar.update(self._bar_task, score=score)

    def close(self) -> None:
        """Takes the bar away and closes the log; may be called twice."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._log:
            self._log.close()
            self._log = None


def show_seconds(seconds: float) -> str:
    """A length of time as people write it.

    >>> show_seconds(7.4), show_seconds(200), show_seconds(8000)
    ('7 s', '3 min 20 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def show_bytes(n: float) -> str:
    """An amount of memory.

    >>> show_bytes(3 * 2**20), show_bytes(1.5 * 2**30)
    ('3 MiB', '1.5 GiB')
    """
    return f"{n / 2**20:,.0f} MiB" if n < 2**30 else f"{n / 2**30:,.1f} GiB"
