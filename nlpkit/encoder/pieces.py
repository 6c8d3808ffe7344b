"""Words to tokenizer pieces, with exactly as many words out as in; no torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.encoder.folder import read_settings
from nlpkit.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CACHED_WORDS = 50_000
"""Words whose pieces are remembered; bounded, so that a long stream needs constant memory."""

_CACHED_CHARS = 64
_SIDE_FILES = ("tokenizer_config.json", "special_tokens_map.json")
_LOCAL_KEYS = ("name_or_path", "special_tokens_map_file", "tokenizer_file", "vocab_file", "merges_file", "cache_dir")


class WordTokenizer:
    """A fast tokenizer that is given words and gives at least one piece for each.

    Every word is cut on its own, so its pieces do not depend on its neighbours. Words get a blank in front where the
    vocabulary tells the start of a word by it. Special tokens written in a text are plain text.

    Args:
        tokenizer: Any tokenizer of the tokenizers library; it is copied.
        pad_id: Piece that fills up batches.
        side_files: Settings files of transformers that travel with the tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer, *, pad_id: int = 0, side_files: dict[str, Any] | None = None) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        settings = json.loads(self._tokenizer.to_str())
        self._lead = " " if _needs_blank(settings["pre_tokenizer"]) else ""
        self._side_files = side_files or {}
        self._cache: dict[str, tuple[int, ...]] = {}
        self.pad_id = pad_id
        self.prefix_ids, self.suffix_ids = self._special_ids()
        self.unk_id = self._unknown_id(settings["model"])
        self._reserved = {t["id"] for t in settings["added_tokens"] if t["special"]} - {self.unk_id}
        self._tokenizer.encode_special_tokens = True

    @classmethod
    def from_folder(cls, folder: Path) -> WordTokenizer:
        """Read the tokenizer of a Hugging Face model folder.

        Raises:
            ConfigError: If the folder has no tokenizer that the tokenizers library can run, or a broken settings file.
        """
        from nlpkit._compat import load_fast_tokenizer

        try:
            tokenizer = load_fast_tokenizer(folder)
        except Exception as error:  # the libraries raise plain Exception, too
            raise ConfigError(
                f"the folder {str(folder)!r} has no usable fast tokenizer ({error}); expected a tokenizer.json",
                key="encoder.name",
            ) from error
        config = read_settings(folder / "config.json")
        side_files = {
            name: {k: v for k, v in read_settings(path).items() if k not in _LOCAL_KEYS}
            for name in _SIDE_FILES
            if (path := folder / name).is_file()
        }
        return cls(tokenizer, pad_id=config.get("pad_token_id") or 0, side_files=side_files)

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and its settings files."""
        # Not the library's own save: its error for a full disk is a plain Exception.
        (folder / "tokenizer.json").write_text(self._tokenizer.to_str(pretty=True), encoding="utf-8")
        for name, content in self._side_files.items():
            (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @property
    def n_special(self) -> int:
        """How many special pieces surround the words of a window."""
        return len(self.prefix_ids) + len(self.suffix_ids)

    @property
    def n_vocabulary(self) -> int:
        """Size of the vocabulary without tokens that were added to it."""
        return self._tokenizer.get_vocab_size(with_added_tokens=False)

    def pieces(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """Piece ids of each word of each sentence, without special pieces.

        A word for which the tokenizer has nothing (blank, zero-width, control characters) gets the unknown piece.
        """
        sentences = [list(words) for words in sentences]
        known = self._cache
        unseen = list({word: None for words in sentences for word in words if word not in known})
        fresh = self._encode(unseen)
        result = [[list(known[w] if w in known else fresh[w]) for w in words] for words in sentences]
        if len(known) + len(fresh) > CACHED_WORDS:
            known.clear()
        known.update(item for item in fresh.items() if len(item[0]) <= _CACHED_CHARS)
        return result

    def _encode(self, words: list[str]) -> dict[str, tuple[int, ...]]:
        if not words:
            return {}
        # A lone surrogate cannot be handed to the tokenizer; U+FFFD stands for what cannot be read.
        clean = [
            self._lead + w.encode("utf-8", "replace").decode("utf-8") if _has_surrogate(w) else self._lead + w
            for w in words
        ]
        encoding = self._tokenizer.encode(clean, is_pretokenized=True, add_special_tokens=False)
        found: list[list[int]] = [[] for _ in words]
        for piece, index in zip(encoding.ids, encoding.word_ids, strict=True):
            if index is not None:
                # Some models find their special tokens even in plain text.
                found[index].append(self.unk_id if piece in self._reserved else piece)
        return {word: tuple(ids) or (self.unk_id,) for word, ids in zip(words, found, strict=True)}

    def _special_ids(self) -> tuple[list[int], list[int]]:
        encoding = self._tokenizer.encode(["a"], is_pretokenized=True)
        inner = [i for i, index in enumerate(encoding.word_ids) if index is not None]
        if not inner:  # the tokenizer has no piece for "a"; the special pieces cannot be told apart by place
            return encoding.ids[:1], encoding.ids[1:]
        return encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :]

    def _unknown_id(self, model: dict[str, Any]) -> int:
        if isinstance(model.get("unk_id"), int):
            return int(model["unk_id"])
        for token in (model.get("unk_token"), "[UNK]", "<unk>", "<|unk|>"):
            if token is not None and (index := self._tokenizer.token_to_id(token)) is not None:
                return int(index)
        return self.suffix_ids[-1] if self.suffix_ids else self.pad_id


def _needs_blank(pre_tokenizer: dict[str, Any] | None) -> bool:
    """Whether a byte-level vocabulary marks the start of a word by a blank that the tokenizer does not add itself."""
    if pre_tokenizer is None:
        return False
    if pre_tokenizer["type"] == "Sequence":
        return any(_needs_blank(part) for part in pre_tokenizer["pretokenizers"])
    return pre_tokenizer["type"] == "ByteLevel" and not pre_tokenizer["add_prefix_space"]


def _has_surrogate(word: str) -> bool:
    return not word.isascii() and any("\ud800" <= char <= "\udfff" for char in word)
