from __future__ import annotations

import dataclasses
import json
import re

import pytest

from nlpkit.metrics import Counts
from nlpkit.results import EvaluationReport, percent

LONG = "a label that is much longer than the column of labels in any table can be"


def report(**changes: object) -> EvaluationReport:
    values = {
        "model": "utcie",
        "data": "test.jsonl",
        "n": 1200,
        "metrics": {"entity": Counts(855, 1000, 1000), "relation": Counts(0, 0, 0), "auroc": 0.91234, "ece": None},
        "per_label": {"entity": {"Person": Counts(855, 1000, 1000), LONG: Counts(0, 0, 12345678)}},
        "records": {"entity": 1200, "relation": 7},
        "unknown_labels": {"entity": {"Robot": 3}},
        "left_out": {"events": "no record annotates them"},
    }
    return EvaluationReport(**(values | changes))


def test_json_has_fractions_and_null_and_comes_back() -> None:
    data = json.loads(json.dumps(report().to_dict()))
    assert data["metrics"]["entity"] == {
        "precision": 0.855,
        "recall": 0.855,
        "f1": 0.855,
        "tp": 855,
        "predicted": 1000,
        "gold": 1000,
    }
    assert data["metrics"]["relation"]["f1"] is None
    assert (data["metrics"]["auroc"], data["metrics"]["ece"]) == (0.91234, None)
    assert (data["model"], data["data"], data["n"]) == ("utcie", "test.jsonl", 1200)
    assert EvaluationReport.from_dict(data) == report()


def test_table_shows_percent_in_80_columns_and_loses_no_label() -> None:
    text = str(report())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    entity = next(line for line in lines if line.split()[:1] == ["entity"] and "precision" not in line)
    assert entity.split() == ["entity", "85.5", "85.5", "85.5", "1000", "1000", "855"]
    relation = next(line for line in lines if line.split()[:1] == ["relation"])
    assert relation.split() == ["relation", "-", "-", "-", "0", "0", "0"]
    assert LONG.replace(" ", "") in re.sub(r"[\s\d.-]", "", text)
    assert "91.2" in text
    assert "12345678" in text
    assert "1,200 records" in text
    assert "\n\n\n" not in text


def test_notes_name_what_the_scores_do_not_cover() -> None:
    text = " ".join(str(report()).split())
    assert "Not scored: events: no record annotates them." in text
    assert "Scored on the 7 records that annotate it: relation." in text
    assert "Unknown to the model, counted as missed (entity): Robot (3)." in text


@pytest.mark.parametrize("label", ["[bold]x[/bold]", "[/]", ":smile:", "<b>", "人物", "a\nb"])
def test_labels_are_printed_as_they_are(label: str) -> None:
    text = str(report(per_label={"entity": {label: Counts(1, 1, 1)}}, data=label))
    assert all(part in text for part in label.split("\n"))


def test_report_is_immutable_and_its_errors_are_copies() -> None:
    one = report(error_records=({"id": "a"},))
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n = 3  # type: ignore[misc]
    one.errors()[0]["id"] = "b"
    assert one.errors() == [{"id": "a"}]


def test_scores_gives_one_number_for_each_metric() -> None:
    assert report().scores() == {"entity": 0.855, "relation": None, "auroc": 0.91234, "ece": None}


def test_percent_has_one_decimal() -> None:
    assert [percent(x) for x in (1.0, 0.0, 0.85549, None)] == ["100.0", "0.0", "85.5", "-"]
