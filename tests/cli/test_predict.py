"""``nlpkit predict``: what it reads, in which order, where answers go, and when."""

from __future__ import annotations

import gzip
import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]


def answers(done: object) -> list[tuple[str, int]]:
    assert done.status == 0, done.err  # type: ignore[attr-defined]
    return [(line["text"], line["words"]) for line in done.lines]  # type: ignore[attr-defined]


def test_a_line_of_text_gets_an_answer_also_when_it_is_empty(nlpkit: Run, folder: Path, texts: Path) -> None:
    done = nlpkit("predict", folder, texts)
    assert answers(done) == [("one two", 2), ("", 0), ("thrée", 1)]
    assert done.err == ""


def test_order_is_kept_over_all_kinds_of_files(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    records = tmp_path / "r.jsonl"
    records.write_text('{"text": "r 1", "labels": [9], "id": 7}\n\n{"text": "r 2"}\n')
    packed = tmp_path / "p.txt.gz"
    packed.write_bytes(gzip.compress(b"p 1\np 2"))
    also = tmp_path / "q.jsonl.gz"
    also.write_bytes(gzip.compress(b'{"text": "q"}'))
    done = nlpkit("predict", folder, packed, records, also, texts)
    assert [text for text, _ in answers(done)] == ["p 1", "p 2", "r 1", "r 2", "q", "one two", "", "thrée"]


def test_unknown_keys_travel_through_and_labels_do_not(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    records = tmp_path / "r.jsonl"
    records.write_text('{"text": "a", "labels": [9], "id": 7, "note": {"k": [null]}}\n')
    assert nlpkit("predict", folder, records).lines == [{"text": "a", "words": 1, "id": 7, "note": {"k": [None]}}]


@pytest.mark.parametrize("words", [[], ["-"]])
def test_standard_input_holds_texts(
    nlpkit: Run, folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a b\n\nc"))
    assert answers(nlpkit("predict", folder, *words)) == [("a b", 2), ("", 0), ("c", 1)]


def test_standard_input_among_files(nlpkit: Run, folder: Path, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("between"))
    found = [text for text, _ in answers(nlpkit("predict", folder, texts, "-", texts))]
    assert found == ["one two", "", "thrée", "between", "one two", "", "thrée"]


def test_records_from_standard_input(nlpkit: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "a b", "id": 1}\n\n{"text": "c"}\n'))
    assert answers(nlpkit("predict", folder, "--input-format", "jsonl")) == [("a b", 2), ("c", 1)]


def test_the_name_of_a_file_may_be_overruled(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n")
    done = nlpkit("predict", folder, path)
    assert (done.status, "--input-format" in done.err) == (2, True)
    assert answers(nlpkit("predict", folder, path, "--input-format", "text")) == [("x,y", 1)]


def test_options_and_files_in_any_order(nlpkit: Run, folder: Path, texts: Path) -> None:
    done = nlpkit("predict", "--format", "jsonl", folder, "--batch-size", 2, texts, "--overlap", "flat", texts)
    assert len(done.lines) == 6
    assert done.lines[0]["settings"] == {"overlap": "flat", "batch_size": 2}


@pytest.mark.parametrize(
    ("words", "threshold"),
    [
        ([], None),
        (["0.3"], 0.3),
        (["0.3", "0.4"], 0.4),
        (["Org=0.7"], {"Org": 0.7}),
        (["Org=0.7", "0.4", "a=b=1"], {"Org": 0.7, "*": 0.4, "a=b": 1.0}),
        (["0"], 0.0),
    ],
)
def test_thresholds(nlpkit: Run, folder: Path, texts: Path, words: list[str], threshold: object) -> None:
    done = nlpkit("predict", folder, texts, *(word for value in words for word in ("--threshold", value)))
    assert done.lines[0].get("settings", {}).get("threshold") == threshold


# Bad input: what came before it is answered.


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"text": "x"', "cut off"),
        ("[1]", "expected a JSON object"),
        ('{"text": 5}', "text: expected a string"),
        ('{"text": "x", "text": "y"}', "twice"),
    ],
)
@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_bad_record_is_named_after_the_answers_before_it(
    nlpkit: Run, folder: Path, tmp_path: Path, bad: str, message: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'{{"text": "a"}}\n{{"text": "b"}}\n{bad}\n{{"text": "c"}}\n'
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    done = nlpkit("predict", folder, path if source == "file" else "-", "--input-format", "jsonl")
    assert done.status == 1
    assert [line["text"] for line in done.lines] == ["a", "b"]
    place = path if source == "file" else "<stdin>"
    assert f"{place}:3: " in done.err
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("last", [b"{\n", b'{"text": "\xff"}\n'], ids=["a bad record", "no text"])
def test_nothing_is_read_after_a_bad_line(
    nlpkit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bytes
) -> None:
    bad = tmp_path / "r.jsonl"
    bad.write_bytes(b'{"text": "a"}\n' + last)
    monkeypatch.setattr(sys, "stdin", io.StringIO("later\n"))
    done = nlpkit("predict", folder, bad, "-")
    assert (done.status, [line["text"] for line in done.lines]) == (1, ["a"])


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_what_is_no_text_is_named(
    folder: Path, tmp_path: Path, source: str, command: Run, environment: dict[str, str]
) -> None:
    path = tmp_path / "b.txt"
    path.write_bytes(b"good\nb\xff\xfed\nmore\n")
    words = command(["predict", folder, path if source == "file" else "-"])
    done = subprocess.run(words, input=path.read_bytes(), env=environment, capture_output=True, timeout=60)
    assert done.returncode == 1
    assert json.loads(done.stdout)["text"] == "good"
    assert b":2: " in done.stderr
    assert b"0xff" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_binary_and_a_broken_archive(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    binary, broken = tmp_path / "b.txt", tmp_path / "c.txt.gz"
    binary.write_bytes(b"\0\1\2")
    broken.write_bytes(gzip.compress(b"one line\n" * 10_000)[:-20])
    for path, message in ((binary, "binary"), (broken, "broken")):
        done = nlpkit("predict", folder, path)
        assert done.status == 1
        assert str(path) in done.err
        assert message in done.err


def test_nothing_is_answered_when_a_later_file_is_missing(nlpkit: Run, folder: Path, texts: Path) -> None:
    done = nlpkit("predict", folder, texts, texts.with_name("none.txt"))
    assert (done.status, done.out) == (1, "")


# Where answers go.


def test_a_table_for_people_and_lines_for_programs(
    nlpkit: Run, folder: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nlpkit("predict", folder, texts).out.startswith("{")
    assert nlpkit("predict", folder, texts, "--format", "table").out.startswith("| one two | 2 |")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert nlpkit("predict", folder, texts).out.startswith("| one two | 2 |")
    assert nlpkit("predict", folder, texts, "--format", "jsonl").out.startswith("{")


def test_an_unknown_format_is_named_before_the_model_is_loaded(nlpkit: Run, folder: Path, texts: Path) -> None:
    done = nlpkit("predict", folder, texts, "--format", "xml")
    assert (done.status, done.out) == (2, "")
    assert "--format: expected one of jsonl, table, html, found 'xml'" in done.err


def test_output_is_a_file_and_nothing_else(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = nlpkit("predict", folder, texts, "--output", out)
    assert (done.status, done.out) == (0, "")
    assert [json.loads(line)["words"] for line in out.read_text(encoding="utf-8").splitlines()] == [2, 0, 1]
    assert "3 results" in done.err
    plain = tmp_path / "plain"
    plain.touch()
    assert out.stat().st_mode == plain.stat().st_mode
    assert not list(tmp_path.glob(".out*"))


def test_output_by_its_name(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    nlpkit("predict", folder, texts, "--output", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("| one two")
    nlpkit("predict", folder, texts, "--output", tmp_path / "out.jsonl.gz")
    assert len(gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).splitlines()) == 3
    assert answers(nlpkit("predict", folder, texts, "--output", "-"))[0] == ("one two", 2)


def test_a_failure_leaves_the_old_output(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    out, records = tmp_path / "out.jsonl", tmp_path / "r.jsonl"
    out.write_text("old")
    records.write_text('{"text": "a"}\n{\n')
    done = nlpkit("predict", folder, records, "--output", out)
    assert (done.status, done.out) == (1, "")
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "out.jsonl", "r.jsonl"]


def test_the_input_may_be_the_output(nlpkit: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n')
    assert nlpkit("predict", folder, path, "--output", path).status == 0
    assert [json.loads(line)["words"] for line in path.read_text().splitlines()] == [1, 1]


def test_a_link_stays_a_link_and_a_device_a_device(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    link, real = tmp_path / "link.jsonl", tmp_path / "real.jsonl"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    nlpkit("predict", folder, texts, "--output", link)
    assert link.is_symlink()
    assert len(real.read_text(encoding="utf-8").splitlines()) == 3
    assert real.stat().st_mode & 0o777 == 0o600
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    assert nlpkit("predict", folder, texts, "--output", pipe).status == 0
    assert pipe.is_fifo()
    assert len(reader.communicate(timeout=20)[0].splitlines()) == 3


def test_an_output_that_cannot_be_written(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    done = nlpkit("predict", folder, texts, "--output", tmp_path / "none" / "out.jsonl")
    assert (done.status, done.out) == (1, "")
    assert str(tmp_path / "none" / "out.jsonl") in done.err
    done = nlpkit("predict", folder, texts, "--output", tmp_path)
    assert (done.status, "folder" in done.err) == (1, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_names_the_file(nlpkit: Run, folder: Path, texts: Path) -> None:
    done = nlpkit("predict", folder, texts, "--output", "/dev/full")
    assert (done.status, done.out) == (1, "")
    assert "/dev/full: No space left on device" in done.err


@pytest.mark.parametrize("words", [["{t}", "--output", ""], ["{t}", "", "--input-format", "text"]])
def test_an_empty_name_is_no_file(nlpkit: Run, folder: Path, texts: Path, words: list[str]) -> None:
    done = nlpkit("predict", folder, *[word.format(t=texts) for word in words])
    assert (done.status, done.out) == (2, "")
    assert "expected the name of a file" in done.err


# A process of its own.


def test_it_answers_while_standard_input_is_open(folder: Path, command: Run, environment: dict[str, str]) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command(["predict", folder, "-"]), stdin=pipe, stdout=pipe, env=environment, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, counts in ((b"a b\n", [2]), (b"\n", [0]), (b"c\nd e f\n", [1, 3])):
            process.stdin.write(text)
            for n_words in counts:
                is_there = bool(select.select([process.stdout], [], [], 30)[0])
                if not is_there:
                    process.kill()
                assert is_there, "no answer within 30 seconds"
                assert json.loads(process.stdout.readline())["words"] == n_words
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("n", [3, 50_000], ids=["less than a pipe holds", "more than a pipe holds"])
def test_a_closed_pipe_ends_it_quietly(
    folder: Path, tmp_path: Path, command: Run, environment: dict[str, str], n: int
) -> None:
    path = tmp_path / "many.txt"
    path.write_text("a b c\n" * n)
    line = '"$@" | head -n 1; exit ${PIPESTATUS[0]}'
    run = ["bash", "-c", line, "bash", *command(["predict", folder, path])]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["words"] == 3
    assert (done.returncode, done.stderr) == (0, "")
