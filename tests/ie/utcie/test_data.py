"""Records to tensors: words kept, windows, word shapes, gold coordinates."""

from __future__ import annotations

import pytest
import torch
from long_texts import joined

from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.encoder.pieces import MAX_WORD
from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import Entity, IERecord, Relation
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.data import collate, join, joinables, prepare, window_length, window_list, word_shape
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.utcie.model import N_SHAPES

CONFIG = UTCIEModelConfig(max_words=6, window_overlap=2)


@pytest.fixture(scope="module")
def encoder(tiny_encoder) -> TextEncoder:
    return TextEncoder.from_config(EncoderConfig(name=str(tiny_encoder)))


def record(*words: str, **groups) -> IERecord:
    return IERecord(tokens=words, **groups)


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        *(("1998", 1), ("3.5", 1), ("B-52", 2), ("2nd", 2), ("٣", 1), ("--", 3), ("€", 3), ("", 3), (" ", 3)),
        *(("\u200b", 3), ("👩\u200d🚀", 3), ("J", 4), ("J.", 4), ("bank", 5), ("a", 5), ("straße", 5), ("IBM", 6)),
        *(("Paris", 7), ("Dr.", 7), ("Émile", 7), ("E\u0301mile", 7), ("İzmir", 7), ("ǅungla", 7), ("eBay", 8)),
        *(("McDonald", 8), ("東京", 9), ("עברית", 9), ("ไทย", 9), ("ー", 9)),
    ],
)
def test_word_shapes(word, shape):
    assert word_shape(word) == shape
    assert 0 < shape < N_SHAPES


def test_every_word_is_kept_also_without_a_visible_character(encoder):
    words = ("Bo", " ", "left", "\u200b", "\u00a0")
    (example,) = prepare([record(*words)], encoder, UTCIEModelConfig())
    assert len(example.view.words) == len(example.pieces) == len(example.shapes) == 5
    assert all(example.pieces)
    batch = collate([example], [(0, 0)], encoder)
    assert batch.word_mask.tolist() == [[True] * 5]
    assert encoder(*batch.pieces).shape == (1, 5, encoder.dim)


def test_labels_are_looked_at_with_a_layout_only(encoder):
    wrong = IERecord(text="Bosnia", entities=(Entity(start=0, end=2, type="P"),))
    (example,) = prepare([wrong], encoder, CONFIG)
    assert example.cells is None
    (example,) = prepare(
        [wrong], encoder, CONFIG, layout=LabelLayout(IESchema(entity_types=("P",))), misaligned="widen"
    )
    assert example.cells is not None
    assert example.cells[0].spans == ((0, 0, 0),)
    assert example.input_info(100).skipped


def test_texts_without_words_have_no_window(encoder):
    examples = prepare([IERecord(text=""), IERecord(text=" \n"), record(), record("a")], encoder, CONFIG)
    assert [e.windows for e in examples] == [[], [], [], [(0, 1)]]
    assert window_list(examples) == [(3, 0)]
    info = examples[1].input_info(100)
    assert (info.words, info.pieces, info.windows, info.truncated, info.skipped) == (0, 0, 0, 0, ())


def test_input_info_counts_what_the_model_saw(encoder):
    words = ("bank", "xyz", "q" * 30)
    (example,) = prepare([record(*words)], encoder, CONFIG)
    info = example.input_info(encoder_limit=20)
    assert (info.words, info.pieces, info.windows, info.truncated) == (3, 1 + 3 + 30, 1, 10)
    assert example.input_info(20, n_cut=7).skipped == ("7 candidate spans beyond the most that a window may have",)
    (links,) = example.input_info(20, n_cut_links=1).skipped
    assert links == "1 candidate link beyond the most that a window may have"


def test_windows_cover_long_texts_and_become_rows(encoder):
    long = record(*"a b c d e f g h i j".split())
    examples = prepare([record("x", "y"), long], encoder, CONFIG)
    assert examples[1].windows == [(0, 6), (4, 10)]
    windows = window_list(examples)
    assert windows == [(0, 0), (1, 0), (1, 1)]
    assert [window_length(examples, w) for w in windows] == [2, 6, 6]
    batch = collate(examples, windows, encoder)
    assert batch.windows == tuple(windows)
    assert batch.word_mask.sum(1).tolist() == [2, 6, 6]
    assert batch.shapes.tolist()[0] == [5, 5, 0, 0, 0, 0]
    assert batch.word_mask.equal(batch.pieces.word_mask)


def test_gold_cells_become_coordinates_of_their_row(encoder):
    layout = LabelLayout(IESchema.from_records([LINKED]))
    examples = prepare([record("x", entities=()), LINKED, record("y")], encoder, CONFIG, layout=layout)
    batch = collate(examples, [(1, 0), (0, 0), (2, 0)], encoder)
    assert batch.spans is not None
    assert batch.relations is not None
    assert batch.roles is not None
    assert batch.borders is not None
    assert batch.groups is not None
    assert {tuple(c) for c in batch.spans.tolist()} == {(0, 0, 0, 0), (0, 2, 3, 0), (0, 3, 2, 0)}
    assert {tuple(c) for c in batch.relations.tolist()} == {(0, 2, 0, 0), (0, 3, 0, 1)}
    assert batch.roles.shape == (0, 4)
    assert {tuple(c) for c in batch.borders.tolist()} == {(0, 0, 2), (0, 2, 0), (0, 0, 3), (0, 3, 0)}
    assert batch.groups.tolist() == [[True, True, False], [True, False, False], [False, False, False]]


LINKED = record(
    *"Bo joined Acme Corp".split(),
    entities=(Entity(start=0, end=1, type="A"), Entity(start=2, end=4, type="A")),
    relations=(Relation(head=1, tail=0, type="r"),),
)


def test_a_batch_without_labels_has_none(encoder):
    batch = collate(prepare([LINKED], encoder, CONFIG), [(0, 0)], encoder)
    assert batch.spans is batch.relations is batch.roles is batch.borders is batch.groups is None


def test_a_batch_moves_as_a_whole(encoder):
    examples = prepare([LINKED], encoder, CONFIG, layout=LabelLayout(IESchema.from_records([LINKED])))
    moved = collate(examples, [(0, 0)], encoder).to("meta")
    for name, value in vars(moved).items():
        if isinstance(value, torch.Tensor):
            assert value.device.type == "meta", name
    assert moved.pieces.input_ids.device.type == "meta"
    assert moved.windows == ((0, 0),)


# several records as one text


def test_joined_records_have_the_cells_of_the_record_that_they_make(encoder, few_records):
    """Their gold cells are those of one record that says the same: nothing moved, and no link between them."""
    (whole,) = joined(few_records, len(few_records))
    layout = LabelLayout(IESchema.from_records(few_records))
    config = UTCIEModelConfig(max_words=500)
    parts = prepare(few_records, encoder, config, layout=layout)
    (expected,) = prepare([whole], encoder, config, layout=layout)
    found = join(parts)
    assert found.view.words == expected.view.words
    assert found.pieces == expected.pieces
    assert found.shapes == expected.shapes
    assert found.windows == expected.windows
    assert found.cells is not None
    assert expected.cells is not None
    for name in ("spans", "relations", "roles", "borders"):
        assert set(getattr(found.cells[0], name)) == set(getattr(expected.cells[0], name)), name
    assert found.cells[0].groups == expected.cells[0].groups
    assert join(parts[:1]) is parts[0]


def test_only_records_of_one_window_are_joined(encoder):
    long = record(*"a b c d e f g h i j".split(), entities=())
    examples = prepare([record("x", "y"), long, record()], encoder, CONFIG)
    items = joinables(examples)
    assert [item is None for item in items] == [False, True, True]  # one for each window; a text without words has none
    assert items[0] is not None
    assert (items[0].words, items[0].pieces) == (2, 2)


def test_a_word_of_a_million_letters_is_read_to_its_first_ones_and_the_result_says_so(encoder):
    (example,) = prepare([record("bank", "x" * 1_000_000)], encoder, CONFIG)
    info = example.input_info(encoder_limit=20)
    assert info.pieces == 1 + MAX_WORD
    assert info.skipped == ("1 word of more than 20,000 characters: all but the first 20,000 of each",)
