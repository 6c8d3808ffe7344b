"""YAML as people mean it: ``1e-3`` is a number, a key given twice is an error, lists stay on one line."""

from __future__ import annotations

import re

import yaml


class Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2 numbers and without silent double keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """A mapping; a key that occurs twice is an error."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)  # type: ignore[no-untyped-call]
            if isinstance(key, (str, int)) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            if isinstance(key, (str, int)):
                seen.add(key)
        return super().construct_mapping(node, deep)


class Dumper(yaml.SafeDumper):
    """The safe dumper; lists are written on one line and never as references."""

    def ignore_aliases(self, data: object) -> bool:
        """No references: a reader of the file should not have to follow them."""
        return True


# The dumper has to know these numbers too, or it would write the text "1e3" without quotes.
for _class in (Loader, Dumper):
    _class.add_implicit_resolver(  # type: ignore[no-untyped-call]
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+$"),
        list("-+0123456789."),
    )


def _list(dumper: yaml.SafeDumper, data: list[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    # Without quotes PyYAML folds some line separators into blanks.
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


Dumper.add_representer(list, _list)
Dumper.add_representer(str, _text)
