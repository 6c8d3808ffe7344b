"""Records -> tensors: word views, windows, pieces, word shapes, and the gold cells as sparse coordinates."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from nlpkit.encoder.encoder import PieceBatch, TextEncoder
from nlpkit.encoder.pieces import MAX_WORD
from nlpkit.ie.joining import Joinable, joinable
from nlpkit.ie.seen import Seen
from nlpkit.ie.types import IERecord, InputInfo
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.labels import GoldCells, LabelLayout, gold_cells, join_cells
from nlpkit.ie.words import Misaligned, WordView, word_view
from nlpkit.text.windows import plan_windows
from nlpkit.text.words import DEFAULT_BORDERS
from nlpkit.wording import counted


@dataclass(frozen=True)
class Example:
    """One record ready for the network.

    Attributes:
        record: The record.
        view: Its words.
        pieces: Piece ids of each word.
        shapes: Shape class of each word.
        unknown: Whether the tokenizer does not know each word, wholly or in part.
        windows: First word and exclusive last word of each window; none for a record without words.
        cells: Gold cells of each window, in training only.
    """

    record: IERecord
    view: WordView
    pieces: list[list[int]]
    shapes: list[int]
    unknown: list[bool]
    windows: list[tuple[int, int]]
    cells: list[GoldCells] | None = None

    def input_info(
        self, encoder_limit: int, n_cut: int = 0, seen: Seen | None = None, n_cut_links: int = 0
    ) -> InputInfo:
        """What the model saw of the record; so many candidate spans, and links between them, were too many."""
        skipped = self.view.skipped
        if n_long := sum(len(word) > MAX_WORD for word in self.view.words):
            what = f"{counted(n_long, 'word')} of more than {MAX_WORD:,} characters"
            skipped = (*skipped, f"{what}: all but the first {MAX_WORD:,} of each")
        if n_cut:
            skipped = (*skipped, f"{counted(n_cut, 'candidate span')} beyond the most that a window may have")
        if n_cut_links:
            skipped = (*skipped, f"{counted(n_cut_links, 'candidate link')} beyond the most that a window may have")
        return InputInfo(
            words=len(self.view.words),
            pieces=sum(map(len, self.pieces)),
            windows=len(self.windows),
            beyond=max(0, len(self.view.words) - seen.words) if seen else 0,
            truncated=sum(max(0, len(p) - encoder_limit) for p in self.pieces),
            unknown=sum(self.unknown),
            skipped=skipped,
        )


def prepare(
    records: Iterable[IERecord],
    encoder: TextEncoder,
    config: UTCIEModelConfig,
    *,
    layout: LabelLayout | None = None,
    misaligned: Misaligned = "error",
    seen: Seen | None = None,
    word_borders: Collection[str] = DEFAULT_BORDERS,
) -> list[Example]:
    """Make examples; with a ``layout`` the annotations become gold cells, without one they are not looked at.

    Windows are like the texts that were ``seen`` in training; without it they are as long as the config allows. Texts
    are split at the kinds of ``word_borders`` that the model has learned.
    """
    records = list(records)
    if layout is None:
        views = [
            word_view(replace(r, entities=None, relations=None, events=None), borders=word_borders) for r in records
        ]
    else:
        views = [word_view(r, misaligned, word_borders) for r in records]
    out = []
    for record, view, pieces in zip(records, views, encoder.pieces([list(v.words) for v in views]), strict=True):
        n_pieces = [len(p) for p in pieces]
        limits = {
            "max_words": config.max_words,
            "overlap": config.window_overlap,
            "max_pieces": encoder.max_pieces,
        }
        if seen is None:
            windows = plan_windows(n_pieces, view.words, **limits)
        else:
            windows = seen.windows(view, n_pieces, **limits)
        cells = None if layout is None else [gold_cells(view, layout, start, stop) for start, stop in windows]
        shapes, unknown = [word_shape(w) for w in view.words], encoder.tokenizer.unknown(view.words, pieces)
        out.append(Example(record, view, pieces, shapes, unknown, windows, cells))
    return out


def join(examples: Sequence[Example]) -> Example:
    """Several records of one window as one text, with the gold cells of all."""
    if len(examples) == 1:
        return examples[0]
    words = tuple(word for example in examples for word in example.view.words)
    return Example(
        record=IERecord(tokens=words),
        view=WordView(words=words),
        pieces=[pieces for example in examples for pieces in example.pieces],
        shapes=[shape for example in examples for shape in example.shapes],
        unknown=[is_unknown for example in examples for is_unknown in example.unknown],
        windows=[(0, len(words))],
        cells=[join_cells([(example.cells[0], len(example.view.words)) for example in examples if example.cells])],
    )


def joinables(examples: Sequence[Example]) -> list[Joinable | None]:
    """Each window as :func:`nlpkit.ie.joining.join_records` sees it; a record of several windows stays alone."""
    return [
        joinable(example.record, len(example.view.words), sum(map(len, example.pieces)))
        if len(example.windows) == 1
        else None
        for example in examples
        for _ in example.windows
    ]


@lru_cache(maxsize=50_000)
def word_shape(word: str) -> int:
    """Class of a word's form: what casing and digits tell, which an uncased encoder does not see. 0 is padding.

    >>> [word_shape(w) for w in ("1998", "B-52", "--", "J.", "bank", "IBM", "Paris", "eBay", "東京")]
    [1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    letters = [c for c in word if c.isalpha()]
    if any(c.isdigit() for c in word):
        return 2 if letters else 1
    if not letters:
        return 3
    if all(unicodedata.category(c) in ("Lo", "Lm") for c in letters):
        return 9
    if len(letters) == 1 and letters[0].isupper():
        return 4
    if all(not c.isupper() and not c.istitle() for c in letters):
        return 5
    if all(c.isupper() for c in letters):
        return 6
    if not letters[0].islower() and all(c.islower() for c in letters[1:]):
        return 7
    return 8


@dataclass(frozen=True)
class WindowBatch:
    """Windows as tensors.

    Attributes:
        pieces: Piece ids of each window.
        word_mask: True for real words. Shape: (B, W)
        shapes: Word-shape classes. Shape: (B, W)
        windows: Example and window number of each row.
        spans, relations, roles: Gold cells (row, first word, second word, label). Shape: (n, 4)
        borders: Border pairs of two gold spans (row, first word, second word). Shape: (n, 3)
        groups: Whether entities, relations and events are annotated. Shape: (B, 3)
    """

    pieces: PieceBatch
    word_mask: Tensor
    shapes: Tensor
    windows: tuple[tuple[int, int], ...]
    spans: Tensor | None = None
    relations: Tensor | None = None
    roles: Tensor | None = None
    borders: Tensor | None = None
    groups: Tensor | None = None

    def to(self, device: torch.device | str, non_blocking: bool = False) -> WindowBatch:
        """The batch on another device."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=non_blocking)
            for name, value in vars(self).items()
            if isinstance(value, (Tensor, PieceBatch))
        }
        return replace(self, **moved)


def window_list(examples: Sequence[Example]) -> list[tuple[int, int]]:
    """All windows of some examples, as (example, window) numbers."""
    return [(e, w) for e, example in enumerate(examples) for w in range(len(example.windows))]


def window_length(examples: Sequence[Example], window: tuple[int, int]) -> int:
    """Number of words of a window."""
    start, stop = examples[window[0]].windows[window[1]]
    return stop - start


def n_window_pieces(examples: Sequence[Example], window: tuple[int, int]) -> int:
    """Number of pieces of a window."""
    start, stop = examples[window[0]].windows[window[1]]
    return sum(map(len, examples[window[0]].pieces[start:stop]))


def collate(examples: Sequence[Example], windows: Sequence[tuple[int, int]], encoder: TextEncoder) -> WindowBatch:
    """Put windows into one batch; with gold cells if the examples have them."""
    bounds = [(examples[e], *examples[e].windows[w]) for e, w in windows]
    pieces = encoder.collate([example.pieces[start:stop] for example, start, stop in bounds])
    n_words = max(stop - start for _, start, stop in bounds)
    word_mask = torch.zeros(len(bounds), n_words, dtype=torch.bool)
    shapes = torch.zeros(len(bounds), n_words, dtype=torch.long)
    for row, (example, start, stop) in enumerate(bounds):
        word_mask[row, : stop - start] = True
        shapes[row, : stop - start] = torch.tensor(example.shapes[start:stop], dtype=torch.long)
    gold = [examples[e].cells[w] for e, w in windows if examples[e].cells is not None]  # type: ignore[index]
    if len(gold) < len(windows):
        return WindowBatch(pieces, word_mask, shapes, tuple(windows))
    return WindowBatch(
        pieces,
        word_mask,
        shapes,
        tuple(windows),
        spans=_coordinates((g.spans for g in gold), 4),
        relations=_coordinates((g.relations for g in gold), 4),
        roles=_coordinates((g.roles for g in gold), 4),
        borders=_coordinates((g.borders for g in gold), 3),
        groups=torch.tensor([g.groups for g in gold]),
    )


def _coordinates(cells: Iterator[Sequence[tuple[int, ...]]], width: int) -> Tensor:
    rows = [(row, *cell) for row, of_window in enumerate(cells) for cell in of_window]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, width)
