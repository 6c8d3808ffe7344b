"""The bundled sample keeps its promises: invented, resolvable, varied, and no pattern in two splits."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from nlpkit.ie.parse import parse_record
from nlpkit.ie.reader import read_records
from nlpkit.ie.sample import SPLITS, sample_path
from nlpkit.ie.schema import IESchema
from nlpkit.ie.types import IERecord
from nlpkit.ie.words import word_view

ROOT = Path(__file__).resolve().parents[2]

# Well-known companies, people and places, a word each: a name of the sample may not hold any of them.
KNOWN_NAMES = frozenset(
    """
    adidas adobe airbus alibaba allianz alphabet amazon amd apple aramco asus bayer bbc bezos biden blackrock bloomberg
    bmw boeing bosch burberry cadbury canon carrefour caterpillar chanel chevron chrysler cisco citigroup comcast
    daimler danone dell deloitte disney dyson ebay ericsson exxon facebook fedex ferrari fiat ford fujitsu gates gazprom
    gillette glencore google gucci harley heineken hitachi honda huawei hyundai ibm ikea intel jaguar jpmorgan kellogg
    kodak lenovo lego lidl lockheed loreal lufthansa maersk mastercard mattel mazda mcdonalds mercedes merkel meta
    michelin microsoft mitsubishi monsanto motorola murdoch musk nestle netflix nike nintendo nissan nokia novartis
    nvidia obama oracle panasonic paypal pepsi petrobras pfizer philips pirelli porsche prada putin qualcomm reuters
    roche samsung santander sap shell siemens sony spotify starbucks subaru tata tesco tesla thatcher toshiba toyota
    trump twitter uber unilever vodafone volkswagen volvo walmart xerox xiaomi yahoo zara zuckerberg
    amsterdam athens austria bangkok barcelona beijing berlin boston brazil brussels cairo canada chicago china delhi
    dublin egypt england france frankfurt geneva germany houston india istanbul italy japan london madrid manchester
    mexico milan moscow mumbai munich oslo paris prague rome russia scotland seoul shanghai singapore spain stockholm
    sweden sydney tokyo toronto turkey vienna warsaw washington zurich
    """.split()
)


def load_example(name: str) -> ModuleType:
    """A script of ``examples/`` as a module."""
    spec = importlib.util.spec_from_file_location(f"_example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def records() -> Mapping[str, list[IERecord]]:
    return {split: list(read_records([sample_path(split)])) for split in SPLITS}


@pytest.fixture(scope="module")
def raw() -> Mapping[str, list[dict[str, list[dict[str, object]]]]]:
    return {split: [json.loads(line) for line in sample_path(split).open(encoding="utf-8")] for split in SPLITS}


def pattern_of(record: IERecord, *, with_triggers: bool) -> str:
    """The text in lower case with each outermost mention replaced by its type."""
    assert record.text is not None
    spans = [(e.start, e.end, e.type) for e in record.entities or ()]
    if with_triggers:
        spans += [(e.trigger.start, e.trigger.end, e.trigger.type) for e in record.events or ()]
    pattern, at = "", 0
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            pattern += record.text[at:start] + f"<{label}>"
        at = max(at, end)
    return (pattern + record.text[at:]).lower()


def surfaces(record: IERecord, label: str) -> list[str]:
    return [(record.text or "")[e.start : e.end] for e in record.entities or () if e.type == label]


def test_the_pattern_of_a_record_hides_the_mentions() -> None:
    data = {"text": "The Vellmarsh bank left.", "entities": [{"text": "Vellmarsh", "type": "Place"}]}
    record, problems = parse_record(data, source=None)
    assert record is not None
    assert not problems
    assert pattern_of(record, with_triggers=False) == "the <place> bank left."


def test_there_are_enough_sentences_and_ids_differ(records: Mapping[str, list[IERecord]]) -> None:
    assert sum(map(len, records.values())) >= 300
    assert len(records["train"]) > 2 * len(records["test"]) > 200
    assert len(records["dev"]) >= 80
    ids = Counter(record.id for split in SPLITS for record in records[split])
    assert None not in ids
    assert max(ids.values()) == 1


@pytest.mark.parametrize("with_triggers", [False, True])
def test_no_pattern_occurs_in_two_splits(records: Mapping[str, list[IERecord]], with_triggers: bool) -> None:
    found = {split: {pattern_of(r, with_triggers=with_triggers) for r in records[split]} for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        assert not found[one] & found[other]
    assert sum(map(len, found.values())) >= 150


def test_no_text_occurs_twice(records: Mapping[str, list[IERecord]]) -> None:
    texts = Counter(record.text for split in SPLITS for record in records[split])
    assert [text for text, n in texts.items() if n > 1] == []


def test_spans_are_given_by_their_text_and_found_where_it_is(
    raw: Mapping[str, list[dict[str, list[dict[str, object]]]]], records: Mapping[str, list[IERecord]]
) -> None:
    n_with_nth = 0
    for split in SPLITS:
        for data, record in zip(raw[split], records[split], strict=True):
            assert set(data) == {"id", "text", "entities", "relations", "events"}
            given = [*data["entities"], *(event["trigger"] for event in data["events"])]
            read = [*(record.entities or ()), *(event.trigger for event in record.events or ())]
            for event, parsed in zip(data["events"], record.events or (), strict=True):
                given += event["arguments"]
                read += parsed.arguments
            for item, span in zip(given, read, strict=True):
                assert "start" not in item
                assert "end" not in item
                assert (record.text or "")[span.start : span.end] == item["text"]
                n_with_nth += "nth" in item
    assert n_with_nth > 10


def test_every_span_begins_and_ends_at_word_borders(records: Mapping[str, list[IERecord]]) -> None:
    for split in SPLITS:
        for record in records[split]:
            view = word_view(record, "error")
            assert view.skipped == ()
            assert len(view.entities or ()) == len(record.entities or ())


def test_arguments_are_mentions_and_one_span_has_one_type(records: Mapping[str, list[IERecord]]) -> None:
    for split in SPLITS:
        for record in records[split]:
            spans = [(e.start, e.end) for e in record.entities or ()]
            assert len(set(spans)) == len(spans)
            for event in record.events or ():
                assert event.arguments
                assert {(a.start, a.end) for a in event.arguments} <= set(spans)
                assert len(set(event.arguments)) == len(event.arguments)


def test_dev_and_test_have_no_label_that_train_lacks(records: Mapping[str, list[IERecord]]) -> None:
    def labels(split: str) -> set[tuple[str, ...]]:
        found: set[tuple[str, ...]] = set()
        for record in records[split]:
            entities = record.entities or ()
            found |= {("entity", e.type) for e in entities}
            found |= {
                ("relation", entities[r.head].type, r.type, entities[r.tail].type) for r in record.relations or ()
            }
            found |= {(e.trigger.type, a.role) for e in record.events or () for a in e.arguments}
        return found

    assert labels("test") <= labels("train")
    assert labels("dev") <= labels("train")
    assert len({label for label in labels("train") if label[0] == "entity"}) == 7


def test_the_labels_are_the_intended_ones(records: Mapping[str, list[IERecord]]) -> None:
    schema = IESchema.from_records(records["train"])
    assert schema.event_types == {
        "Acquisition": ("buyer", "date", "price", "seller", "target"),
        "Departure": ("date", "former_employer", "former_title", "leaver"),
        "Hiring": ("date", "employer", "person", "title"),
        "Investment": ("amount", "date", "investor", "recipient"),
        "Launch": ("company", "date", "place", "product"),
        "Lawsuit": ("damages", "date", "defendant", "place", "plaintiff"),
    }
    signatures = {r.name: r.signatures for r in schema.relation_types or ()}
    assert signatures == {
        "based_in": (("Organization", "Location"),),
        "founder_of": (("Person", "Organization"),),
        "has_title": (("Person", "Title"),),
        "makes": (("Organization", "Product"),),
        "part_of": (("Organization", "Organization"),),
        "works_for": (("Person", "Organization"),),
    }


def test_events_on_one_trigger_share_a_role_only_with_its_arguments(records: Mapping[str, list[IERecord]]) -> None:
    # a role is read off (trigger, argument), so the events of a trigger could not be told apart otherwise
    for split in SPLITS:
        for record in records[split]:
            for one, other in combinations(record.events or (), 2):
                if (one.trigger.start, one.trigger.end) != (other.trigger.start, other.trigger.end):
                    continue
                assert one.trigger.type != other.trigger.type
                for role in {a.role for a in one.arguments} & {a.role for a in other.arguments}:
                    first, second = ({a for a in e.arguments if a.role == role} for e in (one, other))
                    assert first == second, record.text


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_hard_cases_are_there(records: Mapping[str, list[IERecord]], split: str) -> None:
    n: Counter[str] = Counter()
    for record in records[split]:
        entities, events = record.entities or (), record.events or ()
        for a, b in combinations(entities, 2):
            if max(a.start, b.start) < min(a.end, b.end):
                is_nested = (a.start <= b.start and b.end <= a.end) or (b.start <= a.start and a.end <= b.end)
                n["nested" if is_nested else "crossing"] += 1
                n["shared border"] += is_nested and (a.start == b.start or a.end == b.end)
        triggers = Counter((e.trigger.start, e.trigger.end) for e in events)
        n["several triggers"] += len(triggers) > 1
        n["two events on a trigger"] += any(count > 1 for count in triggers.values())
        shared = Counter((a.start, a.end) for e in events for a in e.arguments)
        n["shared argument"] += any(count > 1 for count in shared.values())
        n["nothing"] += not entities and not events
        n["only entities"] += bool(entities) and not record.relations and not events
        n["backward relation"] += any(entities[r.head].start > entities[r.tail].start for r in record.relations or ())
        # absent would mean "not annotated"
        n["not annotated"] += record.entities is None or record.relations is None or record.events is None
    assert n.pop("not annotated") == 0
    expected = dict.fromkeys(
        ("nested", "shared border", "several triggers", "shared argument", "only entities", "backward relation"), 10
    ) | {"crossing": 4, "two events on a trigger": 4, "nothing": 7}
    assert {key: n[key] for key in expected if n[key] < expected[key]} == {}


def test_an_event_word_is_not_always_an_event(records: Mapping[str, list[IERecord]]) -> None:
    def uses(split: str) -> tuple[set[str], set[str]]:
        as_trigger: set[str] = set()
        as_word: set[str] = set()
        for record in records[split]:
            triggers = {(e.trigger.start, e.trigger.end) for e in record.events or ()}
            as_trigger |= {(record.text or "")[start:end].lower() for start, end in triggers}
            for match in re.finditer(r"\w+", record.text or ""):
                if not any(start <= match.start() < end for start, end in triggers):
                    as_word.add(match.group().lower())
        return as_trigger, as_word

    train_triggers, train_words = uses("train")
    test_triggers, test_words = uses("test")
    assert len(train_triggers & train_words) >= 20
    assert len(train_triggers & test_words) >= 15
    assert len(test_triggers - train_triggers) >= 8


def test_most_names_of_the_test_split_are_new_but_not_all(records: Mapping[str, list[IERecord]]) -> None:
    for label in ("Person", "Organization", "Location", "Product"):
        known = {name for record in records["train"] for name in surfaces(record, label)}
        names = [name for record in records["test"] for name in surfaces(record, label)]
        share = sum(name in known for name in names) / len(names)
        assert 0.1 < share < 0.5, label


def test_no_name_is_a_well_known_one(records: Mapping[str, list[IERecord]]) -> None:
    names = {
        name
        for split in SPLITS
        for record in records[split]
        for label in ("Person", "Organization", "Location", "Product")
        for name in surfaces(record, label)
    }
    assert len(names) > 500
    words = {word for name in names for word in re.findall(r"\w+", name.casefold())}
    assert not words & KNOWN_NAMES


def test_the_files_are_what_the_script_writes() -> None:
    make_sample = load_example("make_sample")
    for split in SPLITS:
        written = make_sample.to_lines(make_sample.make_split(split))
        assert sample_path(split).read_bytes() == written.encode(), f"{split}: run examples/make_sample.py"


def test_a_pattern_says_what_it_means() -> None:
    make_sample = load_example("make_sample")
    pattern = make_sample.parse_pattern("The <O1 {L} arm of {O2}> [bought] {O3} from {O4}. | acq O1>O3<O4 | w:L-O3")
    names = {"L": "Aa", "O2": "Bb", "O3": "Cc", "O4": "Bb Cc"}
    record = make_sample.Rendered(pattern, names).to_dict()
    assert record == {
        "text": "The Aa arm of Bb bought Cc from Bb Cc.",
        "entities": [
            {"text": "Aa arm of Bb", "type": "Organization"},
            {"text": "Aa", "type": "Location"},
            {"text": "Bb", "nth": 1, "type": "Organization"},
            {"text": "Cc", "nth": 1, "type": "Organization"},
            {"text": "Bb Cc", "type": "Organization"},
        ],
        "relations": [
            {"head": 0, "tail": 1, "type": "based_in"},
            {"head": 0, "tail": 2, "type": "part_of"},
            {"head": 1, "tail": 3, "type": "works_for"},
        ],
        "events": [
            {
                "trigger": {"text": "bought", "type": "Acquisition"},
                "arguments": [
                    {"text": "Aa arm of Bb", "role": "buyer"},
                    {"text": "Cc", "nth": 1, "role": "target"},
                    {"text": "Bb Cc", "role": "seller"},
                ],
            }
        ],
    }


def test_an_unknown_split_is_named() -> None:
    with pytest.raises(ValueError, match="train, dev, test"):
        sample_path("valid")
