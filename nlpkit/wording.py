"""How messages say numbers of things, and settings as the user at hand writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_options: ContextVar[frozenset[str] | None] = ContextVar("options", default=None)
"""The options of the command that is running; None in Python."""


def plural(n: int, one: str, many: str | None = None) -> str:
    """The noun, or the words, that go with a number.

    Args:
        n: The number.
        one: The words for 1, such as ``record`` or ``record has``.
        many: The words for every other number; by default ``one`` with the usual ending.

    >>> plural(1, "entity"), plural(2, "entity"), plural(0, "batch"), plural(2, "record has", "records have")
    ('entity', 'entities', 'batches', 'records have')
    >>> plural(2, "epoch")
    'epochs'
    """
    if n == 1:
        return one
    if many is not None:
        return many
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{one[:-1]}ies"
    is_hissing = one.endswith(("s", "x", "ch", "sh")) and not one.endswith("poch")
    return f"{one}es" if is_hissing else f"{one}s"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number and what it counts; arguments as for :func:`plural`.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entity"), counted(1, "text is", "texts are")
    ('1 record', '1,200 records', '0 entities', '1 text is')
    """
    return f"{n:,} {plural(n, one, many)}"


_ELSEWHERE = {
    "gpu": ("cuda", "gpus", "nvidia", "rocm"),
    "cpu": ("cpus", "mps", "metal", "tpu", "xpu"),
    "bf16": ("bfloat16", "bf16-mixed", "16", "fp16", "float16", "half", "mixed", "amp"),
    "fp32": ("float32", "32", "32-true", "float", "full", "single"),
}
"""What other libraries call a value of a setting; nothing that a comparison of letters would find."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a message about a word that is none of the known ones; empty if none of them is near.

    >>> did_you_mean("cuda:0", ["auto", "cpu", "gpu"]), did_you_mean("flt", ["flat", "any"]), did_you_mean("x", ["any"])
    ('; did you mean gpu?', '; did you mean flat?', '')
    """
    from difflib import get_close_matches

    names = list(known)
    said = str(word).strip().lower()
    said = said.partition(":")[0] or said  # a device and its number
    near = [name for name in names if said == name.lower() or said in _ELSEWHERE.get(name, ())]
    near = near or get_close_matches(str(word), names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def setting(name: str, value: object = None) -> str:
    """How the user at hand writes a setting: an option of the running command, or a keyword argument.

    Args:
        name: Its dotted name; a command may know it by the last part alone.
        value: The value to recommend; None names the setting only.

    >>> setting("data.misaligned", "widen"), setting("dev")
    ("misaligned='widen'", 'dev')
    >>> with at_command_line():
    ...     use_options(["--misaligned", "--resume"])
    ...     setting("data.misaligned", "widen"), setting("resume", True)
    ('--misaligned widen', '--resume')
    """
    options, last = _options.get(), name.rpartition(".")[2]
    if options is None:
        return last if value is None else f"{last}={value!r}"
    option, short = f"--{name}", f"--{last.replace('_', '-')}"
    written = short if short in options and option not in options else option
    return written if value is None or value is True else f"{written} {value}"


@contextmanager
def at_command_line() -> Iterator[None]:
    """While entered, messages name options of the command line."""
    token = _options.set(frozenset())
    try:
        yield
    finally:
        _options.reset(token)


def use_options(names: Iterable[str]) -> None:
    """Says which options the running command has; without effect outside :func:`at_command_line`."""
    if _options.get() is not None:
        _options.set(frozenset(names))
