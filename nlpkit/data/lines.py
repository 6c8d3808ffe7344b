"""Lines and JSON objects of the files that users give, with one answer to each thing that can be wrong with a file.

Files are read as bytes and split at line feeds only: every other character of a text, even a lone carriage return or a
Unicode line separator, stays where the user put it. A carriage return before the line feed belongs to the line end.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from nlpkit.errors import Problem

BOM = b"\xef\xbb\xbf"
JSON_SUFFIXES = ("", ".jsonl", ".ndjson")
TEXT_SUFFIX = ".txt"

_HEAD = 8192
_SHOWN = 60


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
    try:
        with _open(Path(path)) as handle:
            fault = _fault_of_head(handle)
            if fault is not None:
                problems.append(Problem(message=fault[0], remedy=fault[1], file=file))
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
                f"the JSON is cut off at the end of the line, after {len(line)} characters ({error.msg})",
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


def _open(path: Path) -> BinaryIO:
    if "\0" in str(path):
        raise OSError(0, "a name cannot hold a zero character")
    if path.is_dir():
        raise OSError(0, "it is a folder, expected a file")
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
        keys = [key for key, _ in pairs]
        twice = next(key for key in out if keys.count(key) > 1)
        raise BadLineError(f"key {twice!r} is there twice in one object", "keep one of them")
    return out


def _no_constant(name: str) -> NoReturn:
    raise BadLineError(f"{name} is no JSON number", "write a finite number, or leave the key out")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
