"""What picks the epoch that is kept: gold in the unit of the predictions, and the same metrics in every epoch."""

from __future__ import annotations

from dataclasses import replace

from nlpkit.ie import UTCIE


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
