"""Pooling of pieces against a slow loop."""

from __future__ import annotations

import pytest
import torch

from nlpkit.encoder.pooling import pool_words


def by_hand(pieces: torch.Tensor, word_ids: torch.Tensor, n_words: int, how: str) -> torch.Tensor:
    out = torch.zeros(pieces.shape[0], n_words, pieces.shape[2])
    for b in range(pieces.shape[0]):
        for w in range(n_words):
            own = pieces[b][word_ids[b] == w]
            if len(own):
                out[b, w] = {"max": own.amax(0), "mean": own.mean(0), "first": own[0]}[how]
    return out


@pytest.mark.parametrize("how", ["max", "mean", "first"])
def test_equals_a_loop_also_for_words_below_zero_and_without_pieces(how: str) -> None:
    generator = torch.Generator().manual_seed(3)
    pieces = torch.randn(4, 9, 5, generator=generator) - 2  # mostly negative: a zero that slips in would win
    word_ids = torch.tensor(
        [
            [-1, 0, 0, 0, 1, 2, 2, 3, -1],
            [-1, 0, -1, -1, -1, -1, -1, -1, -1],
            [-1, -1, -1, -1, -1, -1, -1, -1, -1],
            [0, 1, 1, 3, 3, 3, 3, -1, -1],
        ]
    )
    assert torch.equal(pool_words(pieces, word_ids, 6, how), by_hand(pieces, word_ids, 6, how))


def test_no_words() -> None:
    assert pool_words(torch.ones(2, 3, 4), torch.full((2, 3), -1), 0).shape == (2, 0, 4)


def test_gradient_goes_to_the_largest_piece_only() -> None:
    pieces = torch.tensor([[[7.0], [1.0], [3.0]]], requires_grad=True)
    pool_words(pieces, torch.tensor([[-1, 0, 0]]), 2).sum().backward()
    assert pieces.grad is not None
    assert pieces.grad.flatten().tolist() == [0.0, 0.0, 1.0]


def test_an_unknown_way_is_an_error() -> None:
    with pytest.raises(ValueError, match="max, mean or first"):
        pool_words(torch.ones(1, 1, 1), torch.zeros(1, 1, dtype=torch.long), 1, "sum")
