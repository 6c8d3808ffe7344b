"""What a run folder holds beside checkpoints: the settings before training, the report after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlpkit.configs import write_yaml
from nlpkit.training.checkpoint import replace_file


def write_settings(
    out: Path, settings: Mapping[str, Any], model: str, train: object, dev: object, **others: object
) -> None:
    """Write ``OUT/config.yaml``, the form of ``nlpkit fit --print-config``, into a new or empty run folder.

    A folder that holds something is left as it is: the trainer refuses it, or goes on with its run.
    """
    if out.exists() and (not out.is_dir() or any(path.name != "config.yaml" for path in out.iterdir())):
        return
    run: dict[str, Any] = {"model": model, "train": _names(train), "dev": _names(dev), "out": str(out)}
    run |= {key: str(value) if isinstance(value, Path) else value for key, value in others.items()}
    plain = {key: value for key, value in run.items() if isinstance(value, (str, int, list)) and value != []}
    out.mkdir(parents=True, exist_ok=True)
    replace_file(out / "config.yaml", write_yaml({**settings, "run": plain}))


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
