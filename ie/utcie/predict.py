"""Records -> results with a trained network: batches by length, windows merged, order kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from nlpkit.data.plan import EpochPlan
from nlpkit.data.stream import Flush
from nlpkit.errors import DataError, Problem
from nlpkit.ie.reader import GROUPS, fault_of_record, is_iterable, parse_record
from nlpkit.ie.types import IERecord, IEResult, Source
from nlpkit.ie.utcie.assemble import assemble
from nlpkit.ie.utcie.data import Example, WindowBatch, collate, n_window_pieces, prepare, window_length, window_list
from nlpkit.ie.utcie.decode import Candidates, DecodeSettings, decode_windows, join_owned, owned

if TYPE_CHECKING:
    from nlpkit.ie.utcie.api import UTCIE

BATCH_SIZE = 8
BUDGET = 40_000
"""Most word pairs that go through the network at once, padding included."""


def score(encoder: nn.Module, network: nn.Module, batch: WindowBatch) -> Tensor:
    """Scores of all word pairs of a batch. Shape: (B, W, W, K)"""
    words = encoder(*batch.pieces)
    return network(words, batch.word_mask, batch.shapes)


def pair_cost(n: int, longest: int) -> int:
    """Word pairs of a batch of ``n`` windows of which the longest has ``longest`` words."""
    return n * longest * longest


def as_record(item: Any, number: int | None = None) -> IERecord:
    """A text, a data line, a list of words, or a record, as a record; labels in it are dropped.

    Args:
        item: The input.
        number: Its place among all inputs, from 1, for the message.

    Raises:
        DataError: It is none of these, or a faulty one.
    """
    source = None if number is None else Source(file="<records>", line=number)
    given: IERecord | None = None
    if isinstance(item, IERecord):
        if fault := fault_of_record(item, source):
            raise DataError([fault])
        given = replace(item, entities=None, relations=None, events=None)
        item = IERecord.to_dict(given)
    elif isinstance(item, str):
        item = {"text": item}
    elif is_iterable(item) and isinstance(item, Sequence) and all(isinstance(word, str) for word in item):
        item = {"tokens": list(item)}
    if not isinstance(item, Mapping):
        remedy = "see the section on data in the README"
        if isinstance(item, Path):
            remedy = "nlpkit.ie.reader.read_records(path) reads the records of a file"
        expected = "a text, a list of words, a data line (dict) or a record"
        problem = Problem(message=f"expected {expected}, found {type(item).__name__}", remedy=remedy)
        raise DataError([_placed(problem, source)])
    record, problems = parse_record({k: v for k, v in item.items() if k not in GROUPS})
    if errors := [_placed(p, source) for p in problems if p.severity == "error"]:
        raise DataError(errors)
    assert record is not None
    return given or record


def _placed(problem: Problem, source: Source | None) -> Problem:
    return problem if source is None else replace(problem, file=source.file, line=source.line)


def as_records(items: Iterable[Any]) -> Iterator[IERecord | Literal[Flush.FLUSH]]:
    """All inputs as records; signs to flush stay where they are.

    Raises:
        DataError: An input cannot be read; it is named by its place.
    """
    number = 0
    for item in items:
        if isinstance(item, Flush):
            yield item
            continue
        number += 1
        yield as_record(item, number)


@torch.inference_mode()
def predict_records(
    model: UTCIE, records: Sequence[IERecord], settings: DecodeSettings, batch_size: int | None = None
) -> list[IEResult]:
    """Extract from some records, in their order."""
    encoder, network = model.modules
    encoder.eval()
    network.eval()
    examples = prepare(records, encoder, model.config.model, seen=model.seen, word_borders=model.word_borders)
    windows = window_list(examples)
    plan = EpochPlan.ordered(
        [window_length(examples, w) for w in windows],
        budget=BUDGET,
        batch_size=batch_size or BATCH_SIZE,
        cost=pair_cost,
        # the encoder is padded in pieces, the network in words: sorting by both pads least
        keys=[window_length(examples, w) + n_window_pieces(examples, w) for w in windows],
    )
    answers = Answers(model, examples, settings)
    for batch_windows in plan.batches:
        batch = collate(examples, [windows[k] for k in batch_windows], encoder).to(model.device)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=model.precision == "bf16"):
            scores = score(encoder, network, batch)
        answers.add(batch.windows, scores, batch.word_mask)
    return answers.results()


class Answers:
    """The results of some records, whose windows come in any order.

    Of each window only what it decides about is kept, and of a record whose last window has come only the result.
    """

    def __init__(self, model: UTCIE, examples: Sequence[Example], settings: DecodeSettings) -> None:
        self.model, self.examples, self.settings = model, examples, settings
        self._found: dict[int, dict[int, Candidates]] = {}
        self._results: dict[int, IEResult] = {}

    def add(self, windows: Sequence[tuple[int, int]], logits: Tensor, word_mask: Tensor) -> None:
        """Decode a batch of windows, each named by its record's number and its own there."""
        starts = [self.examples[e].windows[w][0] for e, w in windows]
        decoded = decode_windows(logits, word_mask, starts, self.model.layout, self.settings)
        for (number, w), candidates in zip(windows, decoded, strict=True):
            example, found = self.examples[number], self._found.setdefault(number, {})
            found[w] = owned(example.windows, w, candidates)
            if len(found) == len(example.windows):
                parts = self._found.pop(number)
                candidates = join_owned([parts[k] for k in sorted(parts)])
                self._results[number] = as_result(self.model, example, candidates, self.settings)

    def results(self) -> list[IEResult]:
        """The results of all records, in order; a record without words has no window and nothing found."""
        return [
            self._results[number] if example.windows else as_result(self.model, example, Candidates(), self.settings)
            for number, example in enumerate(self.examples)
        ]


def as_result(model: UTCIE, example: Example, candidates: Candidates, settings: DecodeSettings) -> IEResult:
    """Build the result of one record from what its windows propose."""
    extraction = assemble(candidates, example.view, model.layout, settings)
    record = example.record
    return IEResult(
        id=record.id,
        text=record.text,
        tokens=record.tokens,
        entities=extraction.entities,
        relations=extraction.relations,
        events=extraction.events,
        doc_id=record.doc_id,
        sent_index=record.sent_index,
        extra=record.extra,
        source=record.source,
        input=example.input_info(model.modules[0].max_pieces, candidates.n_cut, model.seen, candidates.n_cut_links),
    )
