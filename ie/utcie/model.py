"""The network of UTC-IE: word vectors -> one score for every ordered pair of words and every label.

Source: Yan et al., "UTC-IE: A Unified Token-pair Classification Architecture for Information Extraction", ACL 2023,
section 3.

Shape legend: B records, W words, H encoder width, D projection width, C channels, K labels. Masks: True = keep.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.tensors import require_mask

N_SHAPES = 10
"""Word-shape classes of ``nlpkit.ie.utcie.data.word_shape``, the padding class 0 included."""


class UTCIENetwork(nn.Module):
    """Scores of all labels for all ordered word pairs.

    Args:
        config: Sizes and dropout.
        word_dim: Width H of the word vectors.
        n_labels: Number of output channels K.
        bias: Initial output bias of each label, ``Shape: (K,)``; a good start is the log-odds of a set cell.
    """

    def __init__(self, config: UTCIEModelConfig, word_dim: int, n_labels: int, bias: Tensor | None = None) -> None:
        super().__init__()
        self.checkpointing = False
        self.shape = nn.Embedding(N_SHAPES, config.shape_dim, padding_idx=0) if config.shape_dim else None
        self.dropout = nn.Dropout(config.dropout)
        self.biaffine = Biaffine(config, word_dim + config.shape_dim)
        self.layers = nn.ModuleList(PlusformerLayer(config.channels, config.plus_dropout) for _ in range(config.layers))
        self.output = nn.Linear(config.channels, n_labels)
        if bias is not None:
            with torch.no_grad():
                self.output.bias.copy_(bias)

    def forward(self, words: Tensor, word_mask: Tensor, shapes: Tensor) -> Tensor:
        """Score all word pairs.

        Args:
            words: Word vectors. Shape: (B, W, H)
            word_mask: True for real words. Shape: (B, W)
            shapes: Word-shape classes. Shape: (B, W)

        Returns:
            Logits; those of padding cells mean nothing. Shape: (B, W, W, K)
        """
        require_mask(word_mask, "word_mask")
        if self.shape is not None:
            words = torch.cat([words, self.shape(shapes)], dim=-1)
        scores = self.biaffine(self.dropout(words))
        if not self.layers:
            return self.output(scores)
        cells, mask = scores, None if bool(word_mask.all()) else word_mask
        for layer in self.layers:
            if self.checkpointing and torch.is_grad_enabled():
                cells = checkpoint(layer, cells, mask, use_reentrant=False)
            else:
                cells = layer(cells, mask)
        return self.output(cells + scores)


class Biaffine(nn.Module):
    """Bilinear plus linear score of two word vectors, as C features of the pair (section 3.1).

    The linear map of the concatenation ``[u_i; v_j; z_{j-i}]`` is computed as the sum of three maps, which gives the
    same values without a tensor of W x W x 2D numbers.
    """

    MAX_DISTANCE = 25

    def __init__(self, config: UTCIEModelConfig, word_dim: int) -> None:
        super().__init__()
        dim, channels = config.biaffine_dim, config.channels
        self.first = nn.Linear(word_dim, dim)
        self.second = nn.Linear(word_dim, dim)
        self.bilinear = nn.Parameter(torch.empty(channels, dim + 1, dim + 1))
        self.linear_first = nn.Linear(dim, channels)
        self.linear_second = nn.Linear(dim, channels, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.distance: nn.Embedding | None = None
        if config.position_dim:
            self.distance = nn.Embedding(2 * self.MAX_DISTANCE, config.position_dim)
            self.linear_distance = nn.Linear(config.position_dim, channels, bias=False)
        nn.init.xavier_normal_(self.bilinear)

    def forward(self, words: Tensor) -> Tensor:
        """Score all word pairs.

        Args:
            words: Word vectors after dropout. Shape: (B, W, H)

        Returns:
            Pair features. Shape: (B, W, W, C)
        """
        u = F.gelu(self.first(words))
        v = F.gelu(self.second(words))
        n_channels, width = self.bilinear.shape[0], self.bilinear.shape[1]
        u1, v1 = F.pad(u, (0, 1), value=1.0), F.pad(v, (0, 1), value=1.0)
        # (B, W, C, D+1): one matrix product for all channels, then one per record
        left = (u1 @ self.bilinear.permute(1, 0, 2).reshape(width, -1)).unflatten(-1, (n_channels, width))
        scores = (left.flatten(1, 2) @ v1.transpose(1, 2)).unflatten(1, (words.shape[1], n_channels)).transpose(2, 3)
        scores = (
            scores + self.linear_first(self.dropout(u)).unsqueeze(2) + self.linear_second(self.dropout(v)).unsqueeze(1)
        )
        if self.distance is not None:
            scores = (
                scores
                + self.linear_distance(self.dropout(self.distance.weight))[self._offsets(words.shape[1], words.device)]
            )
        return scores

    def _offsets(self, n_words: int, device: torch.device) -> Tensor:
        positions = torch.arange(n_words, device=device)
        offsets = (positions[None, :] - positions[:, None]).clamp(-self.MAX_DISTANCE, self.MAX_DISTANCE - 1)
        return offsets + self.MAX_DISTANCE


class PlusformerLayer(nn.Module):
    """Attention of a cell along its own row and its own column, then a small convolution (section 3.2).

    This is the true plus: cell (i, j) sees row i and column j. (The released code gives it row i and column i.)
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.triangle = nn.Embedding(2, channels)
        self.row = AxisAttention(channels, dropout)
        self.column = AxisAttention(channels, dropout)
        self.join = nn.Linear(2 * channels, channels)
        self.attention_norm = nn.LayerNorm(channels)
        self.convolution_in = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.convolution_out = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.convolution_norm = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, cells: Tensor, word_mask: Tensor | None) -> Tensor:
        """Refine the pair features.

        Args:
            cells: Pair features. Shape: (B, W, W, C)
            word_mask: True for real words, or None if there is no padding. Shape: (B, W)

        Returns:
            Refined pair features; those of padding cells mean nothing. Shape: (B, W, W, C)
        """
        if word_mask is not None:
            require_mask(word_mask, "word_mask")
        n_words = cells.shape[1]
        is_upper = torch.ones(n_words, n_words, dtype=torch.long, device=cells.device).triu()
        cells = cells + self.triangle(is_upper)
        rows = self.row(cells, word_mask)
        columns = self.column(cells.transpose(1, 2), word_mask).transpose(1, 2)
        cells = self.attention_norm(cells + self.dropout(self.join(torch.cat([rows, columns], dim=-1))))
        pair_mask = None if word_mask is None else _pair_mask(word_mask, cells)
        hidden = cells if pair_mask is None else cells * pair_mask
        hidden = F.leaky_relu(_convolve(self.convolution_in, hidden))
        hidden = hidden if pair_mask is None else hidden * pair_mask
        return self.convolution_norm(cells + self.dropout(_convolve(self.convolution_out, hidden)))


class AxisAttention(nn.Module):
    """Single-head attention along the second word axis, with rotary positions."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(channels, 3 * channels)
        self.dropout = dropout

    def forward(self, cells: Tensor, word_mask: Tensor | None) -> Tensor:
        """Attend within each row.

        Args:
            cells: Pair features. Shape: (B, W, W, C)
            word_mask: True for real words, or None. Shape: (B, W)

        Returns:
            Attended values. Shape: (B, W, W, C)
        """
        if word_mask is not None:
            require_mask(word_mask, "word_mask")
        qkv = self.qkv(cells)
        n_channels = cells.shape[3]
        turned = rotate(qkv[..., : 2 * n_channels], rotary_table(cells.shape[2], n_channels, cells.device))
        q, k = turned.split(n_channels, dim=-1)
        # padded keys are dropped; every row has at least one real key, so no row is all masked
        mask = None if word_mask is None else word_mask[:, None, None, :]
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, qkv[..., 2 * n_channels :], mask, dropout_p=dropout)


def rotary_table(length: int, dim: int, device: torch.device) -> Tensor:
    """Rotary position embedding (Su et al., RoFormer, 2021) as complex numbers. Shape: (length, dim / 2)"""
    frequencies = torch.exp(torch.arange(0, dim, 2, device=device, dtype=torch.float32) * (-math.log(10000.0) / dim))
    angles = torch.arange(length, device=device, dtype=torch.float32)[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Turn each pair of neighbouring numbers by the angle of its position.

    A pair is one complex number, so that a turn is one product: several times faster than sines and cosines apart.

    Args:
        x: Vectors, one or several side by side. Shape: (..., length, m * dim)
        table: Turns. Shape: (length, dim / 2)

    Returns:
        Shape: (..., length, m * dim)
    """
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    turns = table.repeat(1, x.shape[-1] // (2 * table.shape[-1]))
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)


def _pair_mask(word_mask: Tensor, like: Tensor) -> Tensor:
    return (word_mask[:, :, None] & word_mask[:, None, :]).unsqueeze(-1).to(like.dtype)


def _convolve(convolution: nn.Conv2d, cells: Tensor) -> Tensor:
    # (B, W, W, C) seen as channels-last (B, C, W, W): no copy
    return convolution(cells.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
