"""Whatever a file, a folder or a command line holds: an answer or an ``NlpkitError``, soon, in little memory.

Each test runs for seconds with fixed examples, and with ``-m slow`` for minutes with new ones.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nlpkit.errors import NlpkitError

MOST_SECONDS = 1.0
MOST_BYTES = 200_000_000

Check = Callable[[Any], None]


@pytest.fixture(params=[pytest.param(1, id="short"), pytest.param(40, id="long", marks=pytest.mark.slow)])
def fuzz(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``fuzz(strategy, check, n)``: calls ``check`` with n examples, or with forty times as many."""

    def run(strategy: st.SearchStrategy[Any], check: Check, n: int) -> None:
        is_short = request.param == 1
        chosen = settings(
            max_examples=n * request.param,
            deadline=None,  # processor time is bounded instead, which other work on the machine does not change
            derandomize=is_short,
            database=None,
            phases=[Phase.generate] if is_short else [Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        chosen(given(strategy)(bounded(check)))()

    return run


def bounded(check: Check) -> Check:
    """The check, which also fails when it takes too much time or memory."""

    def run(example: Any) -> None:
        _forget_peak()
        before, start = _memory("VmRSS"), time.process_time()
        check(example)
        seconds, grown = time.process_time() - start, _memory("VmHWM") - before
        assert seconds < MOST_SECONDS, f"{seconds:.1f} s of processor time"
        assert grown < MOST_BYTES, f"{grown / 1e6:.0f} MB more"

    return run


@contextlib.contextmanager
def soon_said(place: str = "") -> Iterator[None]:
    """Allows an error of nlpkit that names the place and is no page long."""
    try:
        yield
    except NlpkitError as error:
        said = str(error)
    else:
        return
    assert place in said
    assert len(said) < 2000


def _forget_peak() -> None:
    """Lets the peak of the memory begin anew; only Linux can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    """Memory of this process in bytes, now (``VmRSS``) or at its peak (``VmHWM``); 0 where it cannot be known."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


# What comes: characters that break careless code, JSON of any form, and valid things with one place changed.

ODD = [
    *"\0\t\n\r\x0b\x1b\x1f\x85\xa0\xad\u200b\u200d\u202e\u2028\u2029\ufeff\ufffd\ufe0f\u0301\u20e3",
    *"🇳🇴👩🏽‍🚀❤İſßﬃ𝐍각東ไกអ״’'\"\\{}[]:,&*!|>-<#%@`~?^$",
    *["\ud800", "\udfff", "NaN", "null", "true", "1e999", "2020-13-45", "0x", "<<", "1:2:3", "9" * 5000],
]
texts = st.lists(
    st.sampled_from(ODD) | st.text(max_size=6) | st.sampled_from("Bo left Acme .".split()), max_size=12
).map("".join)
numbers = st.integers() | st.floats() | st.sampled_from([-1, 2**63, 10**30, -(10**4000), 0.1, math.nan, math.inf])
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


@st.composite
def changed(draw: st.DrawFn, originals: list[Any]) -> Any:
    """A valid JSON value in which one or two places were removed, doubled, or hold something else."""
    value = json.loads(json.dumps(draw(st.sampled_from(originals))))
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(list(places(value))))
        if not path:
            if draw(st.integers(0, 9)) == 0:
                return draw(values)
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "move", "add"]))
        if kind == "remove":
            del holder[path[-1]]
        elif kind == "replace":
            holder[path[-1]] = draw(values | st.sampled_from([None, *_leaves(value)]))
        elif isinstance(holder, dict):
            holder[draw(texts)] = holder.pop(path[-1]) if kind == "move" else draw(values)
        else:
            holder.insert(0, holder[-1] if kind == "move" else draw(values))
    return value


def _leaves(value: Any) -> Iterator[Any]:
    for path in places(value):
        item = value
        for key in path:
            item = item[key]
        if not isinstance(item, (dict, list)):
            yield item


def as_json(value: Any) -> bytes:
    """JSON as careless programs write it: with NaN, and with halves of surrogate pairs."""
    with _long_numbers():
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def _long_numbers() -> Iterator[None]:
    import sys

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


broken_bytes = st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=3))


def damage(data: bytes, places: list[tuple[int, bytes]]) -> bytes:
    for place, new in places:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + len(new) :]
    return data


RECORDS = [
    {
        "id": 7,
        "text": "Bo Holm left Acme in Oslo.",
        "entities": [{"start": 0, "end": 7, "type": "Person"}, {"text": "Acme", "type": "Firm", "nth": 1}],
        "relations": [{"head": 0, "tail": 1, "type": "works_for"}],
        "events": [
            {
                "trigger": {"start": 8, "end": 12, "type": "Exit"},
                "arguments": [{"start": 0, "end": 7, "role": "who", "group": 1}],
            }
        ],
        "doc_id": "d1",
        "sent_index": 3,
    },
    {"tokens": ["Bo", "left"], "entities": [{"start": 0, "end": 1, "type": "Person", "score": 0.5}], "note": [1]},
    {"text": "", "entities": []},
]


def test_each_line_of_data_is_a_record_or_a_problem(fuzz, tmp_path):
    from nlpkit.ie.reader import read_records

    lines = st.tuples(changed(RECORDS) | values, st.lists(broken_bytes, max_size=1))
    path = tmp_path / "data.jsonl"

    def check(example: list[tuple[Any, list[tuple[int, bytes]]]]) -> None:
        data = b"\n".join(damage(as_json(value), harm) for value, harm in example)
        path.write_bytes(data)
        problems: list[Any] = []
        records = list(read_records(path, collect=problems))
        assert all(str(problem) and "\n" not in str(problem) for problem in problems)
        answered = {record.source.line for record in records} | {p.line for p in problems if p.severity == "error"}
        lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").split("\n")
        asked = {number for number, line in enumerate(lines, start=1) if line.strip()}
        assert None in answered or asked <= answered  # without a line: the file itself was refused
        for record in records:
            json.dumps(record.to_dict())

    fuzz(st.lists(lines, min_size=1, max_size=4), check, 150)


def test_records_from_python_are_read_or_refused(fuzz):
    from nlpkit.ie.reader import records_from

    def check(items: Any) -> None:
        with contextlib.suppress(NlpkitError):
            list(records_from(items))

    anything = values | st.binary(max_size=4) | changed(RECORDS) | st.builds(object)
    fuzz(anything | st.lists(anything, max_size=3), check, 100)


def test_words_are_in_the_text_and_begin_and_end_with_what_can_be_seen(fuzz):
    from nlpkit.text.sentences import sentence_starts
    from nlpkit.text.words import BORDERS, split_words

    def check(example: tuple[str, list[str]]) -> None:
        text, borders = example
        spans = split_words(text, tuple(borders))
        end = 0
        for start, stop in spans:
            assert end <= start < stop <= len(text)
            assert not text[start].isspace()
            assert not text[stop - 1].isspace()
            end = stop
        starts = sentence_starts([text[a:b] for a, b in spans], text, spans)
        assert list(starts) == sorted(set(starts))
        assert set(starts) <= set(range(len(spans)))
        assert not spans or starts[0] == 0

    long = st.tuples(texts, st.integers(1, 300)).map(lambda pair: (pair[0] * pair[1])[:100_000])
    fuzz(st.tuples(texts | long, st.lists(st.sampled_from(BORDERS), unique=True)), check, 150)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path) -> Path:
    """The run folder of a small extraction model, one epoch old, with its checkpoint."""
    from nlpkit.ie import UTCIE, UTCIEConfig

    out = tmp_path_factory.mktemp("fuzz") / "run"
    model = {"channels": 8, "biaffine_dim": 8, "layers": 1, "max_words": 40, "window_overlap": 10}
    trainer = {"epochs": 1, "device": "cpu", "dev_share": 0.0, "checkpoint_steps": 1}
    config = UTCIEConfig(model=model, trainer=trainer, encoder={"name": str(tiny_encoder)})
    UTCIE(config).fit(RECORDS[:1], out=out)
    return out


def test_any_text_gets_an_answer_whose_spans_are_its_own(fuzz, saved):
    import nlpkit

    model = nlpkit.load(saved)

    def check(text: str) -> None:
        try:
            result = model.predict(text, threshold=0.3)
        except NlpkitError:
            assert any("\ud800" <= char <= "\udfff" for char in text)
            return
        assert result.text == text
        for entity in result.entities:
            assert text[entity.start : entity.end] == entity.text
        json.dumps(result.to_dict()).encode()

    fuzz(texts, check, 40)


YAML_PARTS = [
    *["a: ", "b: ", "- ", "? ", "&x ", "*x", "*x, ", "!!timestamp ", "!!binary ", "!!python/object:os.system ", "<<: "],
    *["{", "}", "[", "]", "\n", "\n  ", "---\n", "...\n", "%YAML 1.1\n", "#", "|\n", ">-\n", "'", '"', "\t", ": ", ","],
    *[
        "2001-01-99",
        "0o9",
        "1_000",
        "-.inf",
        "190:20:30",
        ".",
        "1e400",
        "=",
        "~",
        "y",
        "model: ",
        "trainer: ",
        "seed: ",
    ],
]


def test_a_settings_file_is_read_or_refused(fuzz, tmp_path):
    from nlpkit.configs import from_dict, read_yaml
    from nlpkit.ie import UTCIEConfig

    path = tmp_path / "settings.yaml"

    def check(text: str) -> None:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with soon_said():
            data = read_yaml(path)
            assert isinstance(data, dict)
            str(data)
            from_dict(UTCIEConfig, data)

    soup = st.lists(st.sampled_from(YAML_PARTS) | texts, max_size=14).map("".join)
    fuzz(
        soup | changed([{"model": {"channels": 8}, "seed": 1}]).map(lambda v: as_json(v).decode("utf-8", "replace")),
        check,
        150,
    )


SCHEMAS = [
    {
        "entity_types": ["Person", "Firm"],
        "relation_types": [{"name": "works_for", "symmetric": False, "signatures": [["Person", "Firm"]]}, "knows"],
        "event_types": {"Exit": ["who", "where"]},
        "discontinuous": True,
    }
]


def test_a_schema_file_is_read_or_refused(fuzz, tmp_path):
    from nlpkit.ie.schema import IESchema

    path = tmp_path / "schema.json"

    def check(example: tuple[Any, list[tuple[int, bytes]]]) -> None:
        value, harm = example
        path.write_bytes(damage(as_json(value), harm))
        with soon_said(str(path)):
            schema = IESchema.from_file(path)
            assert IESchema.from_dict(schema.to_dict()) == schema

    fuzz(st.tuples(changed(SCHEMAS), st.lists(broken_bytes, max_size=1)), check, 150)


def test_a_changed_manifest_loads_or_is_refused(fuzz, saved, tmp_path):
    import nlpkit

    folder = tmp_path / "model"
    shutil.copytree(saved / "best", folder)
    manifest = folder / "nlpkit.json"
    original = json.loads(manifest.read_bytes())

    def check(example: tuple[Any, list[tuple[int, bytes]]]) -> None:
        value, harm = example
        manifest.write_bytes(damage(as_json(value), harm))
        with contextlib.suppress(NlpkitError):
            nlpkit.load(folder).predict("Bo left Acme.")
        gc.collect()

    fuzz(st.tuples(changed([original]), st.lists(broken_bytes, max_size=1)), check, 15)


def test_a_changed_part_of_a_model_is_refused(fuzz, saved, tmp_path):
    """Also where the manifest was made to agree with it: checksums keep accidents out, not people."""
    import nlpkit

    folder = tmp_path / "model"
    shutil.copytree(saved / "best", folder)
    manifest = folder / "nlpkit.json"
    original = json.loads(manifest.read_bytes())
    files = [name for name, checksum in original["checksums"].items() if checksum]

    def check(example: tuple[str, list[tuple[int, bytes]], bool]) -> None:
        name, harm, agrees = example
        part = folder / name
        whole = part.read_bytes()
        part.write_bytes(damage(whole, harm))
        try:
            if agrees:
                checksums = {**original["checksums"], name: hashlib.sha256(part.read_bytes()).hexdigest()}
                manifest.write_text(json.dumps({**original, "checksums": checksums}))
            with contextlib.suppress(NlpkitError):
                nlpkit.load(folder).predict("Bo left Acme.")
        finally:
            part.write_bytes(whole)
            manifest.write_text(json.dumps(original))
            gc.collect()

    fuzz(st.tuples(st.sampled_from(files), st.lists(broken_bytes, min_size=1, max_size=2), st.booleans()), check, 15)


def test_a_changed_run_state_goes_on_or_is_refused(fuzz, saved, tmp_path):
    from nlpkit.training.checkpoint import RunFolder, read_checkpoint, read_state

    out = tmp_path / "run"
    shutil.copytree(saved, out)
    state = out / "last" / "state.json"
    original = json.loads(state.read_bytes())

    def check(example: tuple[Any, list[tuple[int, bytes]]]) -> None:
        value, harm = example
        state.write_bytes(damage(as_json(value), harm))
        folder = RunFolder(out, original["header"])
        try:
            folder.resume()
            checkpoint = folder.state["checkpoint"]
            if checkpoint is not None:
                assert (out / checkpoint).resolve().is_relative_to(out.resolve())
                read_checkpoint(out / checkpoint)
        except NlpkitError:
            pass
        finally:
            folder.close()
        with contextlib.suppress(NlpkitError):
            read_state(out)

    fuzz(st.tuples(changed([original]), st.lists(broken_bytes, max_size=1)), check, 150)


WORDS = [
    *"models fit predict evaluate check show utcie minilm help".split(),
    *"--help --help-all --version --train --dev --out --schema --limit --resume".split(),
    *"--print-config --config".split(),
    *"--model.channels --trainer.epochs --trainer --seed --threshold --overlap --output --format --json --task".split(),
    *"--input-format --device --threads --precision --batch-size --force --strict --init-from --report -- - -m".split(),
    *"0 -1 1e9 nan inf 1000000000000 PER=0.5 =0.5 none.jsonl none.txt none.yaml nowhere".split(),
    *["", " ", "\0", "a=b", "--seed=x", "--model.channels=1e3", "--=", "---", "=", "é", "\udcff", "[1, 2", "{a: 1}"],
]


def test_any_command_line_gets_an_exit_status(fuzz, saved, tmp_path, monkeypatch):
    from nlpkit.cli.main import main

    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(RECORDS[0]) + "\n")
    words = st.lists(st.sampled_from([*WORDS, str(saved), str(data), str(tmp_path)]) | texts, max_size=6)

    def check(argv: list[str]) -> None:
        if argv[:1] == ["fit"] and "--train" in argv:
            return  # training has tests of its own
        monkeypatch.setattr("sys.stdin", open(os.devnull, encoding="utf-8"))  # noqa: SIM115
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(argv)
        assert status in (0, 1, 2)
        assert "Traceback" not in err.getvalue()
        assert status == 0 or err.getvalue()

    fuzz(words, check, 150)
