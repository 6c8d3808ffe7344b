"""``nlpkit show FOLDER``: what a saved model is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from nlpkit.cli.folder import open_folder
from nlpkit.cli.options import Parser

WIDTH = 100
FIRST = ("model", "dev", "schema", "training_data", "notes", "thresholds")
LAST = ("config", "versions", "parts", "checksums")


def run(words: Sequence[str]) -> int:
    """Print the manifest of a model folder as a table, or as JSON."""
    parser = Parser(prog="nlpkit show", usage="nlpkit show FOLDER [--json]", description="Say what a saved model is.")
    parser.add_argument("folder", metavar="FOLDER", help="a model folder, a run folder, or a model's name")
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")
    found = parser.parse(words)
    folder, manifest, _ = open_folder(found.folder)
    if found.json:
        print(json.dumps(manifest, ensure_ascii=False, indent=2))
        return 0
    rows = [("folder", str(folder)), *_rows(in_order(manifest))]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        lines = _wrap(value, WIDTH - width - 2)
        print(f"{name.ljust(width)}  {lines[0]}".rstrip())
        for line in lines[1:]:
            print(f"{'':{width}}  {line}")
    return 0


def in_order(manifest: Mapping[str, object]) -> dict[str, object]:
    """What people ask first, first; checksums are for programs.

    >>> list(in_order({"format": 1, "config": {}, "checksums": {}, "dev": {}, "model": "utcie"}))
    ['model', 'dev', 'format', 'config']
    """
    shown = {key: manifest[key] for key in FIRST if key in manifest}
    shown |= {key: value for key, value in manifest.items() if key not in (*FIRST, *LAST)}
    return shown | {key: manifest[key] for key in LAST if key in manifest and key != "checksums"}


def _rows(data: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            if value:
                yield from _rows(value, key)
            else:
                yield key, "-"
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value):
                yield f"{key}[{number}]", _item(item)
        else:
            yield key, _cell(value)


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
