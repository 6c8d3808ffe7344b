"""YAML as people mean it: ``1e-3`` is a number, ``2024-13-45`` a text, a key given twice an error; bounded aliases."""

from __future__ import annotations

import re
from collections.abc import Hashable

import yaml

MAX_DEPTH = 30
"""How deep sections and lists may be nested, with every alias written out."""

MAX_CHARS = 1_000_000
"""Most characters of a file, counted with every alias written out: a few lines of them can stand for gigabytes."""

_INT, _FLOAT, _MERGE = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "merge"))
_TOO_DEEP = "it is nested too deep"
_Pair = tuple[yaml.Node, yaml.Node]
_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map")


class Loader(yaml.SafeLoader):
    """The safe loader for plain data: YAML 1.2 numbers, no dates, no silent double keys, bounded size."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._flat: dict[int, dict[object, _Pair]] = {}

    def get_single_node(self) -> yaml.Node | None:
        """The tree of the document, refused if its aliases stand for too much."""
        node: yaml.Node | None = super().get_single_node()  # type: ignore[no-untyped-call]
        if node is not None:
            _require_bounded(node)
        return node

    def fetch_more_tokens(self) -> None:
        """Read on, as deep as can be read: PyYAML looks ahead over all open brackets again at each of them."""
        if max(self.flow_level, len(self.indents)) > MAX_DEPTH:
            raise _fault(_TOO_DEEP, self.get_mark())  # type: ignore[no-untyped-call]
        super().fetch_more_tokens()  # type: ignore[no-untyped-call]

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """The value of a node; text that does not fit its tag is an error with its place."""
        try:
            return super().construct_object(node, deep)  # type: ignore[no-untyped-call]
        except (ValueError, KeyError, OverflowError):  # of a number, or of ``!!bool``
            kind = node.tag.rpartition(":")[2]
            raise _fault(f"{str(node.value)[:40]!r} cannot be read as {kind}", node.start_mark) from None

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put in what ``<<`` names, once; a key that is written twice in one mapping is an error."""
        if id(node) in self._flat:
            return
        own: dict[object, _Pair] = {}
        merged: dict[object, _Pair] = {}
        for key_node, value_node in node.value:
            key = _MERGE if key_node.tag == _MERGE else self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _fault("expected a name, found a section or a list", key_node.start_mark)
            if key in own:
                raise _fault(f"the key {key_node.value!r} is given twice", key_node.start_mark)
            own[key] = key_node, value_node
        _, source = own.pop(_MERGE, (None, None))
        for part in source.value if isinstance(source, yaml.SequenceNode) else filter(None, [source]):
            if not isinstance(part, yaml.MappingNode):
                raise _fault("expected '<<' to name a section or several", part.start_mark)
            self.flatten_mapping(part)
            merged = self._flat[id(part)] | merged
        self._flat[id(node)] = merged | own
        node.value = list(self._flat[id(node)].values())


class Dumper(yaml.SafeDumper):
    """The safe dumper; lists are written on one line and never as references."""

    def ignore_aliases(self, data: object) -> bool:
        """No references: a reader of the file should not have to follow them."""
        return True


def _fault(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _require_bounded(root: yaml.Node) -> None:
    """Refuse aliases that stand for their own section, or in all for more than can be read."""
    known: dict[int, tuple[int, int] | None] = {}

    def measure(node: yaml.Node) -> tuple[int, int]:
        """Characters and depth of all that a node stands for."""
        if id(node) in known:
            if (found := known[id(node)]) is None:
                raise _fault("an alias stands for a section that it lies in", node.start_mark)
            return found
        if isinstance(node, yaml.ScalarNode):
            return len(node.value) + 1, 0
        known[id(node)] = None
        below = [measure(child) for item in node.value for child in (item if isinstance(item, tuple) else (item,))]
        size = 1 + sum(chars for chars, _ in below)
        depth = 1 + max((depth for _, depth in below), default=0)
        if size > MAX_CHARS:
            raise _fault(f"its aliases stand for more than {MAX_CHARS:,} characters", node.start_mark)
        if depth > 2 * MAX_DEPTH:  # a file without aliases is bounded by brackets and by indentation
            raise _fault(_TOO_DEEP, node.start_mark)
        known[id(node)] = size, depth
        return size, depth

    measure(root)


def _int(loader: Loader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "").lower()
    prefix = text.lstrip("+-")[:2]
    value = int(text, {"0x": 16, "0o": 8, "0b": 2}.get(prefix, 10))
    str(value)  # a number that is too long to be printed is refused in any base
    return value


def _float(loader: Loader, node: yaml.ScalarNode) -> float:
    return float(re.sub(r"\.(?=inf|nan)", "", node.value.replace("_", "").lower()))


# YAML 1.1 reads 1:30 as 90, 010 as 8 and 2024-01-01 as a date. Settings have no dates.
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag.rpartition(":")[2] in ("null", "bool", "merge")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# The dumper has to know these numbers too, or it would write the text "1e3" without quotes.
for _class in (Loader, Dumper):
    for _tag, _pattern, _first in (
        (_INT, r"[-+]?(?:\d[\d_]*|0x[\da-fA-F_]+|0o[0-7_]+|0b[01_]+)", "-+0123456789"),
        (_FLOAT, r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\.(?i:inf)|\.(?i:nan)", "-+0123456789."),
    ):
        _class.add_implicit_resolver(  # type: ignore[no-untyped-call]
            _tag, re.compile(rf"(?a:{_pattern})\Z"), list(_first)
        )
Loader.yaml_constructors = {
    tag: make
    for tag, make in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in _PLAIN
}
Loader.add_constructor(_INT, _int)  # type: ignore[no-untyped-call]
Loader.add_constructor(_FLOAT, _float)  # type: ignore[no-untyped-call]


def _list(dumper: yaml.SafeDumper, data: list[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    # Without quotes PyYAML folds some line separators into blanks.
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


Dumper.add_representer(list, _list)
Dumper.add_representer(str, _text)
