from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics import Counts
from nlpkit.report.html import Section, data_table, escape, html_page
from nlpkit.results import EvaluationReport

HOSTILE = "<script>alert('x')</script> \"q\" & </style></title><img src=x onerror=alert(1)>"


@given(st.text())
def test_escaped_text_is_read_back_as_it_was(text: str) -> None:
    from html import unescape

    safe = escape(text)
    assert not set(safe) & set("<>\"'")
    keeps = not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]", text)
    assert (unescape(safe) == text) is keeps
    safe.encode("utf-8")
    assert "\r" not in safe, "browsers turn it into a line feed"


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x85", "\ud800", "\uffff"])
def test_what_html_cannot_hold_is_replaced_and_not_lost(char: str) -> None:
    assert len(escape(char)) == 1
    assert escape(char) != char
    escape(char).encode("utf-8")


def test_a_page_stands_alone(read_page) -> None:
    page = read_page(html_page(HOSTILE, [Section(HOSTILE, data_table([HOSTILE], [[HOSTILE]]))]))
    assert {tag for tag, _, _ in page.elements}.isdisjoint(
        {"script", "link", "img", "iframe", "object", "base", "form"}
    )
    for _, attributes, _ in page.elements:
        assert attributes.keys().isdisjoint({"src", "onerror", "onload", "onclick"})
        assert attributes.get("href", "#").startswith("#")
    css = "".join(page.texts("style"))
    assert "url(" not in css
    assert "@import" not in css
    assert "://" not in page.source
    assert page.texts("title") == page.texts("h1") == page.texts("h2") == page.texts("th")[:1] == [HOSTILE]


def test_links_lead_to_the_sections(read_page) -> None:
    page = read_page(html_page("x", [Section(name, "") for name in "abc"]))
    targets = {attributes.get("id") for _, attributes, _ in page.elements}
    links = [attributes["href"] for attributes, _ in page.find("a")]
    assert len(links) == 3
    assert all(link[1:] in targets for link in links)


def test_each_style_is_written_once(read_page) -> None:
    page = html_page("x", [Section("a", "", ".one{color:red}"), Section("b", "", ".one{color:red}")])
    assert page.count(".one{color:red}") == 1


def test_scores_on_the_page(read_page) -> None:
    report = EvaluationReport(
        model=HOSTILE,
        data="t.jsonl",
        n=3,
        metrics={"entity": Counts(1, 2, 4), "auroc": 0.91234, "ece": None},
        per_label={"entity": {"Rare": Counts(0, 0, 1), HOSTILE: Counts(1, 2, 3)}},
        unknown_labels={"entity": {"<b>": 1}},
    )
    page = read_page(report.to_html())
    rows = page.texts("tr")
    assert "entity50.025.033.3421" in rows
    assert "auroc91.2" in rows
    assert "ece-" in rows
    labels = [text for text in page.texts("th") if text in ("Rare", HOSTILE)]
    assert labels == [HOSTILE, "Rare"], "the most frequent label comes first"
    assert any("<b> (1)" in text for text in page.texts("p"))


def test_every_column_has_a_head(read_page) -> None:
    report = EvaluationReport(model="m", data="d", n=1, metrics={"entity": Counts(1, 2, 4), "auroc": 0.9}, per_label={})
    page = read_page(report.to_html())
    assert "F1, 0 to 100" in page.texts("th")
    assert all(text.strip() for text in page.texts("th"))
    head, row, *_ = page.source.split("</tr>")
    assert head.count("<th scope") == row.count("<th") + row.count("<td") - row.count("<thead")
    assert page.texts("p")[0].startswith("1 record. ")


def test_tables_scroll_by_keyboard_too_and_keep_their_heads(read_page) -> None:
    page = read_page(html_page("x", [Section("a", data_table(["a_long_name", "b"], [["1", "2"], ["3", "4"]], best=1))]))
    [(box, _)] = page.find("div", "scroll")
    assert box["tabindex"] == "0"
    assert box["aria-label"]
    assert [attributes.get("class") for attributes, _ in page.find("tr")] == [None, None, "best"]
    css = "".join(page.texts("style"))
    assert re.search(r"thead th\{[^}]*position:sticky;top:0", css)
    assert re.search(r"th:first-child\{[^}]*position:sticky;left:0", css)
    assert "a_long_name" in page.texts("th")


def test_paper_is_light_and_keeps_lines_and_bars() -> None:
    page = html_page("x", [])
    assert page.count("@media screen and (prefers-color-scheme:dark)") == 2
    assert "print-color-adjust:exact" in page
    assert ":focus-visible" in page


@pytest.mark.parametrize("part", ["h1", "h2", "p", "nav", r"tbody th", r"td\.t"])
def test_long_words_do_not_widen_the_page(part: str) -> None:
    assert re.search(rf"^{part}{{[^}}]*overflow-wrap:anywhere", html_page("x", []), re.MULTILINE)
