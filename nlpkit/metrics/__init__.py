"""Scores; nothing here loads torch."""

from __future__ import annotations

from nlpkit.metrics.counts import Counts, set_counts

__all__ = ["Counts", "set_counts"]
