"""What the results of ``predict`` say of their inputs, summed up for the person at the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from nlpkit.wording import counted

T = TypeVar("T")

SAID = {
    "beyond": "longer than any text of training; where one is read in several windows, nothing links two of them",
    "unknown": "with words that the tokenizer does not know",
    "truncated": "with words that were cut off, being longer than the encoder reads",
    "skipped": "of which something was left out",
}
"""What an entry of a result's ``input`` means when it is not 0 or empty."""


class InputTally:
    """Counts, while the results go by, how many say something of their input that one should know."""

    def __init__(self) -> None:
        self.n_results = 0
        self.counts: Counter[str] = Counter()

    def watch(self, results: Iterable[T]) -> Iterator[T]:
        """The results as they come."""
        for result in results:
            self.n_results += 1
            info = getattr(result, "input", None)
            self.counts.update(name for name in SAID if getattr(info, name, None))
            yield result

    def lines(self) -> list[str]:
        """A line for each kind, with the entry of ``input`` that tells more.

        >>> from types import SimpleNamespace as Namespace
        >>> tally = InputTally()
        >>> _ = list(tally.watch([Namespace(input=Namespace(beyond=7)), Namespace(input=Namespace(beyond=0))]))
        >>> tally.lines()[0][:58]
        'of 2 results, 1 longer than any text of training; where on'
        """
        return [
            f"of {counted(self.n_results, 'result')}, {count:,} {SAID[name]} (input.{name})"
            for name, count in self.counts.items()
        ]
