"""Dispatch, exit status, and one answer to everything that can go wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nlpkit.cli.main import COMMANDS, explain, main

Run = Callable[..., object]


def test_help_names_every_command(nlpkit: Run) -> None:
    done = nlpkit("--help")
    assert done.status == 0
    assert done.err == ""
    for command in COMMANDS:
        assert f"\n  {command}" in done.out


def test_no_command_shows_help_and_fails(nlpkit: Run) -> None:
    done = nlpkit()
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: nlpkit COMMAND")


def test_version(nlpkit: Run) -> None:
    import nlpkit as package

    assert nlpkit("--version").out == f"nlpkit {package.__version__}\n"


@pytest.mark.parametrize(
    ("word", "meant"), [("predcit", "predict"), ("evalute", "evaluate"), ("train", "expected one of")]
)
def test_an_unknown_command_names_the_nearest(nlpkit: Run, word: str, meant: str) -> None:
    done = nlpkit(word)
    assert (done.status, done.out) == (2, "")
    assert meant in done.err
    assert word in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(nlpkit: Run, command: str) -> None:
    done = nlpkit(command, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"usage: nlpkit {command}")


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "fit"])
def test_an_unknown_option_is_named(nlpkit: Run, command: str) -> None:
    done = nlpkit(command, "a", "b", "--jsno")
    assert (done.status, done.out) == (2, "")
    assert "--jsno: unknown option" in done.err


def test_the_nearest_option_is_named(nlpkit: Run) -> None:
    assert "did you mean --threshold?" in nlpkit("predict", "m", "--treshold", "0.5").err
    assert "did you mean --batch-size?" in nlpkit("predict", "m", "--batch_size", "3").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "m", "--threshold", "1.5"], "--threshold: expected a number from 0 to 1, or TYPE=number, found"),
        (["predict", "m", "--threshold", "nan"], "found 'nan'"),
        (["predict", "m", "--threshold", "Org="], "found 'Org='"),
        (["predict", "m", "--threshold", "=0.5"], "found '=0.5'"),
        (["predict", "m", "--overlap", "nestd"], "--overlap: expected one of flat, nested, any, found 'nestd'; did"),
        (["predict", "m", "--batch-size", "0"], "--batch-size: expected a whole number of 1 or more, found '0'"),
        (["predict", "m", "--batch-size", "x"], "--batch-size: expected a whole number of 1 or more, found 'x'"),
        (["predict", "m", "--output"], "--output: expected one argument"),
        (["predict"], "FOLDER"),
        (["evaluate", "m"], "FILE"),
        (["check"], "FILE"),
        (["show"], "FOLDER"),
        (["show", "a", "b"], "unexpected 'b'"),
        (["check", "f", "--task", "ei"], "--task: expected one of ie, found 'ei'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(nlpkit: Run, words: list[str], message: str) -> None:
    done = nlpkit(*words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["predict", "evaluate", "show"])
@pytest.mark.parametrize("what", ["missing", "empty folder", "file", "no JSON", "newer", "unknown model"])
def test_a_folder_that_is_no_model(nlpkit: Run, command: str, what: str, tmp_path: Path, texts: Path) -> None:
    place = tmp_path / "m"
    if what == "file":
        place.write_text("x")
    elif what != "missing":
        place.mkdir()
    content = {
        "no JSON": "{",
        "newer": '{"format": 99, "model": "fake"}',
        "unknown model": '{"format": 1, "model": "faek"}',
    }
    if what in content:
        (place / "nlpkit.json").write_text(content[what])
    done = nlpkit(command, place, *([] if command == "show" else [texts]))
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("nlpkit: ")
    assert str(place) in done.err
    assert "Traceback" not in done.err
    if what == "unknown model":
        assert "did you mean fake" in done.err


@pytest.mark.parametrize("words", [["predict", "{m}"], ["evaluate", "{m}"], ["check"]], ids=lambda w: w[0])
@pytest.mark.parametrize("what", ["missing", "folder"])
def test_a_file_that_cannot_be_read(nlpkit: Run, words: list[str], what: str, tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "data.jsonl"
    if what == "folder":
        path.mkdir()
    done = nlpkit(*(word.format(m=folder) for word in words), path)
    assert (done.status, done.out) == (2 if what == "folder" else 1, "")
    assert str(path) in done.err
    assert ("folder" if what == "folder" else "No such file") in done.err


def test_debug_shows_where_it_came_from(folder: Path, tmp_path: Path) -> None:
    for words in (["--debug", "predict"], ["predict", "--debug"]):
        with pytest.raises(FileNotFoundError):
            main([*words, str(folder), str(tmp_path / "none.txt")])


def test_debug_after_two_dashes_is_a_file(nlpkit: Run, folder: Path) -> None:
    done = nlpkit("predict", folder, "--input-format", "text", "--", "--debug")
    assert (done.status, "--debug: No such file" in done.err) == (1, True)


def test_what_stands_behind_two_dashes_is_a_name(
    nlpkit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-m").write_text('{"text": "Bo met Al", "entities": []}\n', encoding="utf-8")
    Path("s.txt").write_text("Cy left", encoding="utf-8")
    as_text = ("--input-format", "text")
    expected = nlpkit("predict", folder, "./-m", "s.txt", *as_text)
    assert len(expected.lines) == 2
    orders = (
        ["predict", folder, *as_text, "--", "-m", "s.txt"],
        ["predict", *as_text, "--", folder, "-m", "s.txt"],
        ["predict", *as_text, folder, "s.txt", "--", "-m"],
    )
    for words in orders:
        done = nlpkit(*words)
        assert (done.status, done.err) == (0, "")
        assert sorted(line["text"] for line in done.lines) == sorted(line["text"] for line in expected.lines)
    assert "-m: 1 record" in nlpkit("check", "--", "-m").out
    assert "'-m' is a file; expected a model folder" in nlpkit("show", "--", "-m").err
    assert "unexpected '-m'" in nlpkit("models", "--", "-m").err
    assert "--strict: No such file" in nlpkit("check", "--", "-m", "--strict").err


def test_a_fault_of_ours_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        main(["fit", "fake", "--train", "bug", "--out", str(tmp_path / "o")])
    assert explain(ZeroDivisionError()) is None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "invalid start byte"), "not UTF-8 text: invalid start byte"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"), "cannot write 'é' as ascii"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (PermissionError(13, "Permission denied", "a/b"), "a/b: Permission denied"),
        (OSError(18, "Cross-device link", "a", None, "b"), "a -> b: Cross-device link"),
        (OSError("Not a gzipped file"), "Not a gzipped file"),
    ],
)  # fmt: skip
def test_errors_of_the_users_files_are_explained(error: Exception, message: str) -> None:
    answer = explain(error)
    assert answer is not None
    assert answer[0] == 1
    assert message in answer[1]


def test_interrupted(nlpkit: Run, tmp_path: Path) -> None:
    done = nlpkit("fit", "fake", "--train", "interrupt", "--out", tmp_path / "o")
    assert (done.status, done.out) == (130, "")
    assert "interrupted" in done.err
    assert "Traceback" not in done.err


def test_interrupted_while_it_waits(folder: Path, command: Run, environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        command(["predict", folder]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"a b\n")
    process.stdin.flush()
    assert b'"words": 2' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_a_message_survives_a_poor_terminal(folder: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    run = [sys.executable, "-m", "nlpkit", "predict", str(folder), str(tmp_path / "é.txt")]
    poor = environment | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(run, env=poor, capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"No such file" in done.stderr
    assert b"Traceback" not in done.stderr


def test_running_a_command_loads_no_torch(folder: Path, texts: Path, environment: dict[str, str]) -> None:
    code = (
        "import sys; from nlpkit.cli.main import main; status = main(sys.argv[1:]);"
        "bad = {'torch', 'transformers', 'pytorch_lightning', 'sklearn', 'numpy'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else status)"
    )
    broken = texts.with_suffix(".jsonl")
    broken.write_text("{")
    wrong = ["predict", folder, broken, "--format", "none"]
    for words in (["show", folder], ["fit", "utcie", "--print-config"], ["models"], wrong):
        run = [sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == (2 if words is wrong else 0), (words, done.stderr)


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_may_be_closed(folder: Path, command: Run, environment: dict[str, str], closed: str) -> None:
    words = [str(word) for word in command(["predict", folder, "-"])]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words], input=b"", capture_output=True, env=environment, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
