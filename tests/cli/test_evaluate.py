"""``nlpkit evaluate``: tables, JSON, pages and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    out = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    out[0].write_text("{}\n{}\n")
    out[1].write_text("{}\n")
    return out


def test_a_table(nlpkit: Run, folder: Path, files: list[Path]) -> None:
    done = nlpkit("evaluate", folder, *files)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"table of {files[0]}\n\ntable of {files[1]}\n"


def test_one_file_is_one_object(nlpkit: Run, folder: Path, files: list[Path]) -> None:
    done = nlpkit("evaluate", folder, files[0], "--json")
    assert json.loads(done.out) == {"model": "fake", "data": str(files[0]), "n": 2, "metrics": {"size": None}}
    assert done.err == ""


def test_several_files_are_runs(nlpkit: Run, folder: Path, files: list[Path]) -> None:
    done = nlpkit("evaluate", "--json", folder, *files)
    assert [run["n"] for run in json.loads(done.out)["runs"]] == [2, 1]


def test_a_page_and_the_mistakes(nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path) -> None:
    page, mistakes = tmp_path / "r.html", tmp_path / "e.jsonl"
    done = nlpkit("evaluate", folder, files[0], "--json", "--report", page, "--errors", mistakes)
    assert json.loads(done.out)["n"] == 2
    assert page.read_text() == f"<html>{files[0]}</html>"
    assert mistakes.read_text(encoding="utf-8") == '{"id": "é", "text": "two\\u2028lines\\u0085"}\n'
    assert str(page) in done.err


def test_a_page_for_each_of_several_files(nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path) -> None:
    mistakes = tmp_path / "e.jsonl"
    nlpkit("evaluate", folder, *files, "--report", tmp_path / "r.html", "--errors", mistakes)
    for number, file in enumerate(files, start=1):
        assert (tmp_path / f"r-{number}.html").read_text() == f"<html>{file}</html>"
    assert not (tmp_path / "r.html").exists()
    lines = [json.loads(line) for line in mistakes.read_text(encoding="utf-8").splitlines()]
    assert [(line["data"], line["id"]) for line in lines] == [(str(file), "é") for file in files]


@pytest.mark.parametrize("option", ["--report", "--errors"])
def test_a_place_that_cannot_be_written_is_named_before_the_work(
    nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path, option: str
) -> None:
    done = nlpkit("evaluate", folder, files[0], option, tmp_path / "none" / "f")
    assert (done.status, done.out) == (1, "")
    assert str(tmp_path / "none" / "f") in done.err


@pytest.mark.parametrize("option", ["--report", "--errors"])
def test_the_data_are_not_written_over(
    nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path, option: str
) -> None:
    link = tmp_path / "link"
    link.symlink_to(files[0])
    for name in (files[0], link):
        done = nlpkit("evaluate", folder, files[0], option, name)
        assert (done.status, done.out) == (2, "")
        assert "is also an input" in done.err
    assert files[0].read_text() == "{}\n{}\n"


@pytest.mark.parametrize("option", ["--report", "--errors"])
def test_what_exists_is_replaced_only_with_force(
    nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path, option: str
) -> None:
    out = tmp_path / "old-1.html"
    out.write_text("old")
    name = out if option == "--errors" else tmp_path / "old.html"
    done = nlpkit("evaluate", folder, *files, option, name)
    assert (done.status, done.out, out.read_text()) == (2, "", "old")
    assert f"{out}: is there already; add --force" in done.err
    assert nlpkit("evaluate", folder, *files, option, name, "--force").status == 0
    assert out.read_text() != "old"
    done = nlpkit("evaluate", folder, files[0], option, folder / "nlpkit.json", "--force")
    assert (done.status, "is also an input" in done.err) == (2, True)
    assert "--force" in nlpkit("evaluate", "--help").out


def test_a_page_and_the_mistakes_are_two_files(nlpkit: Run, folder: Path, files: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "e-2.html"
    done = nlpkit("evaluate", folder, *files, "--report", tmp_path / "e.html", "--errors", place)
    assert (done.status, done.out) == (2, "")
    assert str(place) in done.err
