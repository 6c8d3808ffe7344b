"""What a run folder holds beside checkpoints: the settings, and the report after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlpkit.training.checkpoint import replace_file


def run_settings(
    out: Path, settings: Mapping[str, Any], model: str, train: object, dev: object, **others: object
) -> dict[str, Any]:
    """What ``OUT/config.yaml`` holds, the form of ``nlpkit fit --print-config``: settings, and the run's files."""
    run: dict[str, Any] = {"model": model, "train": _names(train), "dev": _names(dev), "out": str(out)}
    run |= {key: str(value) if isinstance(value, Path) else value for key, value in others.items()}
    plain = {key: value for key, value in run.items() if isinstance(value, (str, int, list)) and value != []}
    return {**settings, "run": plain}


def finish_run(out: Path) -> None:
    """Write ``OUT/report.html``: loss and dev scores of all epochs on one page."""
    from nlpkit.report.run import run_report

    replace_file(out / "report.html", run_report(out))


def _names(data: object) -> list[str]:
    if isinstance(data, (str, Path)):
        return [str(data)]
    if isinstance(data, Sequence) and all(isinstance(item, (str, Path)) for item in data):
        return [str(item) for item in data]
    return []
