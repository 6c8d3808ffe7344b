"""Piece vectors to word vectors."""

from __future__ import annotations

from torch import Tensor


def pool_words(pieces: Tensor, word_ids: Tensor, n_words: int, how: str = "max") -> Tensor:
    """One vector for each word; words without a piece (padding) get zeros.

    Args:
        pieces: Vectors of the encoder. Shape: (B, P, H).
        word_ids: The word of each piece, below ``n_words``, or -1 for none; pieces of a word stand together.
            Shape: (B, P).
        n_words: Words W of the result.
        how: ``max``, ``mean`` or ``first`` piece.

    Returns:
        Shape: (B, W, H).

    >>> import torch
    >>> vectors = torch.tensor([[[9.0], [1.0], [3.0], [-5.0], [9.0]]])
    >>> pool_words(vectors, torch.tensor([[-1, 0, 0, 1, -1]]), 3).flatten().tolist()
    [3.0, -5.0, 0.0]
    """
    if how not in ("max", "mean", "first"):
        raise ValueError(f"expected max, mean or first, got {how!r}")
    belongs = word_ids >= 0
    if how == "first":
        belongs = belongs.clone()
        belongs[:, 1:] &= word_ids[:, 1:] != word_ids[:, :-1]
    # Pieces of no word fall into a last bucket, which is cut off.
    bucket = word_ids.where(belongs, n_words).unsqueeze(-1).expand_as(pieces)
    words = pieces.new_zeros(pieces.shape[0], n_words + 1, pieces.shape[2])
    reduce = "amax" if how == "max" else "mean"
    return words.scatter_reduce(1, bucket, pieces, reduce, include_self=False)[:, :-1]
