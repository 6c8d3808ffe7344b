"""``nlpkit check FILE...``: every bad record of data files, before a model sees them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from nlpkit.cli.options import Parser, add_force_option, add_offset_option, one_of, require_files
from nlpkit.cli.output import open_output, require_places
from nlpkit.data.lines import dump_line
from nlpkit.errors import SHOWN_PROBLEMS, Problem
from nlpkit.registry import BUILT_IN
from nlpkit.wording import counted


class Report(Protocol):
    """What the checker of a task gives back."""

    @property
    def errors(self) -> Sequence[Problem]:
        """What makes a record unusable."""
        ...

    @property
    def warnings(self) -> Sequence[Problem]:
        """Doubtful places."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Figures, a line each."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        ...


def run(words: Sequence[str]) -> int:
    """Print what is wrong with the files; 1 if there is an error."""
    by_task = {spec.task: spec for spec in BUILT_IN.values() if spec.checker}
    parser = Parser(
        prog="nlpkit check",
        usage="nlpkit check FILE... [options]",
        description=(
            "Name every bad record with its line and a remedy, doubtful places as warnings, and how many texts are\n"
            "longer than the encoder's window. Several files are also compared: a text in two of them is a leak."
        ),
    )
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="data files, .jsonl or .txt, also .gz")
    add("--task", type=one_of(*by_task), default="ie", metavar="TASK", help="whose records they are (default: ie)")
    add(
        "--misaligned",
        type=one_of("error", "widen", "skip"),
        default="error",
        metavar="error|widen|skip",
        help="a span that cuts a word: an error, widened to whole words, or left out",
    )
    add_offset_option(parser, "codepoint")
    add("--strict", action="store_true", help="count warnings as errors")
    add("--encoder", metavar="NAME", default="minilm", help="minilm or a folder: forecast what exceeds its window")
    add("--errors", metavar="F", help="write every problem to this .jsonl file")
    add_force_option(parser)
    add("--json", action="store_true", help="print the report as JSON")
    found = parser.parse(words)
    require_files(found.files)
    require_places(found.errors, inputs=[*found.files, found.encoder], force=found.force)
    check_files = cast("Callable[..., Report]", by_task[found.task].resolve("checker"))
    settings = {"strict": found.strict, "encoder": found.encoder, "misaligned": found.misaligned}
    if found.offset_unit:
        settings["offset_unit"] = found.offset_unit
    report = check_files(found.files, **settings)
    errors, warnings = list(report.errors), list(report.warnings)
    if found.errors:
        lines = [dump_line(problem.to_dict()) for problem in [*errors, *warnings]]
        with open_output(found.errors, force=found.force) as handle:
            handle.writelines(f"{line}\n" for line in lines)
        print(f"nlpkit: {counted(len(lines), 'problem')} written to {found.errors}", file=sys.stderr)
    if found.json:
        print(dump_line(report.to_dict()))
    else:
        show(errors, warnings, report.notes)
    return 1 if errors else 0


def show(errors: Sequence[Problem], warnings: Sequence[Problem], notes: Sequence[str]) -> None:
    """Print the problems of the first 20 places of each kind, then the counts."""
    for kind, problems in (("error", errors), ("warning", warnings)):
        shown = first_places(problems)
        for problem in shown:
            print(f"{kind}: {problem}")
        if len(problems) > len(shown):
            print(f"... and {counted(len(problems) - len(shown), f'more {kind}')}; --errors F writes all of them")
    for note in notes:
        print(note)
    print(f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}")


def first_places(problems: Sequence[Problem], n_places: int = SHOWN_PROBLEMS) -> list[Problem]:
    """The problems of the first ``n_places`` lines that have one.

    Lines are counted, not problems, so that one line with many does not push other faults out of sight.
    """
    shown: list[Problem] = []
    places: set[tuple[str | None, int | None]] = set()
    for problem in problems:
        place = (problem.file, problem.line)
        if place not in places and len(places) == n_places:
            continue
        places.add(place)
        shown.append(problem)
        if len(shown) == 10 * n_places:
            break
    return shown
