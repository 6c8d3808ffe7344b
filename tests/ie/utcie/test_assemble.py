"""From candidates to results: relations index what is returned, events hold together, positions are the record's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.ie.overlap import Candidate
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import IERecord
from nlpkit.ie.utcie.assemble import assemble
from nlpkit.ie.utcie.decode import Candidates, DecodeSettings, Link
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.words import word_view

WORDS = tuple("a b c d e f g h i j".split())
VIEW = word_view(IERecord(tokens=WORDS))
SCHEMA = IESchema(
    entity_types=("Firm", "Person"),
    relation_types=(
        RelationType(name="owns", signatures=(("Person", "Firm"),)),
        RelationType(name="spouse", symmetric=True, signatures=(("Firm", "Person"),)),
        RelationType(name="any"),
    ),
    event_types={"Exit": ("where", "who"), "Move": ("goal",)},
    discontinuous=True,
)
LAYOUT = LabelLayout(SCHEMA)
FIRM, PERSON = 0, 1
OWNS, SPOUSE, ANY = 0, 1, 2
EXIT, MOVE = 0, 1
GOAL, WHERE, WHO = 0, 1, 2


def build(candidates: Candidates, view=VIEW, layout: LabelLayout = LAYOUT, **settings):
    return assemble(candidates, view, layout, DecodeSettings(**settings))


def relations(extraction) -> list[tuple[int, int, str]]:
    return [(r.head, r.tail, r.type) for r in extraction.relations]


def test_relations_follow_their_entities_when_others_are_dropped():
    found = build(
        Candidates(
            entities=[
                Candidate(6, 8, PERSON, 0.9),
                Candidate(0, 3, FIRM, 0.7),
                Candidate(0, 1, FIRM, 0.8),  # flat keeps this one and drops the longer
                Candidate(4, 5, PERSON, 0.6),
            ],
            relations=[
                Link((6, 8), (0, 1), OWNS, 0.9),
                Link((6, 8), (0, 3), OWNS, 0.95),
                Link((4, 5), (0, 1), OWNS, 0.8),
            ],
        ),
        entity_overlap="flat",
    )
    assert [(e.start, e.end) for e in found.entities] == [(0, 1), (4, 5), (6, 8)]
    assert relations(found) == [(1, 0, "owns"), (2, 0, "owns")]
    assert [r.score for r in found.relations] == [0.8, 0.9]


spans = st.tuples(st.integers(0, 7), st.integers(1, 3)).map(lambda x: (x[0], x[0] + x[1]))
scores = st.floats(0.5, 1.0)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(spans, st.sampled_from([FIRM, PERSON]), scores), max_size=8, unique_by=lambda x: x[:2]),
    st.data(),
    st.sampled_from(["flat", "nested", "any"]),
    st.booleans(),
    st.booleans(),
)
def test_heads_and_tails_index_the_entities_of_the_result(entities, data, policy, multi_label, schema_filter):
    places = [span for span, _, _ in entities]
    links = st.builds(Link, st.sampled_from(places), st.sampled_from(places), st.sampled_from([0, 1, 2]), scores)
    chosen = data.draw(st.lists(links, max_size=8, unique_by=lambda x: x[:3])) if places else []
    chosen = [link for link in chosen if link.first != link.second]
    found = build(
        Candidates(entities=[Candidate(*s, t, p) for s, t, p in entities], relations=chosen),
        entity_overlap=policy,
        multi_label=multi_label,
        schema_filter=schema_filter,
    )
    assert found.entities == tuple(sorted(found.entities, key=lambda e: (e.start, e.end, e.type)))
    given = {(link.first, link.second, SCHEMA.relation_types[link.label].name) for link in chosen}
    seen = set()
    for relation in found.relations:
        head, tail = found.entities[relation.head], found.entities[relation.tail]
        a, b = (head.start, head.end), (tail.start, tail.end)
        assert (a, b, relation.type) in given or (relation.type == "spouse" and (b, a, relation.type) in given)
        key = (frozenset((a, b)) if relation.type == "spouse" else (a, b), relation.type)
        assert key not in seen, "twice"
        seen.add(key)
    if policy == "any" and not schema_filter and multi_label:
        assert len(seen) == len({(frozenset(g[:2]) if g[2] == "spouse" else g[:2], g[2]) for g in given})


def test_a_link_goes_to_entity_types_that_were_seen_together():
    two_types = [Candidate(0, 1, FIRM, 0.9), Candidate(0, 1, PERSON, 0.6), Candidate(3, 4, FIRM, 0.9)]
    found = build(Candidates(entities=two_types, relations=[Link((0, 1), (3, 4), OWNS, 0.9)]))
    head = found.entities[found.relations[0].head]
    assert head.type == "Person"
    free = build(Candidates(entities=two_types, relations=[Link((0, 1), (3, 4), ANY, 0.9)]))
    assert free.entities[free.relations[0].head].type == "Firm"  # the better-scored one


def test_the_schema_filter_drops_links_of_types_never_seen_together():
    candidates = Candidates(
        entities=[Candidate(0, 1, FIRM, 0.9), Candidate(3, 4, FIRM, 0.9)],
        relations=[Link((0, 1), (3, 4), OWNS, 0.9), Link((0, 1), (3, 4), ANY, 0.9)],
    )
    assert relations(build(candidates)) == [(0, 1, "any"), (0, 1, "owns")]
    assert relations(build(candidates, schema_filter=True)) == [(0, 1, "any")]


def test_a_symmetric_relation_fits_its_types_in_either_order_and_is_given_once():
    both_types = [Candidate(s, s + 1, t, 0.9) for s in (0, 3) for t in (FIRM, PERSON)]
    links = [Link((0, 1), (3, 4), SPOUSE, 0.9), Link((3, 4), (0, 1), SPOUSE, 0.9)]
    assert len(relations(build(Candidates(entities=both_types, relations=links)))) == 1
    for types in ((FIRM, PERSON), (PERSON, FIRM)):
        pair = [Candidate(0, 1, types[0], 0.9), Candidate(3, 4, types[1], 0.9)]
        found = build(Candidates(entities=pair, relations=links), schema_filter=True)
        assert relations(found) == [(0, 1, "spouse")]


def test_one_label_a_pair_is_the_best_one():
    candidates = Candidates(
        entities=[Candidate(0, 1, PERSON, 0.9), Candidate(3, 4, FIRM, 0.9)],
        relations=[Link((0, 1), (3, 4), OWNS, 0.6), Link((0, 1), (3, 4), ANY, 0.8), Link((3, 4), (0, 1), ANY, 0.7)],
        triggers=[Candidate(5, 6, EXIT, 0.9)],
        arguments=[Candidate(0, 1, 0, 0.9)],
        roles=[Link((5, 6), (0, 1), WHO, 0.6), Link((5, 6), (0, 1), WHERE, 0.7)],
    )
    one = build(candidates, multi_label=False)
    assert relations(one) == [(0, 1, "any"), (1, 0, "any")]
    assert [a.role for a in one.events[0].arguments] == ["where"]
    assert [a.role for a in build(candidates).events[0].arguments] == ["where", "who"]


def event_items(extraction) -> list[tuple[str, list[tuple[int, int, str]]]]:
    return [(e.trigger.type, [(a.start, a.end, a.role) for a in e.arguments]) for e in extraction.events]


def test_roles_go_to_the_event_type_that_knows_them():
    candidates = Candidates(
        triggers=[Candidate(4, 5, EXIT, 0.9), Candidate(4, 5, MOVE, 0.8)],
        arguments=[Candidate(0, 2, 0, 0.9), Candidate(6, 7, 0, 0.9)],
        roles=[Link((4, 5), (0, 2), WHO, 0.9), Link((4, 5), (6, 7), GOAL, 0.9)],
    )
    assert event_items(build(candidates)) == [("Exit", [(0, 2, "who")]), ("Move", [(6, 7, "goal")])]


def test_a_role_that_no_event_type_of_the_trigger_knows_goes_to_the_best_or_is_filtered():
    candidates = Candidates(
        triggers=[Candidate(4, 5, MOVE, 0.9)],
        arguments=[Candidate(0, 2, 0, 0.9)],
        roles=[Link((4, 5), (0, 2), WHO, 0.9)],
    )
    assert event_items(build(candidates)) == [("Move", [(0, 2, "who")])]
    assert event_items(build(candidates, schema_filter=True)) == [("Move", [])]


def test_roles_of_dropped_triggers_and_arguments_are_dropped():
    candidates = Candidates(
        triggers=[Candidate(4, 5, EXIT, 0.9), Candidate(4, 6, EXIT, 0.8)],
        arguments=[Candidate(0, 2, 0, 0.9), Candidate(1, 3, 0, 0.8)],
        roles=[
            Link((4, 5), (0, 2), WHO, 0.9),
            Link((4, 5), (1, 3), WHO, 0.9),
            Link((4, 6), (0, 2), WHERE, 0.9),
        ],
    )
    found = build(candidates, trigger_overlap="flat", argument_overlap="flat")
    assert event_items(found) == [("Exit", [(0, 2, "who")])]


def test_an_argument_is_as_sure_as_the_weaker_of_span_and_link():
    candidates = Candidates(
        triggers=[Candidate(4, 5, EXIT, 0.9)],
        arguments=[Candidate(0, 1, 0, 0.6), Candidate(2, 3, 0, 0.9)],
        roles=[Link((4, 5), (0, 1), WHO, 0.8), Link((4, 5), (2, 3), WHO, 0.7)],
    )
    assert [a.score for a in build(candidates).events[0].arguments] == [0.6, 0.7]


def test_fragments_are_grouped_within_a_role_and_numbered_from_0():
    fragments = [(0, 1), (2, 3), (5, 6), (7, 8), (9, 10)]
    candidates = Candidates(
        triggers=[Candidate(4, 5, EXIT, 0.9)],
        arguments=[Candidate(*f, 0, 0.9) for f in fragments],
        roles=[Link((4, 5), f, WHO if f < (4, 0) else WHERE, 0.9) for f in fragments],
        same=[Link((0, 1), (2, 3), 3, 0.9), Link((2, 3), (5, 6), 3, 0.9), Link((5, 6), (7, 8), 3, 0.9)],
    )
    groups = {(a.start, a.role): a.group for a in build(candidates).events[0].arguments}
    assert groups[0, "who"] == groups[2, "who"]
    assert groups[5, "where"] == groups[7, "where"] != groups[0, "who"]
    assert groups[9, "where"] is None
    assert {g for g in groups.values() if g is not None} == {0, 1}


def test_groups_that_the_model_does_not_know_are_none():
    for schema, known in (
        (replace(SCHEMA, relation_types=None, event_types=None), "entities"),
        (IESchema(event_types={"Exit": ()}), "events"),
    ):
        found = build(Candidates(), layout=LabelLayout(schema))
        for group in ("entities", "relations", "events"):
            assert getattr(found, group) == (() if group == known else None)


def test_positions_and_surfaces_are_those_of_the_record():
    text = " Ada\r\nHolm left."
    view = word_view(IERecord(text=text))
    candidates = Candidates(
        entities=[Candidate(0, 2, PERSON, 0.91234)],
        triggers=[Candidate(2, 3, EXIT, 0.9)],
        arguments=[Candidate(0, 2, 0, 0.9)],
        roles=[Link((2, 3), (0, 2), WHO, 0.9)],
    )
    found = build(candidates, view=view)
    (entity,) = found.entities
    assert (entity.start, entity.end, entity.text, entity.score) == (1, 10, "Ada\r\nHolm", 0.9123)
    (event,) = found.events
    assert text[event.trigger.start : event.trigger.end] == event.trigger.text == "left"
    assert event.arguments[0].text == "Ada\r\nHolm"
    words = build(Candidates(entities=[Candidate(1, 3, PERSON, 0.9)])).entities[0]
    assert (words.start, words.end, words.text) == (1, 3, "b c")


@pytest.mark.parametrize("policy", ["flat", "nested", "any"])
def test_nothing_gives_empty_groups(policy):
    found = build(Candidates(), entity_overlap=policy)
    assert (found.entities, found.relations, found.events) == ((), (), ())
