from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TextIO

from nlpkit.data.lines import Source, dump_line
from nlpkit.errors import Problem


@dataclass(frozen=True)
class Record:
    text: str
    extra: dict[str, Any] = field(default_factory=dict)
    source: Source | None = None


def parse(obj: dict[str, Any], *, source: Source | None = None) -> tuple[Record | None, list[Problem]]:
    values = dict(obj)
    assert "labels" not in values, "labels are not the model's business"
    text = values.pop("text", None)
    if not isinstance(text, str):
        place = {"file": source.file, "line": source.line} if source else {}
        return None, [
            Problem(message=f"expected a string, found {text!r}", remedy="give a text", field="text", **place)
        ]
    return Record(text, values, source), [Problem(message="just so", severity="warning")]


def write_jsonl(results: Iterable[dict[str, Any]], out: TextIO) -> None:
    for result in results:
        out.write(dump_line(result) + "\n")


def write_table(results: Iterable[dict[str, Any]], out: TextIO) -> None:
    for result in results:
        out.write(f"| {result['text']} | {result['words']} |\n")


formats = {"jsonl": write_jsonl, "table": write_table, "html": write_table}
