"""A stream is answered while it is still open, and costs no memory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.data.stream import FLUSH, lookahead, read_stream
from nlpkit.errors import DataError


@pytest.fixture
def pipe() -> Iterator[tuple[int, IO[bytes]]]:
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0), open(writer, "wb", buffering=0) as file:
        yield reader, file


def test_an_open_pipe_is_answered(pipe: tuple[int, IO[bytes]]) -> None:
    reader, writer = pipe
    lines = read_stream(reader)
    writer.write(b"one\r\ntwo\nthr")
    assert [next(lines) for _ in range(3)] == ["one", "two", FLUSH]
    threading.Timer(0.1, writer.write, (b"ee\n",)).start()
    assert next(lines) == "three"
    assert next(lines) is FLUSH
    threading.Timer(0.1, writer.close).start()
    assert list(lines) == []


def test_a_flush_comes_once_and_only_after_a_line(pipe: tuple[int, IO[bytes]]) -> None:
    reader, writer = pipe
    lines = read_stream(reader)

    def write() -> None:
        for part in (b"a", b"b", b"c\n", b"d", b"e"):
            writer.write(part)
            threading.Event().wait(0.05)
        writer.close()

    threading.Thread(target=write).start()
    assert list(lines) == ["abc", FLUSH, "de"]


def test_what_waits_is_read_before_a_flush(pipe: tuple[int, IO[bytes]]) -> None:
    reader, writer = pipe

    def write() -> None:
        for _ in range(200):
            writer.write(b"x\n" * 1000)
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    chunks = list(lookahead(read_stream(reader), 1000))
    thread.join()
    assert sum(map(len, chunks)) == 200_000
    assert len(chunks) < 300


def test_an_error_of_the_stream_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[str]:
        yield from "abc"
        raise KeyError("mine")

    chunks = lookahead(items(), 2)
    assert [next(chunks), next(chunks)] == [["a", "b"], ["c"]]
    with pytest.raises(KeyError, match="mine"):
        next(chunks)


def test_the_stream_of_another_process() -> None:
    code = (
        "import sys\nfrom nlpkit.data.stream import FLUSH, read_stream\n"
        "for line in read_stream(sys.stdin):\n    print('flush' if line is FLUSH else line, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Köln\n".encode())
        process.stdin.flush()
        assert process.stdout.readline() == "Köln\n".encode()
        assert process.stdout.readline() == b"flush\n"
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


TEXTS = st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"), max_size=8))


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.sampled_from(["file", "bytes", "text"]))
def test_lines_are_split_at_line_feeds_only(texts: list[str], ending: bytes, has_last: bool, kind: str) -> None:
    data = ending.join(t.encode() for t in texts) + (ending if has_last and texts else b"")
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    lines = [line.removesuffix(b"\r").decode() for line in expected]
    if lines and lines[0].startswith("\ufeff"):
        lines[0] = lines[0][1:]
    if kind == "bytes":
        assert list(read_stream(io.BytesIO(data))) == lines
    elif kind == "text":
        assert list(read_stream(io.StringIO(data.decode(), newline=""))) == lines
    else:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            assert list(read_stream(file)) == lines


def test_separators_inside_a_text_stay(tmp_path: Path) -> None:
    data = "a\u2028b\x0bc\x85d\re\x00f\r\n".encode()
    (tmp_path / "f").write_bytes(data)
    with open(tmp_path / "f", "rb") as file:
        assert list(read_stream(file)) == ["a\u2028b\x0bc\x85d\re\x00f"]


def test_a_byte_order_mark_is_no_text() -> None:
    assert list(read_stream(io.BytesIO(b"\xef\xbb\xbfa\n\xef\xbb\xbfb"))) == ["a", "\ufeffb"]


def test_bytes_that_are_no_text_are_named_by_line() -> None:
    lines = read_stream(io.BytesIO(b"good\nb\xffd\nmore\n"), name="<stdin>")
    assert next(lines) == "good"
    with pytest.raises(DataError, match=r"<stdin>:2: expected UTF-8, found the byte 0xff at byte 2") as caught:
        next(lines)
    assert caught.value.problems[0].line == 2


def test_a_character_across_two_reads(pipe: tuple[int, IO[bytes]]) -> None:
    reader, writer = pipe
    encoded = "👩\n".encode()
    writer.write(encoded[:2])
    threading.Timer(0.05, lambda: (writer.write(encoded[2:]), writer.close())).start()
    assert [line for line in read_stream(reader) if line is not FLUSH] == ["👩"]


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    with open(tmp_path / "long", "wb") as file:
        for _ in range(200):
            file.write(b"some words in a line\n" * 1000)
    peaks = []
    with open(tmp_path / "long", "rb") as file:
        tracemalloc.start()
        for i, _ in enumerate(lookahead(read_stream(file), 64)):
            if i % 1000 == 999:
                peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert len(peaks) == 3
    assert peaks[-1] < 4 * 2**20


def test_a_long_line_is_read_in_linear_time() -> None:
    assert [len(line) for line in read_stream(io.BytesIO(b"x" * 50_000_000)) if line is not FLUSH] == [50_000_000]


@given(st.lists(st.one_of(st.integers(), st.just(FLUSH))), st.integers(1, 5))
def test_lookahead_keeps_all_in_order(items: list[object], size: int) -> None:
    chunks = list(lookahead(items, size))
    assert [x for chunk in chunks for x in chunk] == [x for x in items if x is not FLUSH]
    assert all(0 < len(chunk) <= size for chunk in chunks)


def test_lookahead_reads_no_further_than_it_must() -> None:
    taken: list[int] = []

    def items() -> Iterator[object]:
        for i in range(10):
            taken.append(i)
            yield i
            if i == 4:
                yield FLUSH

    chunks = lookahead(items(), 3)
    assert next(chunks) == [0, 1, 2]
    assert taken == [0, 1, 2]
    assert next(chunks) == [3, 4]
    assert taken == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="at least 1"):
        next(lookahead([], 0))
