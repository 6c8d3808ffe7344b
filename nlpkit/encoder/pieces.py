"""Words to tokenizer pieces, with exactly as many words out as in; no torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from nlpkit.encoder.folder import portable, read_settings
from nlpkit.errors import ConfigError
from nlpkit.text.words import graphemes, is_visible

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CACHED_WORDS = 50_000
"""Words whose pieces are remembered; bounded, so that a long stream needs constant memory."""

MAX_WORD = 20_000
"""Characters of a word that are read, far more than any window holds: what is glued to a million costs no more."""

_CACHED_CHARS = 64
_SIDE_FILES = ("tokenizer_config.json", "special_tokens_map.json")


class WordTokenizer:
    """A fast tokenizer that is given words and gives at least one piece for each.

    Every word is cut on its own, so its pieces do not depend on its neighbours. Words get a blank in front where the
    vocabulary tells the start of a word by it. Special tokens written in a text are plain text. A word that the
    tokenizer does not know as it stands, or that is too long for it, is tried again in compatibility form and in parts.

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
        self._most_chars: int | None = settings["model"].get("max_input_chars_per_word")
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
        side_files = {name: portable(read_settings(path)) for name in _SIDE_FILES if (path := folder / name).is_file()}
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

        A word for which the tokenizer has nothing (blank, zero-width, control characters) gets the unknown piece, and
        so does what stays unknown of a word after all tries, see :meth:`unknown`. Of a word that is longer than
        :data:`MAX_WORD` characters, the first ones are read.
        """
        sentences = [[word[:MAX_WORD] for word in words] for words in sentences]
        known = self._cache
        unseen = list({word: None for words in sentences for word in words if word not in known})
        fresh = self._encode(unseen)
        result = [[list(known[w] if w in known else fresh[w]) for w in words] for words in sentences]
        if len(known) + len(fresh) > CACHED_WORDS:
            known.clear()
        known.update(item for item in fresh.items() if len(item[0]) <= _CACHED_CHARS)
        return result

    def unknown(self, words: Sequence[str], pieces: Sequence[Sequence[int]]) -> list[bool]:
        """Whether the tokenizer does not know each word, wholly or in part; ``pieces`` are theirs.

        A word without a visible character is not unknown: there is nothing in it to know.
        """
        unk = self.unk_id
        return [unk in ids and is_visible(word) for word, ids in zip(words, pieces, strict=True)]

    def _encode(self, words: list[str]) -> dict[str, tuple[int, ...]]:
        found = dict(zip(words, map(tuple, self._encode_as_is(words)), strict=True))
        for word, ids in found.items():
            if not ids or self.unk_id in ids:
                found[word] = self._rescue(word) if is_visible(word) else (self.unk_id,)
        return found

    def _encode_as_is(self, words: Sequence[str]) -> list[list[int]]:
        if not words:
            return []
        clean = [self._lead + _readable(word) for word in words]
        encoding = self._tokenizer.encode(clean, is_pretokenized=True, add_special_tokens=False)
        found: list[list[int]] = [[] for _ in words]
        for piece, index in zip(encoding.ids, encoding.word_ids, strict=True):
            if index is not None:
                # Some models find their special tokens even in plain text.
                found[index].append(self.unk_id if piece in self._reserved else piece)
        return found

    def _rescue(self, word: str) -> tuple[int, ...]:
        """The best pieces for a word that the tokenizer does not know: those that leave the least of it unknown."""
        best: tuple[int, ...] = (self.unk_id,)
        least = 1.0
        # The compatibility form makes plain letters of ligatures, mathematical letters and the like.
        forms = dict.fromkeys((word, normalize("NFKC", word)))
        for encode in (self._encode_whole, self._encode_parts):
            for form in forms:
                ids, n_unknown = encode(form)
                if n_unknown / len(form) < least:
                    best, least = tuple(ids), n_unknown / len(form)
            if not least:
                break
        return best

    def _encode_whole(self, word: str) -> tuple[list[int], int]:
        """Pieces of a word, and for how many of its characters the unknown piece stands."""
        clean = [self._lead + _readable(word)]
        encoding = self._tokenizer.encode(clean, is_pretokenized=True, add_special_tokens=False)
        ids = [self.unk_id if piece in self._reserved else piece for piece in encoding.ids]
        spans = [span for piece, span in zip(ids, encoding.offsets, strict=True) if piece == self.unk_id]
        return ids, sum(end - start for start, end in spans) if ids else len(word)

    def _encode_parts(self, word: str) -> tuple[list[int], int]:
        """The same of a word that is cut around its unknown graphemes, and wherever it is too long."""
        letters = graphemes(word)
        distinct = list(dict.fromkeys(letters))
        alone = zip(distinct, self._encode_as_is(distinct), strict=True)
        unknown = {g for g, ids in alone if is_visible(g) and (not ids or self.unk_id in ids)}
        found: list[int] = []
        n_unknown = 0
        for is_unknown, run in groupby(letters, key=unknown.__contains__):
            if is_unknown:
                found.append(self.unk_id)
                n_unknown += sum(map(len, run))
                continue
            known = list(run)
            step = self._most_chars or len(known)
            for start in range(0, len(known), step):
                found += self._encode_run(known[start : start + step])
        return found, n_unknown

    def _encode_run(self, letters: list[str]) -> list[int]:
        """Pieces of graphemes that are known one by one, in halves where they are not known together.

        This also parts what is too long only in the tokenizer's own form, where an accent is a character.
        """
        (ids,) = self._encode_as_is(["".join(letters)])
        if self.unk_id not in ids or len(letters) == 1:
            return ids
        half = len(letters) // 2
        return self._encode_run(letters[:half]) + self._encode_run(letters[half:])

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


def _readable(word: str) -> str:
    """A lone surrogate cannot be handed to the tokenizer; a question mark stands for what cannot be read."""
    is_readable = word.isascii() or not any("\ud800" <= char <= "\udfff" for char in word)
    return word if is_readable else word.encode("utf-8", "replace").decode("utf-8")
