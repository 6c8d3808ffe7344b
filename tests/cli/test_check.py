"""``nlpkit check``: every fault of a file named, with its line and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nlpkit.cli.check import first_places
from nlpkit.errors import Problem

Run = Callable[..., object]

GOOD = {"id": "ok", "text": "Bo met Al.", "entities": [{"start": 0, "end": 2, "type": "P"}]}


def record(number: int, **changes: object) -> dict[str, object]:
    return {"id": f"r{number}", "text": f"Bo met Al {number} times.", **changes}


def span(start: object, end: object, **more: object) -> list[dict[str, object]]:
    return [{"start": start, "end": end, "type": "P", **more}]


FAULTS: list[object] = [
    '{"text": "cut off',
    "no json at all",
    "[1, 2]",
    '{"id": "a", "id": "b", "text": "key twice"}',
    record(5, text=None),
    record(6, tokens=["Bo"]),
    record(7, text=3),
    record(8, entities=span(0, 99)),
    record(9, entities=span(2, 2)),
    record(10, entities=span(5, 3)),
    record(11, entities=span(-1, 2)),
    record(12, entities=span("0", 2)),
    record(13, entities=[{"start": 0, "end": 2}]),
    record(14, entities="none"),
    record(15, entities=span(0, 1)),
    record(16, entities=span(0, 2), relations=[{"head": 0, "tail": 4, "type": "R"}]),
    record(17, entities=span(0, 2), relations=[{"head": 0, "type": "R"}]),
    record(18, relations=[{"head": 0, "tail": 0, "type": "R"}]),
    record(19, events=[{"arguments": []}]),
    record(20, entities=[{"text": "nobody", "type": "P"}]),
]


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "bad.jsonl"
    lines = [fault if isinstance(fault, str) else json.dumps(fault) for fault in FAULTS]
    path.write_text("\n".join([*lines, json.dumps(GOOD), ""]))
    return path


def test_twenty_faults_are_all_named(nlpkit: Run, faulty: Path, tiny_encoder: Path) -> None:
    done = nlpkit("check", faulty, "--encoder", tiny_encoder)
    assert (done.status, done.err) == (1, "")
    errors = [line for line in done.out.splitlines() if line.startswith("error: ")]
    for number in range(1, len(FAULTS) + 1):
        named = [line for line in errors if f"{faulty}:{number}:" in line]
        assert named, f"line {number} is not named"
        assert all(";" in line for line in named), "a remedy follows the semicolon"
    assert not any(f"{faulty}:21:" in line for line in errors)


def test_errors_go_into_a_file(nlpkit: Run, faulty: Path, tmp_path: Path, tiny_encoder: Path) -> None:
    out = tmp_path / "e.jsonl"
    done = nlpkit("check", faulty, "--errors", out, "--encoder", tiny_encoder)
    assert done.status == 1
    problems = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {p["line"] for p in problems if p["severity"] == "error"} == set(range(1, 21))
    assert all(p["remedy"] for p in problems)
    assert str(out) in done.err


def test_a_good_file(nlpkit: Run, tmp_path: Path, tiny_encoder: Path) -> None:
    path = tmp_path / "good.jsonl"
    path.write_text("".join(json.dumps({**GOOD, "id": str(n), "text": f"Bo met Al {n}."}) + "\n" for n in range(3)))
    done = nlpkit("check", path, "--encoder", tiny_encoder)
    assert done.status == 0
    assert done.out.splitlines()[-1] == "0 errors, 0 warnings"


def test_warnings_are_errors_when_strict(nlpkit: Run, tmp_path: Path, tiny_encoder: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps({**GOOD, "id": str(n)}) + "\n" for n in range(2)))
    loose = nlpkit("check", path, "--encoder", tiny_encoder)
    assert (loose.status, loose.out.count("warning: ")) == (0, 1)
    strict = nlpkit("check", path, "--encoder", tiny_encoder, "--strict")
    assert (strict.status, strict.out.count("error: ")) == (1, 1)


def test_json(nlpkit: Run, faulty: Path, tiny_encoder: Path) -> None:
    report = json.loads(nlpkit("check", faulty, "--json", "--encoder", tiny_encoder).out)
    assert len({problem["line"] for problem in report["errors"]}) == 20


def test_a_span_that_cuts_a_word_can_be_allowed(nlpkit: Run, tmp_path: Path, tiny_encoder: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(record(1, entities=span(0, 1))) + "\n")
    done = nlpkit("check", path, "--encoder", tiny_encoder)
    assert done.status == 1
    # an option that the command has: `fit` calls it --data.misaligned
    assert "or use --misaligned widen (whole words) or --misaligned skip (leave it out)" in done.out
    assert nlpkit("check", path, "--encoder", tiny_encoder, "--misaligned", "widen").status == 0


def test_lines_are_counted_not_problems() -> None:
    problems = [Problem(message=str(k), file="f", line=1 + k // 3) for k in range(90)]
    shown = first_places(problems)
    assert {problem.line for problem in shown} == set(range(1, 21))
    assert len(shown) == 60
    assert len(first_places([Problem(message=str(k), file="f", line=1) for k in range(500)])) == 200


def test_the_rest_is_counted(nlpkit: Run, tmp_path: Path, tiny_encoder: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("{\n" * 33)
    done = nlpkit("check", path, "--encoder", tiny_encoder)
    assert done.out.count("error: ") == 20
    assert "... and 13 more errors; --errors F" in done.out
    assert done.out.splitlines()[-1].startswith("33 errors")


def test_the_data_are_not_written_over(nlpkit: Run, faulty: Path, tiny_encoder: Path) -> None:
    before = faulty.read_bytes()
    done = nlpkit("check", faulty, "--encoder", tiny_encoder, "--errors", faulty)
    assert (done.status, done.out) == (2, "")
    assert "is also an input" in done.err
    done = nlpkit("check", faulty, "--encoder", tiny_encoder, "--errors", tiny_encoder / "config.json", "--force")
    assert (done.status, "is also an input" in done.err) == (2, True)
    assert faulty.read_bytes() == before


def test_what_exists_is_replaced_only_with_force(nlpkit: Run, faulty: Path, tmp_path: Path, tiny_encoder: Path) -> None:
    out = tmp_path / "e.jsonl"
    out.write_text("old")
    done = nlpkit("check", faulty, "--encoder", tiny_encoder, "--errors", out)
    assert (done.status, done.out, out.read_text()) == (2, "", "old")
    assert "add --force" in done.err
    assert nlpkit("check", faulty, "--encoder", tiny_encoder, "--errors", out, "--force").status == 1
    assert out.read_text() != "old"
    assert "--force" in nlpkit("check", "--help").out


def test_a_problem_is_one_line_whatever_the_data_hold(nlpkit: Run, tmp_path: Path, tiny_encoder: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "e.jsonl"
    path.write_text(json.dumps({"id": "a\u2028b\x85", "text": "Bo", "entities": "\u2029"}) + "\n")
    nlpkit("check", path, "--encoder", tiny_encoder, "--errors", out)
    [line] = out.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["record_id"] == "a\u2028b\x85"
    done = nlpkit("check", path, "--encoder", tiny_encoder, "--json")
    assert len(done.out.splitlines()) == 1


def test_a_folder_or_a_text_is_no_data_file(nlpkit: Run, folder: Path, tmp_path: Path, tiny_encoder: Path) -> None:
    (tmp_path / "a.txt").touch()
    for name, message in (
        (tmp_path, f"it is a folder, expected a file; name its files: {tmp_path}/*.txt"),
        ("Bo met Al.", "looks like a text; put texts into a .txt file"),
        (folder, "it is the folder of a model"),
        ("-", "standard input is not read here; name a file, or /dev/stdin"),
    ):
        done = nlpkit("check", name, "--encoder", tiny_encoder)
        assert (done.status, done.out) == (2, "")
        assert message in done.err


def test_the_unit_of_positions_is_an_option_that_check_suggests(
    nlpkit: Run, tmp_path: Path, tiny_encoder: Path
) -> None:
    path = tmp_path / "utf16.jsonl"
    path.write_text(json.dumps({"text": "😀 Bo met Al.", "entities": span(3, 5)}), encoding="utf-8")
    done = nlpkit("check", path, "--encoder", tiny_encoder)
    assert done.status == 1
    assert "seem to count UTF-16 units, which leaves none of 1 error; use --offset-unit utf16\n" in done.out
    assert nlpkit("check", path, "--encoder", tiny_encoder, "--offset-unit", "utf16").status == 0
    done = nlpkit("check", path, "--offset-unit", "utf-16")
    assert (done.status, "did you mean utf16?" in done.err) == (2, True)
