"""What ``predict`` reads: texts, one a line, or records, from files and from standard input as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from nlpkit.data.lines import (
    JSON_SUFFIXES,
    TEXT_SUFFIX,
    BadLineError,
    Source,
    count_lines,
    parse_object,
    read_lines,
    suffix_of,
)
from nlpkit.errors import ConfigError, DataError, Problem
from nlpkit.registry import ModelSpec

STDIN = "-"
STDIN_NAME = "<stdin>"


class Parse(Protocol):
    """The parser of a task."""

    def __call__(self, obj: dict[str, object], *, source: Source) -> tuple[object, list[Problem]]:
        """The record of one object, or None, and what is wrong with it."""


def kind_of(path: str, given: str | None) -> str:
    """``text`` or ``jsonl``: what the user said, else what the file's name says; standard input holds texts.

    >>> kind_of("a.jsonl.gz", None), kind_of("-", None), kind_of("-", "jsonl")
    ('jsonl', 'text', 'jsonl')
    """
    if given is not None:
        return given
    suffix = suffix_of(path)
    if path == STDIN or suffix == TEXT_SUFFIX or path.startswith("/dev/"):
        return "text"
    if suffix in JSON_SUFFIXES and suffix:
        return "jsonl"
    raise ConfigError(
        "cannot tell from its name what the file holds; expected .txt (one text a line) or .jsonl (one record a line), "
        "or say --input-format text|jsonl",
        key=path,
    )


class Inputs:
    """The items of all inputs, in order. A bad line ends them: what came before it can still be answered.

    Attributes:
        problems: What was wrong with the last line; :meth:`check` raises it.
        n_items: Texts and records given out so far.
    """

    def __init__(self, paths: Sequence[str], spec: ModelSpec, input_format: str | None) -> None:
        self.kinds = [(path, kind_of(path, input_format)) for path in paths]
        self.spec = spec
        self.problems: list[Problem] = []
        self.n_items = 0
        self._parse = cast(Parse, spec.resolve("parser"))

    def __iter__(self) -> Iterator[object]:
        """Records, and ``FLUSH`` where standard input has nothing more at the moment."""
        for path, kind in self.kinds:
            for number, line in self._lines(path):
                if number is None:
                    yield line
                    continue
                item = self._record(Source(file=_name(path), line=number), kind, cast(str, line))
                if item is None:
                    if self.problems:
                        return
                    continue
                self.n_items += 1
                yield item
            if self.problems:
                return

    def total(self) -> int | None:
        """How many items there will be, None if that cannot be known; reads the files once."""
        counts = [count_lines(path, keep_blank=kind == "text") for path, kind in self.kinds]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def check(self) -> None:
        """Raise what ended the inputs early.

        Raises:
            DataError: The bad line.
        """
        if self.problems:
            raise DataError(self.problems)

    def _lines(self, path: str) -> Iterator[tuple[int | None, object]]:
        """Numbered lines; a sign from standard input has the number None."""
        if path != STDIN:
            for number, line in read_lines(path, self.problems, keep_blank=True):
                if self.problems:
                    return
                yield number, line
            return
        from nlpkit.data.stream import FLUSH, read_stream

        number = 0
        try:
            for item in read_stream(sys.stdin, name=STDIN_NAME):
                if item is FLUSH:
                    yield None, item
                else:
                    number += 1
                    yield number, item
        except DataError as error:  # a line that is no text
            self.problems += error.problems

    def _record(self, source: Source, kind: str, line: str) -> object:
        """The record of one line without its labels; None for a blank line of records and for a bad line."""
        obj: dict[str, object] = {"text": line}
        if kind != "text":
            if not line.strip():
                return None
            try:
                obj = parse_object(line)
            except BadLineError as error:
                problem = Problem(message=str(error), remedy=error.remedy, file=source.file, line=source.line)
                self.problems.append(problem)
                return None
        unlabelled = {key: value for key, value in obj.items() if key not in self.spec.label_keys}
        record, problems = self._parse(unlabelled, source=source)
        errors = [problem for problem in problems if problem.severity == "error"]
        self.problems += errors
        return None if errors else record


def _name(path: str) -> str:
    return STDIN_NAME if path == STDIN else path
