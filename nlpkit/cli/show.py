"""``nlpkit show FOLDER``: what a saved model is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from nlpkit.cli.folder import open_folder
from nlpkit.cli.options import Parser
from nlpkit.results import percent

WIDTH = 100
FIRST = ("training_data", "notes", "thresholds")
LAST = ("config", "versions", "parts")
APART = ("model", "schema", "dev", "checksums")
"""Shown in a form of their own, but for the checksums, which are for programs."""

Row = tuple[str, list[str]]


def run(words: Sequence[str]) -> int:
    """Print the manifest of a model folder as a table, or as JSON."""
    parser = Parser(
        prog="nlpkit show",
        usage="nlpkit show FOLDER [--json]",
        description="Say what a saved model is: its labels, its scores on dev in percent, data, settings, versions.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="a model folder, a run folder, or a model's name")
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON; scores are fractions of 1")
    found = parser.parse(words)
    folder, manifest, _ = open_folder(found.folder)
    if found.json:
        print(json.dumps(manifest, ensure_ascii=False, indent=2))
        return 0
    rows = [("model", [str(manifest.get("model"))]), ("folder", [str(folder)]), *_labels(manifest), *_scores(manifest)]
    rows += _rows(in_order(manifest))
    width = max(len(name) for name, _ in rows)
    for name, values in rows:
        lines = [line for value in values for line in _wrap(value, WIDTH - width - 2)]
        for key, line in zip([name, *[""] * len(lines)], lines, strict=False):
            print(f"{key.ljust(width)}  {line}".rstrip())
    return 0


def in_order(manifest: Mapping[str, object]) -> dict[str, object]:
    """What stands below labels and scores, what people ask first, first.

    >>> list(in_order({"format": 1, "config": {}, "checksums": {}, "dev": {}, "model": "utcie", "notes": []}))
    ['notes', 'format', 'config']
    """
    shown = {key: manifest[key] for key in FIRST if key in manifest}
    shown |= {key: value for key, value in manifest.items() if key not in (*FIRST, *LAST, *APART)}
    return shown | {key: manifest[key] for key in LAST if key in manifest}


def _labels(manifest: Mapping[str, object]) -> Iterator[Row]:
    """A row for each kind of label; labels that have parts or signatures stand one a line."""
    schema = manifest.get("schema")
    for name, value in schema.items() if isinstance(schema, Mapping) else ():
        key = name.replace("_", " ")
        if isinstance(value, Mapping):
            yield key, [f"{label}: {_cell(parts)}" for label, parts in value.items()] or ["none"]
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
            yield key, [_label(item) for item in value]
        else:
            yield key, [_cell(value)]


def _label(item: Mapping[str, object]) -> str:
    details = []
    for key, value in item.items():
        if value is True:
            details.append(key)
        elif key != "name" and value not in (None, False):
            details.append(_cell(value) if isinstance(value, list) else f"{key} {_cell(value)}")
    return ": ".join([str(item["name"]), *([", ".join(details)] if details else [])])


def _scores(manifest: Mapping[str, object]) -> Iterator[Row]:
    dev = manifest.get("dev")
    if isinstance(dev, Mapping) and dev:
        yield "dev scores, in percent", [", ".join(f"{name} {percent(value)}" for name, value in dev.items())]


def _rows(data: Mapping[str, object], prefix: str = "") -> Iterator[Row]:
    for name, value in data.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            if value:
                yield from _rows(value, key)
            else:
                yield key, ["-"]
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value):
                yield f"{key}[{number}]", [_item(item)]
        elif isinstance(value, list) and any(" " in str(item) for item in value):  # sentences
            yield key, [str(item) for item in value]
        else:
            yield key, [_cell(value)]


def _item(item: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_cell(value)}" for name, value in item.items())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join("-".join(map(str, v)) if isinstance(v, list) else str(v) for v in value) or "none"
    return json.dumps(value, ensure_ascii=False)


def _wrap(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
