from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics import Counts
from nlpkit.report.html import Section, data_table, escape, html_page
from nlpkit.report.palette import DARK, HUES, LIGHT, contrast, palette_css, shade, slots
from nlpkit.results import EvaluationReport

HOSTILE = "<script>alert('x')</script> \"q\" & </style></title><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("ground", [LIGHT, DARK])
@pytest.mark.parametrize("hue", HUES)
def test_every_colour_is_readable_on_both_grounds(hue: int, ground: str) -> None:
    assert contrast(shade(hue, ground), ground) >= 4.5
    assert shade(hue, ground) in palette_css()


def test_fixed_colours_of_the_page_are_readable() -> None:
    page = html_page("x", [])
    for name in ("ink", "soft", "bad", "good"):
        light, dark = re.findall(rf"--{name}:(#[0-9a-f]{{6}})", page)
        assert contrast(light, LIGHT) >= 4.5
        assert contrast(dark, DARK) >= 4.5


def test_contrast_equals_published_values() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_labels_keep_their_colour_and_do_not_share_one() -> None:
    labels = [f"label{i}" for i in range(len(HUES))]
    assert len(set(slots(labels).values())) == len(HUES)
    alone = {label: slots([label])[label] for label in labels}
    assert slots(["label3", "label3"]) == {"label3": alone["label3"]}
    assert slots(f"label{i}" for i in range(100)).keys() == {f"label{i}" for i in range(100)}


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


def test_few_labels_get_colours_that_are_easily_told_apart() -> None:
    labels = ["Person", "Place", "Org", "Date", "Company", "Position", "Field", "Law"]
    hues = sorted(HUES[slot] for slot in slots(labels).values())
    gaps = [(b - a) % 360 for a, b in zip(hues, [*hues[1:], hues[0]], strict=True)]
    assert min(gaps) >= 25
