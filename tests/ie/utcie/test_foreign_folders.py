"""Model folders and schema files of strangers: nothing in them is run, and nothing is allocated on their word."""

from __future__ import annotations

import io
import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nlpkit
from nlpkit.errors import ConfigError, DataError, ModelFormatError
from nlpkit.ie import UTCIE
from nlpkit.ie.schema import MAX_LABELS, IESchema, RelationType
from nlpkit.ie.utcie.labels import LabelLayout

MARKER = "from pathlib import Path; Path(__file__).with_name('MARK').write_text('ran')\n"


@pytest.fixture
def saved(untrained: UTCIE, tmp_path: Path) -> Path:
    """A saved model that a test may spoil."""
    untrained.save(tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest; the checksums go, so that what is changed in the parts is looked at."""
    path = folder / "nlpkit.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["checksums"] = {}
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def plant_code(encoder: Path) -> None:
    path = encoder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings |= {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.C", "AutoModel": "theirs.M"}}
    path.write_text(json.dumps(settings), encoding="utf-8")
    (encoder / "theirs.py").write_text(MARKER)


@pytest.mark.parametrize("way", ["predict", "show", "evaluate", "--encoder.name", "--init-from"])
@pytest.mark.parametrize("answer", ["y\n", None])
def test_no_command_runs_the_code_of_a_folder(
    way: str,
    answer: str | None,
    saved: Path,
    tmp_path: Path,
    sample_path: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from nlpkit.cli.main import main

    plant_code(saved / "encoder")
    edit(saved, lambda manifest: None)
    words = {
        "predict": ["predict", saved, "-"],
        "show": ["show", saved],
        "evaluate": ["evaluate", saved, sample_path("dev")],
        "--encoder.name": ["--encoder.name", saved / "encoder"],
        "--init-from": ["--init-from", saved],
    }[way]
    if way.startswith("--"):
        words = ["fit", "utcie", "--train", sample_path("dev"), "--limit", "9", "--out", tmp_path / "run", *words]
    stdin = io.TextIOWrapper(io.BytesIO((answer or "").encode()), encoding="utf-8")
    if answer is None:
        stdin.close()
    monkeypatch.setattr("sys.stdin", stdin)
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert list(tmp_path.rglob("MARK")) == []
    assert "custom code" not in out + err
    if way == "show":  # reads no more than the manifest
        assert status == 0
        return
    assert (status, out) == (2 if way.startswith("--") else 1, "")
    if not (way == "predict" and answer is None):
        assert "config.json' has the key 'auto_map'" in err.splitlines()[-1]


def wide(section: str, **values: object) -> Callable[[dict[str, Any]], object]:
    return lambda manifest: manifest["config"][section].update(values)


def many_labels(manifest: dict[str, Any]) -> None:
    manifest["schema"]["entity_types"] = [f"T{k}" for k in range(50_000)]


GIANTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "channels": (wide("model", channels=24_000), r"of another shape: biaffine\.bilinear \(16 x .* in place of 24000 x"),
    "biaffine_dim": (wide("model", biaffine_dim=10**6), "of another shape: biaffine"),
    "layers": (wide("model", layers=10**9), "a network of more than .* parts, the weights are .* tensors"),
    "shape_dim": (wide("model", shape_dim=10**9), r"of another shape: .*shape\.weight"),
    "labels": (many_labels, r"of another shape: .*output\.bias \(\d+ in place of 50\d+\)"),
    "layers less": (wide("model", layers=0), r"left over: layers\.0.* and \d+ more"),
    "part that is a folder": (
        lambda manifest: manifest["parts"].update(head="encoder"),
        "encoder' is a folder, expected a safetensors file",
    ),
    "part that is a file": (
        lambda manifest: manifest["parts"].update(encoder="head.safetensors"),
        r"head\.safetensors' is no folder",
    ),
}


@pytest.mark.parametrize("case", GIANTS)
def test_a_manifest_of_a_giant_is_refused_before_memory_is_taken(case: str, saved: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system does not tell how much memory is used")
    change, message = GIANTS[case]
    edit(saved, change)
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(ModelFormatError, match=message) as caught:
        nlpkit.load(saved)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert after.ru_maxrss - before.ru_maxrss < 200_000  # kilobytes
    assert after.ru_utime - before.ru_utime < 10


def test_weights_of_another_encoder_are_not_those_of_the_model(saved: Path, untrained: UTCIE) -> None:
    from safetensors.torch import load_file, save_file

    path = saved / "encoder" / "model.safetensors"
    tensors = load_file(path)
    save_file({name: value for name, value in tensors.items() if "layer.1" not in name}, path)
    edit(saved, lambda manifest: None)
    with pytest.raises(ModelFormatError, match=r"missing: encoder\.layer\.1"):
        nlpkit.load(saved)
    with pytest.raises(ConfigError, match=r"missing: encoder\.layer\.1"):
        UTCIE(untrained.given_config).fit([{"text": "Bo", "entities": []}], init_from=saved, schema=untrained.schema)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"entity_types": ["A"], "entity_types": ["B"]}', "the key 'entity_types' is there twice"),
        ('{"event_types": {"E": ["a"], "E": ["b"]}}', "the key 'E' is there twice"),
        ('{"relation_types": [{"name": "r", "name": "s"}]}', "the key 'name' is there twice"),
        ('{"x": ' * 100_000, "not a label schema"),
        (json.dumps({"entity_types": [f"T{k}" for k in range(1_000_000)]}), "expected at most 100,000 labels"),
        (json.dumps({"event_types": {f"T{k}": ["a"] for k in range(90_000)}}), "expected at most 100,000 labels"),
        (json.dumps({"entity_types": ["A", "B"] * 40_000}), "A, B given twice"),
        (json.dumps({"entity_types": [str(k // 2) for k in range(90_000)]}), "and 44,990 more given twice"),
        (json.dumps({"relation_types": "x" * 1_000_000}), "relation_types: expected a list"),
    ],
)
def test_a_schema_file_that_is_none_has_one_line_soon(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(content)
    start = time.process_time()
    with pytest.raises(DataError, match=message) as caught:
        IESchema.from_file(path)
    assert time.process_time() - start < 10
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_time_grows_with_labels_not_with_their_square(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"

    def seconds(n: int) -> float:
        names = [f"label {k}" for k in range(n)]
        path.write_text(json.dumps({"entity_types": names, "relation_types": names, "event_types": {"E": names}}))
        best = []
        for _ in range(3):
            start = time.process_time()
            layout = LabelLayout(IESchema.from_file(path))
            assert len(layout.channel_names) == layout.n_labels
            assert all(name in layout.relation_names and name not in layout.schema.symmetric for name in names[:100])
            assert [layout.schema.roles[k] for k in range(100)]
            best.append(time.process_time() - start)
        return min(best)

    assert seconds(24_000) < 25 * seconds(3_000)  # 8 times as many; their square is 64


def test_many_labels_cost_a_prediction_little(untrained: UTCIE) -> None:
    import torch

    from nlpkit.ie.utcie.decode import decode_windows

    def seconds(n: int) -> float:
        names = tuple(RelationType(name=f"r{k}", symmetric=True) for k in range(n))
        layout = LabelLayout(IESchema(entity_types=("A",), relation_types=names))
        logits, mask = torch.full((1, 2, 2, layout.n_labels), -9.0), torch.ones(1, 2, dtype=torch.bool)
        best = []
        for _ in range(3):
            start = time.process_time()
            decode_windows(logits, mask, [0], layout, untrained.decode_settings())
            best.append(time.process_time() - start)
        return min(best)

    assert seconds(16_000) < 25 * seconds(2_000)


def test_a_part_called_like_the_packaged_encoder_is_the_part(
    saved: Path, monkeypatch: pytest.MonkeyPatch, untrained: UTCIE
) -> None:
    shutil.move(saved / "encoder", saved / "minilm")
    edit(saved, lambda manifest: manifest["parts"].update(encoder="minilm"))
    monkeypatch.chdir(saved)
    assert nlpkit.load(".").modules[0].dim == untrained.modules[0].dim


def test_the_limit_of_labels_leaves_room() -> None:
    names = [str(k) for k in range(MAX_LABELS)]
    assert len(IESchema.from_dict({"entity_types": names}).entity_types or ()) == MAX_LABELS


def test_a_model_that_is_loaded_while_it_is_saved_is_the_old_or_the_new_one(untrained: UTCIE, tmp_path: Path) -> None:
    import torch

    untrained.save(tmp_path / "model")
    mine = UTCIE.load(tmp_path / "model")
    stop = threading.Event()

    def save_as(number: int) -> None:
        mine.dev_scores = {"score": float(number)}
        with torch.no_grad():
            for module in mine.modules:
                next(module.parameters()).fill_(number)
        mine.save(tmp_path / "model")

    def save_again_and_again() -> None:
        number = 0
        while not stop.wait(0.2):
            number += 1
            save_as(number)

    save_as(0)
    saver = threading.Thread(target=save_again_and_again)
    saver.start()
    try:
        deadline, seen = time.monotonic() + 60, set()
        while len(seen) < 6 and time.monotonic() < deadline:
            model = nlpkit.load(tmp_path / "model")
            number = model.dev_scores["score"]
            assert all(bool((next(module.parameters()) == number).all()) for module in model.modules)
            seen.add(number)
    finally:
        stop.set()
        saver.join()
    assert len(seen) == 6
