"""Words to pieces: as many words out as in, whatever is in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from nlpkit.encoder import pieces as pieces_module
from nlpkit.encoder.pieces import WordTokenizer
from nlpkit.errors import ConfigError

FAMILIES = ["bert", "roberta", "roberta-prefix", "deberta"]
ODD_WORDS = [
    "",
    " ",
    "\u200b",
    "\x00",
    "\x07",
    "\ufeff",
    "\u3000",
    "\t\n",
    "a b  c",
    "👩\u200d👧",
    "\ud800",
    "e\u0301",
    "İ",
    "東京",
]
WORDS = st.one_of(st.sampled_from([*ODD_WORDS, "bank", "Monday", "bank's"]), st.text(max_size=6))


@pytest.fixture(scope="module")
def tokenizers(encoder_of: dict[str, Path]) -> dict[str, WordTokenizer]:
    return {name: WordTokenizer.from_folder(folder) for name, folder in encoder_of.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_odd_word_has_pieces_and_leaves_its_neighbours_alone(
    tokenizers: dict[str, WordTokenizer], family: str
) -> None:
    tokenizer = tokenizers[family]
    ((left,), (right,)) = tokenizer.pieces([["bank"], ["Monday"]])
    for word in ODD_WORDS:
        (found,) = tokenizer.pieces([["bank", word, "Monday", word]])
        assert len(found) == 4
        assert found[0] == left
        assert found[2] == right
        assert found[1] == found[3]
        assert found[1]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None)
@given(sentences=st.lists(st.lists(WORDS, max_size=6), max_size=4))
def test_pieces_do_not_depend_on_neighbours(
    tokenizers: dict[str, WordTokenizer], family: str, sentences: list[list[str]]
) -> None:
    tokenizer = tokenizers[family]
    found = tokenizer.pieces(sentences)
    assert [len(words) for words in found] == [len(words) for words in sentences]
    assert found == [[tokenizer.pieces([[word]])[0][0] for word in words] for words in sentences]
    assert all(ids for words in found for ids in words)


def test_words_without_pieces_are_unknown(tokenizers: dict[str, WordTokenizer]) -> None:
    tokenizer = tokenizers["bert"]
    assert tokenizer.pieces([["", " ", "\u200b", "\x07"]]) == [[[tokenizer.unk_id]] * 4]
    assert tokenizer.unk_id == 1
    assert tokenizers["deberta"].unk_id == 3
    assert tokenizers["roberta"].unk_id == 3


def test_special_pieces_come_from_the_tokenizer(tokenizers: dict[str, WordTokenizer]) -> None:
    assert (tokenizers["bert"].prefix_ids, tokenizers["bert"].suffix_ids, tokenizers["bert"].pad_id) == ([2], [3], 0)
    assert (tokenizers["roberta"].prefix_ids, tokenizers["roberta"].suffix_ids) == ([0], [2])
    assert tokenizers["roberta"].pad_id == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_a_text_are_plain_text(tokenizers: dict[str, WordTokenizer], family: str) -> None:
    tokenizer = tokenizers[family]
    special = {*tokenizer.prefix_ids, *tokenizer.suffix_ids, tokenizer.pad_id} - {tokenizer.unk_id}
    for words in tokenizer.pieces([["[CLS]", "[SEP]", "<s>", "</s>", "[PAD]", "<pad>", "<mask>"]]):
        assert not special & {piece for word in words for piece in word}


def test_byte_level_words_begin_with_a_blank(encoder_of: dict[str, Path], tokenizers: dict[str, WordTokenizer]) -> None:
    for family in ("roberta", "roberta-prefix"):
        raw = Tokenizer.from_file(str(encoder_of[family] / "tokenizer.json"))
        assert raw.encode("The bank said", add_special_tokens=False).tokens[1:] == ["Ġbank", "Ġsaid"]
        (words,) = tokenizers[family].pieces([["bank", "said"]])
        assert [raw.id_to_token(i) for ids in words for i in ids] == ["Ġbank", "Ġsaid"]


def test_truncation_and_padding_of_the_file_are_switched_off(tiny_encoder: Path, tmp_path: Path) -> None:
    raw = Tokenizer.from_file(str(tiny_encoder / "tokenizer.json"))
    raw.enable_truncation(8)
    raw.enable_padding(length=128)
    raw.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"pad_token_id": 0}')
    tokenizer = WordTokenizer.from_folder(tmp_path)
    assert (tokenizer.prefix_ids, tokenizer.suffix_ids) == ([2], [3])
    assert [len(ids) for ids in tokenizer.pieces([["x" * 300, *["bank"] * 600]])[0]] == [300, *[1] * 600]


def test_the_memory_of_words_is_bounded_and_cannot_be_changed_from_outside(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces_module, "CACHED_WORDS", 10)
    tokenizer = WordTokenizer.from_folder(tiny_encoder)
    first = tokenizer.pieces([["bank"]])
    first[0][0].append(99)
    assert tokenizer.pieces([["bank"]]) == [[first[0][0][:1]]]
    for i in range(50):
        assert tokenizer.pieces([[f"w{i}", "bank", f"v{i}"]])[0][1] == first[0][0][:1]
        assert len(tokenizer._cache) <= 12


def test_a_saved_tokenizer_is_equal_and_keeps_no_path(tiny_encoder: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for name in ("tokenizer.json", "config.json"):
        (source / name).write_bytes((tiny_encoder / name).read_bytes())
    settings = json.loads((tiny_encoder / "tokenizer_config.json").read_text())
    (source / "tokenizer_config.json").write_text(json.dumps({**settings, "name_or_path": str(source)}))
    one = WordTokenizer.from_folder(source)
    one.save(target)
    (target / "config.json").write_bytes((source / "config.json").read_bytes())
    assert str(tmp_path) not in "".join(p.read_text() for p in target.iterdir())
    two = WordTokenizer.from_folder(target)
    sentences = [["The", "bank", *[w for w in ODD_WORDS if w != "\ud800"]]]
    assert two.pieces(sentences) == one.pieces(sentences)
    one.save(source)
    assert (source / "tokenizer.json").read_bytes() == (target / "tokenizer.json").read_bytes()


def test_a_folder_without_tokenizer_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ConfigError, match="no usable fast tokenizer"):
        WordTokenizer.from_folder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ConfigError, match="no usable fast tokenizer"):
        WordTokenizer.from_folder(tmp_path)
