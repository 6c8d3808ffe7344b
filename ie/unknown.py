"""How many words of some texts an encoder's tokenizer does not know. Loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from nlpkit.ie.types import IERecord
from nlpkit.wording import counted, plural

REMEDY = "a model sees nothing of what is unknown; take an encoder that knows their script (encoder.name)"

_SHOWN_WORDS = 3


class UnknownWords:
    """Counts them and remembers the first.

    >>> unknown = UnknownWords()
    >>> unknown.add(IERecord(text="Bo ሰላም"), ("Bo", "ሰላም"), [False, True])
    >>> unknown.message
    "1 of 2 words (50.0%) is unknown to the encoder's tokenizer, wholly or in part: 'ሰላም'"
    """

    def __init__(self) -> None:
        self.n_words = self.n_unknown = 0
        self._first: dict[str, str] = {}

    def add(self, record: IERecord, words: Sequence[str], unknown: Sequence[bool]) -> None:
        """Look at the words of one record; ``unknown`` says which of them are."""
        self.n_words += len(words)
        self.n_unknown += sum(unknown)
        for word in compress(words, unknown):
            if len(self._first) < _SHOWN_WORDS and word not in self._first:
                self._first[word] = f" (line {record.source.line})" if record.source else ""

    @property
    def message(self) -> str:
        """How many there are, and the first of them; empty if there is none."""
        if not self.n_unknown:
            return ""
        share = self.n_unknown / self.n_words
        percent = f"{share:.1%}" if share >= 0.001 else "under 0.1%"
        first = ", ".join(f"{word!r}{line}" for word, line in self._first.items())
        return (
            f"{self.n_unknown:,} of {counted(self.n_words, 'word')} ({percent}) {plural(self.n_unknown, 'is', 'are')} "
            f"unknown to the encoder's tokenizer, wholly or in part: {first}"
        )
