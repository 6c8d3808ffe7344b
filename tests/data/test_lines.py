"""Lines and JSON objects: one answer to each thing that can be wrong with a file."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from nlpkit.data.lines import BadLineError, count_lines, parse_object, read_lines, read_objects


def lines_of(path):
    problems = []
    return list(read_lines(path, problems)), problems


def test_only_line_feeds_end_a_line_and_blank_lines_are_skipped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("eins\r\n\r\n  zwei \u2028 \x0b \x85 drei\rvier  \n\t\n\nfünf".encode())
    lines, problems = lines_of(path)
    assert lines == [(1, "eins"), (3, "  zwei \u2028 \x0b \x85 drei\rvier  "), (6, "fünf")]
    assert not problems


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo")
    assert lines_of(path) == ([(1, "one"), (2, "two")], [])


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    problems = []
    assert list(read_objects(path, problems)) == [(1, {"a": 1}), (2, {"a": 2})]
    assert not problems


def test_a_compressed_file_cut_short_keeps_its_lines_and_says_where_it_broke(tmp_path):
    path = tmp_path / "a.txt.gz"
    whole = gzip.compress(b"".join(b"line %d\n" % n for n in range(200)), compresslevel=0)
    path.write_bytes(whole[: len(whole) // 2])
    lines, [problem] = lines_of(path)
    assert lines[0] == (1, "line 0")
    assert 0 < len(lines) < 200
    assert problem.line == len(lines) + 1
    assert "broken" in problem.message


@pytest.mark.parametrize(
    ("name", "content", "message", "remedy"),
    [
        ("a.jsonl", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", ".jsonl or .txt"),
        ("a.jsonl", gzip.compress(b"{}"), "compressed", "add .gz"),
        ("a.jsonl.gz", b"{}\n", "broken", "take .gz off"),
        ("a.txt", "\ufeffHallo".encode("utf-16-le"), "UTF-16", "UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_one_problem(tmp_path, name, content, message, remedy):
    path = tmp_path / name
    path.write_bytes(content)
    lines, [problem] = lines_of(path)
    assert lines == []
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.file == str(path)


def test_missing_files_and_folders_are_problems(tmp_path):
    assert "No such file" in lines_of(tmp_path / "none.txt")[1][0].message
    assert "folder" in lines_of(tmp_path)[1][0].message


def test_bad_utf8_names_line_and_byte_and_spares_the_other_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nca\xff\nalso good\n\xed\xa0\x80\n")
    lines, problems = lines_of(path)
    assert lines == [(1, "good"), (3, "also good")]
    assert [(p.line, "0xff" in p.message) for p in problems] == [(2, True), (4, False)]
    assert "position 3" in problems[0].message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "Bo", "entities": [{"start": 0', "cut off"),
        ('{"text": "Bo', "cut off"),
        ('{"text": "Bo"}}', "Extra data at character 15"),
        ("Bo met Al.", "no JSON"),
        ("[1, 2]", "found a list"),
        ('"text"', "found a string"),
        ("3", "found an integer"),
        ("null", "found null"),
        ('{"score": NaN}', "NaN is no JSON number"),
        ('{"score": -Infinity}', "-Infinity is no JSON number"),
        ('{"text": "a", "text": "b"}', "'text' is there twice"),
        ('{"a": [{"b": 1, "b": 2}]}', "'b' is there twice"),
        ('{"text": "a\tb"}', "Invalid control character"),
        ('{"start": ' + "9" * 5000 + "}", "number cannot be read"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    ],
)
def test_a_line_that_is_no_strict_json_object(line, message):
    with pytest.raises(BadLineError) as caught:
        parse_object(line)
    assert message in str(caught.value)
    assert caught.value.remedy
    assert len(str(caught.value)) < 300


def test_good_json_is_left_as_it_is():
    value = {"a": "\u2028 \x7f é", "b": [1, 1.5, None, True], "c": {"d": {}}}
    assert parse_object(json.dumps(value)) == value
    assert parse_object(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize("keep_blank", [False, True])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_lines_are_counted_as_they_are_read(tmp_path, name, keep_blank):
    path = tmp_path / name
    content = b"one\n\n  \r\ntwo\nthree"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    read = list(read_lines(path, [], keep_blank=keep_blank))
    assert count_lines(path, keep_blank=keep_blank) == len(read) == (5 if keep_blank else 3)


def test_what_cannot_be_counted_is_not_touched(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert count_lines(tmp_path / "pipe") is None
    assert count_lines(tmp_path / "nothing.txt") is None
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"one\n" * 1000)[:30])
    assert count_lines(tmp_path / "broken.gz") is None
