"""The public class: what it refuses, what it keeps, and that equal seeds give equal models."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nlpkit
from nlpkit.data.stream import FLUSH
from nlpkit.errors import ConfigError, DataError, ModelFormatError, NlpkitError, NotFittedError
from nlpkit.ie import UTCIE, IERecord, IEResult, IESchema, UTCIEConfig
from nlpkit.ie.metrics import score_records
from nlpkit.ie.reader import parse_record, read_records
from nlpkit.ie.types import Source
from nlpkit.model import LOOKAHEAD

SHORT = {"epochs": 2}


def weights(model: UTCIE) -> dict[str, torch.Tensor]:
    encoder, network = model.modules
    return {**encoder.state_dict(), **network.state_dict()}


def same_weights(a: UTCIE, b: UTCIE) -> bool:
    mine, theirs = weights(a), weights(b)
    return mine.keys() == theirs.keys() and all(torch.equal(mine[k], theirs[k]) for k in mine)


def plain(result: IEResult) -> dict[str, Any]:
    return result.to_dict()


# before training


def test_a_model_that_was_not_trained_says_so(tmp_path):
    model = UTCIE()
    assert not model.is_fitted
    for action in (
        lambda: model.predict("Bo left"),
        lambda: model.predict(["Bo left"]),
        lambda: model.evaluate([{"text": "a", "entities": []}]),
        lambda: model.save(tmp_path / "model"),
        lambda: model.schema,
        lambda: model.to("cpu"),
    ):
        with pytest.raises(NotFittedError, match="fit"):
            action()
    assert list(tmp_path.iterdir()) == []


def test_default_settings_are_made_without_an_encoder():
    assert UTCIE().config == UTCIEConfig()


# predict


def test_one_input_gives_one_result_and_several_give_an_iterator(fitted, few_records):
    text = few_records[0].text
    result = fitted.predict(text)
    assert isinstance(result, IEResult)
    many = fitted.predict([text])
    assert isinstance(many, Iterator)
    assert plain(next(many)) == plain(result)
    assert list(many) == []
    for form in ({"text": text}, IERecord(text=text)):
        assert plain(fitted.predict(form)) == plain(result)


def test_words_and_lines_with_tokens_give_positions_in_words(fitted):
    words = "Dorwick Capital sold its unit Lanterby Group".split()
    (listed,) = fitted.predict([words])
    line = fitted.predict({"tokens": words})
    record = fitted.predict(IERecord(tokens=tuple(words)))
    assert plain(listed) == plain(line) == plain(record)
    assert listed.text is None
    for entity in listed.entities:
        assert entity.text == " ".join(words[entity.start : entity.end])


def test_order_is_kept_and_batches_change_nothing(fitted, few_records):
    texts = [r.text for r in few_records] + ["x", "", "Bo left Acme."]
    random.Random(3).shuffle(texts)
    singles = [fitted.predict(text) for text in texts]
    for size in (1, 3, 16):
        batch = list(fitted.predict(texts, batch_size=size))
        assert [r.text for r in batch] == texts
        for one, other in zip(singles, batch, strict=True):
            assert close(plain(one), plain(other))


def close(a: Any, b: Any) -> bool:
    """Equal but for the last digits of scores."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    return abs(a - b) <= 2e-4 if isinstance(a, float) else a == b


def test_labels_of_the_input_are_not_looked_at(fitted, few_records):
    gold = few_records[0].to_dict()
    bare = {"id": gold["id"], "text": gold["text"]}
    nonsense = {**bare, "entities": "none", "relations": 3, "events": [{"trigger": None}]}
    assert plain(fitted.predict(gold)) == plain(fitted.predict(bare)) == plain(fitted.predict(nonsense))


def test_what_is_no_label_travels_through(fitted):
    line = {"id": "a1", "doc_id": "d", "sent_index": 4, "text": "Bo left.", "note": {"k": [1]}}
    out = fitted.predict(line).to_dict()
    assert {key: out[key] for key in line} == line


def test_a_result_says_where_its_record_was_read(fitted, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"id": 7, "text": "Bo left."}\n{"id": [8], "text": "Al left."}\n', encoding="utf-8")
    results = list(fitted.predict(read_records(path)))
    assert [(r.id, r.source) for r in results] == [
        (7, Source(file=str(path), line=2)),
        ([8], Source(file=str(path), line=3)),
    ]
    assert plain(results[0])["source"] == {"file": str(path), "line": 2}
    again = fitted.predict(plain(results[0]))  # a line from Python keeps the place that it names
    assert again.source == results[0].source
    for text in ("Bo left.", {"text": "Bo left."}, IERecord(text="Bo left.")):
        assert fitted.predict(text).source is None
        assert "source" not in plain(fitted.predict(text))


def test_a_path_is_no_text(fitted, tmp_path):
    with pytest.raises(DataError, match=r"read_records\(.*\) reads the records of a file"):
        fitted.predict(tmp_path / "a.jsonl")


def test_results_go_to_json_and_back(fitted, few_records):
    for record in few_records:
        result = fitted.predict(record.text)
        back, problems = parse_record(json.loads(json.dumps(result.to_dict(), ensure_ascii=False)))
        assert problems == []
        assert back == result
        assert result.entities
        assert all(0.0 <= e.score <= 1.0 for e in result.entities)


def test_a_stream_is_read_only_as_far_as_it_is_answered(untrained):
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "Bo left"

    results = untrained.predict(endless())
    assert read == 0
    for _ in range(3):
        next(results)
    assert read == LOOKAHEAD


def test_a_stream_with_nothing_more_to_give_is_answered(untrained):
    def stream() -> Iterator[Any]:
        yield "Bo left"
        yield "Al left"
        yield FLUSH
        raise AssertionError("read on before the answers were taken")

    results = untrained.predict(stream())
    assert [next(results).text for _ in range(2)] == ["Bo left", "Al left"]


# thresholds and policies


def test_a_higher_threshold_finds_a_part_of_what_a_lower_one_finds(fitted, few_records):
    text = few_records[0].text
    found = [
        {(e.start, e.end, e.type) for e in fitted.predict(text, threshold=t, overlap="any").entities}
        for t in (0.001, 0.5, 0.9999)
    ]
    assert found[2] <= found[1] <= found[0]
    assert len(found[0]) > len(found[1])
    assert all(e.score >= 0.9 for e in fitted.predict(text, threshold=0.9).entities)


def test_thresholds_by_type_and_for_the_others(fitted, few_records):
    text = few_records[0].text
    usual = fitted.predict(text)
    kinds = {e.type for e in usual.entities}
    assert len(kinds) > 1
    one = sorted(kinds)[0]
    without = fitted.predict(text, threshold={one: 1.0})
    assert {e.type for e in without.entities} == kinds - {one}
    only = fitted.predict(text, threshold={one: 0.5, "*": 1.0})
    assert {e.type for e in only.entities} == {one}
    assert only.relations == ()
    assert only.events == ()
    assert plain(fitted.predict(text, threshold={})) == plain(usual) == plain(fitted.predict(text, threshold=0.5))


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "0.5", True, {"*": 2}, {"Organization": "high"}])
def test_a_threshold_is_a_probability(threshold, fitted):
    with pytest.raises(ConfigError, match="threshold"):
        fitted.predict("Bo left", threshold=threshold)


def test_an_unknown_type_is_named_with_its_nearest(fitted):
    with pytest.raises(ConfigError, match=r"'Organisation'.*Organization"):
        fitted.predict("Bo left", threshold={"Organisation": 0.5})


def test_an_unknown_policy_is_named(fitted):
    with pytest.raises(ConfigError, match="nested"):
        fitted.predict("Bo left", overlap="none")


def test_wrong_options_are_refused_before_the_stream_is_read(fitted):
    def untouched() -> Iterator[str]:
        raise AssertionError("read")
        yield ""

    with pytest.raises(ConfigError):
        fitted.predict(untouched(), threshold=7)


def test_the_policy_of_the_call_wins(untrained):
    words = [["Bo", "left", "Acme", "."]]
    (all_spans,) = untrained.predict(words, threshold=0.0, overlap="any")
    (flat,) = untrained.predict(words, threshold=0.0, overlap="flat")
    assert len(all_spans.entities) == 2 * 10
    assert 1 <= len(flat.entities) <= 4
    assert all(a.end <= b.start for a, b in zip(flat.entities, flat.entities[1:], strict=False))


# evaluate


def test_evaluation_scores_what_predict_says(fitted, few_records, sample_path):
    from itertools import islice

    from nlpkit.ie.reader import read_records

    gold = [*few_records, *islice(read_records(sample_path("test")), 30)]
    predicted = list(fitted.predict([r.text for r in gold]))
    expected = score_records(gold, predicted, schema=fitted.schema)
    report = fitted.evaluate(gold)
    assert report.metrics == expected.metrics
    assert report.n == 36
    assert fitted.evaluate(sample_path("test"), threshold=0.5).data.endswith("test.jsonl")
    json.dumps(report.to_dict(), allow_nan=False)


def test_evaluation_names_all_faults_of_the_data(fitted, tmp_path):
    file = tmp_path / "gold.jsonl"
    file.write_text('{"text": "Bo"}\n{"text": 3}\n{"text": "Bo", "entities": [{"start": 5}]}\n', encoding="utf-8")
    with pytest.raises(DataError) as raised:
        fitted.evaluate(file)
    assert {p.line for p in raised.value.problems} == {2, 3}


def test_a_gold_span_that_cuts_a_word_is_missed_not_moved(fitted):
    report = fitted.evaluate(
        [{"text": "Dorwick Capital sold it.", "entities": [{"start": 0, "end": 4, "type": "Person"}]}]
    )
    assert (report.metrics["entity"].gold, report.metrics["entity"].tp) == (1, 0)


# fit


def test_equal_seeds_give_equal_weights_and_others_do_not(make_config, few_records):
    models = []
    for seed in (1, 1, 2):
        model = UTCIE(make_config(model={"dropout": 0.2, "plus_dropout": 0.1}, trainer=SHORT, seed=seed))
        torch.manual_seed(random.randrange(10**6))  # the state of the caller's generators plays no part
        model.fit(few_records[:4])
        models.append(model)
    assert same_weights(models[0], models[1])
    assert not same_weights(models[0], models[2])


def test_training_leaves_the_generators_of_the_caller_alone(make_config, few_records):
    torch.manual_seed(5)
    np.random.seed(5)
    random.seed(5)
    before = (torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate())
    UTCIE(make_config(trainer={"epochs": 1})).fit(few_records[:2])
    after = (torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate())
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_the_model_holds_the_weights_of_the_best_epoch(make_config, few_records, tmp_path):
    model = UTCIE(make_config(trainer={"epochs": 12, "head_lr": 2e-2, "encoder_lr": 5e-3}))
    summary = model.fit(few_records[:4], few_records[4:], out=tmp_path / "run")
    scores = model.evaluate(few_records[4:]).scores()
    assert {k: v for k, v in model.dev_scores.items() if k != "score"} == pytest.approx(scores)
    assert summary.best_score == max(row["dev_score"] for row in summary.history)
    assert same_weights(model, nlpkit.load(tmp_path / "run"))
    assert nlpkit.load(tmp_path / "run").dev_scores == model.dev_scores


def test_nothing_is_written_without_a_folder(make_config, few_records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    UTCIE(make_config(trainer={"epochs": 1})).fit(few_records[:2])
    assert list(tmp_path.iterdir()) == []


def test_a_run_folder_holds_model_settings_and_report_and_no_place_of_this_machine(make_config, few_records, tmp_path):
    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit(few_records[:2], out=tmp_path / "run")
    names = {p.name for p in (tmp_path / "run").iterdir()}
    assert {"best", "last", "config.yaml", "log.txt", "metrics.csv", "report.html"} <= names
    manifest = (tmp_path / "run" / "best" / "nlpkit.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in manifest
    assert json.loads(manifest)["config"]["encoder"]["name"] == "encoder"


def test_a_folder_with_something_in_it_is_not_written_over(make_config, few_records, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    model = UTCIE(make_config(trainer={"epochs": 1}))
    with pytest.raises(ConfigError):
        model.fit(few_records[:2], out=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert not model.is_fitted


@pytest.mark.parametrize("is_new", [False, True])
def test_a_run_is_not_taken_up_with_other_labels(is_new, make_config, few_records, tmp_path):
    config = make_config(trainer={"epochs": 1})
    UTCIE(config).fit(few_records, out=tmp_path / "run")
    first, *rest = few_records
    entity, *others = first.entities
    label = "New" if is_new else next(e.type for e in others if e.type != entity.type)
    changed = replace(first, entities=(replace(entity, type=label), *others))
    with pytest.raises(ConfigError, match="training_data"):
        UTCIE(config).fit([changed, *rest], out=tmp_path / "run", resume=True)


def test_a_run_folder_that_cannot_be_used_is_refused_before_the_data_is_read(make_config, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"):
        UTCIE(make_config()).fit(tmp_path / "missing.jsonl", out=tmp_path)
    with pytest.raises(ConfigError, match="no run to go on with"):
        UTCIE(make_config()).fit(tmp_path / "missing.jsonl", out=tmp_path, resume=True)


def test_a_failed_training_leaves_the_model_as_it_was(make_config, few_records, tmp_path, monkeypatch):
    import nlpkit.ie.utcie.fit as fit_module

    model = UTCIE(make_config(trainer={"epochs": 1}))
    with pytest.raises(DataError):
        model.fit([])
    assert not model.is_fitted
    model.fit(few_records[:2])
    before, config = weights(model), model.config
    answer = plain(model.predict(few_records[0].text))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module, "train", fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit([{"text": "Bo", "entities": [{"start": 0, "end": 2, "type": "Other"}]}])
    assert model.config == config
    assert all(torch.equal(v, weights(model)[k]) for k, v in before.items())
    assert plain(model.predict(few_records[0].text)) == answer


def test_automatic_policies_are_the_strictest_that_lose_nothing(make_config):
    def record(*spans: tuple[int, int, str]) -> dict[str, Any]:
        entities = [{"start": s, "end": e, "type": t} for s, e, t in spans]
        return {"tokens": ["a", "b", "c", "d"], "entities": entities, "events": []}

    def policy(*records: dict[str, Any], **model: Any) -> str:
        one = UTCIE(make_config(model=model, trainer={"epochs": 1}))
        one.fit(list(records))
        return one.config.model.entity_overlap

    flat = record((0, 1, "A"), (1, 3, "B"))
    assert policy(flat) == "flat"
    assert policy(flat, record((0, 1, "A"), (0, 3, "B"))) == "nested"
    assert policy(flat, record((0, 2, "A"), (1, 3, "B"))) == "any"
    assert policy(record((0, 1, "A"), (0, 1, "B"))) == "nested"
    assert policy(record((0, 2, "A"), (1, 3, "B")), entity_overlap="flat") == "flat"


def test_policies_of_triggers_and_arguments(make_config):
    def event(kind: str, *arguments: tuple[int, int]) -> dict[str, Any]:
        return {
            "trigger": {"start": 0, "end": 1, "type": kind},
            "arguments": [{"start": s, "end": e, "role": "r"} for s, e in arguments],
        }

    tokens = ["a", "b", "c", "d"]
    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([{"tokens": tokens, "events": [event("A", (1, 2)), event("B", (1, 2), (2, 4))]}])
    chosen = model.config.model
    assert (chosen.trigger_overlap, chosen.argument_overlap) == ("nested", "flat")
    # trained again, the policies are chosen again
    model.fit([{"tokens": tokens, "events": [event("A", (1, 3), (2, 4))]}])
    chosen = model.config.model
    assert (chosen.trigger_overlap, chosen.argument_overlap) == ("flat", "any")


def test_symmetric_types_are_learned_in_both_orders(make_config):
    records = [
        {
            "tokens": words.split(),
            "entities": [{"start": 0, "end": 1, "type": "P"}, {"start": 3, "end": 4, "type": "P"}],
            "relations": [{"head": head, "tail": 1 - head, "type": "spouse"}],
        }
        for words, head in (("Ada and her Bo", 0), ("Cy and his Di", 1), ("Ed or a Flo", 0), ("Gil or the Hu", 1))
    ]
    model = UTCIE(make_config(trainer={"epochs": 60}, data={"symmetric": ("spouse",)}))
    model.fit(records)
    assert model.schema.symmetric == {"spouse"}
    for result in model.predict([r["tokens"] for r in records]):
        assert [(r.head, r.tail) for r in result.relations] == [(0, 1)]
    assert model.evaluate(records).scores()["relation_strict"] == 1.0


def test_data_that_annotate_different_groups_make_one_model(make_config):
    people = {
        "tokens": "Bo Holm left Acme Corp".split(),
        "entities": [{"start": 0, "end": 2, "type": "Person"}, {"start": 3, "end": 5, "type": "Firm"}],
        "relations": [{"head": 0, "tail": 1, "type": "works_for"}],
    }
    events = {
        "tokens": "Kestrel sold its plant".split(),
        "events": [
            {
                "trigger": {"start": 1, "end": 2, "type": "Sale"},
                "arguments": [{"start": 0, "end": 1, "role": "seller"}, {"start": 2, "end": 4, "role": "goods"}],
            }
        ],
    }
    model = UTCIE(make_config(trainer={"epochs": 60}))
    model.fit([people, events])
    scores = model.evaluate([people, events]).scores()
    assert all(value == 1.0 for value in scores.values()), scores
    assert set(scores) > {"entity", "relation_strict", "trigger", "argument"}
    first, second = model.predict([people, events])
    assert [r.type for r in first.relations] == ["works_for"]
    assert [e.trigger.type for e in second.events] == ["Sale"]
    assert first.events is not None
    assert second.entities is not None


def test_a_given_schema_rules_the_labels(make_config, few_records):
    schema = IESchema(entity_types=("Organization", "Spaceship"))
    model = UTCIE(make_config(trainer=SHORT))
    model.fit(few_records[:3], schema=schema)
    assert model.schema == schema
    assert model.predict("Bo").relations is None
    assert any("not learned" in note and "Money" in note for note in model.notes)


def test_limit_trains_on_the_first_records(make_config, few_records):
    model = UTCIE(make_config(trainer={"epochs": 1, "batch_size": 1}, data={"join_share": 0.0}))
    assert model.fit(few_records, limit=2).steps == 2


def test_a_cut_word_is_an_error_or_handled_as_asked(make_config):
    record = {
        "text": "Bosnia left",
        "entities": [{"start": 0, "end": 2, "type": "P"}, {"start": 7, "end": 11, "type": "V"}],
    }
    with pytest.raises(DataError, match="misaligned='widen'"):
        UTCIE(make_config()).fit([record])
    for policy, expected in (("widen", ["Bosnia", "left"]), ("skip", ["left"])):
        model = UTCIE(make_config(data={"misaligned": policy}, trainer={"epochs": 60}))
        model.fit([record])
        assert [e.text for e in model.predict(record).entities] == expected
        assert any("data.misaligned" in note for note in model.notes)


# another model as the start


def test_a_start_from_another_model_goes_by_label_name(fitted, make_config, few_records, tmp_path):
    fitted.save(tmp_path / "first")
    model = UTCIE(make_config(trainer={"epochs": 1, "encoder_lr": 0.0, "head_lr": 0.0, "weight_decay": 0.0}))
    schema = IESchema(entity_types=("Aeroplane", *reversed(fitted.schema.entity_types)))
    model.fit(few_records[:2], schema=schema, init_from=tmp_path / "first")
    text = few_records[3].text
    known = [e for e in model.predict(text).entities if e.type != "Aeroplane"]
    assert [(e.start, e.end, e.type) for e in known] == [
        (e.start, e.end, e.type) for e in fitted.predict(text).entities
    ]


def test_a_start_from_another_model_takes_its_encoder_whatever_its_size(fitted, make_config, few_records, tmp_path):
    import shutil

    from transformers import BertConfig, BertModel

    fitted.save(tmp_path / "first")
    wide = tmp_path / "wide"
    shutil.copytree(tmp_path / "first" / "encoder", wide)
    config = BertConfig.from_pretrained(wide)
    config.hidden_size, config.intermediate_size = 48, 96
    BertModel(config).save_pretrained(wide)
    model = UTCIE(make_config(trainer={"epochs": 1}, encoder={"name": str(wide)}))
    model.fit(few_records[:2], init_from=tmp_path / "first")
    assert model.modules[0].dim == fitted.modules[0].dim == 32


# saving


def test_a_loaded_model_is_the_saved_one(fitted, few_records, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = nlpkit.load(tmp_path / "model", device="cpu")
    assert isinstance(loaded, UTCIE)
    assert same_weights(loaded, fitted)
    assert loaded.schema == fitted.schema
    assert loaded.config.model == fitted.config.model
    assert loaded.config.trainer == fitted.config.trainer
    assert loaded.notes == fitted.notes
    assert loaded.training_data == fitted.training_data
    for record in few_records:
        assert plain(loaded.predict(record.text)) == plain(fitted.predict(record.text))
    moved = tmp_path / "elsewhere"
    (tmp_path / "model").rename(moved)
    assert plain(nlpkit.load(moved).predict("Bo left")) == plain(fitted.predict("Bo left"))
    loaded.save(tmp_path / "again")
    assert same_weights(nlpkit.load(tmp_path / "again"), fitted)


def test_loading_by_class_refuses_other_kinds(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    assert isinstance(UTCIE.load(tmp_path / "model"), UTCIE)
    manifest = tmp_path / "model" / "nlpkit.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"utcie"', '"unheard-of"'), encoding="utf-8")
    with pytest.raises(ModelFormatError, match="unheard-of"):
        UTCIE.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("config", None),
        ("config", {"model": {"channels": 8}}),
        ("config", {"model": {"wings": 2}}),
        ("config", 3),
        ("schema", None),
        ("schema", []),
        ("schema", {"entity_types": ["A"]}),
        ("parts", {"encoder": "encoder"}),
    ],
)
def test_a_manifest_that_does_not_fit_its_parts_is_no_model(key, value, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "nlpkit.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if value is None:
        del manifest[key]
    else:
        manifest[key] = value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ModelFormatError, match=r"nlpkit\.json"):
        nlpkit.load(tmp_path / "model")


def test_saving_over_something_else_is_refused(fitted, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(NlpkitError):
        fitted.save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_devices(fitted):
    with pytest.raises(ConfigError, match="device"):
        fitted.to("tpu")
    assert fitted.to("cpu").device.type == "cpu"


def test_thresholds_of_the_model_are_saved_and_stand_behind_what_is_given(fitted: Any, tmp_path: Path) -> None:
    import nlpkit

    fitted.save(tmp_path / "model")
    model = nlpkit.load(tmp_path / "model")
    name = model.schema.entity_types[0]
    model.thresholds = {"*": 0.4, name: 0.9}
    model.save(tmp_path / "model")
    again = nlpkit.load(tmp_path / "model")
    assert again.decode_settings().threshold == 0.4
    assert again.decode_settings().thresholds == {name: 0.9}
    assert again.decode_settings({name: 0.2}).thresholds == {name: 0.2}
    assert again.decode_settings(0.7).threshold == 0.7
    assert again.decode_settings(0.7).thresholds == {}


def test_bf16_gives_nearly_the_same_scores(fitted: Any, few_records: list[Any], tmp_path: Path) -> None:
    import nlpkit
    from nlpkit.errors import ConfigError

    fitted.save(tmp_path / "model")
    quick = nlpkit.load(tmp_path / "model", precision="bf16")
    for full, half in zip(fitted.predict(few_records), quick.predict(few_records), strict=True):
        assert [(e.start, e.end, e.type) for e in full.entities] == [(e.start, e.end, e.type) for e in half.entities]
        assert all(abs(a.score - b.score) < 0.05 for a, b in zip(full.entities, half.entities, strict=True))
    with pytest.raises(ConfigError, match="expected fp32 or bf16"):
        nlpkit.load(tmp_path / "model", precision="fp16")


def test_evaluate_says_after_each_record_that_it_is_done(fitted, few_records):
    done = []
    fitted.evaluate(few_records[:3], on_record=lambda: done.append(1))
    assert len(done) == 3


def test_evaluation_reads_positions_in_the_unit_of_training_or_of_the_call(make_config, tmp_path):
    def data(start: int) -> list[dict[str, Any]]:
        return [{"text": "😀 Bo left", "entities": [{"start": start, "end": start + 2, "type": "P"}]}]

    model = UTCIE(make_config(data={"offset_unit": "utf16"}, trainer={"epochs": 1}))
    model.fit(data(3), data(3))
    expected = model.evaluate(data(3)).scores()
    assert model.evaluate(data(2), offset_unit="codepoint").scores() == expected
    assert model.evaluate(data(5), offset_unit="byte").scores() == expected
    model.save(tmp_path / "m")
    assert UTCIE.load(tmp_path / "m").evaluate(data(3)).scores() == expected
    with pytest.raises(ConfigError, match="offset_unit: expected one of"):
        model.evaluate(data(3), offset_unit="utf32")
    with pytest.raises(DataError, match="lies inside"):
        model.evaluate(data(1))
