from __future__ import annotations

from pathlib import Path

import pytest

from nlpkit.errors import DataError
from nlpkit.report.run import run_report


def write(folder: Path, text: str) -> Path:
    (folder / "metrics.csv").write_text(text, encoding="utf-8")
    return folder


def test_report_of_a_run(tmp_path: Path, read_page) -> None:
    write(
        tmp_path,
        "epoch,step,train_loss,lr_head,dev_score,dev_entity,seconds,<odd>\n"
        "1,10,900.5,0.001,0.25,0.5,3.25,x\n2,20,0.5,0.0005,0.75,0.625,3.5,y\n3,30,0.25,0.0,0.5,,3.5,\n",
    )
    (tmp_path / "config.yaml").write_text("model:\n  name: '<b>'\n", encoding="utf-8")
    page = read_page(run_report(tmp_path))
    assert page.texts("h2") == ["Dev scores", "Loss", "Learning rate", "Epochs", "Settings"]
    assert len(page.find("figure", "chart")) == 3
    assert "Best dev score: 75.0 percent in epoch 2 of 3." in page.texts("p")
    assert page.texts("tr", "best") == ["2 (best)0.575.062.53.5", "2 (best)200.0005y"]
    assert [len(page.find("line", "best")), page.texts("summary")] == [3, ["Other columns"]]
    assert "<odd>" in page.texts("th")
    assert page.texts("pre") == ["model:\n  name: '<b>'\n"]
    assert {tag for tag, _, _ in page.elements}.isdisjoint({"script", "img", "link"})


def test_unknown_columns_and_bad_values_do_no_harm(tmp_path: Path, read_page) -> None:
    page = read_page(run_report(write(tmp_path, "when,loss\nmonday,nan\ntuesday,inf\nwednesday,\n")))
    assert page.texts("h2") == ["Epochs"]
    page = read_page(run_report(write(tmp_path, "when,loss\nmonday,2.5\ntuesday,nan\nwednesday\n")))
    assert page.texts("h2") == ["Loss", "Epochs"]


def test_each_phase_has_its_own_parts(tmp_path: Path, read_page) -> None:
    write(tmp_path, "phase,epoch,train_loss\nfirst,1,2\nfirst,2,1\nsecond,1,0.5\n")
    titles = read_page(run_report(tmp_path)).texts("h2")
    assert titles == ["first: Loss", "first: Epochs", "second: Loss", "second: Epochs"]


def test_run_without_a_finished_epoch(tmp_path: Path, read_page) -> None:
    assert "No epoch is finished." in read_page(run_report(write(tmp_path, "epoch,train_loss\n"))).texts("p")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00binary"])
def test_folder_that_is_no_run_is_an_error_with_the_remedy(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "metrics.csv").write_bytes(content)
    with pytest.raises(DataError, match="nlpkit fit --out"):
        run_report(tmp_path)


def test_each_phase_names_its_own_best_epoch(tmp_path: Path, read_page) -> None:
    write(tmp_path, "phase,epoch,dev_score\nfirst,1,0.9\nfirst,2,0.5\nsecond,1,0.2\nsecond,2,0.4\n")
    page = read_page(run_report(tmp_path))
    leads = [text for text in page.texts("p") if "Best" in text]
    assert leads == [
        "first: Best dev score: 90.0 percent in epoch 1 of 2.",
        "second: Best dev score: 40.0 percent in epoch 2 of 2.",
    ]
    assert [text for text in page.texts("text") if text.startswith("best")] == ["best epoch: 1", "best epoch: 2"]


def test_scores_that_are_no_shares_stay_as_they_are(tmp_path: Path, read_page) -> None:
    page = read_page(run_report(write(tmp_path, "epoch,dev_score,dev_loss\n1,12.5,30000.0\n2,11,3\n")))
    assert page.texts("tr", "best") == ["1 (best)12.530000"]
    assert "Best dev score: 12.5 in epoch 1 of 2." in page.texts("p")


def test_the_table_shows_scores_and_loss_and_folds_the_rest(tmp_path: Path, read_page) -> None:
    write(
        tmp_path, "epoch,step,train_loss,train_spans,lr_head,dev_score,seconds,records_per_second\n1,2,3,4,5,0.6,7,8\n"
    )
    page = read_page(run_report(tmp_path))
    columns = page.texts("th")
    shown = columns[: columns.index("seconds") + 1]
    assert shown == ["epoch", "train_loss", "dev_score", "seconds"]
    assert {"step", "train_spans", "lr_head", "records_per_second"} <= set(columns[len(shown) :])


def test_where_no_epoch_got_anything_right_the_last_one_is_kept_as_in_training(tmp_path: Path, read_page) -> None:
    page = read_page(run_report(write(tmp_path, "epoch,train_loss,dev_score\n1,3.0,0.0\n2,2.0,0.0\n3,1.0,\n")))
    assert "No dev score is above 0; the weights of the last epoch are kept." in page.texts("p")
    assert [text.startswith("3 (best)") for text in page.texts("tr", "best")] == [True]
