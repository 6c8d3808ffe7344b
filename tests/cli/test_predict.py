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
    [line] = nlpkit("predict", folder, records).lines
    assert line == {
        "text": "a",
        "words": 1,
        "id": 7,
        "note": {"k": [None]},
        "source": {"file": str(records), "line": 1},
    }


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
    done = nlpkit("predict", folder, records, "--output", out, "--force")
    assert (done.status, done.out) == (1, "")
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "out.jsonl", "r.jsonl"]


def test_an_input_is_never_overwritten(
    nlpkit: Run, folder: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlpkit.cli.predict.load", no_model)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "soft.jsonl").symlink_to(texts)
    (tmp_path / "hard.jsonl").hardlink_to(texts)
    for name in (texts, "./in.txt", "soft.jsonl", "hard.jsonl", folder / "nlpkit.json"):
        for force in ([], ["--force"]):
            done = nlpkit("predict", folder, texts, "--output", name, *force)
            assert (done.status, done.out) == (2, "")
            assert f"{name}: is also an input" in done.err
    assert texts.read_bytes() == "one two\r\n\nthrée\n".encode()


def test_a_file_behind_standard_input_is_an_input_too(
    folder: Path, texts: Path, command: Run, environment: dict[str, str]
) -> None:
    for place in ("-", "/dev/stdin"):
        words = command(["predict", folder, place, "--output", texts, "--force"])
        with texts.open("rb") as handle:
            done = subprocess.run(words, stdin=handle, env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is also an input" in done.stderr
    with texts.open("ab") as handle:  # as in `nlpkit predict FOLDER in.txt >> in.txt`
        words = command(["predict", folder, texts])
        done = subprocess.run(words, stdout=handle, env=environment, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, "standard output goes into a file that is also an input" in done.stderr) == (2, True)
    assert texts.read_bytes() == "one two\r\n\nthrée\n".encode()


def test_what_exists_is_replaced_only_with_force(
    nlpkit: Run, folder: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr("nlpkit.cli.predict.load", no_model)
        done = nlpkit("predict", folder, texts, "--output", out)
    assert (done.status, done.out, out.read_text()) == (2, "", "old")
    assert f"{out}: is there already; add --force" in done.err
    assert nlpkit("predict", folder, texts, "--output", out, "--force").status == 0
    assert len(out.read_text().splitlines()) == 3


def test_a_file_that_comes_into_being_meanwhile_is_kept(
    nlpkit: Run, folder: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nlpkit.cli.folder import load

    out = tmp_path / "out.jsonl"

    def write_and_load(*arguments: object) -> object:
        out.write_text("of another program")
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("nlpkit.cli.predict.load", write_and_load)
    monkeypatch.setattr("nlpkit.cli.output.require_places", lambda *paths, **more: None)
    done = nlpkit("predict", folder, texts, "--output", out)
    assert (done.status, out.read_text()) == (2, "of another program")
    [kept] = tmp_path.glob(".out.jsonl.*")
    assert str(kept) in done.err
    assert len(kept.read_text().splitlines()) == 3


def no_model(*arguments: object) -> object:
    raise AssertionError("the model is loaded")


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_may_be_named(
    folder: Path, texts: Path, tmp_path: Path, command: Run, environment: dict[str, str], name: str
) -> None:
    out = tmp_path / "out"
    out.write_text("first\n")
    with out.open("a") as handle:
        words = command(["predict", folder, texts, "--output", name])
        assert subprocess.run(words, stdout=handle, env=environment, timeout=60).returncode == 0
    assert [line[:5] for line in out.read_text().splitlines()] == ["first", *['{"tex'] * 3]
    assert nlpkit_help(command, environment).count("--force") == 1


def nlpkit_help(command: Run, environment: dict[str, str]) -> str:
    words = command(["predict", "--help"])
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60).stdout


# Where inputs come from, and where none is.


def test_every_result_says_its_file_and_line(
    nlpkit: Run, folder: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "r.jsonl"
    records.write_text('\n{"text": "a"}\n\n{"text": "b"}\n')
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\n\ny\n"))
    monkeypatch.chdir(tmp_path)
    done = nlpkit("predict", folder, "in.txt", "-", records)
    places = [(source["file"], source["line"]) for source in (line["source"] for line in done.lines)]
    assert places == [
        *(("in.txt", n) for n in (1, 2, 3)),
        *(("<stdin>", n) for n in (1, 2, 3)),
        *((str(records), n) for n in (2, 4)),
    ]


def test_a_folder_or_a_text_in_place_of_a_file_is_told_what_to_do(
    nlpkit: Run, folder: Path, texts: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, message in (
        (data, "it is a folder, expected a file; name a .jsonl or .txt file"),
        ("Bo met Al.", "echo 'Bo met Al.' | nlpkit predict FOLDER -"),
        ("Bo met Al. " * 1000, "echo 'a text' | nlpkit predict FOLDER -"),
        (folder, "it is the folder of a model, expected a file with data"),
    ):
        done = nlpkit("predict", folder, name)
        assert (done.status, done.out) == (2, "")
        assert message in done.err
        assert len(done.err) < 400
    (data / "a.jsonl").touch()
    assert f"name its files: {data}/*.jsonl" in nlpkit("predict", folder, data).err
    assert "is a file; expected a model folder" in nlpkit("predict", texts, folder).err
    missing = nlpkit("predict", folder, tmp_path / "no such file.txt")
    assert (missing.status, "No such file" in missing.err) == (1, True)


def test_a_link_stays_a_link_and_a_device_a_device(nlpkit: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    link, real = tmp_path / "link.jsonl", tmp_path / "real.jsonl"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    nlpkit("predict", folder, texts, "--output", link, "--force")
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
