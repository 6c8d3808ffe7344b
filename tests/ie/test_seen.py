"""The lengths that a model has seen, and windows like them."""

from __future__ import annotations

import pytest

from nlpkit.ie.seen import Seen, view_sentences
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.words import word_view

LIMITS = {"max_words": 50, "overlap": 10, "max_pieces": 100}


def text_of(n: int) -> IERecord:
    return IERecord(text=" ".join(["It rained ."] * n), entities=(), relations=())


def seen_of(*records: IERecord, longest: int = 99) -> Seen:
    views = [word_view(record) for record in records]
    return Seen.of([(view, [(0, len(view.words))]) for view in views], longest)


def test_sentences_are_those_of_nearly_all_training_texts() -> None:
    assert seen_of(*[text_of(1)] * 97, *[text_of(4)] * 3) == Seen(words=99, sentences=1, reach=1)
    assert seen_of(*[text_of(1)] * 90, *[text_of(4)] * 10).sentences == 4
    assert seen_of() == Seen(words=99, sentences=1, reach=1)


def test_each_window_of_a_long_training_text_counts_by_itself() -> None:
    view = word_view(text_of(10))  # three words a sentence
    assert Seen.of([(view, [(0, 6), (6, 30)])], 24).sentences == 8
    assert Seen.of([(view, [(0, 7)])], 7).sentences == 3  # a part of the third one too


def linked(first: int, second: int) -> IERecord:
    entities = (Entity(start=first, end=first + 1, type="T"), Entity(start=second, end=second + 1, type="T"))
    words = tuple("It rained .".split() * 4)
    return IERecord(tokens=words, entities=entities, relations=(Relation(head=1, tail=0, type="r"),))


def test_reach_is_that_of_nearly_all_links() -> None:
    assert seen_of(linked(0, 1)).reach == 1
    assert seen_of(linked(1, 4)).reach == 2
    assert seen_of(*[linked(0, 1)] * 99, linked(0, 10)).reach == 1
    assert seen_of(*[linked(0, 1)] * 9, linked(0, 10)).reach == 4
    event = Event(trigger=Trigger(start=7, end=8, type="E"), arguments=(Argument(start=0, end=1, role="r"),))
    assert seen_of(IERecord(tokens=tuple("It rained .".split() * 4), events=(event,))).reach == 3


def test_a_window_holds_what_links_reach_over_whatever_texts_are_usual() -> None:
    seen = seen_of(*[text_of(1)] * 99, linked(0, 10))
    assert seen == Seen(words=99, sentences=4, reach=4)


def test_windows_follow_sentences_and_overlap_where_links_cross_them() -> None:
    view = word_view(text_of(4))
    n_pieces = [1] * 12
    assert Seen(words=99, sentences=1, reach=1).windows(view, n_pieces, **LIMITS) == [(0, 3), (3, 6), (6, 9), (9, 12)]
    assert Seen(words=99, sentences=2, reach=2).windows(view, n_pieces, **LIMITS) == [(0, 6), (3, 9), (6, 12)]
    assert Seen(words=7, sentences=3, reach=1).windows(view, n_pieces, **LIMITS) == [(0, 6), (6, 12)]
    assert Seen(words=99, sentences=9, reach=1).windows(view, n_pieces, **LIMITS) == [(0, 12)]
    assert view_sentences(view) == [0, 3, 6, 9]


def test_a_sentence_longer_than_any_that_was_seen_stays_whole() -> None:
    view = word_view(IERecord(tokens=("word",) * 40))
    assert Seen(words=7, sentences=1, reach=1).windows(view, [1] * 40, **LIMITS) == [(0, 40)]


def test_it_goes_to_json_and_back() -> None:
    seen = Seen(words=90, sentences=2, reach=1)
    assert Seen.from_dict(seen.to_dict()) == seen
    with pytest.raises(KeyError):
        Seen.from_dict({"words": 1})
