"""Score tensors -> typed results: candidate spans and links of each window, merged over windows, then assembled.

Every span and every pair of spans has exactly one *owner*, the window in which it lies farthest from a border inside
the text; only the owner's scores count, so that overlapping windows find each mention once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nlpkit.ie.overlap import Candidate, OverlapPolicy
from nlpkit.ie.utcie.labels import LabelLayout, LinkChannels, Span
from nlpkit.tensors import require_mask
from nlpkit.text.windows import owner

CANDIDATES_PER_WORD = 2
"""Most candidate spans of one group per word of a window; what is cut is said in the result."""

LINKS_PER_WORD = 8
"""Most links of one group per word of a window, likewise: sixteen spans of a short text may all be linked."""

FEWEST_WORDS = 32
"""Words that a shorter window counts as, so that a dense short text is not cut."""

PAIRS_AT_ONCE = 1 << 14
"""Most pairs of spans that are scored at once, since they grow with the square of the spans."""


@dataclass(frozen=True, kw_only=True)
class DecodeSettings:
    """How scores become results.

    Attributes:
        thresholds: Probability from which a type counts, by type name; others take ``threshold``.
        adaptive: Whether links are read against their threshold channel.
        link_agreement: ``mean``: the two border cells of a link must pass on average; ``min``: each of them must.
    """

    threshold: float = 0.5
    thresholds: Mapping[str, float] = field(default_factory=dict)
    entity_overlap: OverlapPolicy = "nested"
    trigger_overlap: OverlapPolicy = "nested"
    argument_overlap: OverlapPolicy = "nested"
    multi_label: bool = True
    schema_filter: bool = False
    adaptive: bool = True
    link_agreement: Literal["mean", "min"] = "mean"

    def vector(self, names: Sequence[str]) -> np.ndarray:
        """The thresholds of some types. Shape: (len(names),)"""
        return np.array([self.thresholds.get(name, self.threshold) for name in names], dtype=np.float32)


class Link(NamedTuple):
    """A scored link between two spans; ``label`` is a position among the link channels of its group."""

    first: Span
    second: Span
    label: int
    score: float


@dataclass(frozen=True)
class Candidates:
    """What one window, or a whole record, proposes; positions are words of the record, ``end`` exclusive."""

    entities: list[Candidate] = field(default_factory=list)
    arguments: list[Candidate] = field(default_factory=list)
    triggers: list[Candidate] = field(default_factory=list)
    relations: list[Link] = field(default_factory=list)
    roles: list[Link] = field(default_factory=list)
    same: list[Link] = field(default_factory=list)
    n_cut: int = 0
    n_cut_links: int = 0


def decode_windows(
    logits: Tensor, word_mask: Tensor, starts: Sequence[int], layout: LabelLayout, settings: DecodeSettings
) -> list[Candidates]:
    """Candidate spans and links of each window of a batch, before any overlap policy.

    Args:
        logits: Scores of all word pairs. Shape: (B, W, W, K)
        word_mask: True for real words. Shape: (B, W)
        starts: Position in its record of each window's first word.
        layout: What the channels mean.
        settings: Thresholds.
    """
    require_mask(word_mask, "word_mask")
    logits = logits.float()
    rows, n_cut = _span_candidates(logits, word_mask, layout, settings)
    out = []
    for mine, cut in zip(rows, n_cut, strict=True):
        groups: list[list[Candidate]] = []
        for part in (layout.entity, layout.argument, layout.trigger):
            chosen = [
                Candidate(int(r[0]), int(r[1]) + 1, int(r[2]) - part.start, float(r[3]))
                for r in mine
                if part.start <= r[2] < part.stop
            ]
            groups.append(chosen)
        out.append(Candidates(groups[0], groups[1], groups[2], n_cut=cut))
    out = _with_links(out, logits, word_mask, layout, settings)
    return [_shift(candidates, start) for candidates, start in zip(out, starts, strict=True)]


def _span_candidates(
    logits: Tensor, word_mask: Tensor, layout: LabelLayout, settings: DecodeSettings
) -> tuple[list[np.ndarray], list[int]]:
    """Rows (first word, last word, channel, probability) of each window that pass their threshold."""
    n_words = logits.shape[1]
    probabilities = torch.sigmoid(logits[..., : layout.n_span])
    probabilities = (probabilities + probabilities.transpose(1, 2)) / 2
    limits = torch.from_numpy(settings.vector(layout.span_names)).to(logits.device)
    is_cell = (word_mask[:, :, None] & word_mask[:, None, :]) & torch.ones(
        n_words, n_words, dtype=torch.bool, device=logits.device
    ).triu()
    found = ((probabilities >= limits) & is_cell.unsqueeze(-1)).nonzero()
    scores = probabilities[found[:, 0], found[:, 1], found[:, 2], found[:, 3]]
    index, values = found.cpu().numpy(), scores.cpu().numpy()
    rows, cut = [], []
    lengths = word_mask.sum(1).tolist()
    for b, length in enumerate(lengths):
        mine = index[:, 0] == b
        table = np.column_stack([index[mine, 1:], values[mine]]) if mine.any() else np.zeros((0, 4))
        n_before = len(table)
        limit = CANDIDATES_PER_WORD * max(int(length), FEWEST_WORDS)
        parts = []
        for part in (layout.entity, layout.argument, layout.trigger):
            group = table[(table[:, 2] >= part.start) & (table[:, 2] < part.stop)]
            parts.append(group if len(group) <= limit else group[np.argsort(-group[:, 3], kind="stable")[:limit]])
        table = np.concatenate(parts)
        rows.append(table)
        cut.append(n_before - len(table))
    return rows, cut


def _with_links(
    windows: list[Candidates], logits: Tensor, word_mask: Tensor, layout: LabelLayout, settings: DecodeSettings
) -> list[Candidates]:
    most = [LINKS_PER_WORD * max(int(n), FEWEST_WORDS) for n in word_mask.sum(1)]
    if layout.relations.n_types:
        symmetric = np.array([name in layout.schema.symmetric for name in layout.relation_names], dtype=bool)
        spans = [_positions(w.entities) for w in windows]
        limits = settings.vector(layout.relation_names)
        scored = _pair_scores(logits, spans, spans, layout.relations, settings, symmetric)
        found = _best_links(scored, limits, most, _are_different)
        windows = [replace(w, relations=f, n_cut_links=cut) for w, (f, cut) in zip(windows, found, strict=True)]
    if not layout.roles.n_types:
        return windows
    triggers = [_positions(w.triggers) for w in windows]
    arguments = [_positions(w.arguments) for w in windows]
    mirrored = np.ones(layout.roles.n_types, dtype=bool)
    limits = settings.vector((*layout.schema.roles, "")[: layout.roles.n_types])
    is_same = np.arange(layout.roles.n_types) == layout.same_mention
    scored = _pair_scores(logits, triggers, arguments, layout.roles, settings, mirrored)
    roles = _best_links(scored, np.where(is_same, np.inf, limits), most)
    same: list[tuple[list[Link], int]] = [([], 0)] * len(windows)
    if layout.same_mention is not None:
        scored = _pair_scores(logits, arguments, arguments, layout.roles, settings, mirrored)
        same = _best_links(scored, np.where(is_same, limits, np.inf), most, _are_in_order)
    return [
        replace(w, roles=r, same=s, n_cut_links=w.n_cut_links + r_cut + s_cut)
        for w, (r, r_cut), (s, s_cut) in zip(windows, roles, same, strict=True)
    ]


def _best_links(
    scored: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
    limits: np.ndarray,
    most: Sequence[int],
    are_wanted: Callable[[np.ndarray], np.ndarray] | None = None,
) -> list[tuple[list[Link], int]]:
    """The links of each window that pass their threshold, the best ones if there are too many, and how many more did.

    Args:
        scored: Blocks of pairs: their window, their positions, their probability of each type.
        limits: The threshold of each type.
        most: How many links a window may have.
        are_wanted: Which pairs may be linked at all.
    """
    best = [np.zeros((0, 6)) for _ in most]
    n_passed = np.zeros(len(most), dtype=np.int64)
    for window, pairs, probabilities in scored:
        # one cell for and one as much against is no link
        passed = probabilities > limits
        if are_wanted is not None:
            passed &= are_wanted(pairs)[:, None]
        row, label = np.nonzero(passed)
        table = np.column_stack([pairs[row], label, probabilities[row, label]])
        for b in np.unique(window[row]):
            mine = np.concatenate([best[b], table[window[row] == b]])
            n_passed[b] += len(mine) - len(best[b])
            if len(mine) > most[b]:
                mine = mine[np.sort(np.argsort(-mine[:, 5], kind="stable")[: most[b]])]
            best[b] = mine
    return [
        (
            [Link((int(r[0]), int(r[1])), (int(r[2]), int(r[3])), int(r[4]), float(r[5])) for r in rows],
            int(n) - len(rows),
        )
        for rows, n in zip(best, n_passed, strict=True)
    ]


def _are_different(pairs: np.ndarray) -> np.ndarray:
    return (pairs[:, :2] != pairs[:, 2:]).any(axis=1)


def _are_in_order(pairs: np.ndarray) -> np.ndarray:
    s1, e1, s2, e2 = pairs.T
    return (s1 < s2) | ((s1 == s2) & (e1 < e2))


def _pair_scores(
    logits: Tensor,
    firsts: Sequence[np.ndarray],
    seconds: Sequence[np.ndarray],
    channels: LinkChannels,
    settings: DecodeSettings,
    mirrored: np.ndarray,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """How probably the two border cells of each pair, start-start and end-end, pass together, for each link type.

    Yields blocks of pairs: window (n,), first and last word of both spans (n, 4), probabilities (n, types).
    """
    threshold = channels.threshold if settings.adaptive else None
    for window, pairs in _pair_blocks(firsts, seconds):
        index = torch.from_numpy(np.column_stack([window, pairs])).to(logits.device)
        row, s1, e1, s2, e2 = index.unbind(1)
        at_start = _margins(logits, row, s1, s2, channels.start, threshold, mirrored)
        at_end = _margins(logits, row, e1 - 1, e2 - 1, channels.end, threshold, mirrored)
        scores = torch.minimum(at_start, at_end) if settings.link_agreement == "min" else (at_start + at_end) / 2
        yield window, pairs, torch.sigmoid(scores).cpu().numpy()


def _pair_blocks(
    firsts: Sequence[np.ndarray], seconds: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs of a window's spans in their order, as many at once as may be; a block may hold several windows."""
    blocks: list[np.ndarray] = []
    n_pairs = 0
    for b, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        step = max(1, PAIRS_AT_ONCE // max(1, len(second)))
        for low in range(0, len(first) if len(second) else 0, step):
            part = first[low : low + step]
            if n_pairs + len(part) * len(second) > PAIRS_AT_ONCE and blocks:
                yield (table := np.concatenate(blocks))[:, 0], table[:, 1:]
                blocks, n_pairs = [], 0
            grid = [np.repeat(part, len(second), axis=0), np.tile(second, (len(part), 1))]
            blocks.append(np.column_stack([np.full(len(grid[0]), b), *grid]))
            n_pairs += len(grid[0])
    if blocks:
        yield (table := np.concatenate(blocks))[:, 0], table[:, 1:]


def _margins(
    logits: Tensor, b: Tensor, i: Tensor, j: Tensor, part: slice, threshold: int | None, mirrored: np.ndarray
) -> Tensor:
    """How far each type is above its threshold at some cells; mirrored types take the mean of both orders."""

    def margin(first: Tensor, second: Tensor) -> Tensor:
        cells = logits[b, first, second]
        return cells[:, part] if threshold is None else cells[:, part] - cells[:, threshold, None]

    forward = margin(i, j)
    if not mirrored.any():
        return forward
    both = (forward + margin(j, i)) / 2
    return torch.where(torch.from_numpy(mirrored).to(both.device), both, forward)


def _positions(candidates: Sequence[Candidate]) -> np.ndarray:
    return np.array(sorted({(c.start, c.end) for c in candidates}), dtype=np.int64).reshape(-1, 2)


def _shift(window: Candidates, start: int) -> Candidates:
    if start == 0:
        return window

    def spans(items: list[Candidate]) -> list[Candidate]:
        return [c._replace(start=c.start + start, end=c.end + start) for c in items]

    def links(items: list[Link]) -> list[Link]:
        return [
            item._replace(
                first=(item.first[0] + start, item.first[1] + start),
                second=(item.second[0] + start, item.second[1] + start),
            )
            for item in items
        ]

    return Candidates(
        spans(window.entities),
        spans(window.arguments),
        spans(window.triggers),
        links(window.relations),
        links(window.roles),
        links(window.same),
        window.n_cut,
        window.n_cut_links,
    )


def owned(windows: Sequence[tuple[int, int]], number: int, candidates: Candidates) -> Candidates:
    """What one window of a record proposes, without what another window decides about.

    Args:
        windows: First word and exclusive last word of each window.
        number: Which of them it is.
        candidates: What it proposes, in positions of the record.
    """
    if len(windows) == 1:
        return candidates

    def spans(items: list[Candidate]) -> list[Candidate]:
        return [c for c in items if owner(windows, c.start, c.end) == number]

    def links(items: list[Link]) -> list[Link]:
        return [
            link
            for link in items
            if owner(windows, min(link.first[0], link.second[0]), max(link.first[1], link.second[1])) == number
        ]

    return replace(
        candidates,
        entities=spans(candidates.entities),
        arguments=spans(candidates.arguments),
        triggers=spans(candidates.triggers),
        relations=links(candidates.relations),
        roles=links(candidates.roles),
        same=links(candidates.same),
    )


def merge_windows(windows: Sequence[tuple[int, int]], candidates: Sequence[Candidates]) -> Candidates:
    """Join the windows of one record; each span and each pair counts only in its owner window.

    Args:
        windows: First word and exclusive last word of each window.
        candidates: What each window proposes, in the same order, in positions of the record.
    """
    return join_owned([owned(windows, k, window) for k, window in enumerate(candidates)])


def join_owned(parts: Sequence[Candidates]) -> Candidates:
    """What the windows of one record propose, of which each has only what it owns."""
    if len(parts) == 1:
        return parts[0]
    merged = Candidates(n_cut=sum(c.n_cut for c in parts), n_cut_links=sum(c.n_cut_links for c in parts))
    for part in parts:
        for name in ("entities", "arguments", "triggers", "relations", "roles", "same"):
            getattr(merged, name).extend(getattr(part, name))
    return merged
