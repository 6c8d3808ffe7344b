"""From scores to items: round trips from gold cells, thresholds, scores, limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.ie.overlap import Candidate
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.utcie import decode as decode_module
from nlpkit.ie.utcie.decode import CANDIDATES_PER_WORD, Candidates, DecodeSettings, Link, decode_windows, merge_windows
from nlpkit.ie.utcie.labels import LabelLayout

WORDS = tuple("Ada Holm and Bo left Kestrel Works in Oslo and sold it to Al today .".split())


def rec(**groups) -> IERecord:
    return IERecord(tokens=WORDS, **groups)


def entities(*spans: tuple[int, int, str]) -> tuple[Entity, ...]:
    return tuple(Entity(start=s, end=e, type=t) for s, e, t in spans)


def event(trigger: tuple[int, int, str], *arguments: tuple) -> Event:
    return Event(
        trigger=Trigger(start=trigger[0], end=trigger[1], type=trigger[2]),
        arguments=tuple(Argument(start=a[0], end=a[1], role=a[2], group=(*a, None)[3]) for a in arguments),
    )


NEEDS_SPLIT = "arguments inside another"
HARD = {
    "two event types on one trigger": rec(
        events=(event((4, 5, "Exit"), (0, 2, "who")), event((4, 5, "Move"), (8, 9, "goal")))
    ),
    "an argument that is its trigger": rec(events=(event((5, 7, "Fall"), (5, 7, "what"), (8, 9, "where")),)),
    "two roles of one pair": rec(events=(event((11, 12, "Sale"), (0, 2, "seller"), (0, 2, "owner")),)),
    "one span with two types": rec(entities=entities((5, 7, "Firm"), (5, 7, "Place"), (0, 2, "Person"))),
    "two relation types of one pair, and the way back": rec(
        entities=entities((0, 2, "Person"), (5, 7, "Firm")),
        relations=(
            Relation(head=0, tail=1, type="works_for"),
            Relation(head=0, tail=1, type="owns"),
            Relation(head=1, tail=0, type="employs"),
        ),
    ),
    "one-word spans side by side": rec(
        entities=entities((0, 1, "Person"), (1, 2, "Person"), (2, 3, "Word")),
        relations=(Relation(head=0, tail=1, type="next"), Relation(head=1, tail=2, type="next")),
    ),
    "an entity inside another, linked": rec(
        entities=entities((5, 9, "Firm"), (8, 9, "Place"), (0, 2, "Person")),
        relations=(Relation(head=0, tail=1, type="based_in"), Relation(head=2, tail=0, type="works_for")),
    ),
    "an argument that two events share": rec(
        events=(event((4, 5, "Exit"), (0, 2, "who")), event((11, 12, "Sale"), (0, 2, "seller"), (13, 14, "buyer")))
    ),
    "arguments inside another": rec(events=(event((4, 5, "Exit"), (0, 4, "who"), (0, 2, "leader"), (3, 4, "second")),)),
    "a trigger without arguments": rec(events=(event((4, 5, "Exit")), event((11, 12, "Sale")))),
    "every group at once": rec(
        entities=entities((0, 2, "Person"), (3, 4, "Person"), (5, 7, "Firm")),
        relations=(Relation(head=1, tail=2, type="works_for"), Relation(head=2, tail=1, type="employs")),
        events=(event((4, 5, "Exit"), (0, 2, "who"), (3, 4, "who"), (5, 7, "where")),),
    ),
    "a whole text as one span": rec(entities=entities((0, len(WORDS), "Sentence"), (15, 16, "Dot"))),
}


@pytest.mark.parametrize(
    ("name", "split_links"),
    [(name, split) for name in HARD for split in (True, False) if split or name != NEEDS_SPLIT],
)
def test_gold_cells_are_read_back_unchanged(name, split_links, decoded, items):
    record = HARD[name]
    found = decoded(record, split_links=split_links)
    assert items(found) == items(record)
    for group in ("entities", "relations", "events"):
        assert (getattr(found, group) is None) == (getattr(record, group) is None)


def test_one_channel_for_both_cells_finds_one_argument_too_many(decoded, items):
    record = HARD[NEEDS_SPLIT]
    (before,), (after,) = (items(r)["events"] for r in (record, decoded(record, split_links=False)))
    assert set(after[1]) - set(before[1]) == {(3, 4, "who")}  # its end is the end of "who" and of itself


@pytest.mark.parametrize("name", HARD)
def test_binary_scores_are_read_the_same(name, decoded, items):
    assert items(decoded(HARD[name], adaptive=False)) == items(HARD[name])


@pytest.mark.parametrize("first", [0, 1])
def test_a_symmetric_relation_is_read_once_whatever_its_order(first, decoded):
    record = rec(
        entities=entities((0, 2, "Person"), (3, 4, "Person")),
        relations=(Relation(head=first, tail=1 - first, type="spouse"),),
    )
    found = decoded(record, symmetric=["spouse"])
    assert [(r.head, r.tail, r.type) for r in found.relations] == [(0, 1, "spouse")]


def test_discontinuous_mentions_come_back_in_their_groups(decoded):
    record = rec(
        events=(
            event(
                (4, 5, "Exit"),
                *((0, 1, "who", 0), (2, 3, "who", 0), (3, 4, "who", 0)),
                *((8, 9, "goal", 1), (11, 12, "goal", 1)),
                (14, 15, "time"),
            ),
            event((10, 11, "Sale"), (12, 13, "buyer", 0), (14, 15, "buyer", 0)),
        )
    )
    found = decoded(record)
    arguments = [[(a.start, a.role, a.group) for a in e.arguments] for e in found.events]
    exit_groups = {(role, group) for _, role, group in arguments[0]}
    assert len({g for _, g in exit_groups if g is not None}) == 2
    assert {(s, r) for s, r, g in arguments[0] if g == arguments[0][0][2]} == {(0, "who"), (2, "who"), (3, "who")}
    assert [g for s, _, g in arguments[0] if s == 14] == [None]
    assert [(s, g) for s, _, g in arguments[1]] == [(12, 0), (14, 0)]


def test_flat_policy_of_the_whole_decoder(decoded):
    for spans in ([(0, 1), (0, 3)], [(0, 2), (1, 4)]):
        record = rec(entities=entities(*((s, e, "T") for s, e in spans)))
        assert len(decoded(record, "flat").entities) == 1
        assert len(decoded(record, "any").entities) == 2
    assert len(decoded(rec(entities=entities((0, 1, "T"), (0, 3, "T"))), "nested").entities) == 2
    assert len(decoded(rec(entities=entities((0, 2, "T"), (1, 4, "T"))), "nested").entities) == 1


spans = st.lists(st.integers(0, len(WORDS)), min_size=2, max_size=8, unique=True).map(
    lambda cuts: [(a, b) for a, b in zip(sorted(cuts)[::2], sorted(cuts)[1::2], strict=False)]
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), split_links=st.booleans(), policy=st.sampled_from(["flat", "nested", "any"]))
def test_any_flat_record_is_read_back_exactly(data, split_links, policy, decoded, items):
    chosen = data.draw(spans)
    labels = data.draw(st.lists(st.sampled_from("AB"), min_size=len(chosen), max_size=len(chosen)))
    pairs = [(h, t) for h in range(len(chosen)) for t in range(len(chosen)) if h != t]
    links = data.draw(st.lists(st.tuples(st.sampled_from(pairs), st.sampled_from("rs")), unique=True)) if pairs else []
    record = rec(
        entities=entities(*((s, e, t) for (s, e), t in zip(chosen, labels, strict=True))),
        relations=tuple(Relation(head=h, tail=t, type=r) for (h, t), r in links),
    )
    assert items(decoded(record, policy, split_links=split_links)) == items(record)


# scores and thresholds

PLAIN = IESchema(
    entity_types=("A", "B"), relation_types=(RelationType(name="r"), RelationType(name="s", symmetric=True))
)
LAYOUT = LabelLayout(PLAIN)


def empty_logits(n_words: int = 6, n_records: int = 1, layout: LabelLayout = LAYOUT) -> torch.Tensor:
    logits = torch.full((n_records, n_words, n_words, layout.n_labels), -10.0)
    for channels in (layout.relations, layout.roles):
        if channels.n_types:
            logits[..., channels.threshold] = 0.0
    return logits


def decode(logits: torch.Tensor, layout: LabelLayout = LAYOUT, mask=None, **chosen) -> Candidates:
    mask = torch.ones(logits.shape[:2], dtype=torch.bool) if mask is None else mask
    (found,) = decode_windows(logits, mask, [0], layout, DecodeSettings(**chosen))
    return found


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def test_a_span_score_is_the_mean_of_both_orders():
    logits = empty_logits()
    logits[0, 1, 3, 0], logits[0, 3, 1, 0] = 2.0, -1.0
    assert decode(logits, threshold=0.0001).entities[0] == (1, 4, 0, pytest.approx((sigmoid(2) + sigmoid(-1)) / 2))


def test_spans_do_not_depend_on_the_order_of_their_words():
    torch.manual_seed(0)
    logits = empty_logits()
    logits[..., : LAYOUT.n_span] = torch.randn(1, 6, 6, LAYOUT.n_span)
    mirrored = logits.clone()
    mirrored[..., : LAYOUT.n_span] = logits[..., : LAYOUT.n_span].transpose(1, 2)
    found = decode(logits).entities
    assert found == decode(mirrored).entities
    assert len(found) > 5
    assert all(0 <= c.start < c.end <= 6 for c in found)


def test_the_threshold_itself_counts_and_less_does_not():
    logits = empty_logits()
    logits[0, 2, 2, 1] = 0.0
    assert [c[:3] for c in decode(logits, threshold=0.5).entities] == [(2, 3, 1)]
    logits[0, 2, 2, 1] = -0.001
    assert decode(logits, threshold=0.5).entities == []


def test_thresholds_are_of_a_type():
    logits = empty_logits()
    logits[0, 0, 0, :2] = logits[0, 4, 4, :2] = 1.0  # probability 0.73
    found = decode(logits, threshold=0.5, thresholds={"B": 0.8}).entities
    assert {c.label for c in found} == {0}
    assert len(decode(logits, threshold=0.8, thresholds={"B": 0.7}).entities) == 2


def linked(start: float, end: float, threshold: float = 0.0, label: int = 0) -> torch.Tensor:
    """Spans (0, 2) and (3, 5) with a link whose two cells have these scores."""
    logits = empty_logits()
    for s, e in ((0, 1), (3, 4)):
        logits[0, s, e, 0] = logits[0, e, s, 0] = 10.0
    logits[..., LAYOUT.relations.threshold] = threshold
    logits[0, 0, 3, LAYOUT.relations.start.start + label] = start
    logits[0, 1, 4, LAYOUT.relations.end.start + label] = end
    return logits


@pytest.mark.parametrize(("agreement", "margin"), [("mean", 1.5), ("min", 1.0)])
def test_a_link_is_as_sure_as_its_cells_are_above_the_threshold_channel(agreement, margin):
    (link,) = decode(linked(3.0, 4.0, threshold=2.0), link_agreement=agreement).relations
    assert link == ((0, 2), (3, 5), 0, pytest.approx(sigmoid(margin)))


def test_both_cells_of_a_link_must_pass_each_or_on_average():
    for start, end in ((9.0, -0.1), (-0.1, 9.0)):
        assert decode(linked(start, end), link_agreement="min").relations == []
        assert len(decode(linked(start, end)).relations) == 1
    for start, end in ((9.0, -9.1), (9.0, -9.0)):
        assert decode(linked(start, end)).relations == []
    assert len(decode(linked(0.1, 9.0), link_agreement="min").relations) == 1


def test_link_thresholds_are_of_a_type_and_need_the_same_probability():
    logits = linked(1.0, 1.0)  # probability 0.73
    assert len(decode(logits, threshold=0.7).relations) == 1
    assert decode(logits, threshold=0.75).relations == []
    assert decode(logits, threshold=0.1, thresholds={"r": 0.75}).relations == []
    assert len(decode(logits, threshold=0.75, thresholds={"r": 0.7, "A": 0.5}).relations) == 1


def test_binary_links_do_not_look_at_the_threshold_channel():
    assert len(decode(linked(1.0, 1.0, threshold=5.0), adaptive=False).relations) == 1
    assert decode(linked(1.0, 1.0, threshold=5.0), adaptive=True).relations == []


def test_a_symmetric_link_takes_the_mean_of_both_orders():
    logits = linked(3.0, 3.0, label=1)
    logits[0, 3, 0, LAYOUT.relations.start.start + 1] = -1.0
    logits[0, 4, 1, LAYOUT.relations.end.start + 1] = -1.0
    found = decode(logits).relations
    assert {(link.first, link.second) for link in found} == {((0, 2), (3, 5)), ((3, 5), (0, 2))}
    assert [link.score for link in found] == [pytest.approx(sigmoid(1.0))] * 2


def test_no_span_is_related_to_itself():
    logits = linked(9.0, 9.0)
    logits[..., LAYOUT.relations.types] = 9.0
    assert all(link.first != link.second for link in decode(logits).relations)


def test_padding_gives_nothing_and_rows_do_not_mix():
    logits = empty_logits(n_records=2)
    logits[0, 1, 2, 0] = logits[0, 2, 1, 0] = 10.0
    logits[1, 4, 5, 0] = logits[1, 5, 4, 0] = 10.0  # padding
    logits[1, 0, 4, 0] = logits[1, 4, 0, 0] = 10.0  # reaches into padding
    logits[1, 0, 0, 1] = 10.0
    logits[..., LAYOUT.relations.types] = 10.0
    mask = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    first, second = decode_windows(logits, mask, [0, 0], LAYOUT, DecodeSettings())
    assert [c[:3] for c in first.entities] == [(1, 3, 0)]
    assert [c[:3] for c in second.entities] == [(0, 1, 1)]
    assert first.relations == second.relations == []


def test_windows_are_moved_to_their_place_in_the_record():
    logits = linked(9.0, 9.0)
    (found,) = decode_windows(logits, torch.ones(1, 6, dtype=torch.bool), [100], LAYOUT, DecodeSettings())
    assert [(c.start, c.end) for c in found.entities] == [(100, 102), (103, 105)]
    assert [(link.first, link.second) for link in found.relations] == [((100, 102), (103, 105))]


def test_too_many_candidates_are_cut_to_the_best_and_counted():
    torch.manual_seed(1)
    layout = LabelLayout(IESchema(entity_types=("A",), event_types={"E": ()}))
    logits = torch.randn(1, 50, 50, layout.n_labels)
    found = decode(logits, layout, threshold=0.0)
    limit = CANDIDATES_PER_WORD * 50
    n_cells = 50 * 51 // 2
    assert len(found.entities) == len(found.triggers) == len(found.arguments) == limit
    assert found.n_cut == 3 * (n_cells - limit)
    scores = torch.sigmoid(logits[0, ..., 0])
    best = ((scores + scores.T) / 2).triu().flatten().sort(descending=True).values[limit - 1]
    assert min(c.score for c in found.entities) == pytest.approx(float(best))


EVENTFUL = LabelLayout(
    IESchema(
        entity_types=("A",),
        relation_types=(RelationType(name="r"), RelationType(name="s", symmetric=True)),
        event_types={"E": ("who", "where")},
        discontinuous=True,
    )
)


@pytest.mark.parametrize("block", [1, 100, 700, 10**9])
def test_too_many_links_are_cut_to_the_best_and_counted(block, monkeypatch):
    torch.manual_seed(1)
    logits = torch.randn(2, 12, 12, EVENTFUL.n_labels)
    mask = torch.tensor([[True] * 12, [True] * 9 + [False] * 3])
    limit = decode_module.LINKS_PER_WORD * decode_module.FEWEST_WORDS
    every, cut = [], []
    for most, found in ((10**6, every), (decode_module.LINKS_PER_WORD, cut)):
        monkeypatch.setattr(decode_module, "LINKS_PER_WORD", most)
        found += decode_windows(logits, mask, [0, 0], EVENTFUL, DecodeSettings(threshold=0.0))
        monkeypatch.setattr(decode_module, "PAIRS_AT_ONCE", block)
    for uncut, window in zip(every, cut, strict=True):
        n_cut = 0
        for name in ("relations", "roles", "same"):
            links = getattr(uncut, name)
            best = sorted(links, key=lambda link: -link.score)[:limit]
            kept = getattr(window, name)
            order = [link[:3] for link in links if link[:3] in {link[:3] for link in kept}]
            assert [link[:3] for link in kept] == order
            # a block of another size may be computed with another last digit
            scores = [sorted(link.score for link in some) for some in (kept, best)]
            assert scores[0] == pytest.approx(scores[1], abs=1e-6)
            n_cut += len(links) - len(best)
        assert window.n_cut_links == n_cut > 1000
        assert uncut.n_cut_links == 0


def test_a_short_text_is_never_cut():
    logits = torch.full((1, 7, 7, LAYOUT.n_labels), 3.0)
    assert decode(logits).n_cut == 0
    assert len(decode(logits).entities) == 2 * 28


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(TypeError, match="word_mask: expected a boolean mask"):
        decode(empty_logits(), mask=torch.ones(1, 6))


def test_half_precision_scores_are_read():
    assert len(decode(linked(9.0, 9.0).bfloat16()).relations) == 1


# windows


def test_each_span_and_each_pair_counts_in_its_owner_window_only():
    windows = [(0, 10), (6, 16)]
    seen_twice, only_first, only_second = (7, 8), (2, 4), (12, 13)

    def window(*spans: tuple[int, int], score: float) -> Candidates:
        found = Candidates()
        found.entities.extend(Candidate(s, e, 0, score) for s, e in spans)
        found.relations.extend(Link(a, b, 0, score) for a in spans for b in spans if a < b)
        return found

    merged = merge_windows(
        windows, [window(only_first, seen_twice, score=0.9), window(seen_twice, only_second, score=0.6)]
    )
    assert merged.entities == [(2, 4, 0, 0.9), (7, 8, 0, 0.9), (12, 13, 0, 0.6)]
    assert merged.relations == [(only_first, seen_twice, 0, 0.9), (seen_twice, only_second, 0, 0.6)]


def test_what_only_the_wrong_window_proposes_is_dropped():
    windows = [(0, 10), (6, 16)]
    late = Candidates(entities=[Candidate(9, 10, 0, 0.9)])
    assert merge_windows(windows, [late, Candidates()]).entities == []
    assert merge_windows(windows, [Candidates(), late]).entities == late.entities


def test_cut_candidates_of_all_windows_are_counted():
    merged = merge_windows([(0, 4), (2, 6)], [Candidates(n_cut=2, n_cut_links=1), Candidates(n_cut=3, n_cut_links=4)])
    assert (merged.n_cut, merged.n_cut_links) == (5, 5)
