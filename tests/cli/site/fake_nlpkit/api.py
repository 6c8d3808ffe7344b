from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fake_nlpkit.config import FakeConfig
from fake_nlpkit.records import Record
from nlpkit.errors import DataError, Problem


class Report:
    def __init__(self, data: str, n: int) -> None:
        self.data, self.n = data, n

    def __str__(self) -> str:
        return f"table of {self.data}"

    def to_dict(self) -> dict[str, Any]:
        return {"model": "fake", "data": self.data, "n": self.n, "metrics": {"size": None}}

    def to_html(self) -> str:
        return f"<html>{self.data}</html>"

    def errors(self) -> list[dict[str, Any]]:
        return [{"id": "é", "text": "two\u2028lines\u0085"}]


class Fake:
    def __init__(self, config: FakeConfig) -> None:
        self.config = config

    def fit(self, **arguments: Any) -> None:
        """What was asked for, instead of a model; the file name of the training data says what goes wrong."""
        if "interrupt" in arguments["train"][0]:
            os.kill(os.getpid(), signal.SIGINT)
        if "bad" in arguments["train"][0]:
            raise DataError([Problem(message="no good", file="bad.jsonl", line=n) for n in range(1, 26)])
        if "bug" in arguments["train"][0]:
            raise ZeroDivisionError("a fault of ours")
        if "full" in arguments["train"][0]:
            raise OSError(28, "No space left on device", "the/file")
        out = Path(arguments["out"])
        out.mkdir(parents=True, exist_ok=True)
        (out / "asked.json").write_text(json.dumps({**arguments, "config": asdict(self.config)}))

    @classmethod
    def _from_parts(cls, manifest: dict[str, Any], parts: dict[str, Path], device: object) -> Fake:
        return cls(FakeConfig())

    def predict(self, items: Iterable[Any], **settings: Any) -> Iterator[dict[str, Any]]:
        from nlpkit.data.stream import lookahead

        for chunk in lookahead(items, 4):
            for item in chunk:
                assert isinstance(item, Record), "the command line gives records, also of plain text"
                yield {
                    "text": item.text,
                    "words": len(item.text.split()),
                    **item.extra,
                    **({"source": asdict(item.source)} if item.source else {}),
                    **({"settings": settings} if settings else {}),
                }

    def evaluate(self, data: str, **settings: Any) -> Report:
        return Report(data, len(Path(data).read_text().splitlines()))
