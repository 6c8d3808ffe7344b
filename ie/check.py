"""What is wrong or odd with data files, before a model sees them. Loads no torch.

Errors make a record unusable. Warnings are doubtful places: repeats, leaks between files, labels seen once, words
without a visible character or unknown to the encoder, texts beyond its window. Notes are figures that help to choose
settings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit.errors import ConfigError, Problem
from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.oddities import Oddities, label_problems, problem_at
from nlpkit.ie.reader import GROUPS, read_records
from nlpkit.ie.shift import shift_problem
from nlpkit.ie.types import IERecord
from nlpkit.ie.unknown import REMEDY as UNKNOWN_REMEDY
from nlpkit.ie.unknown import UnknownWords
from nlpkit.ie.words import Misaligned, WordView, word_view
from nlpkit.text.offsets import OffsetUnit
from nlpkit.text.words import DEFAULT_BORDERS, is_visible
from nlpkit.wording import counted

if TYPE_CHECKING:
    from nlpkit.encoder.pieces import WordTokenizer

DEFAULT_ENCODER = "minilm"

_SHOWN_LINES = 3


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What a check found.

    Attributes:
        errors: Records that cannot be used; under ``strict`` the doubtful ones too.
        warnings: Doubtful places.
        notes: Figures, a line each.
        n_records: How many records can be used.
    """

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]
    n_records: int

    @property
    def is_ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "records": self.n_records,
            "errors": [problem.to_dict() for problem in self.errors],
            "warnings": [problem.to_dict() for problem in self.warnings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"error: {problem}" for problem in self.errors]
        lines += [f"warning: {problem}" for problem in self.warnings]
        return "\n".join([*lines, *self.notes])


def check_files(
    paths: str | Path | Sequence[str | Path],
    *,
    strict: bool = False,
    encoder: str | None = None,
    misaligned: Misaligned = "error",
    offset_unit: OffsetUnit = "codepoint",
) -> CheckReport:
    """Read all files and say what is wrong with each.

    Args:
        paths: A file or several; several are compared with each other.
        strict: Count warnings as errors.
        encoder: The encoder whose window is compared with the texts: a folder or ``minilm``, which is the default and
            may be missing.
        misaligned: What happens to spans that cut a word: ``error``, ``widen`` or ``skip``.
        offset_unit: What the positions in a text count: ``codepoint``, ``utf16`` or ``byte``. If another one explains
            what is wrong, a warning says so.

    Raises:
        ConfigError: There is no encoder of that name.

    >>> from nlpkit.ie.sample import sample_path
    >>> check_files(sample_path("dev")).is_ok
    True
    """
    notes: list[str] = []
    forecast = _forecast(encoder, notes)
    problems: list[Problem] = []
    files: list[_File] = []
    for path in dict.fromkeys([str(paths)] if isinstance(paths, (str, Path)) else map(str, paths)):
        file = _File(path, forecast)
        found: list[Problem] = []
        for record in read_records(path, misaligned=misaligned, offset_unit=offset_unit, collect=found):
            file.add(record, misaligned)
        if (found or misaligned != "error") and (shift := shift_problem(path, offset_unit)):
            found.append(shift)
        file.n_refused = len({problem.line for problem in found if problem.severity == "error" and problem.line})
        problems += sorted(found + file.finish(had_errors=bool(found)), key=lambda problem: problem.line or 0)
        files.append(file)
    problems += _leaks(files) + label_problems([file.oddities for file in files])
    for file in files:
        notes += file.notes()
    errors = [p for p in problems if p.severity == "error"]
    warnings = [p for p in problems if p.severity != "error"]
    if strict:
        errors, warnings = errors + [replace(p, severity="error") for p in warnings], []
    return CheckReport(
        errors=tuple(errors),
        warnings=tuple(warnings),
        notes=tuple(notes),
        n_records=sum(file.n_records for file in files),
    )


class _File:
    """What is seen of one file; hashes stand for texts, so that large files fit into memory."""

    def __init__(self, path: str, forecast: _Forecast | None) -> None:
        self.path = path
        self.forecast = forecast
        self.n_records = 0
        self.n_refused = 0
        self.problems: list[Problem] = []
        self.oddities = Oddities()
        self.texts: dict[bytes, tuple[int | None, bytes]] = {}
        self.n_annotated: Counter[str] = Counter()
        self.overlaps: Counter[str] = Counter()
        self.forecast_note = ""
        self.needs = BorderNeeds()

    def add(self, record: IERecord, misaligned: Misaligned) -> None:
        """Look at one record."""
        self.n_records += 1
        for group in GROUPS:
            self.n_annotated[group] += getattr(record, group) is not None
        view = word_view(record, misaligned, (*DEFAULT_BORDERS, *self.needs.add(record)))
        self.look_at_text(record, view)
        self.oddities.add(record)
        self.look_at_overlaps(view)
        if self.forecast is not None:
            self.problems += self.forecast.problems(record, view)

    def look_at_text(self, record: IERecord, view: WordView) -> None:
        if record.tokens is not None:
            for number, word in enumerate(record.tokens):
                if not is_visible(word):
                    message = f"the word {word!r} has no visible character"
                    self.problems.append(
                        problem_at(record, message, "fine if it is meant, else remove it", field=f"tokens[{number}]")
                    )
        if not any(map(is_visible, view.words)):
            self.problems.append(problem_at(record, "the record has no word", "fine if it is meant, else remove it"))
            return
        line = record.source.line if record.source else None
        text, labels = _digest("".join(view.words)), _digest(repr((view.entities, view.relations, view.events)))
        if text not in self.texts:
            self.texts[text] = (line, labels)
            return
        first, first_labels = self.texts[text]
        message = f"the same text as in line {first}" + ("" if labels == first_labels else ", with other labels")
        self.problems.append(problem_at(record, message, "keep one of them"))

    def look_at_overlaps(self, view: WordView) -> None:
        self.overlaps += overlap_counts("entities", [(s, e) for s, e, _ in view.entities or ()])
        events = view.events or ()
        self.overlaps += overlap_counts("triggers", [(e.trigger.start, e.trigger.end) for e in events])
        self.overlaps += overlap_counts("arguments", {(a.start, a.end) for e in events for a in e.arguments})
        triggers = Counter((e.trigger.start, e.trigger.end, e.trigger.type) for e in events)
        self.overlaps["repeated"] += any(count > 1 for count in triggers.values())

    def finish(self, had_errors: bool) -> list[Problem]:
        """All problems of the file but those of reading it; to be called after its last record."""
        if self.forecast is not None and self.n_records:
            self.problems += self.forecast.unknown_words(self.path)
            self.forecast_note = self.forecast.note()
        if not self.n_records and not had_errors:
            message = "there is no record in it"
            self.problems.append(Problem(message=message, remedy="give a file with one record a line", file=self.path))
        elif self.n_records and not any(self.n_annotated.values()):
            self.problems.append(
                Problem(
                    message="no record has 'entities', 'relations' or 'events'",
                    remedy="fine for prediction; a model cannot learn from it",
                    file=self.path,
                    severity="warning",
                )
            )
        self.problems += self.oddities.problems()
        return self.problems

    def notes(self) -> list[str]:
        """Figures of the file."""
        groups = ", ".join(f"{group} in {self.n_annotated[group]}" for group in GROUPS if self.n_annotated[group])
        parts = [counted(self.n_records, "record"), groups]
        if self.n_refused:
            parts.append(f"{counted(self.n_refused, 'line')} left out for errors")
        notes = [f"{self.path}: {', '.join(filter(None, parts))}"]
        for name in ("entities", "triggers", "arguments"):
            total = self.overlaps[name]
            if total:
                parts = [f"{self.overlaps[f'{name} {how}']} {how}" for how in ("nested", "crossing", "on one span")]
                notes.append(f"{self.path}: {total} {name}: {', '.join(parts)}")
        if self.overlaps["repeated"]:
            count = self.overlaps["repeated"]
            have = "record has" if count == 1 else "records have"
            notes.append(f"{self.path}: {count} {have} two events of one type on one trigger; models see one")
        notes += [
            f"{self.path}: spans need word borders of the kind {need}; a model learns them from its training data"
            for need in self.needs.described()
        ]
        if self.forecast_note:
            notes.append(f"{self.path}: {self.forecast_note}")
        return notes


class _Forecast:
    """How the texts fit into the encoder's window; reads the tokenizer only."""

    def __init__(self, name: str, tokenizer: WordTokenizer, limit: int) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.limit = limit
        self.longest = 0
        self.n_long = 0
        self.unknown = UnknownWords()

    def problems(self, record: IERecord, view: WordView) -> list[Problem]:
        """The record if it is too long, and each word of it that is."""
        (pieces,) = self.tokenizer.pieces([view.words])
        self.unknown.add(record, view.words, self.tokenizer.unknown(view.words, pieces))
        counts = list(map(len, pieces))
        total = sum(counts)
        self.longest = max(self.longest, total)
        found: list[Problem] = []
        if total > self.limit:
            self.n_long += 1
            message = f"{total} pieces, the encoder {self.name} reads {self.limit} at once"
            found.append(
                problem_at(record, message, "it is read in windows; shorten it where links reach further than a window")
            )
        for number, count in enumerate(counts):
            if count > self.limit:
                message = (
                    f"word {number} has {counted(count, 'piece')}, {count - self.limit} more than the encoder reads"
                )
                found.append(problem_at(record, message, "split the word; what is beyond the limit is cut off"))
        return found

    def unknown_words(self, path: str) -> list[Problem]:
        """The words since the last call that the tokenizer does not know, as one warning."""
        found, self.unknown = self.unknown, UnknownWords()
        if not found.n_unknown:
            return []
        return [Problem(message=found.message, remedy=UNKNOWN_REMEDY, file=path, severity="warning")]

    def note(self) -> str:
        """The figures since the last note."""
        records = "record is" if self.n_long == 1 else "records are"
        text = f"{self.n_long} {records} longer than the encoder's {self.limit} pieces; the longest has {self.longest}"
        self.n_long = self.longest = 0
        return text


def _forecast(encoder: str | None, notes: list[str]) -> _Forecast | None:
    from nlpkit.encoder.folder import encoder_folder, position_limit
    from nlpkit.encoder.pieces import WordTokenizer

    name = encoder or DEFAULT_ENCODER
    try:
        folder = encoder_folder(name)
        tokenizer = WordTokenizer.from_folder(folder)
    except (ConfigError, ImportError) as error:
        if name != DEFAULT_ENCODER:
            raise
        notes.append(f"no forecast of long texts: {error}")
        return None
    return _Forecast(name, tokenizer, position_limit(folder) - tokenizer.n_special)


def _leaks(files: Sequence[_File]) -> list[Problem]:
    """Texts that are in two of the files, one warning for each pair of files."""
    problems = []
    for number, file in enumerate(files):
        for earlier in files[:number]:
            lines = [(line, earlier.texts[text][0]) for text, (line, _) in file.texts.items() if text in earlier.texts]
            if lines:
                shown = ", ".join(f"line {here} is line {there}" for here, there in lines[:_SHOWN_LINES])
                more = f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else ""
                problems.append(
                    Problem(
                        message=f"{counted(len(lines), 'text is', 'texts are')} also in {earlier.path}: {shown}{more}",
                        remedy="remove them from one of the files, or scores on it say too much",
                        file=file.path,
                        severity="warning",
                    )
                )
    return problems


def overlap_counts(name: str, spans: Iterable[tuple[int, int]]) -> Counter[str]:
    """How many spans there are, and how many pairs lie inside each other, cross, or are one span.

    >>> sorted(overlap_counts("e", [(0, 3), (0, 3), (1, 2), (2, 5)]).items())
    [('e', 4), ('e crossing', 2), ('e nested', 2), ('e on one span', 1)]
    """
    counts: Counter[str] = Counter()
    same: Counter[tuple[int, int]] = Counter()
    ends: list[int] = []  # of the spans that begin before or with the next one, in order
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        n_around = len(ends) - bisect_left(ends, end)
        n_met = len(ends) - bisect_right(ends, start)
        counts[name] += 1
        for how, n in (
            ("on one span", same[start, end]),
            ("nested", n_around - same[start, end]),
            ("crossing", n_met - n_around),
        ):
            if n:
                counts[f"{name} {how}"] += n
        same[start, end] += 1
        insort(ends, end)
    return counts


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
