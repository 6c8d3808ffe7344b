"""The loss of a batch: what has a part in it and what has not, and that a small model can learn by heart."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.data import WindowBatch, collate, prepare, window_list
from nlpkit.ie.utcie.fit import output_bias
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.utcie.task import utcie_loss

WORDS = tuple("Bo joined Acme Corp today".split())
ENTITIES = (Entity(start=0, end=1, type="Person"), Entity(start=2, end=4, type="Firm"))
RELATIONS = (Relation(head=0, tail=1, type="works_for"),)
EVENTS = (
    Event(
        trigger=Trigger(start=1, end=2, type="Hire"),
        arguments=(Argument(start=0, end=1, role="who"), Argument(start=2, end=4, role="where")),
    ),
)
SCHEMA = IESchema(
    entity_types=("Firm", "Person"),
    relation_types=(RelationType(name="owns"), RelationType(name="works_for")),
    event_types={"Fire": (), "Hire": ("where", "who")},
)
LAYOUT = LabelLayout(SCHEMA)
CONFIG = UTCIEModelConfig()


def record(words=WORDS, **groups) -> IERecord:
    return IERecord(tokens=words, **groups)


FULL = record(entities=ENTITIES, relations=RELATIONS, events=EVENTS)


@pytest.fixture(scope="module")
def batch_of(tiny_encoder):
    encoder = TextEncoder.from_config(EncoderConfig(name=str(tiny_encoder)))

    def make(*records: IERecord, layout: LabelLayout = LAYOUT) -> WindowBatch:
        examples = prepare(records, encoder, CONFIG, layout=layout)
        return collate(examples, window_list(examples), encoder)

    return make


def random_logits(batch: WindowBatch, layout: LabelLayout = LAYOUT, seed: int = 0) -> torch.Tensor:
    n_records, n_words = batch.word_mask.shape
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_records, n_words, n_words, layout.n_labels, generator=generator)


def gradient(batch: WindowBatch, config: UTCIEModelConfig = CONFIG) -> torch.Tensor:
    logits = random_logits(batch).requires_grad_()
    utcie_loss(logits, batch, LAYOUT, config)["loss"].backward()
    assert logits.grad is not None
    return logits.grad


CHANNELS = {
    "entities": list(range(LAYOUT.n_labels))[LAYOUT.entity],
    "relations": [LAYOUT.relations.threshold, *list(range(LAYOUT.n_labels))[LAYOUT.relations.types]],
    "events": [
        *list(range(LAYOUT.n_labels))[LAYOUT.argument],
        *list(range(LAYOUT.n_labels))[LAYOUT.trigger],
        LAYOUT.roles.threshold,
        *list(range(LAYOUT.n_labels))[LAYOUT.roles.types],
    ],
}


def test_the_groups_own_all_channels():
    assert sorted(k for channels in CHANNELS.values() for k in channels) == list(range(LAYOUT.n_labels))


@pytest.mark.parametrize("link_loss", ["adaptive", "bce"])
@pytest.mark.parametrize(("group", "filled"), [("entities", ENTITIES), ("relations", RELATIONS), ("events", EVENTS)])
def test_an_absent_group_has_exactly_no_gradient_and_an_empty_one_has(group, filled, link_loss, batch_of):
    others = {"entities": ENTITIES, "events": ()} if group == "relations" else {}
    absent = record(**others, **({"relations": ()} if group == "events" else {}))
    empty, full = record(**{**others, group: ()}), record(**{**others, group: filled})
    config = UTCIEModelConfig(link_loss=link_loss)
    grad = gradient(batch_of(absent, empty, full), config)[..., CHANNELS[group]]
    assert float(grad[0].abs().max()) == 0.0
    channels = range(grad.shape[-1])
    if link_loss == "bce":  # the threshold channel is not used
        thresholds = (LAYOUT.relations.threshold, LAYOUT.roles.threshold)
        channels = [k for k in channels if CHANNELS[group][k] not in thresholds]
    for row in (1, 2):
        assert all(float(grad[row, ..., k].abs().min()) > 0.0 for k in channels)


def test_a_record_without_any_group_has_exactly_no_gradient(batch_of):
    grad = gradient(batch_of(record(), FULL))
    assert float(grad[0].abs().max()) == 0.0
    assert float(grad[1].abs().min()) > 0.0


def test_a_mask_of_numbers_is_refused(batch_of):
    batch = batch_of(record())
    with pytest.raises(TypeError, match="word_mask: expected a boolean mask"):
        utcie_loss(random_logits(batch), replace(batch, word_mask=batch.word_mask.float()), LAYOUT, CONFIG)


def test_padding_has_exactly_no_gradient(batch_of):
    short = record(words=("Bo", "left"), entities=(ENTITIES[0],), relations=(), events=())
    grad = gradient(batch_of(short, FULL))
    assert float(grad[0, 2:].abs().max()) == float(grad[0, :, 2:].abs().max()) == 0.0
    assert float(grad[0, :2, :2].abs().min()) > 0.0


@pytest.mark.parametrize("reduction", ["sum", "positives", "cells"])
def test_the_loss_of_a_batch_is_the_mean_of_its_records(reduction, batch_of):
    config = UTCIEModelConfig(reduction=reduction)
    records = [
        FULL,
        record(words=("Bo", "left"), entities=(ENTITIES[0],), relations=()),
        record(words=("x",) * 7, entities=(), relations=(), events=()),
    ]
    together = batch_of(*records)
    logits = random_logits(together)
    whole = utcie_loss(logits, together, LAYOUT, config)
    singles = []
    for row, one in enumerate(records):
        n = len(one.tokens or ())
        singles.append(utcie_loss(logits[row : row + 1, :n, :n], batch_of(one), LAYOUT, config))
    for name, value in whole.items():
        torch.testing.assert_close(value, torch.stack([s[name] for s in singles]).mean(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(whole["loss"], whole["spans"] + whole["relations"] + whole["roles"])


def test_the_sum_is_over_every_cell_in_both_orders(batch_of):
    layout = LabelLayout(IESchema(entity_types=("Person",)))
    batch = batch_of(record(entities=(Entity(start=0, end=2, type="Person"),)), layout=layout)
    logits = torch.zeros(1, 5, 5, 1)
    assert float(utcie_loss(logits, batch, layout, CONFIG)["loss"]) == pytest.approx(25 * 0.693147, rel=1e-4)
    logits[0, 0, 1] = logits[0, 1, 0] = 50.0  # two of the cells are right and sure
    assert float(utcie_loss(logits, batch, layout, CONFIG)["loss"]) == pytest.approx(23 * 0.693147, rel=1e-4)


def test_reductions_divide_by_gold_cells_or_by_all_cells(batch_of):
    batch = batch_of(FULL)
    logits = random_logits(batch)
    total, by_gold, by_cell = (
        utcie_loss(logits, batch, LAYOUT, UTCIEModelConfig(reduction=r)) for r in ("sum", "positives", "cells")
    )
    for name, gold in (("spans", batch.spans), ("relations", batch.relations), ("roles", batch.roles)):
        assert gold is not None
        assert len(gold) > 0
        assert float(by_gold[name]) == pytest.approx(float(total[name]) / len(gold), rel=1e-4)
        assert float(by_cell[name]) == pytest.approx(float(total[name]) / 25, rel=1e-4)


def test_the_weight_of_empty_cells_leaves_border_pairs_alone(batch_of):
    batch = batch_of(FULL)
    grad = gradient(batch, UTCIEModelConfig(empty_link_weight=0.0))
    full = gradient(batch)
    assert batch.borders is not None
    borders = {tuple(b[1:]) for b in batch.borders.tolist()}
    links = [*CHANNELS["relations"], LAYOUT.roles.threshold]
    for i in range(5):
        for j in range(5):
            if (i, j) in borders:
                torch.testing.assert_close(grad[0, i, j, links], full[0, i, j, links])
            else:
                assert float(grad[0, i, j, links].abs().max()) == 0.0
    torch.testing.assert_close(grad[..., CHANNELS["entities"]], full[..., CHANNELS["entities"]])


@pytest.mark.parametrize("link_loss", ["adaptive", "bce"])
@pytest.mark.parametrize("split_links", [True, False])
def test_gold_scores_cost_next_to_nothing_and_wrong_ones_much(link_loss, split_links, batch_of, gold_logits):
    from nlpkit.ie.words import word_view

    # two words each, so that no cell is start and end of one link: two types of a cell share their probability
    wide = record(
        words=tuple("Bo Holm came to Acme Corp".split()),
        entities=(Entity(start=0, end=2, type="Person"), Entity(start=4, end=6, type="Firm")),
        relations=RELATIONS,
        events=(
            Event(
                trigger=Trigger(start=2, end=4, type="Hire"),
                arguments=(Argument(start=0, end=2, role="who"), Argument(start=4, end=6, role="where")),
            ),
        ),
    )
    layout = LabelLayout(SCHEMA, split_links)
    config = UTCIEModelConfig(link_loss=link_loss)
    batch = batch_of(wide, layout=layout)
    logits, _ = gold_logits(word_view(wide), layout)
    right = float(utcie_loss(logits, batch, layout, config)["loss"])
    assert right < 0.1
    assert float(utcie_loss(-logits, batch, layout, config)["loss"]) > 1000


def test_the_loss_changes_nothing_that_it_is_given(batch_of):
    batch = batch_of(FULL, record(entities=()))
    logits = random_logits(batch)
    before = [logits.clone(), *(v.clone() for v in vars(batch).values() if isinstance(v, torch.Tensor))]
    utcie_loss(logits, batch, LAYOUT, CONFIG)
    after = [logits, *(v for v in vars(batch).values() if isinstance(v, torch.Tensor))]
    for x, y in zip(before, after, strict=True):
        assert torch.equal(x, y)


def test_half_precision_scores_give_a_full_precision_loss(batch_of):
    batch = batch_of(FULL)
    loss = utcie_loss(random_logits(batch).bfloat16(), batch, LAYOUT, CONFIG)["loss"]
    assert loss.dtype == torch.float32


@pytest.mark.parametrize("groups", [("entities",), ("events",), ("entities", "relations"), ("entities", "events")])
def test_any_union_of_groups_is_trained(groups, batch_of):
    one = record(**{g: getattr(FULL, g) for g in groups})
    layout = LabelLayout(IESchema.from_records([one]))
    batch = batch_of(one, layout=layout)
    logits = random_logits(batch, layout).requires_grad_()
    parts = utcie_loss(logits, batch, layout, CONFIG)
    parts["loss"].backward()
    assert logits.grad is not None
    assert float(logits.grad.abs().amax((0, 1, 2)).min()) > 0.0
    expected = {"loss", "spans"} | ({"relations"} & set(groups)) | ({"roles"} if "events" in groups else set())
    assert set(parts) == expected


def test_initial_biases_say_that_cells_are_empty():
    for link_loss in ("adaptive", "bce"):
        bias = output_bias(LAYOUT, link_loss)
        assert bias.shape == (LAYOUT.n_labels,)
        assert float(bias[: LAYOUT.n_span].max()) < -2
        for channels in (LAYOUT.relations, LAYOUT.roles):
            threshold = float(bias[channels.threshold]) if link_loss == "adaptive" else 0.0
            assert float(bias[channels.types].max()) <= threshold - 2


# learning by heart

LEARNED = ("entity", "relation", "relation_strict", "trigger", "argument")


def test_a_handful_of_sentences_is_learned_by_heart(fitted, few_records):
    scores = fitted.evaluate(few_records).scores()
    assert {name: scores[name] for name in LEARNED if not scores[name] > 0.99} == {}


@pytest.mark.parametrize("settings", [{"layers": 0}, {"link_loss": "bce", "split_links": False}])
def test_the_plain_model_and_binary_links_learn_by_heart_too(settings, make_config, few_records):
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config(model=settings, trainer={"epochs": 50}))
    model.fit(few_records[:3])
    scores = model.evaluate(few_records[:3]).scores()
    assert {name: scores[name] for name in LEARNED if not scores[name] > 0.99} == {}


def conll04() -> Path:
    root = Path(os.environ.get("NLPKIT_SHARED", Path(__file__).parents[4] / "shared"))
    return root / "data" / "ie" / "conll04" / "train.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not conll04().is_file(), reason="needs the public CoNLL04 data; NLPKIT_SHARED names their folder")
def test_fifty_conll04_sentences_are_learned_by_heart(make_config):
    from nlpkit.ie import UTCIE

    lines = conll04().read_text(encoding="utf-8").splitlines()
    records: list[dict[str, Any]] = [r for r in map(json.loads, lines) if r["relations"] and len(r["tokens"]) < 40][:50]
    assert len(records) == 50
    model = UTCIE(
        make_config(
            model={"channels": 24, "biaffine_dim": 64},
            trainer={"epochs": 60, "batch_size": 4, "encoder_lr": 2e-3, "head_lr": 4e-3},
        )
    )
    model.fit(records)
    scores = model.evaluate(records).scores()
    assert {name: scores[name] for name in ("entity", "relation", "relation_strict") if not scores[name] > 0.99} == {}
