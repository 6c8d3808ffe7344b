"""How many threads compute, and how idle ones wait. Set before torch is imported, so nothing here imports it early."""

from __future__ import annotations

import os

WAIT = "OMP_WAIT_POLICY"

CHOICES = (WAIT, "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
"""Environment variables by which users say how idle threads wait; one that is set is left alone."""


def wait_passively() -> None:
    """Let idle threads sleep, unless the user said otherwise; has an effect only before torch is imported.

    By default they spin for a while. On a machine with other work they then keep each other from the processor, and
    training may take many times as long. The numbers do not depend on it.

    >>> import os
    >>> wait_passively()
    >>> any(name in os.environ for name in CHOICES)
    True
    """
    if not any(name in os.environ for name in CHOICES):
        os.environ[WAIT] = "passive"


def limit_threads(n: int) -> None:
    """Compute with ``n`` threads; imports torch."""
    import torch

    torch.set_num_threads(n)
