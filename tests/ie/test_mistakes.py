from __future__ import annotations

import json

from nlpkit.ie.mistakes import find_mistakes
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Source, Trigger

TOKENS = ("The", "Acme", "Corp", "of", "Ulm", "hired", "Bo")
ALL = ("entities", "relations", "events")


def record(*entities: tuple[int, int, str], relations: tuple = (), events: tuple = ()) -> IERecord:
    return IERecord(
        id="r1",
        tokens=TOKENS,
        entities=tuple(Entity(start=s, end=e, type=t) for s, e, t in entities),
        relations=tuple(Relation(head=h, tail=t, type=r) for h, t, r in relations),
        events=events,
        source=Source(file="a.jsonl", line=4),
    )


def mistakes(gold: IERecord, predicted: IERecord, **kwargs: object) -> dict:
    found = find_mistakes(gold, predicted, **{"groups": ALL, "symmetric": frozenset(), "index": 3} | kwargs)
    assert found is not None
    return json.loads(json.dumps(found))


def test_no_mistake_gives_none() -> None:
    one = record((1, 3, "Org"), (6, 7, "Person"), relations=((0, 1, "hired"),))
    assert find_mistakes(one, one, groups=ALL, symmetric=frozenset(), index=0) is None


def test_every_kind_of_mistake_is_told_apart() -> None:
    gold = record((1, 3, "Org"), (4, 5, "Place"), (6, 7, "Person"))
    found = mistakes(gold, record((0, 3, "Org"), (4, 5, "Org"), (5, 6, "Person")))
    assert [found[key] for key in ("record", "id", "file", "line")] == [3, "r1", "a.jsonl", 4]
    assert [(p["gold"]["text"], p["predicted"]["text"]) for p in found["wrong_boundary"]] == [
        ("Acme Corp", "The Acme Corp")
    ]
    assert [(p["gold"]["type"], p["predicted"]["type"]) for p in found["wrong_type"]] == [("Place", "Org")]
    assert [item["text"] for item in found["missed"]] == ["Bo"]
    assert [item["text"] for item in found["spurious"]] == ["hired"]


def test_spans_that_only_touch_are_no_boundary_mistake() -> None:
    found = mistakes(record((1, 3, "Org")), record((3, 5, "Org")))
    assert found["wrong_boundary"] == []
    assert len(found["missed"]) == len(found["spurious"]) == 1


def test_each_item_is_joined_once_and_the_larger_overlap_wins() -> None:
    found = mistakes(record((0, 4, "Org")), record((0, 1, "Org"), (0, 3, "Org")))
    assert [p["predicted"]["end"] for p in found["wrong_boundary"]] == [3]
    assert [item["end"] for item in found["spurious"]] == [1]


def test_wrong_type_goes_before_wrong_boundary() -> None:
    found = mistakes(record((1, 3, "Org")), record((1, 3, "Place"), (1, 2, "Org")))
    assert [p["predicted"]["type"] for p in found["wrong_type"]] == ["Place"]
    assert found["wrong_boundary"] == []


def test_relation_mistakes() -> None:
    entities = ((1, 3, "Org"), (6, 7, "Person"))
    gold = record(*entities, relations=((0, 1, "hired"),))
    other_type = mistakes(gold, record(*entities, relations=((0, 1, "owns"),)))
    assert other_type["wrong_type"][0]["predicted"]["type"] == "owns"
    other_boundary = mistakes(gold, record((1, 2, "Org"), (6, 7, "Person"), relations=((0, 1, "hired"),)))
    assert [p["gold"]["kind"] for p in other_boundary["wrong_boundary"]] == ["entity", "relation"]
    turned = mistakes(gold, record(*entities, relations=((1, 0, "hired"),)))
    assert (len(turned["missed"]), len(turned["spurious"])) == (1, 1)
    assert (
        find_mistakes(gold, record(*entities, relations=((1, 0, "hired"),)), groups=ALL, symmetric={"hired"}, index=0)
        is None
    )


def test_relation_whose_end_has_another_type_is_a_mistake_of_type() -> None:
    gold = record((1, 3, "Org"), (6, 7, "Person"), relations=((0, 1, "hired"),))
    found = mistakes(gold, record((1, 3, "Place"), (6, 7, "Person"), relations=((0, 1, "hired"),)))
    pair = found["wrong_type"][1]
    assert (pair["gold"]["head"]["type"], pair["predicted"]["head"]["type"]) == ("Org", "Place")


def test_event_mistakes() -> None:
    def event(kind: str, role: str, end: int = 7) -> Event:
        return Event(trigger=Trigger(start=5, end=6, type=kind), arguments=(Argument(start=6, end=end, role=role),))

    found = mistakes(record(events=(event("Hire", "Who"),)), record(events=(event("Hire", "Whom"),)))
    assert [(p["gold"]["role"], p["predicted"]["role"]) for p in found["wrong_type"]] == [("Who", "Whom")]
    found = mistakes(record(events=(event("Hire", "Who"),)), record(events=(event("Fire", "Who"),)))
    assert [p["gold"]["kind"] for p in found["wrong_type"]] == ["trigger", "argument"]
    assert found["wrong_type"][1]["gold"]["event_type"] == "Hire"


def test_only_the_groups_asked_for_are_compared() -> None:
    gold, other = record((1, 3, "Org")), record()
    assert find_mistakes(gold, other, groups=("events",), symmetric=frozenset(), index=0) is None


def test_predicted_items_keep_their_score() -> None:
    other = IERecord(tokens=TOKENS, entities=(Entity(start=0, end=1, type="Org", score=0.75),), relations=(), events=())
    assert mistakes(record(), other)["spurious"][0]["score"] == 0.75


def test_surface_of_text_is_a_slice_of_code_points() -> None:
    text = "I\u0307stanbul \U0001f469\u200d\U0001f52c\r\nUlm"
    assert IERecord(text=text).surface(10, 13) == "\U0001f469\u200d\U0001f52c"
    assert IERecord(tokens=TOKENS).surface(1, 3) == "Acme Corp"
