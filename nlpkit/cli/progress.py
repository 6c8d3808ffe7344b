"""A bar for whoever waits for long input; on a terminal only, and never among the results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nlpkit.cli.output import is_terminal
from nlpkit.training.progress import show_seconds
from nlpkit.wording import plural

T = TypeVar("T")


def nothing() -> None:
    """Shows no progress."""


@contextmanager
def progress_bar(noun: str, total: int | None, *, is_shown: bool) -> Iterator[Callable[[], None]]:
    """Draw a bar on standard error, which is gone at the end.

    Args:
        noun: What is counted, for one.
        total: How many there will be; None if nobody knows.
        is_shown: Draw it if standard error is a terminal.

    Yields:
        A function to call after each item.

    >>> with progress_bar("text", 3, is_shown=False) as advance:
    ...     advance()
    """
    if not is_shown or not is_terminal(sys.stderr):
        yield nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    tempo = Tempo(noun, total)

    class Said(ProgressColumn):
        """Where it is; rich itself takes items that come in bursts for much faster than they are."""

        def render(self, task: Task) -> Text:
            """Called some times a second."""
            return Text(tempo.describe(time.monotonic()))

    # Standard output is not the bar's: what is written there are results, mostly into a file.
    console = Console(stderr=True)
    columns = (Said(Column(no_wrap=True)), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)

        def advance() -> None:
            tempo.advance(time.monotonic())
            bar.update(task, completed=tempo.done)

        yield advance


class Tempo:
    """How far it is and how fast it goes.

    >>> tempo = Tempo("text", 3, now=0.0)
    >>> tempo.advance(now=4.0)
    >>> tempo.describe(now=5.0)
    '1 of 3 texts, 0.25 a second, 7 s left'
    """

    def __init__(self, noun: str, total: int | None, now: float | None = None) -> None:
        self.noun, self.total, self.done = noun, total, 0
        self.start = self.last = time.monotonic() if now is None else now

    def advance(self, now: float) -> None:
        """One more is done."""
        self.done += 1
        self.last = now

    def describe(self, now: float) -> str:
        """Done, rate, and time left, which runs on until the next one is done."""
        seconds = self.last - self.start
        place = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        parts = [f"{place} {plural(self.done if self.total is None else self.total, self.noun)}"]
        if self.done and seconds > 0:
            rate = self.done / seconds
            parts.append(f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.2g} a second")
            if self.total is not None:
                left = (self.total - self.done) / rate - (now - self.last)
                parts.append(f"{show_seconds(max(0.0, left))} left")
        return ", ".join(parts)


def watched(items: Iterable[T], advance: Callable[[], None]) -> Iterator[T]:
    """The items; ``advance`` is called after each."""
    for item in items:
        yield item
        advance()
