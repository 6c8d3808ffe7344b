"""Long texts: every mention and relation once, nothing lost, nothing cut in silence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.ie.types import Entity, IERecord, Relation
from nlpkit.ie.utcie.config import UTCIEModelConfig
from nlpkit.ie.utcie.data import Example, prepare

CONFIG = UTCIEModelConfig()  # windows of 200 words that share 60
LONG_WORD = "q" * 300


@pytest.fixture(scope="module")
def encoder(tiny_encoder) -> TextEncoder:
    return TextEncoder.from_config(EncoderConfig(name=str(tiny_encoder)))


def long_words(n_words: int, long_at: int | None = None) -> list[str]:
    """Common words, one a piece, in sentences of 17 to 31 words; one word of 300 pieces if wanted."""
    rng = random.Random(5)
    words: list[str] = []
    while len(words) < n_words:
        words += [*rng.choices("the firm bank said new plant market year".split(), k=rng.randint(16, 30)), "."]
    words = words[:n_words]
    if long_at is not None:
        words[long_at] = LONG_WORD
    return words


def example_of(encoder: TextEncoder, words: list[str]) -> Example:
    (example,) = prepare([IERecord(tokens=tuple(words))], encoder, CONFIG)
    return example


def test_two_thousand_words_lose_nothing_at_the_borders_of_windows(encoder, decoded, items):
    words = long_words(2000, long_at=1203)
    example = example_of(encoder, words)
    windows = example.windows
    assert len(windows) > 10
    assert windows[0][0] == 0
    assert windows[-1][1] == 2000
    borders = sorted({b for window in windows for b in window} - {0, 2000})
    # a mention over every border, one beside it on either side, and one that is the word of 300 pieces
    entities = [Entity(start=b - 1, end=b + 1, type="Over") for b in borders]
    entities += [Entity(start=b - 3, end=b - 2, type="Before") for b in borders]
    entities += [Entity(start=b + 2, end=b + 4, type="Behind") for b in borders]
    entities += [Entity(start=1203, end=1204, type="Long")]
    entities = sorted(set(entities), key=lambda e: (e.start, e.end))
    at = {(e.start, e.end): k for k, e in enumerate(entities)}
    relations = [Relation(head=at[b + 2, b + 4], tail=at[b - 3, b - 2], type="across") for b in borders]
    relations += [Relation(head=at[b - 1, b + 1], tail=at[b + 2, b + 4], type="next") for b in borders]
    record = IERecord(tokens=tuple(words), entities=tuple(entities), relations=tuple(relations))
    found = decoded(record, windows=windows)
    assert items(found) == items(record)
    assert len(found.entities) == len(entities)


def test_what_the_windows_were_is_stated(encoder):
    example = example_of(encoder, long_words(2000, long_at=1203))
    info = example.input_info(encoder.max_pieces)
    assert info.words == 2000
    assert info.pieces == 1999 + 300
    assert info.windows == len(example.windows)
    assert info.truncated == 0
    assert info.skipped == ()


def test_no_window_is_over_the_limits(encoder):
    words = [w if k % 7 else "z" * 90 for k, w in enumerate(long_words(700))]
    example = example_of(encoder, words)
    for start, stop in example.windows:
        assert stop - start <= CONFIG.max_words
        assert sum(len(p) for p in example.pieces[start:stop]) <= encoder.max_pieces
    assert {k for start, stop in example.windows for k in range(start, stop)} == set(range(700))


def test_a_short_text_is_one_window(encoder):
    assert example_of(encoder, long_words(200)).windows == [(0, 200)]


WORDS = 400
WINDOWS = [(0, 90), (60, 150), (120, 210), (180, 270), (240, 330), (310, 400)]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_mention_and_any_pair_that_fits_into_a_window_is_found_once(data, decoded, items):
    cuts = data.draw(st.lists(st.integers(0, WORDS), min_size=2, max_size=12, unique=True).map(sorted))
    spans = [(a, min(b, a + 20)) for a, b in pairwise(cuts)]  # neighbours share up to 30 words
    entities = tuple(Entity(start=s, end=e, type="T") for s, e in spans)
    pairs = [
        (h, t)
        for h in range(len(spans))
        for t in range(len(spans))
        if h != t and max(spans[h][1], spans[t][1]) - min(spans[h][0], spans[t][0]) <= 20
    ]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    relations = tuple(Relation(head=h, tail=t, type="r") for h, t in chosen)
    record = IERecord(tokens=("w",) * WORDS, entities=entities, relations=relations)
    assert items(decoded(record, windows=WINDOWS)) == items(record)


def test_a_pair_that_no_window_holds_is_not_invented(decoded):
    entities = (Entity(start=3, end=4, type="T"), Entity(start=300, end=301, type="T"))
    record = IERecord(tokens=("w",) * WORDS, entities=entities, relations=(Relation(head=0, tail=1, type="r"),))
    found = decoded(record, windows=WINDOWS)
    assert len(found.entities) == 2
    assert found.relations == ()


# with a trained model


def test_known_sentences_in_a_long_text_are_found_once_each(fitted, few_records):
    """A model that knows sentences by heart finds most of them in any place, and none of them twice."""
    sentences = [few_records[k % len(few_records)].text for k in range(60)]
    text = " ".join(sentences)
    result = fitted.predict(text, overlap="flat")
    assert result.input.windows > 4
    assert result.input.words > 900
    places = [(e.start, e.end, e.type) for e in result.entities]
    assert len(set(places)) == len(places)
    assert all(text[e.start : e.end] == e.text for e in result.entities)
    assert all(0 <= r.head < len(places) and 0 <= r.tail < len(places) for r in result.relations)
    expected = sum(len(few_records[k % len(few_records)].entities) for k in range(60))
    assert len(places) > expected / 4  # out of its one sentence the model is no longer sure
    last = len(text) - len(sentences[-1])
    assert any(start >= last for start, _, _ in places)
    json.dumps(result.to_dict())


def test_training_on_long_texts_reads_windows_and_says_so(make_config):
    from nlpkit.ie import UTCIE

    words = long_words(130)
    record = {"tokens": words, "entities": [{"start": 60, "end": 62, "type": "A"}], "id": "long"}
    model = UTCIE(make_config(model={"max_words": 40, "window_overlap": 10}, trainer={"epochs": 1}))
    model.fit([record])
    assert any("overlapping windows" in note for note in model.notes)
    assert model.predict(record).input.windows > 2


def test_what_no_window_holds_is_said_when_fitting(make_config: Callable[..., Any]) -> None:
    from nlpkit.ie.utcie.api import UTCIE

    ends = (Entity(start=0, end=1, type="T"), Entity(start=29, end=30, type="T"))
    far = IERecord(tokens=("word",) * 30, entities=ends, relations=(Relation(head=0, tail=1, type="r"),))
    model = UTCIE(make_config(model={"max_words": 10, "window_overlap": 4}, trainer={"epochs": 1}))
    model.fit([far])
    assert any(note.startswith("warning: 1 annotation fits into no window") for note in model.notes)
