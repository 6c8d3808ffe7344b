"""Score tensors -> typed results: candidate spans and links of each window, merged over windows, then assembled.

Every span and every pair of spans has exactly one *owner*, the window in which it lies farthest from a border inside
the text; only the owner's scores count, so that overlapping windows find each mention once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nlpkit.ie.overlap import Candidate, OverlapPolicy
from nlpkit.ie.utcie.labels import LabelLayout, LinkChannels, Span
from nlpkit.text.windows import owner

CANDIDATES_PER_WORD = 2
"""Most candidate spans of one group per word of a window; what is cut is said in the result."""


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
    _add_links(logits, out, layout, settings)
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
        limit = CANDIDATES_PER_WORD * max(int(length), 32)
        parts = []
        for part in (layout.entity, layout.argument, layout.trigger):
            group = table[(table[:, 2] >= part.start) & (table[:, 2] < part.stop)]
            parts.append(group if len(group) <= limit else group[np.argsort(-group[:, 3], kind="stable")[:limit]])
        table = np.concatenate(parts)
        rows.append(table)
        cut.append(n_before - len(table))
    return rows, cut


def _add_links(logits: Tensor, windows: list[Candidates], layout: LabelLayout, settings: DecodeSettings) -> None:
    if layout.relations.n_types:
        symmetric = np.array([name in layout.schema.symmetric for name in layout.relation_names], dtype=bool)
        spans = [_positions(w.entities) for w in windows]
        limits = settings.vector(layout.relation_names)
        for b, link in _links(logits, spans, spans, layout.relations, settings, symmetric, limits):
            if link.first != link.second:
                windows[b].relations.append(link)
    if not layout.roles.n_types:
        return
    triggers = [_positions(w.triggers) for w in windows]
    arguments = [_positions(w.arguments) for w in windows]
    mirrored = np.ones(layout.roles.n_types, dtype=bool)
    limits = settings.vector((*layout.schema.roles, "")[: layout.roles.n_types])
    for b, link in _links(logits, triggers, arguments, layout.roles, settings, mirrored, limits):
        if link.label != layout.same_mention:
            windows[b].roles.append(link)
    if layout.same_mention is not None:
        for b, link in _links(logits, arguments, arguments, layout.roles, settings, mirrored, limits):
            if link.label == layout.same_mention and link.first < link.second:
                windows[b].same.append(link)


def _links(
    logits: Tensor,
    firsts: Sequence[np.ndarray],
    seconds: Sequence[np.ndarray],
    channels: LinkChannels,
    settings: DecodeSettings,
    mirrored: np.ndarray,
    limits: np.ndarray,
) -> list[tuple[int, Link]]:
    """Links of all pairs of one window's spans whose two border cells, start-start and end-end, pass together."""
    batch, pairs = [], []
    for b, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        if len(first) and len(second):
            grid = np.concatenate([np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1))], axis=1)
            pairs.append(grid)
            batch.append(np.full(len(grid), b))
    if not pairs:
        return []
    pair, window = np.concatenate(pairs), np.concatenate(batch)
    index = torch.from_numpy(np.column_stack([window, pair])).to(logits.device)
    row, s1, e1, s2, e2 = index.unbind(1)
    threshold = channels.threshold if settings.adaptive else None
    at_start = _margins(logits, row, s1, s2, channels.start, threshold, mirrored)
    at_end = _margins(logits, row, e1 - 1, e2 - 1, channels.end, threshold, mirrored)
    scores = torch.minimum(at_start, at_end) if settings.link_agreement == "min" else (at_start + at_end) / 2
    probabilities = torch.sigmoid(scores).cpu().numpy()
    # one cell for and one as much against is no link
    passed, label = np.nonzero(probabilities > limits)
    return [
        (
            int(window[r]),
            Link(
                (int(pair[r, 0]), int(pair[r, 1])),
                (int(pair[r, 2]), int(pair[r, 3])),
                int(k),
                float(probabilities[r, k]),
            ),
        )
        for r, k in zip(passed, label, strict=True)
    ]


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
    )


def merge_windows(windows: Sequence[tuple[int, int]], candidates: Sequence[Candidates]) -> Candidates:
    """Join the windows of one record; each span and each pair counts only in its owner window.

    Args:
        windows: First word and exclusive last word of each window.
        candidates: What each window proposes, in the same order, in positions of the record.
    """
    if len(windows) == 1:
        return candidates[0]
    merged = Candidates(n_cut=sum(c.n_cut for c in candidates))
    for k, window in enumerate(candidates):
        for name in ("entities", "arguments", "triggers"):
            getattr(merged, name).extend(c for c in getattr(window, name) if owner(windows, c.start, c.end) == k)
        for name in ("relations", "roles", "same"):
            getattr(merged, name).extend(
                link
                for link in getattr(window, name)
                if owner(windows, min(link.first[0], link.second[0]), max(link.first[1], link.second[1])) == k
            )
    return merged
