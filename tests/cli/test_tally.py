"""What is said at the end of ``predict`` about its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from nlpkit.cli.tally import InputTally
from nlpkit.data.stream import FLUSH


def info(**found: object) -> SimpleNamespace:
    return SimpleNamespace(input=SimpleNamespace(**{"beyond": 0, "truncated": 0, "skipped": (), **found}))


def test_it_counts_results_not_words_and_is_silent_when_all_is_well() -> None:
    tally = InputTally()
    results = [info(), info(beyond=900, skipped=("a", "b")), info(beyond=1), SimpleNamespace(), {"input": 1}]
    assert list(tally.watch(results)) == results
    lines = tally.lines()
    assert len(lines) == 2
    assert lines[0].startswith("of 5 results, 2 longer than any text of training")
    assert lines[0].endswith("(input.beyond)")
    assert lines[1].startswith("of 5 results, 1 of which something was left out")
    quiet = InputTally()
    list(quiet.watch([info(), info()]))
    assert quiet.lines() == []


class Answer(dict):
    input = SimpleNamespace(beyond=3)


class Model:
    def predict(self, items: Iterable[object]) -> Iterator[Answer]:
        yield from (Answer(text=str(item)) for item in items if item is not FLUSH)


def test_predict_says_it_on_standard_error(
    nlpkit: Callable[..., SimpleNamespace], folder: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlpkit.cli.predict.load", lambda *_: Model())
    done = nlpkit("predict", folder, texts)
    assert done.status == 0
    assert len(done.lines) == 3
    assert done.err.startswith("nlpkit: of 3 results, 3 longer than any text of training")
