"""The network: what a cell sees, what padding must not do, and equal values by other formulas."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.model import Biaffine, PlusformerLayer, UTCIENetwork, rotary_table, rotate

WIDTH, CHANNELS, LABELS = 12, 8, 5


def config(**settings: Any) -> UTCIEModelConfig:
    return UTCIEModelConfig(
        **{"channels": CHANNELS, "biaffine_dim": 10, "layers": 2, "position_dim": 6, "shape_dim": 4, **settings}
    )


def network(seed: int = 0, **settings: Any) -> UTCIENetwork:
    torch.manual_seed(seed)
    return UTCIENetwork(config(**settings), WIDTH, LABELS).eval()


def inputs(n_words: int, n_records: int = 1, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Word vectors, a mask without padding, and word shapes."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(n_records, n_words, WIDTH, generator=generator)
    shapes = torch.randint(1, 10, (n_records, n_words), generator=generator)
    return words, torch.ones(n_records, n_words, dtype=torch.bool), shapes


# what a cell sees


def touched_cells(layer: PlusformerLayer, cell: tuple[int, int], n_words: int) -> set[tuple[int, int]]:
    """Input cells that an output cell depends on."""
    torch.manual_seed(4)
    cells = torch.randn(1, n_words, n_words, CHANNELS, requires_grad=True)
    # a weighted sum: the norm makes the plain sum of its channels constant
    (layer(cells, None)[0, cell[0], cell[1]] * torch.randn(CHANNELS)).sum().backward()
    assert cells.grad is not None
    return {(int(i), int(j)) for i, j in cells.grad[0].abs().sum(-1).nonzero()}


def attention_only(half: str) -> PlusformerLayer:
    """A layer without convolution, whose attention has only its row half, only its column half, or both."""
    torch.manual_seed(2)
    layer = PlusformerLayer(CHANNELS, dropout=0.0).eval()
    with torch.no_grad():
        layer.convolution_out.weight.zero_()
        if half == "row":
            layer.join.weight[:, CHANNELS:] = 0.0
        elif half == "column":
            layer.join.weight[:, :CHANNELS] = 0.0
    return layer


@pytest.mark.parametrize("cell", [(1, 4), (4, 1), (2, 2), (0, 5)])
def test_the_plus_is_the_row_and_the_column_of_the_cell(cell):
    i, j = cell
    row, column = {(i, k) for k in range(6)}, {(k, j) for k in range(6)}
    assert touched_cells(attention_only("row"), cell, 6) == row
    assert touched_cells(attention_only("column"), cell, 6) == column
    assert touched_cells(attention_only("both"), cell, 6) == row | column


def test_the_convolution_adds_the_neighbourhood_and_no_more():
    torch.manual_seed(2)
    layer = PlusformerLayer(CHANNELS, dropout=0.0).eval()
    with torch.no_grad():
        layer.join.weight.zero_()
    near = {(i, j) for i in range(2, 7) for j in range(3, 8)}
    assert touched_cells(layer, (4, 5), 12) == near  # two 3 x 3 convolutions reach two cells


def test_rows_and_columns_have_weights_of_their_own():
    layer = PlusformerLayer(CHANNELS, dropout=0.0)
    assert layer.row.qkv.weight is not layer.column.qkv.weight
    assert not torch.equal(layer.row.qkv.weight, layer.column.qkv.weight)


def test_the_triangles_are_told_apart_and_the_diagonal_is_upper():
    layer = attention_only("both")
    with torch.no_grad():
        layer.join.weight.zero_()
        layer.triangle.weight[0] = torch.arange(CHANNELS)
        layer.triangle.weight[1] = -torch.arange(CHANNELS)
    out = layer(torch.zeros(1, 3, 3, CHANNELS), None)[0]
    upper, lower = out[0, 1], out[1, 0]
    assert not torch.allclose(upper, lower)
    torch.testing.assert_close(out[1, 1], upper)
    torch.testing.assert_close(out[2, 0], lower)


# positions


def test_rotation_keeps_lengths_and_makes_products_depend_on_the_distance_only():
    torch.manual_seed(5)
    q, k = torch.randn(CHANNELS), torch.randn(CHANNELS)
    table = rotary_table(40, CHANNELS, torch.device("cpu"))
    qs, ks = rotate(q.expand(40, -1), table), rotate(k.expand(40, -1), table)
    # the lengths stay, so attention logits are not shrunk
    torch.testing.assert_close(qs.norm(dim=-1), q.norm().expand(40))
    torch.testing.assert_close(qs[0], q)
    # two vectors side by side are turned like each alone
    torch.testing.assert_close(rotate(torch.cat([q, k]).expand(40, -1), table), torch.cat([qs, ks], dim=-1))
    products = qs @ ks.T
    for distance in (-7, 0, 3):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[0].expand_as(diagonal), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(products[0, 0], products[0, 5])


def test_far_distances_share_the_outermost_embedding():
    offsets = Biaffine(config(), WIDTH)._offsets(60, torch.device("cpu"))
    assert (int(offsets.min()), int(offsets.max())) == (0, 49)
    assert int(offsets[0, 0]) == 25
    assert int(offsets[0, 24]) == int(offsets[0, 59]) == 49
    assert int(offsets[25, 0]) == int(offsets[59, 0]) == 0
    assert int(offsets[3, 7]) - int(offsets[7, 3]) == 8


# values


@pytest.mark.parametrize("n_words", [1, 2, 17, 60])
def test_factorised_linear_term_equals_the_concatenated_one(n_words):
    torch.manual_seed(6)
    layer = Biaffine(config(), WIDTH).eval()
    words = torch.randn(2, n_words, WIDTH)
    u, v = F.gelu(layer.first(words)), F.gelu(layer.second(words))
    u1 = torch.cat([u, torch.ones(*u.shape[:2], 1)], dim=-1)
    v1 = torch.cat([v, torch.ones(*v.shape[:2], 1)], dim=-1)
    assert layer.distance is not None
    pairs = torch.cat(
        [
            u.unsqueeze(2).expand(-1, -1, n_words, -1),
            v.unsqueeze(1).expand(-1, n_words, -1, -1),
            layer.distance(layer._offsets(n_words, words.device)).expand(2, -1, -1, -1),
        ],
        dim=-1,
    )
    weight = torch.cat([layer.linear_first.weight, layer.linear_second.weight, layer.linear_distance.weight], dim=1)
    expected = torch.einsum("bic,kcd,bjd->bijk", u1, layer.bilinear, v1) + F.linear(
        pairs, weight, layer.linear_first.bias
    )
    assert (layer(words) - expected).abs().max() <= 1e-4


def test_without_layers_it_is_the_plain_biaffine_model():
    plain = network(layers=0)
    assert not any(isinstance(m, PlusformerLayer) for m in plain.modules())
    words, mask, shapes = inputs(7)
    assert plain.shape is not None
    features = plain.biaffine(torch.cat([words, plain.shape(shapes)], dim=-1))
    torch.testing.assert_close(plain(words, mask, shapes), plain.output(features))


def test_options_leave_their_parts_out():
    small = network(position_dim=0, shape_dim=0, layers=1)
    assert small.shape is None
    assert not any("distance" in name or "shape" in name for name in small.state_dict())
    words, mask, shapes = inputs(5)
    torch.testing.assert_close(small(words, mask, shapes), small(words, mask, torch.ones_like(shapes)))


def test_word_shapes_change_scores():
    model = network()
    words, mask, shapes = inputs(5)
    other = shapes.clone()
    other[0, 2] = shapes[0, 2] % 9 + 1
    assert not torch.allclose(model(words, mask, shapes), model(words, mask, other))


def test_the_initial_bias_is_taken():
    bias = torch.arange(LABELS).float()
    model = UTCIENetwork(config(), WIDTH, LABELS, bias)
    assert torch.equal(model.output.bias.detach(), bias)
    bias += 1  # a copy was taken
    assert float(model.output.bias.detach()[0]) == 0.0


# padding


@pytest.mark.parametrize("layers", [0, 1, 3])
@pytest.mark.parametrize("garbage", [0.0, 1e3])
def test_a_sentence_alone_equals_the_sentence_in_a_padded_batch(layers, garbage):
    model = network(layers=layers)
    lengths = [1, 4, 9, 2]
    alone = [inputs(n, seed=n) for n in lengths]
    words = torch.full((4, 9, WIDTH), garbage)
    mask = torch.zeros(4, 9, dtype=torch.bool)
    shapes = torch.zeros(4, 9, dtype=torch.long)
    for row, (w, m, s) in enumerate(alone):
        words[row, : w.shape[1]], mask[row, : w.shape[1]], shapes[row, : w.shape[1]] = w[0], m[0], s[0]
    batch = model(words, mask, shapes)
    for row, n in enumerate(lengths):
        torch.testing.assert_close(batch[row, :n, :n], model(*alone[row])[0], rtol=1e-4, atol=1e-5)


def test_a_sentence_does_not_change_with_its_neighbours():
    model = network()
    words, mask, shapes = inputs(6, n_records=3)
    before = model(words, mask, shapes)[1]
    words[0], words[2] = 5.0, -5.0
    torch.testing.assert_close(model(words, mask, shapes)[1], before, rtol=1e-5, atol=1e-6)


def test_padding_gets_no_gradient():
    model = network()
    words, mask, shapes = inputs(6, n_records=2)
    mask[1, 4:] = False
    words.requires_grad_()
    model(words, mask, shapes)[1, :4, :4].square().sum().backward()
    assert words.grad is not None
    assert float(words.grad[1, 4:].abs().max()) == 0.0
    assert float(words.grad[1, :4].abs().min(-1).values.max()) > 0.0


# training


def test_dropout_acts_in_training_only():
    model = network(dropout=0.5, plus_dropout=0.5)
    batch = inputs(6)
    torch.testing.assert_close(model(*batch), model(*batch), rtol=0, atol=0)
    model.train()
    assert not torch.allclose(model(*batch), model(*batch))


def test_recomputing_activations_changes_neither_scores_nor_gradients():
    words, mask, shapes = inputs(6, n_records=2)
    mask[1, 4:] = False
    grads = []
    for flag in (False, True):
        model = network(dropout=0.0, plus_dropout=0.3).train()
        model.checkpointing = flag
        torch.manual_seed(9)
        scores = model(words, mask, shapes)
        scores.square().sum().backward()
        grads.append([scores, *(p.grad for p in model.parameters())])
    for x, y in zip(*grads, strict=True):
        torch.testing.assert_close(x, y)


def test_every_parameter_takes_part():
    model = network().train()
    words, mask, shapes = inputs(30)
    model(words, mask, shapes).square().sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or float(p.grad.abs().max()) == 0.0]
    assert idle == []


def test_no_table_limits_the_number_of_words():
    model = network(layers=1)
    with torch.no_grad():
        assert model(*inputs(530)).shape == (1, 530, 530, LABELS)


def test_the_number_of_parameters_is_that_of_the_paper():
    c, d, n, k = CHANNELS, 10, 2, LABELS
    size = sum(p.numel() for p in network(position_dim=0, shape_dim=0).parameters())
    norms_and_biases = n * 2 * c  # triangle embeddings, counted apart
    expected = c * (d + 1) ** 2 + 2 * c * d + c + 2 * (WIDTH * d + d) + (c * k + k)
    per_layer = 2 * (3 * c * c + 3 * c) + (2 * c * c + c) + 2 * 9 * c * c + 4 * c
    assert size == expected + n * per_layer + norms_and_biases


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("n_padded", [0, 2])
def test_a_mask_of_numbers_is_refused_everywhere(dtype, n_padded):
    model = network()
    words, mask, shapes = inputs(6)
    mask[:, 6 - n_padded :] = False
    cells, layer = torch.randn(1, 6, 6, CHANNELS), model.layers[0]
    for call in (
        lambda m: model(words, m, shapes),
        lambda m: layer(cells, m),
        lambda m: layer.row(cells, m),
    ):
        call(mask)
        with pytest.raises(TypeError, match="word_mask: expected a boolean mask"):
            call(mask.to(dtype))


def test_the_output_layer_is_linear_and_ordinary():
    assert isinstance(network().output, nn.Linear)
