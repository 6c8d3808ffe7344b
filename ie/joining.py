"""Training texts made of several records, so that a model learns to read more than one sentence."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from nlpkit.ie.types import IERecord
from nlpkit.seed import derive_seed


@dataclass(frozen=True)
class Joinable:
    """What decides whether a record can be joined to others.

    Attributes:
        words: Its length.
        pieces: Its tokenizer pieces.
        kind: Records are joined to records of the same kind only: those that annotate the same groups.
        document: Records of one document are neighbours by ``place``; None: it belongs to none.
        place: Place in the document.
    """

    words: int
    pieces: int
    kind: Hashable
    document: Hashable | None = None
    place: int = 0


def joinable(record: IERecord, words: int, pieces: int) -> Joinable:
    """A record of one window as :func:`join_records` sees it."""
    kind = tuple(group is None for group in (record.entities, record.relations, record.events))
    return Joinable(words, pieces, kind, record.doc_id, record.sent_index or 0)


def join_records(
    items: Sequence[Joinable | None],
    *,
    share: float,
    most: int,
    max_words: int,
    max_pieces: int,
    seed: int,
    epoch: int,
) -> list[tuple[int, ...]]:
    """Longer texts made of a share of the records; a record is in one of them at most.

    A text has two to ``most`` records: neighbours of one document, in its order, and where a document ends, any
    other ones of the same kind. A pure function of its arguments.

    Args:
        items: The records; None for one that cannot be joined.
        share: Share of the records that are in a longer text, on average.
        most: Most records of a text.
        max_words: Most words of a joined text.
        max_pieces: Most tokenizer pieces of a joined text.
        seed: Rules what is joined, together with ``epoch``.
        epoch: Epoch, from 0: each one joins others.

    Returns:
        The members of each text.

    >>> items = [Joinable(5, 6, "k", "a", place) for place in (1, 0, 2)] + [None]
    >>> join_records(items, share=1, most=3, max_words=10, max_pieces=99, seed=1, epoch=0)
    [(1, 0)]
    """
    rng = random.Random(derive_seed(seed, "join", epoch))
    mean = (2 + most) / 2
    chance = share / (mean - share * (mean - 1))
    texts: list[tuple[int, ...]] = []
    for blocks in _blocks(items):
        rng.shuffle(blocks)
        queue = [index for block in blocks for index in block]
        start = 0
        while start < len(queue):
            wanted = rng.randint(2, most) if rng.random() < chance else 1
            stop = start + 1
            while (
                stop < len(queue)
                and stop - start < wanted
                and _fit(items, queue[start : stop + 1], max_words, max_pieces)
            ):
                stop += 1
            if stop - start > 1:
                texts.append(tuple(queue[start:stop]))
            start = stop
    return texts


def _blocks(items: Sequence[Joinable | None]) -> list[list[list[int]]]:
    """For each kind the records that stay in order: those of a document, or a single one without a document."""
    kinds: dict[Hashable, dict[Hashable, list[int]]] = {}
    for index, item in enumerate(items):
        if item is not None:
            name = ("document", item.document) if item.document is not None else index
            kinds.setdefault(item.kind, {}).setdefault(name, []).append(index)
    places = [0 if item is None else item.place for item in items]
    return [
        [sorted(block, key=lambda index: (places[index], index)) for block in kind.values()] for kind in kinds.values()
    ]


def _fit(items: Sequence[Joinable | None], members: Sequence[int], max_words: int, max_pieces: int) -> bool:
    found = [item for index in members if (item := items[index]) is not None]
    return sum(item.words for item in found) <= max_words and sum(item.pieces for item in found) <= max_pieces
