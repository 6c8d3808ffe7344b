"""``nlpkit evaluate FOLDER FILE...``: measure a model on annotated data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit.cli.folder import load, open_folder
from nlpkit.cli.options import (
    Parser,
    add_force_option,
    add_offset_option,
    add_prediction_options,
    prediction_settings,
    require_files,
)
from nlpkit.cli.output import is_terminal, open_output, require_places
from nlpkit.cli.progress import progress_bar
from nlpkit.data.lines import count_lines, dump_line
from nlpkit.errors import ConfigError
from nlpkit.wording import counted

if TYPE_CHECKING:
    from nlpkit.results import EvaluationReport


def run(words: Sequence[str]) -> int:
    """Print the scores of each file."""
    parser = Parser(
        prog="nlpkit evaluate",
        usage="nlpkit evaluate FOLDER FILE... [options]",
        description="Measure a model on annotated data. Tables show percent; JSON has fractions of 1.",
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="a model folder, a run folder (then its best model), or a model's name")
    add("files", metavar="FILE", nargs="+", help="annotated data, .jsonl, also .gz")
    add("--json", action="store_true", help='print one JSON object; with several files {"runs": [...]}')
    add("--report", metavar="F.html", help="write a self-contained page; with several files F-1.html, F-2.html ...")
    add("--errors", metavar="F.jsonl", help="write every record with a mistake to this file")
    add_offset_option(parser, "as in training")
    add_force_option(parser)
    add_prediction_options(parser)
    found = parser.parse(words)
    folder, _, spec = open_folder(found.folder)
    if not spec.can_evaluate:
        raise ConfigError(f"the model {spec.name!r} cannot be evaluated")
    require_files(found.files)
    reports_to = numbered(found.report, len(found.files)) if found.report else [found.report]
    require_places(*reports_to, found.errors, inputs=[*found.files, str(folder)], force=found.force)

    model = load(folder, found.device, found.precision, found.threads)
    settings = prediction_settings(found)
    if found.offset_unit:
        settings["offset_unit"] = found.offset_unit
    reports = []
    for file in found.files:
        is_shown = is_terminal(sys.stderr)
        with progress_bar("record", count_lines(file) if is_shown else None, is_shown=is_shown) as advance:
            report = model.evaluate(file, on_record=advance, **settings)
        reports.append(report)
        if not found.json:
            print(report if len(reports) == 1 else f"\n{report}", flush=True)
    if found.json:
        runs = [report.to_dict() for report in reports]
        print(dump_line(runs[0] if len(runs) == 1 else {"runs": runs}))
    if found.errors:
        _write_errors(found.errors, reports, force=found.force)
    if found.report:
        for path, report in zip(numbered(found.report, len(reports)), reports, strict=True):
            with open_output(path, force=found.force) as handle:
                handle.write(report.to_html())
            print(f"nlpkit: report written to {path}", file=sys.stderr)
    return 0


def numbered(path: str, n: int) -> list[str]:
    """The name itself for one file, numbered names for several.

    >>> numbered("r.html", 1), numbered("r.html", 2)
    (['r.html'], ['r-1.html', 'r-2.html'])
    """
    if n == 1:
        return [path]
    place = Path(path)
    return [str(place.with_name(f"{place.stem}-{number}{place.suffix}")) for number in range(1, n + 1)]


def _write_errors(path: str, reports: Sequence[EvaluationReport], *, force: bool) -> None:
    n_errors = 0
    with open_output(path, force=force) as handle:
        for report in reports:
            for error in report.errors():
                line = error if len(reports) == 1 else {"data": report.data, **error}
                handle.write(f"{dump_line(line)}\n")
                n_errors += 1
    print(f"nlpkit: {counted(n_errors, 'record')} with mistakes written to {path}", file=sys.stderr)
