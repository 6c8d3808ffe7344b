"""The errors that nlpkit raises on purpose; each message says what, where, found, expected and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHOWN_PROBLEMS = 20
"""How many problems a ``DataError`` prints; the rest are counted."""


class NlpkitError(Exception):
    """Base class of all errors that nlpkit raises on purpose."""


class ConfigError(NlpkitError):
    """A setting has a value that cannot be used.

    Args:
        message: What is wrong and what to do.
        key: The dotted name of the setting, such as ``model.channels``.
    """

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.key = key


class ModelFormatError(NlpkitError):
    """A folder is not a model that this version can read."""


class NotFittedError(NlpkitError):
    """A model was asked to predict or to be saved before it was trained or loaded."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with one record.

    Attributes:
        message: What was found and what was expected.
        remedy: What the user can do about it.
        file: The file as the user named it, or None for records from Python.
        line: Line number from 1, or None.
        record_id: The record's ``id``, any JSON value, or None.
        field: Path of the field inside the record, such as ``entities[2].end``.
        severity: ``error`` or ``warning``.

    >>> print(Problem(message="'end' is 9, the text has 5 characters", remedy="correct the span",
    ...               file="a.jsonl", line=3, record_id="x1", field="entities[0].end"))
    a.jsonl:3: record 'x1': entities[0].end: 'end' is 9, the text has 5 characters; correct the span
    """

    message: str
    remedy: str = ""
    file: str | None = None
    line: int | None = None
    record_id: object = None
    field: str | None = None
    severity: str = "error"

    def __str__(self) -> str:
        place = [self.file or "<records>"]
        if self.line is not None:
            place.append(str(self.line))
        parts = [":".join(place)]
        if self.record_id is not None:
            name = shown_id(self.record_id)
            parts.append(f"record {name!r}" if isinstance(self.record_id, str) else f"record {name}")
        if self.field:
            parts.append(self.field if self.field.isprintable() else repr(self.field))  # it may be a key of the user
        text = ": ".join([*parts, self.message])
        return f"{text}; {self.remedy}" if self.remedy else text

    def to_dict(self) -> dict[str, object]:
        """All fields as plain JSON values."""
        return dict(vars(self))


def shown_id(value: object) -> str:
    """An ``id`` for people: a text as it is, any other JSON value as JSON.

    >>> shown_id("r1"), shown_id(7), shown_id({"doc": 1, "sent": [2]})
    ('r1', '7', '{"doc": 1, "sent": [2]}')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class DataError(NlpkitError):
    """Records cannot be used; all problems found are in ``problems``, the first 20 in the text."""

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = [Problem(message=problems)]
            text = problems[0].message
            self.problems: tuple[Problem, ...] = tuple(problems)
        else:
            self.problems = tuple(problems)
            text = format_problems(self.problems)
        super().__init__(text)


def format_problems(problems: Sequence[Problem], shown: int = SHOWN_PROBLEMS) -> str:
    """The first ``shown`` problems, a line each, and the count of the rest."""
    lines = [str(problem) for problem in problems[:shown]]
    if len(problems) > shown:
        lines.append(f"... and {len(problems) - shown} more")
    return "\n".join(lines)
