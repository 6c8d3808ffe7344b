"""``nlpkit predict FOLDER [FILE|-]...``: use a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TextIO, cast

from nlpkit.cli.folder import load, open_folder
from nlpkit.cli.inputs import STDIN, Inputs
from nlpkit.cli.options import (
    Parser,
    add_force_option,
    add_prediction_options,
    one_of,
    prediction_settings,
    require_files,
)
from nlpkit.cli.output import STDOUT, flushed, is_terminal, open_output, require_places
from nlpkit.cli.progress import progress_bar, watched
from nlpkit.cli.tally import InputTally
from nlpkit.data.lines import suffix_of
from nlpkit.errors import ConfigError
from nlpkit.wording import counted, did_you_mean

Writer = Callable[[Iterable[object], TextIO], None]


def run(words: Sequence[str]) -> int:
    """Answer every text of the inputs, in their order, as they come."""
    parser = _parser()
    found = parser.parse(words)
    files = found.files or [STDIN]
    folder, _, spec = open_folder(found.folder)
    write = _writer(cast("Mapping[str, Writer]", spec.resolve("writer")), found.format, found.output)
    require_files(files, stdin=True)
    inputs = Inputs(files, spec, found.input_format)
    require_places(found.output, inputs=[*files, str(folder)], force=found.force)
    settings = prediction_settings(found)

    model = load(folder, found.device, found.precision, found.threads)
    tally = InputTally()
    if STDIN in files and is_terminal(sys.stdin):
        print("nlpkit: type a text a line, end with Ctrl-D", file=sys.stderr)
    with open_output(found.output, force=found.force) as handle, _progress(inputs, handle) as advance:
        results = watched(tally.watch(model.predict(inputs, **settings)), advance)
        write(flushed(results, handle) if handle is sys.stdout else results, handle)
        handle.flush()
        inputs.check()
    for line in tally.lines():
        print(f"nlpkit: {line}", file=sys.stderr)
    if handle is not sys.stdout:
        print(f"nlpkit: {counted(inputs.n_items, 'result')} written to {found.output}", file=sys.stderr)
    return 0


def _progress(inputs: Inputs, handle: TextIO) -> AbstractContextManager[Callable[[], None]]:
    """A bar, unless the results are read where it would be, or texts are typed in."""
    is_typed = any(path == STDIN for path, _ in inputs.kinds) and is_terminal(sys.stdin)
    is_shown = not is_typed and is_terminal(sys.stderr) and not is_terminal(handle)
    return progress_bar("text", inputs.total() if is_shown else None, is_shown=is_shown)


def _parser() -> Parser:
    parser = Parser(
        prog="nlpkit predict",
        usage="nlpkit predict FOLDER [FILE|-]... [options]",
        description=(
            "Use a model. Plain text files hold one text a line, .jsonl files one record a line, both also as .gz;\n"
            "- is standard input (one text a line), also when no file is given. Labels of records are not looked at."
        ),
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="a model folder, a run folder (then its best model), or a model's name")
    add("files", metavar="FILE", nargs="*", help="what to read")
    add("--output", metavar="F", help="write to this file (default: standard output)")
    add("--format", metavar="NAME", help="jsonl, table, html or conll (default: table on a terminal, else jsonl)")
    add_force_option(parser)
    kinds = one_of("text", "jsonl")
    add("--input-format", type=kinds, metavar="text|jsonl", help="what the inputs hold, whatever their names say")
    add_prediction_options(parser)
    return parser


def _writer(formats: Mapping[str, Writer], name: str | None, output: str | None) -> Writer:
    """The writer that the user named, else the one of the output's name, else a table for people and JSON lines."""
    if name is None:
        suffix = suffix_of(output).lstrip(".") if output not in (None, *STDOUT) else ""
        is_seen = output in (None, *STDOUT) and is_terminal(sys.stdout)
        name = suffix if suffix in formats else "table" if is_seen and "table" in formats else "jsonl"
    if name not in formats:
        hint = did_you_mean(name, formats)
        raise ConfigError(f"expected one of {', '.join(formats)}, found {name!r}{hint}", key="--format")
    return formats[name]
