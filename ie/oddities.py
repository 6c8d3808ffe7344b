"""What is doubtful about records that can be read: ``check`` and ``fit`` look for it and say it in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from unicodedata import normalize

from nlpkit.data.lines import dump_line
from nlpkit.errors import Problem
from nlpkit.ie.parse import RECORD_KEYS
from nlpkit.ie.reader import GROUPS
from nlpkit.ie.surface import spelt_out
from nlpkit.ie.types import IERecord
from nlpkit.wording import counted, plural

_SHOWN_LINES = 3
_SHOWN_NOTES = 5

Key = TypeVar("Key")
Label = tuple[str, str]
"""The kind of a label and its name, such as ("entity type", "Person")."""


@dataclass
class Seen:
    """How often something was seen, and where first."""

    first: Problem
    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, record: IERecord) -> None:
        """Count it once more."""
        self.count += 1
        if record.source is not None and len(self.lines) < _SHOWN_LINES:
            self.lines.append(record.source.line)


class Oddities:
    """What is doubtful about the records of one file. Memory grows with the ids and the labels, not with the texts."""

    def __init__(self) -> None:
        self.n_records = 0
        self.ids: dict[str, Seen] = {}
        self.labels: dict[Label, Seen] = {}
        self.lacking: dict[str, Seen] = {}
        self.keys: dict[str, Problem] = {}

    def add(self, record: IERecord) -> None:
        """Look at one record."""
        self.n_records += 1
        if record.id is not None:
            _count(self.ids, dump_line(record.id), record, "id")
        for group in GROUPS:
            if getattr(record, group) is None:
                _count(self.lacking, group, record, None)
        for label, place in labels_of(record):
            _count(self.labels, label, record, place)
        for key in record.extra:
            near = [k for k in get_close_matches(key, RECORD_KEYS, cutoff=0.8) if getattr(record, k, None) is None]
            if near and key not in self.keys:
                message = f"unknown key {key!r} is carried along but not read"
                self.keys[key] = problem_at(record, message, f"did you mean {near[0]!r}?", field=key)

    def problems(self) -> Iterator[Problem]:
        """Warnings of the file: ids given twice, keys that look misspelt, records that lack a group of annotations."""
        for seen in self.ids.values():
            if seen.count > 1:
                message = f"the same id is there {seen.count} times{_in_lines(seen)}"
                yield replace(seen.first, message=message, remedy="fine if you need no id to tell records apart")
        yield from self.keys.values()
        for group, seen in self.lacking.items():
            meant = any(problem.remedy == f"did you mean {group!r}?" for problem in self.keys.values())
            if seen.count < self.n_records and not meant:
                share = f"{seen.count} of {counted(self.n_records, 'record')} {plural(seen.count, 'has', 'have')}"
                message = f"{share} no {group!r}{_in_lines(seen)}, as if nobody had looked"
                remedy = f'write "{group}": [] where there are none; fine if nobody looked'
                yield replace(seen.first, message=message, remedy=remedy, record_id=None)


def labels_of(record: IERecord) -> Iterator[tuple[Label, str]]:
    """Every label of a record with the place of its field."""
    for i, entity in enumerate(record.entities or ()):
        yield ("entity type", entity.type), f"entities[{i}]"
    for i, relation in enumerate(record.relations or ()):
        yield ("relation type", relation.type), f"relations[{i}]"
    for i, event in enumerate(record.events or ()):
        yield ("event type", event.trigger.type), f"events[{i}].trigger"
        for k, argument in enumerate(event.arguments):
            yield ("role", argument.role), f"events[{i}].arguments[{k}]"


def label_problems(files: Sequence[Oddities], *, rare: bool = True) -> list[Problem]:
    """Labels that look like one label written in several ways, and with ``rare`` those that occur only once."""
    all_seen: dict[Label, Seen] = {}
    for file in files:
        for label, seen in file.labels.items():
            known = all_seen.setdefault(label, Seen(seen.first))
            known.count += seen.count
    spellings: dict[Label, list[str]] = {}
    for kind, name in all_seen:
        spellings.setdefault((kind, _spelling(name)), []).append(name)
    problems = []
    for (kind, _), names in spellings.items():
        if len(names) > 1:
            problems.append(_one_label(kind, {name: all_seen[kind, name] for name in names}))
        elif rare and all_seen[kind, names[0]].count == 1:
            message = f"the {kind} {names[0]!r} occurs only once in all files"
            remedy = "check its spelling; one example is too few to learn from"
            problems.append(replace(all_seen[kind, names[0]].first, message=message, remedy=remedy))
    return problems


def training_notes(*data: Iterable[IERecord]) -> list[str]:
    """The warnings of training and dev data, a line each; of many of one kind the first few and their number."""
    files: dict[tuple[int, str | None], Oddities] = {}
    for number, records in enumerate(data):
        for record in records:
            file = record.source.file if record.source else None
            files.setdefault((number, file), Oddities()).add(record)
    by_field: dict[str | None, list[Problem]] = {}
    for oddities in files.values():
        for problem in oddities.problems():
            by_field.setdefault("id" if problem.field == "id" else None, []).append(problem)
    notes = []
    for problems in (*by_field.values(), label_problems(list(files.values()), rare=False)):
        # The notes are kept with the model, which names no folder of the machine that it was made on.
        shown = [replace(problem, file=problem.file and Path(problem.file).name) for problem in problems[:_SHOWN_NOTES]]
        notes += [f"warning: {problem}" for problem in shown]
        if len(problems) > len(shown):
            notes.append(f"warning: ... and {len(problems) - len(shown)} more of this kind; nlpkit check names all")
    return notes


def problem_at(record: IERecord, message: str, remedy: str, *, field: str | None = None) -> Problem:
    """A warning about a record."""
    source = record.source
    return Problem(
        message=message,
        remedy=remedy,
        file=source.file if source else None,
        line=source.line if source else None,
        record_id=record.id,
        field=field,
        severity="warning",
    )


def _count(table: dict[Key, Seen], key: Key, record: IERecord, field: str | None) -> None:
    if key not in table:
        table[key] = Seen(problem_at(record, "", "", field=field))
    table[key].add(record)


def _in_lines(seen: Seen) -> str:
    if not seen.lines:
        return ""
    more = ", ..." if seen.count > len(seen.lines) else ""
    return f" ({plural(seen.count, 'line')} {', '.join(map(str, seen.lines))}{more})"


def _spelling(label: str) -> str:
    """What is left of a label without the differences that nobody means."""
    return " ".join(normalize("NFKC", label).casefold().split())


def _one_label(kind: str, names: Mapping[str, Seen]) -> Problem:
    shown = []
    for name, seen in sorted(names.items(), key=lambda item: -item[1].count):
        file = Path(seen.first.file).name if seen.first.file else "record"
        place = f", first {file}:{seen.first.line}" if seen.first.line is not None else ""
        shown.append(f"{spelt_out(name)} ({seen.count}{place})")
    rarest = min(names.values(), key=lambda seen: seen.count)
    message = f"one {kind} in several spellings is learned as several: {', '.join(shown)}"
    return replace(rarest.first, message=message, remedy="write them alike, unless they differ in meaning")
