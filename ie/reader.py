"""Records from files and from Python, with every problem of the data collected before anything is refused.

A ``.jsonl`` file holds one record a line, a ``.txt`` file one text a line; both may be compressed (``.gz``). Blank
lines are skipped. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from nlpkit.data.fields import is_place, shown_value
from nlpkit.data.lines import JSON_SUFFIXES, TEXT_SUFFIX, fault_of_name, json_type, read_lines, read_objects, suffix_of
from nlpkit.errors import DataError, Problem
from nlpkit.ie.parse import parse_record
from nlpkit.ie.types import IERecord, Source
from nlpkit.ie.words import Misaligned, alignment_problems
from nlpkit.text.offsets import OffsetUnit, check_offset_unit
from nlpkit.wording import counted

__all__ = ["parse_record", "read_records", "records_from"]

GROUPS = ("entities", "relations", "events")


def read_records(
    paths: str | Path | Sequence[str | Path],
    *,
    misaligned: Misaligned = "error",
    offset_unit: OffsetUnit = "codepoint",
    require_groups: bool = False,
    limit: int | None = None,
    collect: list[Problem] | None = None,
) -> Iterator[IERecord]:
    """Read the records of one or several files, one after the other and one at a time.

    Args:
        paths: A file or several.
        misaligned: ``error`` makes a span that cuts a word of a text an error; otherwise it is kept as it is, and
            :func:`nlpkit.ie.words.word_view` widens or skips it.
        offset_unit: What the positions in a text count: ``codepoint``, ``utf16`` or ``byte``. Those of the records that
            are given out are code points.
        require_groups: The files are training data: no record at all, or none with labels, is an error.
        limit: Stop after so many records.
        collect: Problems, warnings too, are added here instead of being raised; records with an error are left out.

    Raises:
        DataError: After the last record, all errors of all files; there is none if ``collect`` is given.

    >>> from nlpkit.ie.sample import sample_path
    >>> next(read_records(sample_path("train"))).source.line
    1
    """
    names = [paths] if isinstance(paths, (str, Path)) else list(paths)
    problems: list[Problem] = [] if collect is None else collect
    n_records = 0
    is_annotated = False
    check_offset_unit(offset_unit)
    for record in islice(_records(names, misaligned, offset_unit, problems), limit):
        n_records += 1
        is_annotated = is_annotated or any(getattr(record, group) is not None for group in GROUPS)
        yield record
    if require_groups and not is_annotated and not _errors(problems):
        problems.append(_nothing_to_learn(names, n_records))
    if collect is None and _errors(problems):
        raise DataError(_errors(problems))


def records_from(
    items: Iterable[IERecord | Mapping[str, Any] | str],
    *,
    misaligned: Misaligned = "error",
    offset_unit: OffsetUnit = "codepoint",
    collect: list[Problem] | None = None,
) -> Iterator[IERecord]:
    """Records made in Python, checked as those of a file: plain texts, data lines as dicts, or records.

    ``offset_unit`` is that of the data lines; the positions of an :class:`IERecord` are always code points.

    Raises:
        DataError: After the last item, all errors; there is none if ``collect`` is given. At once, if this is no
            iterable of records.

    >>> [record.text for record in records_from(["Bo met Al.", {"text": "Al left."}])]
    ['Bo met Al.', 'Al left.']
    """
    check_offset_unit(offset_unit)
    problems: list[Problem] = [] if collect is None else collect
    if isinstance(items, (str, Mapping, IERecord)) or not is_iterable(items):
        raise DataError(
            f"<records>: expected an iterable of texts, data lines (dict) or records, found {_kind(items)}; "
            "put a single one into a list"
        )
    for number, item in enumerate(items, start=1):
        source, unit = Source(file="<records>", line=number), offset_unit
        if isinstance(item, IERecord):
            if fault := fault_of_record(item, source):
                problems.append(fault)
                continue
            source, unit = item.source or source, "codepoint"
            item = item.to_dict()
        elif isinstance(item, str):
            item = {"text": item}
        record = _accept(item, source, misaligned, unit, problems)
        if record is not None:
            yield record
    if collect is None and _errors(problems):
        raise DataError(_errors(problems))


def is_iterable(value: object) -> bool:
    """Whether texts or records can be taken out of it; bytes and ranges hold numbers.

    >>> is_iterable([]), is_iterable(None), is_iterable(b"Bo")
    (True, False, False)
    """
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:
        return False
    return not isinstance(value, (bytes, bytearray, memoryview, range))


def fault_of_record(record: IERecord, source: Source | None = None) -> Problem | None:
    """What keeps a record made in Python from being read as a data line; None if nothing does.

    >>> print(fault_of_record(IERecord(text="Bo", extra=7)))
    <records>: expected a mapping as 'extra', found an integer (7); leave 'extra' out, or give a dict
    """
    place = record.source
    if not isinstance(record.extra, Mapping):
        found, key, expected = record.extra, "extra", "a mapping"
        remedy = "leave 'extra' out, or give a dict"
    elif place is not None and not (isinstance(place, Source) and is_place(place.file, place.line)):
        found, key, expected = place, "source", "a Source with a file name and a line number"
        remedy = "leave 'source' out"
    else:
        return None
    message = f"expected {expected} as {key!r}, found {json_type(found)} ({shown_value(found)})"
    return Problem(
        message=message, remedy=remedy, file=source.file if source else None, line=source.line if source else None
    )


def _records(
    paths: Sequence[str | Path], misaligned: Misaligned, offset_unit: OffsetUnit, problems: list[Problem]
) -> Iterator[IERecord]:
    for path in paths:
        suffix = suffix_of(path)
        if fault := fault_of_name(path):
            problems.append(fault)
        elif suffix == TEXT_SUFFIX:
            for line, text in read_lines(path, problems):
                yield IERecord(text=text, source=Source(file=str(path), line=line))
        elif suffix in JSON_SUFFIXES:
            for line, obj in read_objects(path, problems):
                record = _accept(obj, Source(file=str(path), line=line), misaligned, offset_unit, problems)
                if record is not None:
                    yield record
        else:
            problems.append(
                Problem(
                    message=f"files of the kind {suffix!r} cannot be read",
                    remedy="give .jsonl (one record a line) or .txt (one text a line), either also as .gz",
                    file=str(path),
                )
            )


def _accept(
    obj: Mapping[str, Any], source: Source, misaligned: Misaligned, offset_unit: OffsetUnit, problems: list[Problem]
) -> IERecord | None:
    record, found = parse_record(obj, source=source, offset_unit=offset_unit)
    if record is not None and misaligned == "error":
        cut = alignment_problems(record)
        found += cut
        record = None if cut else record
    problems += found
    return record


def _kind(value: object) -> str:
    return "nothing (None)" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def _errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def _nothing_to_learn(paths: Sequence[str | Path], n_records: int) -> Problem:
    file = ", ".join(map(str, paths))
    if n_records:
        groups = "'entities', 'relations' or 'events'"
        message = f"none of the {counted(n_records, 'record')} has {groups}"
        if n_records == 1:
            message = f"its only record has no {groups}"
        return Problem(message=message, remedy="annotate them; an empty list means that there is nothing", file=file)
    return Problem(message="there is no record in it", remedy="give a file with one record a line", file=file)
