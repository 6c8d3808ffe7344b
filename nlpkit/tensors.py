"""What weights a file holds, read from its header, compared with what a network needs before memory is taken for it.

A network is built on torch's ``meta`` device, which knows shapes and holds no numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nlpkit.errors import ModelFormatError
from nlpkit.wording import counted

if TYPE_CHECKING:
    from torch import Tensor, nn

    Network = TypeVar("Network", bound=nn.Module)


def require_mask(mask: Tensor, name: str) -> None:
    """Refuse a mask of numbers: attention would add it to its scores, where True and False say what is kept.

    Raises:
        TypeError: The mask is not boolean.

    >>> import torch
    >>> require_mask(torch.ones(2), "word_mask")
    Traceback (most recent call last):
        ...
    TypeError: word_mask: expected a boolean mask, True means keep; found torch.float32; write word_mask > 0
    """
    if str(mask.dtype) != "torch.bool":
        raise TypeError(f"{name}: expected a boolean mask, True means keep; found {mask.dtype}; write {name} > 0")


Shapes = Mapping[str, tuple[int, ...]]
"""The shape of each tensor, by name."""

SHOWN_TENSORS = 3
"""How many tensors of a kind a message names; the rest are counted."""

_SPARE_PARTS = 2000
"""A network has more modules than tensors, by a small factor; a small one may have this many anyway."""


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors in a safetensors file, without the numbers; no torch.

    Raises:
        ModelFormatError: It is no such file, or its header does not fit its size.

    >>> import tempfile, numpy as np
    >>> from safetensors.numpy import save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"bias": np.zeros(3)}, Path(folder) / "head.safetensors")
    ...     read_shapes(Path(folder) / "head.safetensors")
    {'bias': (3,)}
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        what = "is a folder, expected a safetensors file" if path.is_dir() else "is missing"
        raise ModelFormatError(f"{str(path)!r} {what}; copy it again")
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelFormatError(f"{str(path)!r} is no whole safetensors file ({error}); copy it again") from error


def misfits(needed: Shapes, found: Shapes) -> str:
    """What is missing, left over or of another shape, as words; empty if the tensors are those that are needed.

    >>> misfits({"a": (2,), "b": (3,)}, {"a": (4,), "c": (3,)})
    'missing: b (3); left over: c (3); of another shape: a (4 in place of 2)'
    """
    other = [name for name in needed if name in found and needed[name] != found[name]]
    return describe_misfits(
        (f"{name} ({_shape(needed[name])})" for name in needed if name not in found),
        (f"{name} ({_shape(found[name])})" for name in found if name not in needed),
        (f"{name} ({_shape(found[name])} in place of {_shape(needed[name])})" for name in other),
    )


def describe_misfits(missing: Iterable[str], left_over: Iterable[str], other_shape: Iterable[str]) -> str:
    """The same from names.

    >>> describe_misfits([f"layer.{k}" for k in range(5)], [], [])
    'missing: layer.0, layer.1, layer.2 and 2 more'
    """
    kinds = {"missing": list(missing), "left over": list(left_over), "of another shape": list(other_shape)}
    return "; ".join(f"{kind}: {_first(names)}" for kind, names in kinds.items() if names)


def on_meta(build: Callable[[], Network], found: Shapes) -> Network:
    """Build a network without memory for its numbers, for weights that are in a file.

    Args:
        build: Builds it.
        found: The tensors of the file; a network of many more parts is given up soon.

    Raises:
        ModelFormatError: The network has far more parts than the file has tensors.
    """
    import torch

    with _at_most(20 * len(found) + _SPARE_PARTS, len(found)), torch.device("meta"):
        return build()


def load_network(build: Callable[[], Network], path: Path) -> Network:
    """Build a network with the weights of a file, which must be exactly those that it has.

    Raises:
        ModelFormatError: It is no safetensors file, or tensors are missing, left over or of another shape; nothing was
            allocated for them.
    """
    from safetensors.torch import load_file

    found = read_shapes(path)
    try:
        plan = on_meta(build, found)
    except ModelFormatError as error:
        raise ModelFormatError(f"{str(path)!r} does not hold the weights that nlpkit.json describes: {error}") from None
    if wrong := misfits({name: tuple(value.shape) for name, value in plan.state_dict().items()}, found):
        raise ModelFormatError(f"{str(path)!r} does not hold the weights that nlpkit.json describes: {wrong}")
    network = build()
    network.load_state_dict(load_file(path))
    return network


def n_numbers(shapes: Shapes) -> int:
    """How many numbers tensors hold together."""
    return sum(map(prod, shapes.values()))


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def _first(names: list[str]) -> str:
    more = len(names) - SHOWN_TENSORS
    return ", ".join(names[:SHOWN_TENSORS]) + (f" and {more:,} more" if more > 0 else "")


@contextmanager
def _at_most(n_parts: int, n_tensors: int) -> Iterator[None]:
    """Stop this thread from building a network of more modules and parameters together."""
    from torch.nn.modules.module import (
        register_module_module_registration_hook,
        register_module_parameter_registration_hook,
    )

    thread, left = threading.get_ident(), n_parts

    def count(*_: object) -> None:
        nonlocal left
        if threading.get_ident() == thread:
            left -= 1
            if left < 0:
                raise ModelFormatError(
                    f"the settings describe a network of more than {counted(n_parts, 'part')}, "
                    f"the weights are {counted(n_tensors, 'tensor')}"
                )

    hooks = [register_module_module_registration_hook(count), register_module_parameter_registration_hook(count)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
