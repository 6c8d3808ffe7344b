"""Which kinds of borders inside words the spans of annotated records need. Loads no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from nlpkit.ie.types import Argument, Entity, IERecord, Trigger
from nlpkit.text.align import align_span, char_span
from nlpkit.text.words import BORDERS, DEFAULT_BORDERS, split_words
from nlpkit.wording import counted

_EXTRA = tuple(kind for kind in BORDERS if kind not in DEFAULT_BORDERS)


class BorderNeeds:
    """Collects the kinds of borders, beyond the default ones, without which spans of the records would cut a word.

    Spans that even the finest rules cut need nothing: no choice of borders would help them.

    >>> from nlpkit.ie.types import Entity
    >>> needs = BorderNeeds()
    >>> needs.add(IERecord(text="김민수가 왔다", entities=(Entity(start=0, end=3, type="Person"),)))
    ('hangul',)
    >>> needs.borders
    ('number-unit', 'comma-list', 'hangul')
    >>> needs.described()
    ["hangul (1 span, such as '김민수' in '김민수가')"]
    """

    def __init__(self) -> None:
        self._n_spans: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, record: IERecord) -> tuple[str, ...]:
        """Look at one record.

        Returns:
            The kinds that this record needs.
        """
        found: set[str] = set()
        for (start, end), whole, kinds in _repaired(record):
            found.update(kinds)
            for kind in kinds:
                self._n_spans[kind] += 1
                place = f" (line {record.source.line})" if record.source else ""
                self._examples.setdefault(kind, f"{record.surface(start, end)!r} in {whole!r}{place}")
        return _ordered(found)

    @property
    def borders(self) -> tuple[str, ...]:
        """The default kinds and those that were needed."""
        return _ordered({*DEFAULT_BORDERS, *self._n_spans})

    def described(self) -> list[str]:
        """Each kind that is needed, for how many spans, and the first of them."""
        return [
            f"{kind} ({counted(self._n_spans[kind], 'span')}, such as {self._examples[kind]})"
            for kind in _ordered(set(self._n_spans))
        ]


def _ordered(kinds: set[str]) -> tuple[str, ...]:
    return tuple(kind for kind in BORDERS if kind in kinds)


def _repaired(record: IERecord) -> Iterator[tuple[tuple[int, int], str, tuple[str, ...]]]:
    """Spans that cut a word by default, the words that they cut, and the fewest kinds of borders that repair them."""
    text = record.text
    if text is None or not (spans := _spans(record)):
        return
    words = split_words(text)
    cut = [span for span in spans if not align_span(words, *span)[2]]
    for n_kinds in range(1, len(_EXTRA) + 1):
        for kinds in combinations(_EXTRA, n_kinds):
            if not cut:
                return
            finer = split_words(text, (*DEFAULT_BORDERS, *kinds))
            still_cut = []
            for span in cut:
                if not align_span(finer, *span)[2]:
                    still_cut.append(span)
                    continue
                first, last, _ = align_span(words, *span)
                yield span, text[slice(*char_span(words, first, last))], kinds
            cut = still_cut


def _spans(record: IERecord) -> list[tuple[int, int]]:
    events = record.events or ()
    items: list[Entity | Trigger | Argument] = [
        *(record.entities or ()),
        *(event.trigger for event in events),
        *(argument for event in events for argument in event.arguments),
    ]
    return list(dict.fromkeys((item.start, item.end) for item in items))
