"""What every model that can be trained must do, whatever its task: run on each such row of the registry.

A new model needs a row in ``TASKS`` if its task is new, and one in ``SETTINGS`` if its defaults are large.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import nlpkit
from nlpkit.configs import from_dict
from nlpkit.errors import ConfigError, ModelFormatError, NotFittedError
from nlpkit.registry import BUILT_IN, ModelSpec


@dataclass(frozen=True, kw_only=True)
class TaskSamples:
    """What the tests give to the models of one task.

    Attributes:
        train: Annotated data lines to learn by heart.
        inputs: Inputs of different lengths, hostile ones among them; all different.
        empty: Inputs without content; each gets a result.
        wrong: What is no input at all.
    """

    train: tuple[Mapping[str, Any], ...]
    inputs: tuple[Any, ...]
    empty: tuple[Any, ...] = ()
    wrong: tuple[Any, ...] = (5, None)


def _business(person: str, firm: str, verb: str) -> dict[str, Any]:
    text = f"{person} {verb} {firm}."
    return {
        "text": text,
        "entities": [{"text": person, "type": "Person"}, {"text": firm, "type": "Firm"}],
        "relations": [{"head": 0, "tail": 1, "type": "works_for"}],
        "events": [
            {
                "trigger": {"text": verb, "type": "Move"},
                "arguments": [{"text": person, "role": "who"}, {"text": firm, "role": "where"}],
            }
        ],
    }


TASKS = {
    "ie": TaskSamples(
        train=(
            _business("Ada Holm", "Kestrel Works", "joined"),
            _business("Bo", "Acme", "left"),
            _business("Cy de Wit", "Dorwick Capital Group", "joined"),
            {"text": "Nothing happened.", "entities": [], "relations": [], "events": []},
        ),
        inputs=(
            "Ada Holm joined Kestrel Works.",
            "Bo left Acme.",
            "x",
            "",
            " \n",
            "Cy de Wit joined Dorwick Capital Group. " * 5,
            "Bo\r\nleft   Acme 👩‍🚀.  ",
            "E\u0301mile joined İstanbul Works\u200b",
            {"id": "n1", "text": "Bo joined Acme.", "note": "kept"},
            {"tokens": ["Bo", "left", " ", "Acme"]},
        ),
        empty=("", "\u200b", " ", {"tokens": []}),
    ),
}

SETTINGS: dict[str, dict[str, Any]] = {
    "utcie": {
        "model": {"channels": 16, "biaffine_dim": 32, "layers": 1, "dropout": 0.1, "plus_dropout": 0.0},
        "trainer": {
            "epochs": 40,
            "batch_size": 2,
            "encoder_lr": 2e-3,
            "head_lr": 5e-3,
            "device": "cpu",
            "dev_share": 0.0,
        },
    },
}

MODELS = [name for name, spec in BUILT_IN.items() if spec.can_fit]


@dataclass(kw_only=True)
class Trained:
    """A trained model with what it was trained on."""

    spec: ModelSpec
    samples: TaskSamples
    config: Any
    model: Any
    alone: list[Any] = field(default_factory=list)

    def new(self, **changes: Any) -> Any:
        from dataclasses import replace

        return self.spec.resolve("api")(replace(self.config, **changes))  # type: ignore[operator]


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, tiny_encoder: Path) -> Trained:
    import torch

    torch.set_num_threads(1)
    spec = BUILT_IN[request.param]
    settings = {**SETTINGS.get(spec.name, {}), "encoder": {"name": str(tiny_encoder)}, "seed": 7}
    config = from_dict(spec.resolve("config"), settings)  # type: ignore[arg-type]
    model = spec.resolve("api")(config)  # type: ignore[operator]
    samples = TASKS[spec.task]
    model.fit(samples.train)
    return Trained(
        spec=spec, samples=samples, config=config, model=model, alone=[model.predict(i) for i in samples.inputs]
    )


def same(a: Any, b: Any) -> bool:
    """Equal but for the last digits of numbers, which depend on the batch."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    return abs(a - b) <= 2e-4 if isinstance(a, float) and isinstance(b, float) else a == b


def state(model: Any) -> dict[str, Any]:
    return {f"{k}.{name}": v for k, module in enumerate(model.modules) for name, v in module.state_dict().items()}


def test_every_task_of_a_trainable_model_has_samples():
    assert {BUILT_IN[name].task for name in MODELS} <= set(TASKS)


def test_a_model_has_the_name_of_its_row(trained):
    assert trained.model.name == trained.spec.name
    assert trained.model.is_fitted
    assert isinstance(trained.model, nlpkit.model.NlpkitModel)


def test_repr_tells_what_a_model_is(trained):
    assert repr(trained.new()).endswith("not fitted>")
    shown = repr(trained.model)
    assert trained.spec.name in shown
    assert "fitted, on the CPU" in shown
    n_parameters = sum(p.numel() for module in trained.model.modules for p in module.parameters())
    assert f"{n_parameters:,} parameters" in shown
    manifest = trained.model._manifest()
    for kind, labels in manifest["schema"].items():
        if labels:
            first = next(iter(labels))
            assert (first if isinstance(first, str) else first["name"]) in shown
            assert f"{len(labels)} {kind.removesuffix('s').replace('_', ' ')}" in shown
    for name, value in manifest["dev"].items():
        assert f"{name} {'-' if value is None else format(100 * value, '.1f')}" in shown


def test_a_new_model_knows_that_it_was_not_trained(trained, tmp_path):
    model = trained.new()
    assert not model.is_fitted
    for action in (lambda: model.predict("a"), lambda: model.predict(["a"]), lambda: model.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            action()
    assert not (tmp_path / "m").exists()


def test_one_in_one_out_and_many_in_an_iterator_out(trained):
    item = trained.samples.inputs[0]
    many = trained.model.predict([item])
    assert isinstance(many, Iterator)
    (only,) = many
    assert type(only) is type(trained.model.predict(item))
    assert list(trained.model.predict([])) == []
    assert list(trained.model.predict(iter([]))) == []


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_a_batch_equals_its_items_alone(trained, batch_size):
    batch = list(trained.model.predict(trained.samples.inputs, batch_size=batch_size))
    assert len(batch) == len(trained.samples.inputs)
    for alone, together in zip(trained.alone, batch, strict=True):
        assert same(alone.to_dict(), together.to_dict())


def test_order_is_kept_and_neighbours_do_not_matter(trained):
    rng = random.Random(1)
    order = [k for k in range(len(trained.samples.inputs)) for _ in range(3)]
    rng.shuffle(order)
    results = list(trained.model.predict(trained.samples.inputs[k] for k in order))
    assert len(results) == len(order)
    for k, result in zip(order, results, strict=True):
        assert same(result.to_dict(), trained.alone[k].to_dict()), trained.samples.inputs[k]


def test_a_much_longer_neighbour_pads_without_effect(trained):
    long = max((i for i in trained.samples.inputs if isinstance(i, str)), key=len)
    for k, item in enumerate(trained.samples.inputs):
        beside, _ = trained.model.predict([item, long * 4])
        assert same(beside.to_dict(), trained.alone[k].to_dict()), item


def test_the_same_question_has_the_same_answer(trained):
    for item, before in zip(trained.samples.inputs, trained.alone, strict=True):
        assert trained.model.predict(item).to_dict() == before.to_dict()


def test_empty_inputs_have_results(trained):
    items = [trained.samples.inputs[0], *trained.samples.empty, trained.samples.inputs[1]]
    results = list(trained.model.predict(items))
    assert len(results) == len(items)
    assert same(results[0].to_dict(), trained.alone[0].to_dict())
    assert same(results[-1].to_dict(), trained.alone[1].to_dict())


def test_wrong_inputs_raise_what_nlpkit_raises(trained):
    for wrong in trained.samples.wrong:
        with pytest.raises(nlpkit.NlpkitError):
            list(trained.model.predict([wrong]))


def test_results_go_to_json_and_back(trained):
    parse: Callable[..., Any] = trained.spec.resolve("parser")  # type: ignore[assignment]
    for result in trained.alone:
        line = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)
        back, problems = parse(json.loads(line))
        assert problems == []
        assert back == result
        assert back.to_dict() == result.to_dict()


def test_results_are_data_again(trained, tmp_path):
    """What predict writes is accepted by check and learned from by fit."""
    formats: Any = trained.spec.resolve("writer")
    lines = StringIO()
    formats["jsonl"](iter(trained.alone), lines)
    file = tmp_path / "out.jsonl"
    file.write_text(lines.getvalue(), encoding="utf-8", newline="")
    read: Any = trained.spec.resolve("reader")
    places = [{"file": str(file), "line": number} for number in range(1, len(trained.alone) + 1)]
    expected = [{**r.to_dict(), "source": place} for r, place in zip(trained.alone, places, strict=True)]
    assert [r.to_dict() for r in read([file])] == expected
    assert not trained.spec.resolve("checker")([file]).errors  # type: ignore[operator]
    model = trained.new(trainer=_short(trained.config.trainer))
    model.fit(file)
    assert model.is_fitted


def _short(trainer: Any) -> Any:
    from dataclasses import replace

    return replace(trainer, epochs=1)


def test_seeds_are_respected(trained):
    import torch

    models = []
    for seed in (7, 7, 8):
        model = trained.new(seed=seed, trainer=_short(trained.config.trainer))
        torch.manual_seed(random.randrange(10**6))
        model.fit(trained.samples.train)
        models.append(state(model))
    first, again, other = models
    assert first.keys() == again.keys() == other.keys()
    assert all(torch.equal(v, again[k]) for k, v in first.items())
    assert not all(torch.equal(v, other[k]) for k, v in first.items())


def test_training_data_is_learned(trained):
    """Not a matter of quality: a model that learns nothing makes every other test here empty."""
    scores = trained.model.evaluate(trained.samples.train).scores()
    assert scores
    assert all(value is None or value > 0.8 for value in scores.values()), scores


def test_a_saved_model_is_the_same_model(trained, tmp_path):
    import torch

    trained.model.save(tmp_path / "model")
    loaded = nlpkit.load(tmp_path / "model", device="cpu")
    assert type(loaded) is type(trained.model)
    mine, theirs = state(trained.model), state(loaded)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(v, theirs[k]) for k, v in mine.items())
    for item, before in zip(trained.samples.inputs, trained.alone, strict=True):
        assert loaded.predict(item).to_dict() == before.to_dict()
    assert trained.model.evaluate(trained.samples.train) == loaded.evaluate(trained.samples.train)


def test_a_saved_model_can_be_moved_and_saved_over(trained, tmp_path):
    trained.model.save(tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / "moved")
    model = nlpkit.load(tmp_path / "moved")
    model.save(tmp_path / "moved")
    again = nlpkit.load(tmp_path / "moved")
    assert again.predict(trained.samples.inputs[0]).to_dict() == trained.alone[0].to_dict()
    manifest = json.loads((tmp_path / "moved" / "nlpkit.json").read_text(encoding="utf-8"))
    assert manifest["model"] == trained.spec.name
    assert str(tmp_path) not in json.dumps(manifest)
    assert set(manifest["parts"]) == set(trained.model.parts)


def test_a_run_folder_is_loaded_by_its_best_model(trained, tmp_path):
    model = trained.new(trainer=_short(trained.config.trainer))
    model.fit(trained.samples.train, trained.samples.train[:2], out=tmp_path / "run")
    loaded = nlpkit.load(tmp_path / "run")
    item = trained.samples.inputs[0]
    assert loaded.predict(item).to_dict() == model.predict(item).to_dict()


def test_what_is_no_model_is_refused(trained, tmp_path):
    (tmp_path / "empty").mkdir()
    trained.model.save(tmp_path / "newer")
    manifest = tmp_path / "newer" / "nlpkit.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**content, "format": content["format"] + 1}), encoding="utf-8")
    for folder in ("empty", "newer", "nowhere"):
        with pytest.raises(ModelFormatError, match=folder):
            nlpkit.load(tmp_path / folder)


def test_a_device_that_is_not_there_is_refused(trained, tmp_path):
    trained.model.save(tmp_path / "model")
    with pytest.raises(ConfigError, match="device"):
        nlpkit.load(tmp_path / "model", device="abacus")
