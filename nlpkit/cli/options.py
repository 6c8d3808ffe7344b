"""What the commands share: a parser that names the nearest option, and types that say what they expected."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from nlpkit.configs import nearest
from nlpkit.data.lines import fault_of_name, is_text_for_file
from nlpkit.errors import ConfigError
from nlpkit.wording import did_you_mean, use_options

_SHOWN = 60

_NAME = "\0"
"""No word of a command line can hold it."""


class Parser(argparse.ArgumentParser):
    """argparse whose errors are a :class:`~nlpkit.errors.ConfigError` with the option's name."""

    def __init__(self, *, prog: str, usage: str, description: str) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            allow_abbrev=False,
            exit_on_error=False,
            formatter_class=Formatter,
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the command line; options and files may stand in any order."""
        check_option_names(words, self._option_string_actions)
        use_options(self._option_string_actions)
        try:
            found, rest = self.parse_known_intermixed_args(_hide_names(words))
        except argparse.ArgumentError as error:
            raise ConfigError(_show_names(error.message), key=error.argument_name) from None
        if rest:
            raise ConfigError(f"unexpected {_show_names(rest[0])!r}; see {self.prog} --help")
        return argparse.Namespace(**{name: _show_names(value) for name, value in vars(found).items()})

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the process."""
        raise ConfigError(f"{message}; see {self.prog} --help")


def _hide_names(words: Sequence[str]) -> list[str]:
    """The words without ``--``, those behind it marked as names: argparse forgets which they are in a second look."""
    if "--" not in words:
        return list(words)
    end = list(words).index("--")
    names = [f"{_NAME}{word}" if word.startswith("-") and word != "-" else word for word in words[end + 1 :]]
    return [*words[:end], *names]


def _show_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_show_names(item) for item in value]
    return value.replace(_NAME, "") if isinstance(value, str) else value


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help in 100 columns with a wide first column, so that most options take one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34, width=100)


def check_option_names(words: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first unknown option.

    Raises:
        ConfigError: It names the nearest options, also by their last part: ``--channels`` for ``--model.channels``.

    >>> check_option_names(["--trian", "a"], ["--train", "--dev"])
    Traceback (most recent call last):
        ...
    nlpkit.errors.ConfigError: --trian: unknown option; did you mean --train?
    """
    known = list(known)
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if not name.startswith("-") or name in known or name == "-" or _is_number(name):
            continue
        near = [option for option in known if option.rpartition(".")[2] == name.lstrip("-").replace("-", "_")]
        near = near or nearest(name, known, n=1)
        if not near:
            last = {option.rpartition(".")[2]: option for option in known if "." in option}
            near = [last[part] for part in nearest(name.lstrip("-"), last, n=1)]
        hint = f"did you mean {' or '.join(near)}?" if near else "see --help"
        raise ConfigError(f"unknown option; {hint}", key=name)


def one_of(*names: str) -> Callable[[str], str]:
    """An option type: one of these words."""

    def convert(word: str) -> str:
        if word in names:
            return word
        raise argparse.ArgumentTypeError(
            f"expected one of {', '.join(names)}, found {word!r}{did_you_mean(word, names)}"
        )

    return convert


def whole_number(low: int) -> Callable[[str], int]:
    """An option type: a whole number of at least ``low``."""

    def convert(word: str) -> int:
        try:
            value = int(word)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"expected a whole number of {low} or more, found {word!r}")
        return value

    return convert


def threshold(word: str) -> tuple[str | None, float]:
    """An option type: a probability, for all types (``0.5``) or for one (``TYPE=0.7``).

    >>> threshold("0.5"), threshold("Org=0.7")
    ((None, 0.5), ('Org', 0.7))
    """
    name, is_named, number = word.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1 or (is_named and not name):
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, or TYPE=number, found {word!r}")
    return name or None, value


def add_prediction_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that runs a model."""
    add = parser.add_argument
    add(
        "--threshold",
        type=threshold,
        action="append",
        metavar="P",
        help="keep what is at least so probable: 0.5 for all types, TYPE=0.7 for one; may be repeated",
    )
    add(
        "--overlap",
        type=one_of("flat", "nested", "any"),
        metavar="flat|nested|any",
        help="which spans may overlap: none, only one inside another, or all (default: as trained)",
    )
    add("--device", type=one_of("auto", "cpu", "gpu"), default="auto", metavar="auto|cpu|gpu", help="where to run")
    add(
        "--precision",
        type=one_of("fp32", "bf16"),
        default="fp32",
        metavar="fp32|bf16",
        help="bf16 is faster where the processor has it, with scores that differ in the third digit",
    )
    add("--batch-size", type=whole_number(1), metavar="N", help="texts read at once (default: the model's own)")
    add_threads_option(parser)


def add_threads_option(parser: argparse.ArgumentParser) -> None:
    """The option of every command that computes; works for argparse (help) and jsonargparse (parsing)."""
    parser.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help="fewer leave room for other work (default: what torch takes)",
    )


def prediction_settings(found: argparse.Namespace) -> dict[str, object]:
    """Keyword arguments of ``predict`` and ``evaluate`` that the user gave; absent ones stay the model's own."""
    out: dict[str, object] = {}
    if found.threshold:
        table = dict(found.threshold)
        only = table.get(None)
        out["threshold"] = only if set(table) == {None} else {"*" if k is None else k: v for k, v in table.items()}
    if found.overlap:
        out["overlap"] = found.overlap
    if found.batch_size:
        out["batch_size"] = found.batch_size
    return out


def add_offset_option(parser: argparse.ArgumentParser, default: str) -> None:
    """The option of every command that reads annotated data, but ``fit``, which has ``--data.offset_unit``."""
    parser.add_argument(
        "--offset-unit",
        type=one_of("codepoint", "utf16", "byte"),
        metavar="codepoint|utf16|byte",
        help=f"what positions in a text count: code points, UTF-16 units or UTF-8 bytes (default: {default})",
    )


def add_force_option(parser: argparse.ArgumentParser) -> None:
    """The option of every command that writes a file."""
    parser.add_argument("--force", action="store_true", help="replace files that are there already, but never an input")


def require_files(paths: Iterable[str], *, stdin: bool = False) -> None:
    """Open each file once before anything slow begins.

    Args:
        paths: What was given as files.
        stdin: ``-`` stands for standard input.

    Raises:
        ConfigError: A folder or a text stands where a file was expected.
        OSError: A file is missing or cannot be read.
    """
    for path in paths:
        if path == "-" and stdin:
            continue
        if path == "-" and not Path(path).exists():
            raise ConfigError("-: standard input is not read here; name a file, or /dev/stdin")
        if fault := fault_of_name(path):
            remedy = fault.remedy
            if stdin and is_text_for_file(path):
                text = shlex.quote(path if len(path) <= _SHOWN else "a text")
                remedy = f"give texts on standard input: echo {text} | nlpkit predict FOLDER -"
            raise ConfigError(f"{fault.message}; {remedy}", key=fault.file or None)
        # Opening a pipe, as in `<(command)`, would take what is in it.
        if Path(path).is_file() or not Path(path).exists():
            with open(path, "rb"):
                pass


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
