from __future__ import annotations

import pytest

from nlpkit.ie.metrics import score_records
from nlpkit.ie.report import PAGE_ROWS, SHOWN_ROWS, render_results
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
    assert relation == "Acme <b>Corp</b>Org<i>in</i>0.80\xa0UlmPlace"
    assert event == 'hiredHireWho"Bo"AlsoAl'
    assert {tag for tag, _, _ in page.elements}.isdisjoint({"script", "img", "i1"})
    assert "1 text, 3 entities, 1 relation, 1 event." in page.texts("p", "soft")[0]


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
    assert "There are no texts." in read_page(render_results([], "t")).texts("p")


def test_what_the_model_left_out_is_said(read_page) -> None:
    info = InputInfo(words=9, pieces=20, windows=3, truncated=4, skipped=("word <5>",))
    page = read_page(render_results([result(input=info)], "t"))
    assert "read in 3 windows; 4 pieces of words longer than the encoder were left out; word <5>" in page.texts("p")


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
    assert "1 of 1 record has an error." in page.texts("p")
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


def test_scores_are_seen_without_a_click(read_page) -> None:
    page = read_page(render_results([result()], "t"))
    labels = {attributes["data-l"]: attributes.get("data-s") for attributes, _ in page.find("b")}
    assert labels["Org"] == "0.90"
    assert labels["Place"] is None
    assert page.texts("span", "score") == ["0.80"]
    assert "how probable" in page.texts("p", "soft")[0]
    event = Event(
        trigger=Trigger(start=0, end=4, type="Hire", score=0.71),
        arguments=(Argument(start=4, end=5, role="Who", score=0.62),),
    )
    page = read_page(render_results([IERecord(text=TEXT, events=(event,))], "t"))
    assert page.texts("span", "score") == ["0.71", "0.62"]
    page = read_page(render_results([IERecord(text=TEXT, entities=(Entity(start=0, end=4, type="Org"),))], "t"))
    assert "how probable" not in page.texts("p", "soft")[0]


def test_legend_shows_the_line_of_each_label_and_covers_nothing(read_page) -> None:
    types = [f"T{i}" for i in range(26)]
    record = IERecord(text="x" * 26, entities=tuple(Entity(start=i, end=i + 1, type=t) for i, t in enumerate(types)))
    page = read_page(render_results([record], "t"))
    samples = [attributes["style"] for attributes, _ in page.find("i")]
    assert len(set(samples)) == len(samples) == 26
    assert ".legend{position:sticky" not in page.source


def linked(n: int) -> IERecord:
    entities = tuple(Entity(start=i, end=i + 1, type="T") for i in range(4))
    relations = tuple(Relation(head=i % 4, tail=i // 4 % 4, type=f"r{i}", score=i / n) for i in range(n))
    return IERecord(text="abcd", entities=entities, relations=relations)


def test_of_many_relations_the_most_probable_are_drawn_and_the_others_named(read_page) -> None:
    page = read_page(render_results([linked(10_000)], "t"))
    assert len(page.find("li")) == SHOWN_ROWS
    assert "r9999" in page.texts("li")[-1]
    assert f"{SHOWN_ROWS} of 10,000 relations and events are drawn; the table lists all." in page.texts("p")
    assert len(page.find("tr")) == 1 + 10_004, "the table has all of them"


def test_all_texts_together_draw_a_bounded_number_of_rows(read_page) -> None:
    n = PAGE_ROWS // 50 + 2
    page = read_page(render_results([linked(50)] * n, "t"))
    assert len(page.find("li")) == PAGE_ROWS
    assert page.texts("p").count("0 of 50 relations and events are drawn; the table lists all.") == 2


def test_tables_and_texts_are_capped_and_say_where_the_rest_is(read_page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.ie.report.LISTED_ITEMS", 30)
    monkeypatch.setattr("nlpkit.ie.report.SHOWN_TEXTS", 2)
    page = read_page(render_results([linked(20)] * 3, "t"))
    assert len(page.find("article")) == 2
    assert "The first 2 texts are shown; `--format jsonl` writes all." in page.texts("p", "soft")[0]
    assert len(page.find("tr")) == 30 + 2
    assert page.texts("caption")[1].endswith("The first 6 of 24 items; `--format jsonl` writes all")


def test_errors_of_one_record_are_capped_and_counted(read_page) -> None:
    gold, none = linked(500), IERecord(text="abcd", entities=linked(1).entities, relations=())
    page = read_page(score_records([gold], [none]).to_html())
    assert len(page.find("li")) == 100
    assert "100 of 500 errors are drawn; `--errors F.jsonl` writes all." in page.texts("p")


def test_every_head_of_the_evaluation_page_has_a_text(read_page) -> None:
    page = read_page(score_records(*evaluation(3)).to_html())
    assert "Confusions: entity" in page.texts("h2")
    assert all(text.strip() for text in page.texts("th"))
