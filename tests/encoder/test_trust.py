"""A folder given as an encoder runs no code, asks nothing, and gives its own weights or none."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModel

from nlpkit.encoder import TextEncoder
from nlpkit.errors import ConfigError

Tensors = dict[str, Tensor]

SIZES = {
    "vocab_size": 185,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
CHECKPOINTS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": {},
    "BertForPreTraining": {},
    "RobertaForMaskedLM": {},
    "XLMRobertaForTokenClassification": {},
    "DistilBertForMaskedLM": {},
    "ElectraForPreTraining": {"embedding_size": 8},
    "DebertaV2ForMaskedLM": {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c"]},
    "AlbertForMaskedLM": {"embedding_size": 8},
    "MPNetForMaskedLM": {},
    "ModernBertForMaskedLM": {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3},
    "GPT2LMHeadModel": {"bos_token_id": 2, "eos_token_id": 3},
}


def copy_of(folder: Path, target: Path, **settings: object) -> Path:
    """A copy of an encoder with other settings."""
    shutil.copytree(folder, target)
    path = target / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    return target


def rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def checkpoint(family: str, tiny_encoder: Path, folder: Path) -> Path:
    """What a stranger may have: a model with its heads, as transformers saves it."""
    kind = getattr(transformers, family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kind(kind.config_class(**{**SIZES, **CHECKPOINTS[family]})).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_encoder / name, folder)
    return folder


@torch.inference_mode()
def answers_as_plain_transformers(folder: Path) -> bool:
    ids = torch.tensor([[2, 50, 60, 3]])
    mine, plain = TextEncoder.from_folder(folder).model, AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    return torch.equal(mine(input_ids=ids).last_hidden_state, plain(input_ids=ids).last_hidden_state)


@pytest.mark.parametrize("family", CHECKPOINTS)
def test_checkpoints_of_whole_models_are_encoders(family: str, tiny_encoder: Path, tmp_path: Path) -> None:
    folder = checkpoint(family, tiny_encoder, tmp_path / "theirs")
    assert answers_as_plain_transformers(folder)
    TextEncoder.from_folder(folder).save(tmp_path / "ours")
    TextEncoder.from_folder(tmp_path / "ours", exact=True)


OLD_WAYS: dict[str, Callable[[Tensors], Tensors]] = {
    "gamma and beta": lambda tensors: {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    },
    "a saved buffer": lambda tensors: {**tensors, "bert.embeddings.position_ids": torch.arange(64)[None]},
    "half precision": lambda tensors: {name: value.half() for name, value in tensors.items()},
    "no prefix": lambda tensors: {name.removeprefix("bert."): value for name, value in tensors.items()},
    "tied weights twice": lambda tensors: {
        **tensors,
        "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone(),
    },
}


@pytest.mark.parametrize("way", OLD_WAYS)
def test_checkpoints_as_older_versions_wrote_them(way: str, tiny_encoder: Path, tmp_path: Path) -> None:
    folder = checkpoint("BertForMaskedLM", tiny_encoder, tmp_path / "theirs")
    rewrite(folder, OLD_WAYS[way])
    assert answers_as_plain_transformers(folder)


def test_weights_in_several_files(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = copy_of(tiny_encoder, tmp_path / "shards")
    (folder / "model.safetensors").unlink()
    AutoModel.from_pretrained(tiny_encoder).save_pretrained(folder, max_shard_size="40KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    assert answers_as_plain_transformers(folder)
    index = folder / "model.safetensors.index.json"
    for place in ("../other.safetensors", "/other.safetensors", "..", ""):
        index.write_text(json.dumps({"weight_map": {"a": place}}))
        with pytest.raises(ConfigError, match="expected names of files beside it"):
            TextEncoder.from_folder(folder)
    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    with pytest.raises(ConfigError, match=r"gone\.safetensors' is missing"):
        TextEncoder.from_folder(folder)


Change = Callable[[Tensors], Tensors]
FOREIGN: dict[str, tuple[dict[str, object], Change, str]] = {
    "renamed": (
        {},
        lambda t: {name.replace("layer.0", "layer_0"): value for name, value in t.items()},
        r"missing: encoder\.layer\.0\.attention.* and 13 more; left over: encoder\.layer_0",
    ),
    "a layer less": (
        {},
        lambda t: {name: value for name, value in t.items() if "layer.1" not in name},
        r"missing: encoder\.layer\.1\.attention.* and 13 more$",
    ),
    "no embeddings": (
        {},
        lambda t: {name: value for name, value in t.items() if not name.startswith("embeddings")},
        r"missing: embeddings\.\S+",
    ),
    "one bias less": (
        {},
        lambda t: {name: value for name, value in t.items() if name != "embeddings.LayerNorm.bias"},
        r"missing: embeddings\.LayerNorm\.bias$",
    ),
    "more layers": ({"num_hidden_layers": 3}, lambda t: t, r"missing: encoder\.layer\.2"),
    "fewer layers": ({"num_hidden_layers": 1}, lambda t: t, r"left over: encoder\.layer\.1.* and 13 more$"),
    "wider": ({"intermediate_size": 96}, lambda t: t, r"of another shape: .*intermediate.* \(64 in place of 96\)"),
    "of another model": ({"model_type": "distilbert"}, lambda t: t, "missing: "),
    "of no model": ({"model_type": "berd"}, lambda t: t, "transformers knows no model type 'berd'"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_weights_that_are_not_those_of_the_config_are_named(case: str, tiny_encoder: Path, tmp_path: Path) -> None:
    settings, change, message = FOREIGN[case]
    folder = copy_of(tiny_encoder, tmp_path / "x", **settings)
    rewrite(folder, change)
    with pytest.raises(ConfigError, match=message) as caught:
        TextEncoder.from_folder(folder)
    assert "\n" not in str(caught.value)


def test_a_saved_encoder_has_exactly_its_own_weights(tiny_encoder: Path, tmp_path: Path) -> None:
    TextEncoder.from_folder(tiny_encoder).save(tmp_path / "ours")
    rewrite(tmp_path / "ours", lambda tensors: {**tensors, "cls.bias": torch.zeros(3)})
    TextEncoder.from_folder(tmp_path / "ours")  # as an encoder of a stranger it has a head
    with pytest.raises(ConfigError, match=r"left over: cls\.bias"):
        TextEncoder.from_folder(tmp_path / "ours", exact=True)


GIANTS: dict[str, dict[str, object]] = {
    "wide": {"hidden_size": 1_000_000},
    "a wide embedding": {"vocab_size": 10**9},
    "deep": {"num_hidden_layers": 10**9},
    "deep by its parts": {"model_type": "xlm", "n_layers": 90, "num_hidden_layers": 90, "emb_dim": 10**7},
    "long": {"max_position_embeddings": 10**9},
    "long, without a table": {"model_type": "deberta-v2", "max_position_embeddings": 10**10},
    "many labels": {"num_labels": 10**9, "id2label": None, "hidden_size": 10**5},
}


@pytest.mark.parametrize("case", GIANTS)
def test_a_config_of_a_giant_is_refused_before_memory_is_taken(case: str, tiny_encoder: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system does not tell how much memory is used")
    folder = copy_of(tiny_encoder, tmp_path / "x", **GIANTS[case])
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(ConfigError, match="cannot load the encoder"):
        TextEncoder.from_folder(folder)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 200_000  # kilobytes
    assert after.ru_utime - before.ru_utime < 10


def test_weights_cut_short_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = copy_of(tiny_encoder, tmp_path / "x")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ConfigError, match="is no whole safetensors file"):
        TextEncoder.from_folder(folder)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="is a folder, expected a safetensors file"):
        TextEncoder.from_folder(folder)


MARKER = "from pathlib import Path; Path(__file__).with_name('MARK').write_text('ran')\n"


def mark_of(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("MARK")]


@pytest.mark.parametrize("model_type", ["bert", "theirs"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("answer", ["y\n", ""])
def test_code_of_a_folder_is_refused_unasked(
    name: str,
    model_type: str,
    answer: str,
    tiny_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = copy_of(tiny_encoder, tmp_path / "x", model_type=model_type)
    (folder / "theirs.py").write_text(MARKER)
    path = folder / name
    classes = {"AutoConfig": "theirs.C", "AutoModel": "theirs.M", "AutoTokenizer": ["theirs.T", None]}
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**settings, "auto_map": classes}))
    stdin = io.StringIO(answer)
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(ConfigError, match=rf"encoder\.name: .*/{name}' has the key 'auto_map'") as caught:
        TextEncoder.from_folder(folder)
    assert "\n" not in str(caught.value)
    assert stdin.read() == answer
    assert mark_of(tmp_path) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kernel", ["kernels-community/flash-attn", "someone/theirs", "flash_attention_2"])
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation", "_attn_implementation_internal"])
def test_attention_is_never_computed_by_code_from_elsewhere(
    key: str, kernel: str, tiny_encoder: Path, tmp_path: Path
) -> None:
    encoder = TextEncoder.from_folder(copy_of(tiny_encoder, tmp_path / "x", **{key: kernel}))
    assert encoder.model.config._attn_implementation in ("sdpa", "eager")


class Bomb:
    """A pickle that leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.mark, "ran")


def test_a_pickle_is_not_read(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = copy_of(tiny_encoder, tmp_path / "x")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(folder / "MARK")))
    TextEncoder.from_folder(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"pytorch_model\.bin is a pickle, which can run code and is not read"):
        TextEncoder.from_folder(folder)
    assert mark_of(tmp_path) == []


def test_files_beside_an_encoder_change_nothing(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = copy_of(
        tiny_encoder, tmp_path / "x", transformers_weights="../y.safetensors", _name_or_path="https://example.org/x"
    )
    (folder / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": "https://example.org/x", "peft_type": "LORA"})
    )
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text(MARKER)
    plain, other = TextEncoder.from_folder(tiny_encoder), TextEncoder.from_folder(folder)
    assert all(map(torch.equal, plain.parameters(), other.parameters()))
    assert mark_of(tmp_path) == []


def slow_tokenizer(tiny_encoder: Path, folder: Path, **settings: object) -> Path:
    """A folder with a plain vocabulary, which transformers makes a fast tokenizer of."""
    copy_of(tiny_encoder, folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **settings}))
    return folder


def test_a_tokenizer_reads_its_own_vocabulary_only(tiny_encoder: Path, tmp_path: Path) -> None:
    plain = TextEncoder.from_folder(slow_tokenizer(tiny_encoder, tmp_path / "plain"))
    assert plain.pieces([["bank"]]) == TextEncoder.from_folder(tiny_encoder).pieces([["bank"]])
    (tmp_path / "other.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nbank\n")
    elsewhere = {"vocab_file": str(tmp_path / "other.txt"), "tokenizer_file": str(tmp_path / "gone.json")}
    other = TextEncoder.from_folder(slow_tokenizer(tiny_encoder, tmp_path / "x", **elsewhere))
    assert other.pieces([["bank"]]) == plain.pieces([["bank"]])


NO_NETWORK = """
import sys

def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print(event, arguments)
        sys.stdout.flush()

sys.addaudithook(watch)
from nlpkit.encoder import TextEncoder
for folder in sys.argv[1:]:
    TextEncoder.from_folder(folder)
"""


def test_loading_asks_no_network(tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    folders = [tiny_encoder, slow_tokenizer(tiny_encoder, tmp_path / "slow")]
    command = [sys.executable, "-c", NO_NETWORK, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_loading_an_encoder_uses_up_no_chance(tiny_encoder: Path) -> None:
    before = torch.get_rng_state()
    TextEncoder.from_folder(tiny_encoder)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_are_in_memory_once_they_are_loaded(tiny_encoder: Path, tmp_path: Path) -> None:
    encoder = TextEncoder.from_folder(copy_of(tiny_encoder, tmp_path / "x"))
    weights = {name: value.clone() for name, value in encoder.named_parameters()}
    with open(tmp_path / "x" / "model.safetensors", "r+b") as file:
        file.write(bytes(file.seek(0, 2)))
        file.seek(0)
        file.write(bytes(100_000))
    assert all(torch.equal(value, weights[name]) for name, value in encoder.named_parameters())
