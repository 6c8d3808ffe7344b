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
    assert len(page.find("svg", "chart")) == 3
    assert "Best dev_score: 0.75 in epoch 2 of 3." in page.texts("p")
    assert "2 (best)200.50.00050.750.6253.5y" in page.texts("tr")
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
