"""Lines and JSON objects of the files that users give, with one answer to each thing that can be wrong with a file.

What is written as lines of JSON is made here too, so that what one reader calls a line is one for every other.

Files are read as bytes and split at line feeds only: every other character of a text, even a lone carriage return or a
Unicode line separator, stays where the user put it. A carriage return before the line feed belongs to the line end.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from nlpkit.errors import Problem
from nlpkit.wording import counted

BOM = b"\xef\xbb\xbf"
JSON_SUFFIXES = ("", ".jsonl", ".ndjson")
TEXT_SUFFIX = ".txt"

_HEAD = 8192
_SHOWN = 60


_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""Where Python's ``splitlines`` cuts, besides the control characters that JSON escapes anyway."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a record was read: ``file`` as the user named it and ``line`` from 1."""

    file: str
    line: int


class BadLineError(ValueError):
    """A line is no JSON object; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def suffix_of(path: str | Path) -> str:
    """The file's kind, with ``.gz`` taken away.

    >>> suffix_of("a/b.jsonl.gz")
    '.jsonl'
    """
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).suffix.lower()


def read_lines(path: str | Path, problems: list[Problem], *, keep_blank: bool = False) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1 and without line ends.

    Args:
        path: A UTF-8 file, compressed if its name ends in ``.gz``; a byte order mark at its start is no text.
        problems: What is wrong with the file or with a line is added here; a bad line is left out.
        keep_blank: Give blank lines too: each line of a file is a text that gets an answer.
    """
    file = str(path)
    number = 0
    if fault := fault_of_name(path):
        problems.append(fault)
        return
    try:
        with _open(Path(path)) as handle:
            if wrong := _fault_of_head(handle):
                problems.append(Problem(message=wrong[0], remedy=wrong[1], file=file))
                return
            for number, raw in enumerate(handle, start=1):  # `number` also places a broken archive
                line = _decode(raw.removeprefix(BOM) if number == 1 else raw, file, number, problems)
                if line is not None and (keep_blank or line.strip()):
                    yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problems.append(
            Problem(
                message=f"the compressed file is broken here ({error})",
                remedy="compress it again with gzip, or take .gz off its name if it is not compressed",
                file=file,
                line=number + 1,
            )
        )
    except OSError as error:
        problems.append(
            Problem(message=f"cannot be read: {error.strerror or error}", remedy="check name and rights", file=file)
        )


def count_lines(path: str | Path, *, keep_blank: bool = False) -> int | None:
    """How many lines :func:`read_lines` will give; None if that cannot be known, as of a pipe."""
    if not Path(path).is_file():
        return None
    try:
        with _open(Path(path)) as handle:
            return sum(1 for line in handle if keep_blank or line.strip())
    except (OSError, EOFError, zlib.error):  # reading says what is wrong
        return None


def read_objects(path: str | Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with one object a line, with their line numbers; bad lines go to ``problems``."""
    for number, line in read_lines(path, problems):
        try:
            yield number, parse_object(line)
        except BadLineError as error:
            problems.append(Problem(message=str(error), remedy=error.remedy, file=str(path), line=number))


def parse_object(line: str) -> dict[str, Any]:
    """One line of JSON.

    Raises:
        BadLineError: It is no strict JSON object: cut off, another kind of value, a key twice, NaN, nested too deep.

    >>> parse_object('{"text": "Bo"}')
    {'text': 'Bo'}
    """
    try:
        value = json.loads(line, object_pairs_hook=_object, parse_constant=_no_constant)
    except BadLineError:
        raise
    except RecursionError:
        raise BadLineError("the JSON is nested too deep to be read", "flatten it") from None
    except json.JSONDecodeError as error:
        if error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated string"):
            raise BadLineError(
                f"the JSON is cut off at the end of the line, after {counted(len(line), 'character')} ({error.msg})",
                "write the whole object on one line",
            ) from None
        raise BadLineError(
            f"no JSON: {error.msg} at character {error.pos + 1}, found {line[error.pos : error.pos + 20]!r}",
            "write one JSON object a line; plain text, one text a line, goes into a .txt file",
        ) from None
    except ValueError as error:  # an integer with thousands of digits
        raise BadLineError(f"a number cannot be read ({error})", "write a number that fits, or a string") from None
    if not isinstance(value, dict):
        raise BadLineError(
            f"expected a JSON object, found {json_type(value)}: {_short(line.strip())}",
            'write {"text": ...} or {"tokens": [...]}, one object a line',
        )
    return value


def dump_line(value: object, *, ascii_only: bool = False) -> str:
    """One value as one line of JSON, without its end, for every program that reads lines.

    Args:
        value: Plain JSON values.
        ascii_only: Escape everything else too, for a terminal that cannot show it.

    Raises:
        ValueError: A number is not finite.

    >>> print(dump_line({"text": "café" + chr(0x2028)}))
    {"text": "café\\u2028"}
    """
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False).translate(_LINE_ENDS)


def json_type(value: object) -> str:
    """The kind of a JSON value as users call it.

    >>> json_type(True), json_type(3), json_type(None)
    ('a boolean', 'an integer', 'null')
    """
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


def fault_of_name(path: str | Path) -> Problem | None:
    """What stands where the name of a data file was expected, and the remedy; None if it can be a file.

    >>> print(fault_of_name("Bo met Al."))
    Bo met Al.: no file has this name, which looks like a text; put texts into a .txt file, one a line, and name that
    """
    message, remedy = "", "name a .jsonl or .txt file"
    if not str(path):  # to Python the working folder; mostly a shell variable without a value
        message = "expected the name of a file, found an empty one"
    elif "\0" in str(path):
        message = "a name cannot hold a zero character"
    elif is_text_for_file(path):
        message = "no file has this name, which looks like a text"
        remedy = "put texts into a .txt file, one a line, and name that"
        return Problem(message=message, remedy=remedy, file=_short(" ".join(str(path).split())))
    elif Path(path).is_dir():
        message, remedy = _fault_of_folder(Path(path), remedy)
    return Problem(message=message, remedy=remedy, file=str(path)) if message else None


def is_text_for_file(path: str | Path) -> bool:
    """Whether a text stands where the name of a file was expected: there are blanks in it, and no such file."""
    name = str(path)
    if not any(char.isspace() for char in name.strip()) or suffix_of(name) in (*JSON_SUFFIXES[1:], TEXT_SUFFIX):
        return False
    try:
        return not Path(name).exists()
    except (OSError, ValueError):  # too long for a name
        return True


def _fault_of_folder(folder: Path, remedy: str) -> tuple[str, str]:
    from nlpkit.folder import MANIFEST

    if any((place / MANIFEST).is_file() for place in (folder, folder / "best")):
        return "it is the folder of a model, expected a file with data", remedy
    for suffix in (".jsonl", ".jsonl.gz", ".ndjson", ".txt", ".txt.gz"):
        if any(folder.glob(f"*{suffix}")):
            remedy = f"name its files: {folder / f'*{suffix}'}"
            break
    return "it is a folder, expected a file", remedy


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb"))


def _fault_of_head(handle: BinaryIO) -> tuple[str, str] | None:
    """What the first bytes say against the file being UTF-8 text, and the remedy."""
    head = cast(Any, handle).peek(_HEAD)[:_HEAD]
    if head[:2] == b"\x1f\x8b":
        return "the file is compressed, but its name does not end in .gz", "add .gz to its name"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "the file is UTF-16, expected UTF-8", "save it as UTF-8"
    if b"\0" in head:
        return "the file is binary (it holds zero bytes), expected UTF-8 text", "give a .jsonl or .txt file"
    return None


def _decode(raw: bytes, file: str, number: int, problems: list[Problem]) -> str | None:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.append(
            Problem(
                message=f"no UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1} ({error.reason})",
                remedy="save the file as UTF-8",
                file=file,
                line=number,
            )
        )
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise BadLineError(f"key {twice!r} is there twice in one object", "keep one of them")
    return out


def _no_constant(name: str) -> NoReturn:
    raise BadLineError(f"{name} is no JSON number", "write a finite number, or leave the key out")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
