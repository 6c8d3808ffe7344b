"""What lengths of text a model was trained on, and windows like them over texts that are to be read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nlpkit.ie.words import WordView
from nlpkit.text.sentences import sentence_starts
from nlpkit.text.windows import plan_sentence_windows

USUAL = 0.95
"""The share of the training texts that have no more sentences than a window gets."""

LINKED = 0.99
"""The share of the training links that neighbouring windows must be able to hold."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The texts that a model was trained on.

    Attributes:
        words: Words of the longest one, joined texts included.
        sentences: Sentences that nearly all of them had at most, before records were joined.
        reach: Sentences over which nearly all relations and events go at most; 1 if they stay within one.
    """

    words: int
    sentences: int
    reach: int

    @classmethod
    def of(cls, texts: Iterable[tuple[WordView, Sequence[tuple[int, int]]]], longest: int) -> Seen:
        """Measure training texts.

        Args:
            texts: Each record with the windows over words in which it was read.
            longest: Words of the longest text that was trained on.

        >>> from nlpkit.ie.types import IERecord
        >>> from nlpkit.ie.words import word_view
        >>> Seen.of([(word_view(IERecord(text="It rained. We left.")), [(0, 6)])], 6)
        Seen(words=6, sentences=2, reach=1)
        """
        counts: list[int] = []
        reaches: list[int] = []
        for view, windows in texts:
            starts = view_sentences(view)
            counts += [len({bisect_right(starts, word) for word in range(*window)}) for window in windows]
            reaches += [
                bisect_right(starts, max(one, other)) - bisect_right(starts, min(one, other)) + 1
                for one, other in _links(view)
            ]
        reach = _quantile(reaches, LINKED)
        return cls(words=longest, sentences=max(reach, _quantile(counts, USUAL)), reach=reach)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Seen:
        """The inverse of :meth:`to_dict`."""
        return cls(**{name: int(data[name]) for name in ("words", "sentences", "reach")})

    def to_dict(self) -> dict[str, int]:
        """Plain JSON values."""
        return asdict(self)

    def note(self) -> str:
        """How texts will be read, for the log of the training.

        >>> Seen(words=80, sentences=2, reach=1).note()
        'texts are read in windows of up to 2 sentences, as training texts had; links do not cross sentences'
        """
        window = "one sentence" if self.sentences == 1 else f"up to {self.sentences} sentences"
        reach = "do not cross sentences" if self.reach == 1 else f"reach over {self.reach} sentences"
        return f"texts are read in windows of {window}, as training texts had; links {reach}"

    def windows(
        self, view: WordView, n_pieces: Sequence[int], *, max_words: int, overlap: int, max_pieces: int
    ) -> list[tuple[int, int]]:
        """Windows over the words of a record, like the texts of training; see :func:`plan_sentence_windows`."""
        return plan_sentence_windows(
            n_pieces,
            view.words,
            view_sentences(view),
            sentences=self.sentences,
            shared=self.reach - 1,
            fill=self.words,
            max_words=max_words,
            overlap=overlap,
            max_pieces=max_pieces,
        )


def view_sentences(view: WordView) -> list[int]:
    """The first word of each sentence of a record."""
    return sentence_starts(view.words, view.text, view.offsets or ())


def _links(view: WordView) -> Iterable[tuple[int, int]]:
    """First words of the two spans of each relation, and of each trigger and argument."""
    for head, tail, _ in view.relations or ():
        if view.entities is not None:
            yield view.entities[head][0], view.entities[tail][0]
    for event in view.events or ():
        for argument in event.arguments:
            yield event.trigger.start, argument.start


def _quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that at least this share of the values does not exceed; 1 for none."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else 1
