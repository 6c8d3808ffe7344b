"""Checks of the UTC-IE network and its losses: each prints the value found beside the one expected, as JSON.

    python benchmarks/utcie_model_checks.py

Everything is computed by a second, direct way. Exit status 1 if a value is not the expected one.
"""

from __future__ import annotations

import json
import sys

import torch
from torch import Tensor
from torch.nn import functional as F

from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.ie.types import IERecord
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.data import collate, prepare
from nlpkit.ie.utcie.losses import adaptive_threshold_loss
from nlpkit.ie.utcie.model import Biaffine, PlusformerLayer, UTCIENetwork

CONFIG = UTCIEModelConfig(channels=16, biaffine_dim=24, layers=2, position_dim=8)


def main() -> int:
    """Run all checks."""
    torch.manual_seed(1)
    checks = [
        (
            "attention half of Plusformer: input cells that output cell (1, 4) of 6 x 6 sees, row 1 and column 4",
            plus_probe(),
            11,
            0,
        ),
        ("the same: cells seen outside of row 1 and column 4", plus_probe(outside=True), 0, 0),
        ("factorised against concatenated linear term, largest difference", linear_term(), 0, 1e-4),
        ("a sentence alone against the same in a padded batch, largest difference of scores", padding(), 0, 1e-4),
        ("span probabilities against their mirror after averaging, largest difference", mirror(), 0, 0),
        ("adaptive-threshold loss against a computation cell by cell, largest difference", threshold_loss(), 0, 1e-5),
        ("adaptive-threshold loss: inputs changed", threshold_loss(inputs=True), 0, 0),
        ("adaptive-threshold loss: gradient check passes", gradient_check(), 1, 0),
        ("sentences whose words have blank or zero-width ones: words lost", blank_words(), 0, 0),
    ]
    rows = [
        {
            "check": name,
            "found": value,
            "expected": expected,
            "tolerance": tolerance,
            "ok": abs(value - expected) <= tolerance,
        }
        for name, value, expected, tolerance in checks
    ]
    print(json.dumps({"checks": rows, "ok": all(row["ok"] for row in rows)}, indent=1))
    return 0 if all(row["ok"] for row in rows) else 1


def plus_probe(outside: bool = False) -> float:
    """Cells of the input on which one cell depends, with the convolutions switched off."""
    layer = PlusformerLayer(16, 0.0).eval()
    with torch.no_grad():
        layer.convolution_out.weight.zero_()
    cells = torch.randn(1, 6, 6, 16, requires_grad=True)
    (layer(cells, None)[0, 1, 4] * torch.randn(16)).sum().backward()
    assert cells.grad is not None
    seen = cells.grad[0].abs().sum(-1) > 1e-9
    plus = torch.zeros(6, 6, dtype=torch.bool)
    plus[1, :] = plus[:, 4] = True
    return float((seen & ~plus).sum() if outside else seen.sum())


@torch.no_grad()
def linear_term() -> float:
    """Against one linear map of the concatenation of both words and their distance."""
    biaffine = Biaffine(CONFIG, 20).eval()
    words = torch.randn(2, 7, 20)
    u, v = F.gelu(biaffine.first(words)), F.gelu(biaffine.second(words))
    assert biaffine.distance is not None
    offsets = (torch.arange(7)[None] - torch.arange(7)[:, None]).clamp(-25, 24) + 25
    pair = torch.cat(
        [
            u.unsqueeze(2).expand(-1, -1, 7, -1),
            v.unsqueeze(1).expand(-1, 7, -1, -1),
            biaffine.distance(offsets).expand(2, -1, -1, -1),
        ],
        dim=-1,
    )
    weight = torch.cat(
        [biaffine.linear_first.weight, biaffine.linear_second.weight, biaffine.linear_distance.weight], dim=1
    )
    one = torch.ones(2, 7, 1)
    bilinear = torch.einsum("bid,cde,bje->bijc", torch.cat([u, one], -1), biaffine.bilinear, torch.cat([v, one], -1))
    direct = bilinear + pair @ weight.T + biaffine.linear_first.bias
    return float((direct - biaffine(words)).abs().max())


@torch.no_grad()
def padding() -> float:
    """A short sentence beside a long one."""
    network = UTCIENetwork(CONFIG, 20, 9).eval()
    words, shapes = torch.randn(2, 9, 20), torch.ones(2, 9, dtype=torch.long)
    mask = torch.arange(9)[None] < torch.tensor([[9], [4]])
    together = network(words * mask.unsqueeze(-1), mask, shapes * mask)[1, :4, :4]
    alone = network(words[1:, :4], mask[1:, :4], shapes[1:, :4])[0]
    return float((together - alone).abs().max())


@torch.no_grad()
def mirror() -> float:
    """The mean of both orders is the same from either side."""
    network = UTCIENetwork(CONFIG, 20, 9).eval()
    scores = torch.sigmoid(
        network(torch.randn(1, 6, 20), torch.ones(1, 6, dtype=torch.bool), torch.ones(1, 6, dtype=torch.long))
    )
    mean = (scores + scores.transpose(1, 2)) / 2
    return float((mean - mean.transpose(1, 2)).abs().max())


def threshold_loss(inputs: bool = False) -> float:
    """Against the definition, written out for each cell."""
    threshold, logits = torch.randn(40), torch.randn(40, 5)
    labels = (torch.rand(40, 5) < 0.3).float()
    copies = [t.clone() for t in (threshold, logits, labels)]
    loss = adaptive_threshold_loss(threshold, logits, labels)
    if inputs:
        return float(sum(not torch.equal(a, b) for a, b in zip(copies, (threshold, logits, labels), strict=True)))
    return float(
        (loss - torch.stack([_cell_loss(*cell) for cell in zip(threshold, logits, labels, strict=True)])).abs().max()
    )


def _cell_loss(threshold: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    positive, negative = logits[labels == 1], logits[labels == 0]
    with_positive, with_negative = torch.cat([positive, threshold[None]]), torch.cat([negative, threshold[None]])
    return -with_positive.log_softmax(0)[:-1].sum() - with_negative.log_softmax(0)[-1]


def gradient_check() -> float:
    """Against finite differences."""
    labels = (torch.rand(6, 4) < 0.4).double()
    arguments = (
        torch.randn(6, dtype=torch.double, requires_grad=True),
        torch.randn(6, 4, dtype=torch.double, requires_grad=True),
    )
    return float(torch.autograd.gradcheck(lambda t, s: adaptive_threshold_loss(t, s, labels), arguments))


def blank_words() -> float:
    """Blank, zero-width and control-character words, also at the end, through the real tokenizer."""
    encoder = TextEncoder.from_config(EncoderConfig())
    sentences = [("a", " "), ("a", "\u200b"), ("\t", "b"), ("a", "\u200b", "b"), (" ",), ("a", "\x00")]
    examples = prepare([IERecord(tokens=words) for words in sentences], encoder, CONFIG)
    batch = collate(examples, [(k, 0) for k in range(len(sentences))], encoder)
    with torch.inference_mode():
        vectors = encoder(*batch.pieces)
    found = (vectors.abs().sum(-1) > 0).sum(1) - torch.tensor([len(words) for words in sentences])
    return float(found.abs().sum())


if __name__ == "__main__":
    sys.exit(main())
