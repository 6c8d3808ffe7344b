"""Any Hugging Face encoder as a module from pieces to word vectors.

Shapes: B windows, P pieces of the longest window, W words of the longest window, H width of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from nlpkit._compat import checkpoint_activations, load_backbone, save_backbone
from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.folder import (
    encoder_folder,
    position_limit,
    read_settings,
    refuse_code,
    require_config,
    weight_files,
)
from nlpkit.encoder.pieces import WordTokenizer
from nlpkit.encoder.pooling import pool_words
from nlpkit.errors import ConfigError
from nlpkit.tensors import require_mask
from nlpkit.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class PieceBatch(NamedTuple):
    """Windows as tensors; ``encoder(*batch)`` gives their word vectors.

    Attributes:
        input_ids: Piece ids with start and end pieces, filled up. Shape: (B, P).
        attention_mask: True for pieces of the window. Shape: (B, P).
        word_ids: The word of each piece, -1 for special ones and padding. Shape: (B, P).
        n_words: Words W of the longest window.
    """

    input_ids: Tensor
    attention_mask: Tensor
    word_ids: Tensor
    n_words: int

    def to(self, device: torch.device | str, non_blocking: bool = False) -> PieceBatch:
        """The batch on another device."""
        ids, mask, word_ids = (t.to(device, non_blocking=non_blocking) for t in self[:3])
        return PieceBatch(ids, mask, word_ids, self.n_words)

    @property
    def word_mask(self) -> Tensor:
        """True for words of the window, False for padding. Shape: (B, W)."""
        n_words = self.word_ids.amax(dim=1, keepdim=True) + 1
        return torch.arange(self.n_words, device=n_words.device) < n_words


class TextEncoder(nn.Module):
    """A transformer with a tokenizer for words and pooling of pieces.

    Args:
        model: A Hugging Face model whose output has ``last_hidden_state``.
        tokenizer: Its tokenizer.
        word_pooling: ``max``, ``mean`` or ``first`` piece.
        max_positions: Most pieces of a window, special ones included.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: WordTokenizer, *, word_pooling: str = "max", max_positions: int = 512
    ) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self.word_pooling = word_pooling
        self.max_positions = max_positions

    @classmethod
    def from_config(cls, config: EncoderConfig) -> TextEncoder:
        """Load the encoder that a config names."""
        return cls.from_folder(encoder_folder(config.name), config)

    @classmethod
    def from_folder(
        cls, folder: str | Path, config: EncoderConfig | None = None, *, exact: bool = False
    ) -> TextEncoder:
        """Load a Hugging Face model folder from disk; no code in it is run, and no pickle is read.

        Args:
            folder: The folder.
            config: Pooling and window limit; its name is not used.
            exact: The weights must be those of the encoder alone, as :meth:`save` writes them. Else weights of heads
                are passed over, and a pooling layer may be missing, since it is not used.

        Raises:
            ConfigError: It is no encoder, wants code to be run, or its weights are not those that its config describes.
        """
        config = config or EncoderConfig()
        folder = Path(folder)
        require_config(folder)
        refuse_code(folder)
        tokenizer = WordTokenizer.from_folder(folder)
        settings, weights = read_settings(folder / "config.json"), weight_files(folder)
        try:
            model = load_backbone(settings, weights, exact=exact)
        except Exception as error:  # each file format has errors of its own
            what = " ".join(str(error).split())  # those of other libraries have several lines
            raise ConfigError(f"cannot load the encoder in {str(folder)!r}: {what}", key="encoder.name") from error
        n_embeddings = model.get_input_embeddings().num_embeddings
        if tokenizer.n_vocabulary > n_embeddings:
            raise ConfigError(
                f"tokenizer and model in {str(folder)!r} do not belong together: "
                f"{counted(tokenizer.n_vocabulary, 'piece')}, {counted(n_embeddings, 'embedding')}",
                key="encoder.name",
            )
        limit = min(position_limit(folder), _table_limit(model))
        if config.max_pieces is not None and config.max_pieces > limit:
            raise ConfigError(
                f"expected at most {limit}, the limit of this encoder, got {config.max_pieces}",
                key="encoder.max_pieces",
            )
        return cls(model, tokenizer, word_pooling=config.word_pooling, max_positions=config.max_pieces or limit).eval()

    def save(self, folder: str | Path) -> None:
        """Write a plain Hugging Face folder: config, safetensors weights, tokenizer."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_backbone(self.model, folder)
        self.tokenizer.save(folder)

    @property
    def dim(self) -> int:
        """Width H of the vectors."""
        return int(self.model.config.hidden_size)

    @property
    def max_pieces(self) -> int:
        """Most pieces of words in a window, special ones not counted."""
        return self.max_positions - self.tokenizer.n_special

    def pieces(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """Piece ids of each word of each sentence; every word has at least one."""
        return self.tokenizer.pieces(sentences)

    def collate(self, windows: Sequence[Sequence[Sequence[int]]]) -> PieceBatch:
        """Windows, each a list of words as piece ids, to one padded batch.

        A single word that is longer than the limit is cut; several words must fit.
        """
        prefix, suffix = self.tokenizer.prefix_ids, self.tokenizer.suffix_ids
        rows, owners = [], []
        for words in windows:
            n_pieces = sum(map(len, words))
            if n_pieces > self.max_pieces:
                if len(words) > 1:
                    raise ValueError(f"a window of {counted(n_pieces, 'piece')} is over the limit of {self.max_pieces}")
                words = [words[0][: self.max_pieces]]
            rows.append([*prefix, *(piece for word in words for piece in word), *suffix])
            inner = [index for index, word in enumerate(words) for _ in word]
            owners.append([-1] * len(prefix) + inner + [-1] * len(suffix))
        shape = (len(windows), max([1, *map(len, rows)]))
        input_ids = torch.full(shape, self.tokenizer.pad_id)
        mask = torch.zeros(shape, dtype=torch.bool)
        word_ids = torch.full(shape, -1)
        for b, (row, owner) in enumerate(zip(rows, owners, strict=True)):
            input_ids[b, : len(row)] = torch.tensor(row)
            mask[b, : max(1, len(row))] = True  # attention over nothing is not a number
            word_ids[b, : len(row)] = torch.tensor(owner)
        return PieceBatch(input_ids, mask, word_ids, max([0, *map(len, windows)]))

    def encode_words(self, sentences: Iterable[Sequence[str]]) -> PieceBatch:
        """Pieces of whole sentences as a batch; each must fit into one window."""
        return self.collate(self.pieces(sentences))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, word_ids: Tensor, n_words: int) -> Tensor:
        """Word vectors; padded words are zeros.

        Args:
            input_ids: Shape: (B, P).
            attention_mask: True for pieces of the window. Shape: (B, P).
            word_ids: The word of each piece, -1 for none. Shape: (B, P).
            n_words: Words W of the result.

        Returns:
            Shape: (B, W, H).
        """
        require_mask(attention_mask, "attention_mask")
        # Without a mask attention is faster. Asking a GPU whether there is padding costs more than it saves.
        needs_mask = attention_mask.is_cuda or not bool(attention_mask.all())
        output = self.model(input_ids=input_ids, attention_mask=attention_mask.long() if needs_mask else None)
        return pool_words(output.last_hidden_state, word_ids, n_words, self.word_pooling)

    def checkpoint_activations(self) -> None:
        """Recompute activations in the backward pass, where the architecture can."""
        checkpoint_activations(self.model)


def _table_limit(model: PreTrainedModel) -> int:
    """Usable rows of a table of absolute positions; without one there is no limit."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if not isinstance(table, nn.Embedding):
        return 1 << 30
    return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
