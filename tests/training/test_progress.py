"""The bar on a terminal, and how times and sizes are written."""

from __future__ import annotations

import os
import re
import signal
import sys

import pytest

from nlpkit.training.progress import Reporter, show_bytes, show_seconds


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("end", ["finished", "interrupted"])
def test_bar_on_a_terminal(tiny, tmp_path, end):
    parent, child = os.openpty()

    def work():
        os.environ.update(TERM="xterm", COLUMNS="200")
        sys.stderr = os.fdopen(child, "w")

        def on_batch(epoch, step, ids):
            if end == "interrupted" and step == 9:
                os.kill(os.getpid(), signal.SIGINT)

        try:
            tiny.train(tmp_path / "run", on_batch=on_batch)
        except KeyboardInterrupt:
            os._exit(5)

    written = []
    assert tiny.in_child(work) == (0 if end == "finished" else 5)
    os.set_blocking(parent, False)
    try:
        while chunk := os.read(parent, 65536):
            written.append(chunk)
    except BlockingIOError:
        pass
    os.close(parent), os.close(child)
    text = b"".join(written).decode()
    bare = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    assert "training on 45 records" in bare
    assert re.search(r"epoch 1/3: loss 0\.\d+, dev score \d+\.\d, the best so far, \d", bare), (
        "a line stays for each epoch"
    )
    assert re.search(r"dev score \d+\.\d +\d:", bare), "the bar shows the last score"
    assert "left" in bare
    assert ("100%" in bare) == (end == "finished")
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0, "the cursor is hidden and not shown again"


def test_no_bar_elsewhere(tiny, capfd):
    tiny.train(epochs=1)
    assert "\x1b" not in capfd.readouterr().err


def test_messages_are_shown_and_logged_as_they_are(tmp_path, capsys):
    reporter = Reporter(tmp_path / "log.txt", is_live=True)
    reporter.message("[bold]x[/bold] ümlaut\nsecond")
    reporter.start(10, 0)
    reporter.message("y [red]")
    reporter.close()
    reporter.close()
    assert "[bold]x[/bold] ümlaut\nsecond" in (err := capsys.readouterr().err)
    assert "y [red]" in err
    lines = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    assert [line[20:] for line in lines] == ["[bold]x[/bold] ümlaut", "second", "y [red]"]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)


def test_log_is_added_to(tmp_path):
    for text in ("a", "b"):
        reporter = Reporter(tmp_path / "log.txt", is_live=False)
        reporter.message(text)
        reporter.close()
    assert [line[20:] for line in (tmp_path / "log.txt").read_text().splitlines()] == ["a", "b"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (3599.7, "1 h 0 min"), (8000, "2 h 13 min")],
)
def test_seconds(seconds, text):
    assert show_seconds(seconds) == text


def test_bytes():
    assert [show_bytes(n) for n in (3 * 2**20, 1.5 * 2**30)] == ["3 MiB", "1.5 GiB"]
