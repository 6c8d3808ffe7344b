"""Channels and gold cells: every cell of small records is written out."""

from __future__ import annotations

from itertools import product

import pytest

from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.utcie.labels import LabelLayout, gold_cells
from nlpkit.ie.words import word_view

ENTITIES = ("Firm", "Person")
RELATIONS = (RelationType(name="spouse", symmetric=True), RelationType(name="works_for"))
EVENTS = {"Exit": ("where", "who"), "Fall": ("who",)}
FULL = IESchema(entity_types=ENTITIES, relation_types=RELATIONS, event_types=EVENTS, discontinuous=True)

WORDS = tuple("Ada Holm and Bo left Kestrel Works today".split())


def record(**groups) -> IERecord:
    return IERecord(tokens=WORDS, **groups)


def entities(*spans: tuple[int, int, str]) -> tuple[Entity, ...]:
    return tuple(Entity(start=s, end=e, type=t) for s, e, t in spans)


def event(trigger: tuple[int, int, str], *arguments: tuple) -> Event:
    return Event(
        trigger=Trigger(start=trigger[0], end=trigger[1], type=trigger[2]),
        arguments=tuple(Argument(start=a[0], end=a[1], role=a[2], group=(*a, None)[3]) for a in arguments),
    )


def named(record: IERecord, layout: LabelLayout, start: int = 0, stop: int | None = None) -> dict[str, set]:
    """The gold cells by channel name."""
    cells = gold_cells(word_view(record), layout, start, stop)
    names = layout.channel_names
    found: dict[str, set] = {}
    for i, j, channel in cells.spans:
        found.setdefault(names[channel], set()).add((i, j))
    for channels, group in ((layout.relations, cells.relations), (layout.roles, cells.roles)):
        for i, j, label in group:
            found.setdefault(names[channels.types.start + label], set()).add((i, j))
    return found


@pytest.mark.parametrize("split_links", [True, False])
@pytest.mark.parametrize("has", list(product([True, False], repeat=3)))
def test_every_channel_has_one_meaning(has, split_links):
    schema = IESchema(
        entity_types=ENTITIES if has[0] else None,
        relation_types=RELATIONS if has[1] else None,
        event_types=EVENTS if has[2] else None,
        discontinuous=has[2],
    )
    layout = LabelLayout(schema, split_links)
    names = layout.channel_names
    assert len(set(names)) == len(names) == layout.n_labels
    parts = [range(layout.n_labels)[p] for p in (layout.entity, layout.argument, layout.trigger)]
    for channels in (layout.relations, layout.roles):
        if channels.n_types:
            parts += [range(channels.threshold, channels.threshold + 1), range(layout.n_labels)[channels.types]]
            assert "threshold" in names[channels.threshold]
    assert [k for part in parts for k in part] == list(range(layout.n_labels))
    assert len(layout.span_names) == layout.n_span
    factor = 2 if split_links else 1
    sizes = (2 if has[0] else 0, 1 + 2 * factor if has[1] else 0, 1 + 2 + 1 + 3 * factor if has[2] else 0)
    assert layout.n_labels == sum(sizes)


def test_groups_without_a_label_have_no_channel():
    assert LabelLayout(IESchema(entity_types=(), relation_types=(), event_types={})).n_labels == 0
    without_roles = LabelLayout(IESchema(event_types={"Exit": ()}, discontinuous=True))
    assert without_roles.channel_names == ("argument", "trigger Exit")
    assert without_roles.same_mention is None


def test_a_span_sets_its_cell_and_the_mirrored_one():
    found = named(record(entities=entities((0, 2, "Person"), (3, 4, "Person"), (5, 7, "Firm"))), LabelLayout(FULL))
    assert found == {"entity Person": {(0, 1), (1, 0), (3, 3)}, "entity Firm": {(5, 6), (6, 5)}}


def test_a_directed_relation_sets_only_the_order_from_head_to_tail():
    given = record(
        entities=entities((0, 2, "Person"), (5, 7, "Firm")), relations=(Relation(head=0, tail=1, type="works_for"),)
    )
    found = named(given, LabelLayout(FULL))
    assert found["relation start works_for"] == {(0, 5)}
    assert found["relation end works_for"] == {(1, 6)}
    shared = named(given, LabelLayout(FULL, split_links=False))
    assert shared["relation pair works_for"] == {(0, 5), (1, 6)}


def test_a_head_behind_its_tail_lies_in_the_lower_triangle():
    given = record(
        entities=entities((0, 2, "Person"), (5, 7, "Firm")), relations=(Relation(head=1, tail=0, type="works_for"),)
    )
    found = named(given, LabelLayout(FULL))
    assert (found["relation start works_for"], found["relation end works_for"]) == ({(5, 0)}, {(6, 1)})


def test_a_symmetric_relation_sets_both_orders():
    given = record(
        entities=entities((0, 2, "Person"), (3, 4, "Person")), relations=(Relation(head=1, tail=0, type="spouse"),)
    )
    found = named(given, LabelLayout(FULL))
    assert found["relation start spouse"] == {(0, 3), (3, 0)}
    assert found["relation end spouse"] == {(1, 3), (3, 1)}


def test_events_set_trigger_argument_and_mirrored_roles():
    given = record(events=(event((4, 5, "Exit"), (0, 2, "who"), (5, 7, "where")),))
    found = named(given, LabelLayout(FULL))
    assert found == {
        "trigger Exit": {(4, 4)},
        "argument": {(0, 1), (1, 0), (5, 6), (6, 5)},
        "role start who": {(4, 0), (0, 4)},
        "role end who": {(4, 1), (1, 4)},
        "role start where": {(4, 5), (5, 4)},
        "role end where": {(4, 6), (6, 4)},
    }


def test_fragments_of_one_mention_are_joined_pairwise_and_those_of_another_are_not():
    given = record(
        events=(event((4, 5, "Exit"), (0, 1, "who", 0), (2, 3, "who", 0), (3, 4, "who", 1), (5, 6, "who", 1)),)
    )
    found = named(given, LabelLayout(FULL))
    assert found["role start same mention"] == {(0, 2), (2, 0), (3, 5), (5, 3)}


def test_an_argument_that_is_its_trigger_links_to_itself():
    found = named(record(events=(event((5, 7, "Fall"), (5, 7, "who")),)), LabelLayout(FULL))
    assert found["argument"] == found["trigger Fall"] == {(5, 6), (6, 5)}
    assert (found["role start who"], found["role end who"]) == ({(5, 5)}, {(6, 6)})


def test_unknown_labels_are_left_out_with_what_hangs_on_them():
    given = record(
        entities=entities((0, 2, "Person"), (5, 7, "Ship")),
        relations=(Relation(head=0, tail=1, type="sails"), Relation(head=0, tail=1, type="works_for")),
        events=(event((4, 5, "Arrival"), (0, 2, "who")), event((4, 5, "Exit"), (0, 2, "speed"), (5, 7, "where"))),
    )
    found = named(given, LabelLayout(FULL))
    assert set(found) == {
        "entity Person",
        "relation start works_for",
        "relation end works_for",
        "trigger Exit",
        "argument",
        "role start where",
        "role end where",
    }
    assert found["argument"] == {(5, 6), (6, 5)}


def test_a_window_holds_what_lies_wholly_inside_it_in_its_own_positions():
    given = record(
        entities=entities((0, 2, "Person"), (3, 4, "Person"), (5, 7, "Firm")),
        relations=(Relation(head=0, tail=2, type="works_for"), Relation(head=1, tail=2, type="works_for")),
    )
    layout = LabelLayout(FULL)
    assert named(given, layout, 3, 7) == {
        "entity Person": {(0, 0)},
        "entity Firm": {(2, 3), (3, 2)},
        "relation start works_for": {(0, 2)},
        "relation end works_for": {(0, 3)},
    }
    assert named(given, layout, 1, 6) == {"entity Person": {(2, 2)}}


def test_border_pairs_are_those_of_two_different_spans_linked_or_not():
    given = record(entities=entities((0, 2, "Person"), (5, 7, "Firm"), (5, 7, "Person")))
    cells = gold_cells(word_view(given), LabelLayout(FULL))
    assert set(cells.borders) == {(0, 5), (1, 6), (5, 0), (6, 1)}
    single = gold_cells(word_view(record(entities=entities((0, 2, "Person")))), LabelLayout(FULL))
    assert single.borders == ()


def test_borders_join_entities_triggers_and_arguments():
    given = record(entities=entities((0, 2, "Person")), events=(event((4, 5, "Exit"), (5, 7, "where")),))
    borders = set(gold_cells(word_view(given), LabelLayout(FULL)).borders)
    assert {(0, 4), (1, 4), (0, 5), (1, 6), (4, 5), (4, 6)} <= borders
    assert len(borders) == 12


def test_absent_and_empty_groups_are_told_apart():
    layout = LabelLayout(FULL)
    assert gold_cells(word_view(record()), layout).groups == (False, False, False)
    assert gold_cells(word_view(record(entities=(), relations=(), events=())), layout).groups == (True, True, True)
    assert gold_cells(word_view(record(events=())), layout).groups == (False, False, True)


def test_characters_become_words():
    text = "Ada Holm left."
    given = IERecord(text=text, entities=entities((0, 8, "Person")))
    assert named(given, LabelLayout(FULL)) == {"entity Person": {(0, 1), (1, 0)}}
