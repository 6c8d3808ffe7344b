"""What picks the epoch that is kept: gold in the unit of the predictions, and the same metrics in every epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nlpkit.errors import ConfigError, DataError, NlpkitError
from nlpkit.ie import UTCIE, UTCIEConfig
from nlpkit.ie.metrics import IEReport

ONE = [{"text": "A", "entities": [{"start": 0, "end": 1, "type": "P"}]}]
NAMES = ("Kolbach", "Sundervale", "Norlake", "Kestrel", "Dorwick", "Lanterby")


def cut_records() -> list[dict]:
    """Each gold span lacks the last letter of its word: a name that sells, and the word "sold" as an event."""
    records = []
    for first, second in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True):
        text = f"{first} sold {second}."
        start = text.index("sold")
        people = [{"start": 0, "end": len(first) - 1, "type": "Seller"}]
        people.append({"start": start + 5, "end": len(text) - 2, "type": "Goods"})
        seller = {"start": 0, "end": len(first) - 1, "role": "who"}
        events = [{"trigger": {"start": start, "end": start + 3, "type": "Sale"}, "arguments": [seller]}]
        relations = [{"head": 0, "tail": 1, "type": "sells"}]
        records.append({"text": text, "entities": people, "relations": relations, "events": events})
    return records


def test_dev_gold_goes_the_way_of_the_training_data(make_config, tmp_path):
    model = UTCIE(make_config(data={"misaligned": "widen"}))
    summary = model.fit(cut_records(), cut_records(), out=tmp_path / "run")
    assert summary.best_epoch > 1
    assert summary.best_score is not None
    assert summary.best_score > 0.9
    assert "dev records: 24 annotations were widened or left out, as data.misaligned says" in model.notes
    # a name of 7 letters that sells is found in positions of its text
    (entity, *_) = UTCIE.load(tmp_path / "run").predict("Kolbach sold Tarn.").entities
    assert (entity.start, entity.end) == (0, 7)


@pytest.fixture(scope="module")
def widened(make_config):
    model = UTCIE(make_config(data={"misaligned": "widen"}))
    model.fit(cut_records())
    return model


def test_evaluation_scores_cut_gold_as_whole_words_and_says_so(widened):
    gold = [*cut_records(), {"text": "Ada left.", "entities": [{"start": 0, "end": 3, "type": "Seller"}]}]
    report = widened.evaluate(gold)
    n_right = n_gold = n_predicted = 0
    for record, result in zip(gold, widened.predict([record["text"] for record in gold]), strict=True):
        # counted by hand: all spans but the one of "Ada" lack the last letter of their word
        is_cut = record["text"] != "Ada left."
        whole = {(span["start"], span["end"] + is_cut, span["type"]) for span in record["entities"]}
        found = {(entity.start, entity.end, entity.type) for entity in result.entities}
        n_right, n_gold, n_predicted = n_right + len(whole & found), n_gold + len(whole), n_predicted + len(found)
    entity = report.metrics["entity"]
    assert (entity.tp, entity.gold, entity.predicted) == (n_right, n_gold, n_predicted)
    assert n_right >= 12, "the model knows its training data by heart"
    assert report.scores()["relation_strict"] == report.scores()["argument"] == 1.0
    assert (report.to_dict()["misaligned"]["policy"], report.to_dict()["misaligned"]["spans"]) == ("widen", 24)
    (note,) = [note for note in report.notes() if "cut a word" in note]
    assert note.startswith(
        "24 gold spans cut a word and are scored as the whole words, as in training: <records>:1: ent"
    )
    assert note.endswith("; and 21 more.")
    assert note in " ".join(str(report).split())
    assert IEReport.from_dict(report.to_dict()) == report


def test_cut_gold_that_was_left_out_in_training_is_left_out(widened):
    model = UTCIE(make_skipping(widened))
    model._install(*widened.modules, widened.layout)
    gold = [{"text": "Kolbach sold Tarn.", "entities": [{"start": 0, "end": 3, "type": "Seller"}], "events": []}]
    report = model.evaluate(gold)
    assert report.metrics["entity"].gold == 0
    assert "1 gold span cuts a word and is left out with what hangs on it, as in training" in report.notes()[-1]


def make_skipping(model: UTCIE) -> UTCIEConfig:
    return replace(model.config, data={"misaligned": "skip"})


def test_cut_gold_is_missed_and_named_where_training_had_none(fitted):
    record = {"id": "x", "text": "Dorwick Capital sold it.", "entities": [{"start": 0, "end": 4, "type": "Person"}]}
    report = fitted.evaluate([record])
    assert (report.metrics["entity"].gold, report.metrics["entity"].tp) == (1, 0)
    assert report.to_dict()["misaligned"]["spans"] == 1
    assert report.notes()[-1].startswith(
        "1 gold span cuts a word and can only be missed; correct it: <records>:1: record 'x': entities[0]: 'Dorw'"
    )
    assert fitted.evaluate([{**record, "entities": []}]).to_dict()["misaligned"] == {}


def test_a_cut_dev_span_is_refused_where_training_refuses_it(make_config):
    good = {"text": "Bo left.", "entities": [{"start": 0, "end": 2, "type": "P"}]}
    with pytest.raises(DataError, match="word borders"):
        UTCIE(make_config()).fit([good], [{"text": "Bosnia left.", "entities": [{"start": 0, "end": 2, "type": "P"}]}])


def test_false_positives_of_a_group_that_dev_lacks_have_no_part_in_the_dev_score(make_config, few_records):
    dev = [replace(record, relations=(), events=()) for record in few_records]
    model = UTCIE(make_config())
    summary = model.fit(few_records, dev)
    assert summary.dev["relation_strict"] == summary.dev["argument"] == 0.0, "the test needs false positives"
    assert [row["dev_score"] for row in summary.history] == [row["dev_entity"] for row in summary.history]
    assert summary.best_score == model.evaluate(dev).scores()["entity"] > 0.9
    assert "dev score: the F1 of entity on the dev records, in percent; the epoch with the highest one is kept" in (
        model.notes
    )
    assert any("no relations and no events and no arguments, which have no part" in note for note in model.notes)


def test_dev_with_nothing_to_find_lets_the_last_epoch_count_and_says_so_before_training(
    make_config, few_records, capfd
):
    dev = [replace(record, entities=(), relations=(), events=()) for record in few_records]
    model = UTCIE(make_config(trainer={"epochs": 3}))
    summary = model.fit(few_records, dev)
    assert (summary.best_epoch, summary.best_score, summary.dev) == (3, None, {})
    said = capfd.readouterr().err
    assert said.index("warning: the dev records have no entities") < said.index("epoch 1/3")


# The run folder.


def test_what_can_be_refused_is_refused_before_the_folder_and_the_data_are_touched(make_config, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    out = tmp_path / "run"
    with pytest.raises(ConfigError, match=r"trainer\.device: no GPU"):
        UTCIE(make_config(trainer={"device": "gpu"})).fit(tmp_path / "missing.jsonl", out=out)
    with pytest.raises(ConfigError, match=r"encoder\.name"):
        UTCIE(make_config(encoder={"name": str(tmp_path / "no-encoder")})).fit(ONE, out=out)
    with pytest.raises(DataError):
        UTCIE(make_config()).fit([{"text": "Bo", "entities": []}], [{"text": 3}], out=out)
    assert not out.exists()


def test_a_start_that_came_to_nothing_is_made_again(make_config, few_records, tmp_path, monkeypatch):
    from nlpkit.ie.utcie.task import UTCIETask

    def fail(self, batch):
        raise MemoryError

    out = tmp_path / "run"
    monkeypatch.setattr(UTCIETask, "loss", fail)
    with pytest.raises(NlpkitError, match=r"memory ran out at epoch 1, step 1"):
        UTCIE(make_config(trainer={"epochs": 1})).fit(few_records[:2], out=out)
    monkeypatch.undo()
    UTCIE(make_config(trainer={"epochs": 1, "budget": 30_000})).fit(few_records[:2], out=out)
    assert "budget: 30000" in (out / "config.yaml").read_text()
    assert UTCIE.load(out).is_fitted


def test_a_finished_run_is_taken_further(make_config, few_records, tmp_path):
    out = tmp_path / "run"
    first = UTCIE(make_config(trainer={"epochs": 2})).fit(few_records, few_records, out=out)
    assert "epochs: 2\n" in (out / "config.yaml").read_text()
    with pytest.raises(ConfigError, match="train it further with resume=True and more epochs, or delete it"):
        UTCIE(make_config(trainer={"epochs": 4})).fit(few_records, few_records, out=out)
    model = UTCIE(make_config(trainer={"epochs": 4}))
    summary = model.fit(few_records, few_records, out=out, resume=True)
    assert (summary.epochs, summary.resumed_at) == (4, first.steps)
    assert summary.history[:2] == first.history
    assert "epochs: 4\n" in (out / "config.yaml").read_text()
    assert model.evaluate(few_records).scores()["entity"] == summary.dev["entity"]
    assert UTCIE.load(out).dev_scores == model.dev_scores
