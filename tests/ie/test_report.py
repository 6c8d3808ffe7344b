from __future__ import annotations

import pytest

from nlpkit.ie.metrics import score_records
from nlpkit.ie.report import render_results
from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, InputInfo, Relation, Trigger

TEXT = 'Acme <b>Corp</b> of Ulm\r\nhired "Bo" & Al.'


def place(text: str, part: str) -> dict[str, int]:
    start = text.index(part)
    return {"start": start, "end": start + len(part)}


def result(**changes: object) -> IEResult:
    entities = (
        Entity(**place(TEXT, "Acme <b>Corp</b>"), type="Org", score=0.9),
        Entity(**place(TEXT, "Ulm"), type="Place"),
        Entity(**place(TEXT, '"Bo"'), type="Per'son\""),
    )
    hired = Event(
        trigger=Trigger(**place(TEXT, "hired"), type="Hire"),
        arguments=(Argument(**place(TEXT, '"Bo"'), role="Who"), Argument(**place(TEXT, "Al"), role="Also")),
    )
    relation = Relation(head=0, tail=1, type="<i>in</i>", score=0.8)
    values = {"id": "<x>", "text": TEXT, "entities": entities, "relations": (relation,), "events": (hired,)}
    return IEResult(**values | changes)


def test_text_is_kept_and_everything_is_drawn(read_page) -> None:
    page = read_page(render_results([result()], "A <title>"))
    assert page.texts("p", "text") == [TEXT]
    assert page.texts("title") == ["A <title>"]
    labels = [attributes["data-l"] for attributes, _ in page.find("b")]
    assert sorted(labels) == sorted(["Org", "Place", "Per'son\"", "Hire", "Also"]), (
        "an argument that is an entity is drawn once"
    )
    relation, event = page.texts("li")
    assert relation == "Acme <b>Corp</b>Org<i>in</i>\xa0UlmPlace"
    assert event == 'hiredHireWho"Bo"AlsoAl'
    assert {tag for tag, _, _ in page.elements}.isdisjoint({"script", "img", "i1"})
    assert "1 text, 3 entities, 1 relation, 1 event" in page.texts("p")


def test_table_lists_every_item_with_its_positions(read_page) -> None:
    rows = read_page(render_results([result()], "t")).texts("tr")
    assert "entityOrgAcme <b>Corp</b>0160.900" in rows
    assert "relation<i>in</i>Acme <b>Corp</b> → Ulm0230.800" in rows
    assert "triggerHirehired2530" in rows
    assert "argumentAlso of HireAl3840" in rows


def test_legend_names_each_label_once(read_page) -> None:
    legend = read_page(render_results([result(), result()], "t")).texts("div", "legend")
    assert legend == ["OrgPer'son\"PlaceHire (trigger)role of an argument"]


def test_fragments_of_one_argument_are_shown_together(read_page) -> None:
    text = "pain in arm and leg after aspirin"
    fragments = tuple(Argument(**place(text, part), role="Effect", group=1) for part in ("leg", "pain in"))
    other = Argument(**place(text, "arm"), role="Effect")
    event = Event(trigger=Trigger(**place(text, "after"), type="AE"), arguments=(*fragments, other))
    page = read_page(render_results([IERecord(text=text, events=(event,))], "t"))
    assert page.texts("li") == ["afterAEEffectpain in … legEffectarm"]


def test_words_are_drawn_at_their_places(read_page) -> None:
    record = IERecord(
        tokens=("Bo", "Li", "", "runs", "A&B"),
        entities=(Entity(start=0, end=2, type="P"), Entity(start=4, end=5, type="O")),
    )
    page = read_page(render_results([record], "t"))
    assert page.texts("p", "text") == ["Bo Li  runs A&B"]
    assert "".join(page.texts("span")).count("A&B") == 1
    assert "entityOA&B45" in page.texts("tr")


def test_empty_results(read_page) -> None:
    page = read_page(render_results([IEResult(text="", entities=()), IEResult(tokens=(), entities=())], "t"))
    assert page.texts("p", "none") == ["Nothing found."] * 2
    assert read_page(render_results([], "t")).texts("h1") == ["t"]


def test_what_the_model_left_out_is_said(read_page) -> None:
    info = InputInfo(words=9, pieces=20, windows=3, truncated=4, skipped=("word <5>",))
    page = read_page(render_results([result(input=info)], "t"))
    assert "read in 3 windows; 4 pieces left out; word <5>" in page.texts("p")


def evaluation(n: int) -> tuple[list[IERecord], list[IERecord]]:
    words = ("Acme", "of", "Ulm", "hired", "<Bo>")

    def record(*spans: tuple[int, int, str], end: int = 5) -> IERecord:
        entities = tuple(Entity(start=s, end=e, type=t) for s, e, t in spans)
        return IERecord(id="r<1>", tokens=words, entities=entities, relations=(Relation(head=0, tail=1, type="hired"),))

    gold = record((0, 1, "Org"), (4, 5, "Person"), (2, 3, "Place"))
    found = record((0, 1, "Place"), (3, 5, "Person"), (1, 2, "Org"))
    return [gold] * n, [found] * n


def test_errors_page_draws_and_lists_each_error(read_page) -> None:
    page = read_page(score_records(*evaluation(1)).to_html())
    labels = [attributes["data-l"] for attributes, _ in page.find("b")]
    assert sorted(labels) == sorted(["Org → Place", "gold Person", "predicted Person", "missed Place", "spurious Org"])
    assert page.texts("li") == [
        "missed entityUlmPlace",
        "missed relationAcmeOrghired\xa0<Bo>Person",
        "spurious entityofOrg",
        "spurious relationAcmePlacehired\xa0hired <Bo>Person",
        "wrong type entityAcmeOrg predicted as AcmePlace",
        "wrong boundary entity<Bo>Person predicted as hired <Bo>Person",
    ]
    assert "1 of 1 records have an error." in page.texts("p")
    assert page.texts("p", "text") == ["Acme of Ulm hired <Bo>"]


def test_confusions_count_gold_against_predicted(read_page) -> None:
    gold, found = evaluation(3)
    page = read_page(score_records([*gold, gold[0]], [*found, gold[0]]).to_html())
    assert "Confusions: entity" in page.texts("h2")
    rows = page.texts("tr")
    assert "Org130" in rows, "of four gold organisations one was right and three were predicted as places"
    assert "Place013" in rows, "of four gold places one was right and three were not found"
    assert "not in gold30" in rows


@pytest.mark.parametrize("n", [50, 51])
def test_the_first_fifty_records_are_drawn_and_the_rest_counted(n: int, read_page) -> None:
    page = read_page(score_records(*evaluation(n)).to_html())
    assert len(page.find("article")) == 50
    note = "51 of 51 records have an error; the first 50 are shown." if n == 51 else "50 of 50 records have an error."
    assert note in page.texts("p")


def test_a_page_without_errors_says_so(read_page) -> None:
    gold, _ = evaluation(1)
    page = read_page(score_records(gold, gold).to_html())
    assert page.find("article") == []
    assert not any(title.startswith("Confusions") for title in page.texts("h2"))
