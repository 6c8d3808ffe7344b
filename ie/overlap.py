"""Which of several overlapping spans are kept; the one place that decides it for all extraction models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

OverlapPolicy = Literal["flat", "nested", "any"]


class Candidate(NamedTuple):
    """A scored span; ``end`` is exclusive, ``label`` is a position in a list of types."""

    start: int
    end: int
    label: int
    score: float


def resolve_overlap(
    candidates: Sequence[Candidate], policy: OverlapPolicy, multi_label: bool = True
) -> list[Candidate]:
    """Keep the best-scored spans that may stand together, in order of start, end and label.

    Args:
        candidates: Scored spans.
        policy: ``flat``: no two spans share a position; ``nested``: one may lie inside another, but they may not cross;
            ``any``: all may stand together.
        multi_label: Whether one span may have several labels (never with ``flat``).

    Ties in the score go to the longer span, then the earlier one, then the smaller label.

    >>> spans = [Candidate(0, 1, 0, 0.8), Candidate(0, 3, 0, 0.9), Candidate(2, 4, 0, 0.7)]
    >>> [(s.start, s.end) for s in resolve_overlap(spans, "flat")]
    [(0, 3)]
    >>> [(s.start, s.end) for s in resolve_overlap(spans, "nested")]
    [(0, 1), (0, 3)]
    """
    if len(candidates) < 2 or (policy == "any" and multi_label):
        return sorted(candidates)
    ranked = sorted(candidates, key=lambda c: (-c.score, c.start - c.end, c.start, c.label))
    spans = np.array([(c.start, c.end) for c in ranked])
    # Only spans that meet can conflict: those that begin before this one ends, and not a whole span before it.
    order = np.argsort(spans[:, 0], kind="stable")
    in_order = spans[order]
    starts, longest = in_order[:, 0], (spans[:, 1] - spans[:, 0]).max()
    low = np.searchsorted(starts, spans[:, 0] - longest)
    high = np.searchsorted(starts, np.maximum(spans[:, 1], spans[:, 0] + 1))
    place = np.argsort(order)
    blocked = np.zeros(len(ranked), dtype=bool)  # in the order of the starts
    kept = []
    for i, candidate in enumerate(ranked):
        if not blocked[place[i]]:
            kept.append(candidate)
            near = slice(low[i], high[i])
            blocked[near] |= conflicts(spans[i], in_order[near], policy, multi_label)
    return sorted(kept)


def conflicts(span: np.ndarray, others: np.ndarray, policy: OverlapPolicy, multi_label: bool = True) -> np.ndarray:
    """Which other spans may not stand beside one.

    Args:
        span: Start and exclusive end. Shape: (2,)
        others: Start and exclusive end. Shape: (n, 2)
        policy: See :func:`resolve_overlap`.
        multi_label: See :func:`resolve_overlap`.

    Returns:
        Shape: (n,)
    """
    (start, end), starts, ends = span, others[:, 0], others[:, 1]
    is_same = (start == starts) & (end == ends)
    if policy == "any":
        return is_same & (not multi_label)
    overlap = (start < ends) & (starts < end)
    if policy == "flat":
        return overlap
    is_nested = ((start <= starts) & (ends <= end)) | ((starts <= start) & (end <= ends))
    return (overlap & ~is_nested) | (is_same & (not multi_label))


def tightest_policy(spans_per_record: Iterable[Sequence[tuple[int, int]]]) -> OverlapPolicy:
    """The strictest policy under which all given spans may stand together; a span given twice has two labels.

    >>> [tightest_policy([spans]) for spans in ([(0, 2), (2, 3)], [(0, 2), (1, 2)], [(0, 2), (1, 3)])]
    ['flat', 'nested', 'any']
    """
    tightest: OverlapPolicy = "flat"
    for spans in spans_per_record:
        table = np.array(sorted(spans)).reshape(-1, 2)
        after = np.searchsorted(table[:, 0], table[:, 1])  # only spans that begin before another one ends can conflict
        for k, span in enumerate(table[:-1]):
            others = table[k + 1 : after[k]]
            if conflicts(span, others, "nested").any():
                return "any"
            if tightest == "flat" and conflicts(span, others, "flat").any():
                tightest = "nested"
    return tightest
