"""One number rules all chance: seeding, and saving and restoring the state of every generator."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch import Tensor


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A seed of its own for each purpose, so that two users of one seed do not draw the same numbers.

    >>> derive_seed(1, "split") == derive_seed(1, "split"), derive_seed(1, "split") == derive_seed(1, "dropout")
    (True, False)
    """
    text = "/".join([str(seed), *map(str, purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def seed_everything(seed: int) -> None:
    """Seeds the global generators of Python, NumPy and PyTorch (all devices)."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


RngState = dict[str, "Tensor | list[Tensor] | list[int] | list[float]"]


def rng_state() -> RngState:
    """The state of all global generators in types that ``torch.load(weights_only=True)`` reads."""
    import numpy as np
    import torch

    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    if name != "MT19937" or isinstance(keys, str):  # replaced by the caller
        raise RuntimeError(f"cannot save the state of NumPy's global generator {name!r}; expected MT19937")
    return {
        "python": [version, *words],
        "python_gauss": [] if gauss is None else [gauss],
        "numpy": [*keys.tolist(), int(position), int(has_gauss)],
        "numpy_gauss": [float(cached)],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }


def set_rng_state(state: RngState) -> None:
    """Restores what :func:`rng_state` returned."""
    import numpy as np
    import torch

    version, *words = cast("list[int]", state["python"])
    gauss = cast("list[float]", state["python_gauss"])
    random.setstate((version, tuple(words), gauss[0] if gauss else None))
    *keys, position, has_gauss = cast("list[int]", state["numpy"])
    cached = cast("list[float]", state["numpy_gauss"])[0]
    np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    torch.set_rng_state(cast("Tensor", state["torch"]))
    cuda = cast("list[Tensor]", state["cuda"])
    if cuda and len(cuda) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(cuda)


@contextmanager
def preserved_rng() -> Iterator[None]:
    """Leaves the global generators as they were found."""
    state = rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


@contextmanager
def repeatable() -> Iterator[None]:
    """Sums in an order of their own: what is computed inside is equal bit for bit with equal seed and thread count.

    Without it two threads add up gradients in the order in which they happen to come. Operations that have no such
    form, which are some on a GPU, are done as ever.
    """
    import torch

    mode, memory = torch.get_deterministic_debug_mode(), cast(Any, torch.utils.deterministic)
    fills = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=mode < 2)
    memory.fill_uninitialized_memory = fills and mode > 0  # a slow aid for debugging
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        memory.fill_uninitialized_memory = fills
