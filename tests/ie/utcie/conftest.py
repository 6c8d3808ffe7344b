"""A small configuration, one model fitted on a handful of sample sentences, and logits made from gold cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

SURE = 10.0
"""How far the logit of a gold cell lies above 0, or above its threshold; all others lie as far below."""

TINY = {"channels": 16, "biaffine_dim": 32, "layers": 1, "dropout": 0.0, "plus_dropout": 0.0}
FAST = {
    "epochs": 40,
    "batch_size": 2,
    "encoder_lr": 2e-3,
    "head_lr": 5e-3,
    "device": "cpu",
    "dev_share": 0.0,
    "checkpoint_steps": 0,
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_config(tiny_encoder: Path) -> Callable[..., Any]:
    """``make_config(model={...}, trainer={...}, data={...}, seed=1)``: small, fast, without dropout."""
    from nlpkit.encoder.config import EncoderConfig
    from nlpkit.ie.utcie.config import IEDataConfig, UTCIEConfig, UTCIEModelConfig
    from nlpkit.training.config import TrainConfig

    def make(
        model: dict[str, Any] | None = None,
        trainer: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        encoder: dict[str, Any] | None = None,
        seed: int = 1,
    ) -> UTCIEConfig:
        return UTCIEConfig(
            model=UTCIEModelConfig(**{**TINY, **(model or {})}),
            encoder=EncoderConfig(**{"name": str(tiny_encoder), **(encoder or {})}),
            trainer=TrainConfig(**{**FAST, **(trainer or {})}),
            data=IEDataConfig(**(data or {})),
            seed=seed,
        )

    return make


@pytest.fixture(scope="session")
def few_records(sample_path: Callable[[str], Path]) -> list[Any]:
    """Six sample sentences with entities, relations and events."""
    from nlpkit.ie.reader import read_records

    return [
        record
        for record in read_records(sample_path("train"))
        if record.relations and any(event.arguments for event in record.events or ())
    ][:6]


@pytest.fixture(scope="session")
def fitted(make_config: Callable[..., Any], few_records: list[Any]) -> Any:
    """A model that knows ``few_records`` by heart. Do not train it further."""
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config())
    model.fit(few_records)
    return model


@pytest.fixture(scope="session")
def untrained(make_config: Callable[..., Any]) -> Any:
    """A model of one epoch on two sentences: its scores are those of random weights."""
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config(model={"max_words": 40, "window_overlap": 10}, trainer={"epochs": 1}))
    record = {
        "tokens": ["Bo", "left", "Acme", "."],
        "entities": [{"start": 0, "end": 1, "type": "Person"}, {"start": 2, "end": 3, "type": "Firm"}],
        "relations": [{"head": 0, "tail": 1, "type": "works_for"}],
        "events": [
            {
                "trigger": {"start": 1, "end": 2, "type": "Exit"},
                "arguments": [{"start": 0, "end": 1, "role": "who"}, {"start": 2, "end": 3, "role": "where"}],
            }
        ],
    }
    model.fit([record, {"tokens": ["Nothing", "here"], "entities": [], "relations": [], "events": []}])
    return model


@pytest.fixture(scope="session")
def gold_logits() -> Callable[..., Any]:
    """``gold_logits(view, layout, windows)``: scores that say exactly what the gold cells of each window say.

    Shape: (windows, W, W, K). Also gives the word mask of the windows.
    """
    import torch

    from nlpkit.ie.utcie.labels import LabelLayout, gold_cells
    from nlpkit.ie.words import WordView

    def make(view: WordView, layout: LabelLayout, windows: Sequence[tuple[int, int]] | None = None) -> Any:
        windows = windows or [(0, len(view.words))]
        n_words = max(stop - start for start, stop in windows)
        logits = torch.full((len(windows), n_words, n_words, layout.n_labels), -SURE)
        for channels in (layout.relations, layout.roles):
            if channels.n_types:
                logits[..., channels.threshold] = 0.0
        mask = torch.zeros(len(windows), n_words, dtype=torch.bool)
        for row, (start, stop) in enumerate(windows):
            mask[row, : stop - start] = True
            cells = gold_cells(view, layout, start, stop)
            for i, j, channel in cells.spans:
                logits[row, i, j, channel] = SURE
            for channels, group in ((layout.relations, cells.relations), (layout.roles, cells.roles)):
                for i, j, label in group:
                    logits[row, i, j, channels.types.start + label] = SURE
        return logits, mask

    return make


@pytest.fixture(scope="session")
def decoded(gold_logits: Callable[..., Any]) -> Callable[..., Any]:
    """``decoded(record, policy)``: the record that the decoder reads from the gold cells of ``record``."""
    from dataclasses import replace

    from nlpkit.ie.schema import IESchema
    from nlpkit.ie.types import IERecord
    from nlpkit.ie.utcie.assemble import assemble
    from nlpkit.ie.utcie.decode import DecodeSettings, decode_windows, merge_windows
    from nlpkit.ie.utcie.labels import LabelLayout
    from nlpkit.ie.words import word_view

    def read(
        record: IERecord,
        policy: str = "nested",
        *,
        symmetric: Sequence[str] = (),
        split_links: bool = True,
        windows: Sequence[tuple[int, int]] | None = None,
        **settings: Any,
    ) -> IERecord:
        view = word_view(record)
        layout = LabelLayout(IESchema.from_records([record], symmetric), split_links)
        chosen = DecodeSettings(entity_overlap=policy, trigger_overlap=policy, argument_overlap=policy, **settings)
        windows = windows or [(0, len(view.words))]
        logits, mask = gold_logits(view, layout, windows)
        found = decode_windows(logits, mask, [start for start, _ in windows], layout, chosen)
        extraction = assemble(merge_windows(windows, found), view, layout, chosen)
        return replace(record, entities=extraction.entities, relations=extraction.relations, events=extraction.events)

    return read


@pytest.fixture(scope="session")
def items() -> Callable[[Any], dict[str, Any]]:
    """What a record says, without scores and surface texts, to compare records by."""

    def read(record: Any) -> dict[str, Any]:
        entities = record.entities or ()
        return {
            "entities": sorted((e.start, e.end, e.type) for e in entities),
            "relations": sorted(
                (
                    (entities[r.head].start, entities[r.head].end, entities[r.head].type),
                    (entities[r.tail].start, entities[r.tail].end, entities[r.tail].type),
                    r.type,
                )
                for r in record.relations or ()
            ),
            "events": sorted(
                (
                    (event.trigger.start, event.trigger.end, event.trigger.type),
                    sorted((a.start, a.end, a.role) for a in event.arguments),
                )
                for event in record.events or ()
            ),
        }

    return read
