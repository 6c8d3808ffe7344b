"""Typed values out of JSON objects, with every problem collected under the path of its field."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

from nlpkit.data.lines import Source, json_type
from nlpkit.errors import Problem
from nlpkit.wording import counted

MAX_DEPTH = 100
"""How deep unknown keys may be nested, so that they can always be written again."""

MAX_BITS = 14_000
"""Longer whole numbers cannot be written and read again: Python takes at most 4,300 digits."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_LONG = "a number with thousands of digits"
_KEY_REMEDY = "write keys as strings"
_SURROGATE_REMEDY = "write the real character, or escape both halves of it"
_KINDS: dict[str, type | tuple[type, ...]] = {
    "a string": str,
    "an integer": int,
    "a number": (int, float),
    "a string or a number": (str, int, float),
    "a list": (list, tuple),
    "an object": Mapping,
}


class FieldReader:
    """Reads the fields of one object; a value that cannot be used is None and leaves a problem.

    ``null`` is the same as a missing key. ``problems`` collects what is wrong, ``record_id`` goes into each of them.

    >>> reader = FieldReader()
    >>> reader.value({"n": True}, "n", "an integer", "items[0]")
    >>> print(reader.problems[0])
    <records>: items[0].n: expected an integer, found a boolean (True); give an integer
    """

    aliases: ClassVar[Mapping[str, Sequence[str]]] = {}
    """For a key the names that people give it by mistake, beside those that are spelt like it."""

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.record_id: Any = None
        self.problems: list[Problem] = []
        self._called: dict[tuple[str, str], str] = {}

    def items(
        self, obj: Mapping[str, Any], key: str, field: str, *, required: bool = False, kind: str = "an object"
    ) -> list[tuple[str, Any]] | None:
        """The items of a list with their field names, None in place of an item of another kind."""
        values = self.value(obj, key, "a list", field, required=required, remedy="write [] if there is none")
        if values is None:
            return None
        places = [f"{_path(field, key)}[{number}]" for number in range(len(values))]
        return [(place, self.item(value, kind, place)) for place, value in zip(places, values, strict=True)]

    def value(
        self, obj: Mapping[str, Any], key: str, kind: str, field: str, *, required: bool = False, remedy: str = ""
    ) -> Any:
        """The value of a key if it is of the right kind; None if it is missing."""
        value = obj.get(key)
        if value is not None:
            return self.item(value, kind, _path(field, key), remedy)
        if required:
            called = self._called.get((field, key))
            message = f"'{key}' is missing, " + (f"found {called!r}" if called else f"expected {kind}")
            self.error(field or None, message, f"call it '{key}'" if called else remedy or f"add '{key}'")
        return None

    def item(self, value: object, kind: str, field: str, remedy: str = "") -> Any:
        """A value if it is of the right kind, else None."""
        if not isinstance(value, _KINDS[kind]) or isinstance(value, bool):
            found = f"{json_type(value)} ({shown_value(value)})"
            self.error(field, f"expected {kind}, found {found}", remedy or f"give {kind}")
            return None
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            self.error(field, _TOO_LONG, "give a smaller one")
            return None
        if isinstance(value, str) and _SURROGATE.search(value):
            self.error(field, "half of a surrogate pair, which is no character", _SURROGATE_REMEDY)
            return None
        return value

    def repeat(self, found: Mapping[Hashable, object], key: Hashable, field: str, what: str) -> bool:
        """Whether a label is there already; if so, a warning."""
        if key in found:
            self.error(field, f"the same {what} is there twice", "remove the repeat; it counts once", "warning")
            return True
        return False

    def check_keys(
        self, item: Mapping[str, Any], known: Sequence[str], field: str, *, required: Sequence[str] = ()
    ) -> None:
        """Warn of keys that are not used.

        One that seems to stand for a ``required`` key is kept for the error that this key is missing.
        """
        for key in item:
            if key in known:
                continue
            meant = self.meant_by(key, [name for name in known if item.get(name) is None])
            if meant is not None and meant in required:
                self._called.setdefault((field, meant), key)
                continue
            remedy = f"did you mean {meant!r}?" if meant else f"known are {', '.join(known)}"
            self.error(field, f"unknown key {shown_value(key)} is not used", remedy, "warning")

    def meant_by(self, key: object, names: Sequence[str]) -> str | None:
        """The one of ``names`` that an unknown key seems to stand for."""
        if not isinstance(key, str):
            return None
        word = key.casefold()
        for name in names:
            if word in self.aliases.get(name, ()):
                return name
        return next(iter(get_close_matches(word, names, n=1, cutoff=0.75)), None)

    def check_extra(self, extra: Mapping[str, Any]) -> None:
        """Unknown keys are anything that can be written as JSON again."""
        faults: dict[tuple[str, str], str] = {}
        stack: list[tuple[str, Any, int]] = []
        for name, value in extra.items():
            if isinstance(name, str):
                stack += [(name, value, 1), (name, name, 1)]
            else:
                self.error(None, _key_fault(name), _KEY_REMEDY)
        while stack:
            key, value, depth = stack.pop()
            if depth > MAX_DEPTH:
                faults[key, f"nested more than {MAX_DEPTH} levels"] = "flatten it"
            elif isinstance(value, Mapping):
                stack += [(key, inner, depth + 1) for pair in value.items() for inner in pair]
                if others := [name for name in value if not isinstance(name, str)]:
                    faults[key, _key_fault(others[0])] = _KEY_REMEDY
            elif isinstance(value, (list, tuple)):
                stack += [(key, inner, depth + 1) for inner in value]
            elif isinstance(value, str):
                if _SURROGATE.search(value):
                    faults[key, "half of a surrogate pair, which is no character"] = _SURROGATE_REMEDY
            elif isinstance(value, float) and not math.isfinite(value):
                faults[key, f"{value} is no JSON number"] = "write a finite number, or leave the key out"
            elif isinstance(value, int) and value.bit_length() > MAX_BITS:
                faults[key, _TOO_LONG] = "write it as a string"
            elif value is not None and not isinstance(value, (int, float)):
                faults[key, f"{json_type(value)} cannot be written as JSON"] = "give plain JSON values"
        for (key, message), remedy in faults.items():
            self.error(key.encode("utf-8", "replace").decode("utf-8"), message, remedy)

    def error(self, field: str | None, message: str, remedy: str, severity: str = "error") -> None:
        """Add a problem."""
        self.problems.append(
            Problem(
                message=message,
                remedy=remedy,
                file=self.source.file if self.source else None,
                line=self.source.line if self.source else None,
                record_id=self.record_id,
                field=field,
                severity=severity,
            )
        )


def _key_fault(key: object) -> str:
    return f"expected a string as key, found {json_type(key)} ({shown_value(key)})"


def _path(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key


def shown_int(value: float) -> str:
    """A number for a message; digits beyond any text are not shown (and could not be printed)."""
    return str(value) if isinstance(value, float) or abs(value) < 10**18 else "(a very large number)"


def shown_value(value: object) -> str:
    """A found value, cut to a readable length and safe to print.

    >>> shown_value("Bo"), shown_value(10**5000), shown_value([1, 2])
    ("'Bo'", '(a very large number)', '2 items')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return shown_int(value)
    if isinstance(value, (list, tuple, Mapping)):
        return counted(len(value), "item")
    try:
        shown = repr(value)
    except Exception:  # the user's own class, or thousands of digits inside
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 40 else f"{shown[:40]}..."


def named_source(value: object) -> Source | None:
    """Where a result line says that its text was read; a ``source`` of another form is a key of the user's own."""
    if not isinstance(value, Mapping) or set(value) != {"file", "line"}:
        return None
    file, line = value["file"], value["line"]
    return Source(file=file, line=line) if is_place(file, line) else None


def is_place(file: object, line: object) -> bool:
    """Whether these can be a file's name and the number of a line."""
    if not isinstance(file, str) or not isinstance(line, int) or isinstance(line, bool):
        return False
    return line.bit_length() <= MAX_BITS
