"""Words to pieces: as many words out as in, whatever is in them."""

from __future__ import annotations

import json
from itertools import compress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

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


ENGLISH = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"), "office", "ﬁ"]
OTHERS = ["北", "京", "ท", "##ย", "ย", "ᄀ", "##ᅡ", "##ᄀ", "-", "?"]


@pytest.fixture(scope="module")
def word_pieces() -> WordTokenizer:
    """A WordPiece vocabulary of letters, with few of other scripts, and words of 100 characters as MiniLM has them."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *ENGLISH, *OTHERS]
    model = models.WordPiece({n: k for k, n in enumerate(names)}, unk_token="[UNK]", max_input_chars_per_word=100)
    core = Tokenizer(model)
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    core.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return WordTokenizer(core)


def names(tokenizer: WordTokenizer, word: str) -> list[str | None]:
    return [tokenizer._tokenizer.id_to_token(piece) for piece in tokenizer.pieces([[word]])[0][0]]


@pytest.mark.parametrize("n", [100, 101, 103, 300, 5000])
def test_a_long_word_is_cut_below_the_limit_of_the_tokenizer(word_pieces: WordTokenizer, n: int) -> None:
    word = ("qu\u0301" * n)[: n + n // 2]  # a cut between letter and accent would make pieces of its own
    found = names(word_pieces, word)
    assert [name.removeprefix("##") for name in found if name] == [*("qu" * n)[:n]]
    assert [k for k, name in enumerate(found) if name and not name.startswith("##")] == list(range(0, n, 100))


def test_a_word_that_is_long_in_the_form_of_the_tokenizer_only(word_pieces: WordTokenizer) -> None:
    found = names(word_pieces, "가" * 60)  # 120 characters after decomposition
    assert [name.removeprefix("##") for name in found if name] == ["ᄀ", "ᅡ"] * 60


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("oﬃce", ["office"]),
        ("𝒜𝓃𝓃", ["a", "##n", "##n"]),
        ("Ｔｏ", ["t", "##o"]),
        ("ﬁ", ["ﬁ"]),  # what the tokenizer knows stays as it is
        ("bﬁ", ["b", "##f", "##i"]),
        ("ab\u2060c", ["a", "##b", "##c"]),
        ("北京饭店京", ["北", "京", "[UNK]", "[UNK]", "京"]),
        ("ภาทยษท", ["[UNK]", "ท", "##ย", "[UNK]", "ท"]),
        ("ททย", ["ท", "ท", "##ย"]),  # known one by one, not together
        ("ab🚀\u200dcd", ["a", "##b", "[UNK]", "c", "##d"]),
        ("ሰላም", ["[UNK]"]),
        ("\ud800", ["?"]),
    ],
)
def test_an_unknown_word_is_tried_again(word_pieces: WordTokenizer, word: str, expected: list[str]) -> None:
    assert names(word_pieces, word) == expected
    assert names(word_pieces, word) == expected  # from memory


def test_what_stays_unknown_is_told(word_pieces: WordTokenizer) -> None:
    words = ["ab", "oﬃce", "ሰላም", "北饭", "x" * 300, "\u200b", " ", "", "\ue000", "[UNK]", "ab\u200b"]
    for _ in range(2):
        (found,) = word_pieces.pieces([words])
        assert [*compress(words, word_pieces.unknown(words, found))] == ["ሰላም", "北饭", "\ue000", "[UNK]"]


@pytest.mark.parametrize("family", ["roberta", "roberta-prefix"])
def test_a_vocabulary_of_bytes_knows_every_word(tokenizers: dict[str, WordTokenizer], family: str) -> None:
    words = [w for w in [*ODD_WORDS, "ሰላም", "𝒜𝓃𝓃", "x" * 1000, "<s>", "</s>"] if w]
    (found,) = tokenizers[family].pieces([words])
    assert not any(tokenizers[family].unknown(words, found))


def test_a_unigram_vocabulary_keeps_its_own_pieces_around_what_it_does_not_know(
    tokenizers: dict[str, WordTokenizer],
) -> None:
    tokenizer = tokenizers["deberta"]
    raw = tokenizer._tokenizer.encode(["bank饭said"], is_pretokenized=True, add_special_tokens=False)
    assert tokenizer.pieces([["bank饭said"]]) == [[raw.ids]]
    assert tokenizer.unknown(["bank饭said"], [raw.ids]) == [True]


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
