"""A model splits texts at the borders that its training spans needed, wherever it reads a text."""

from __future__ import annotations

import json

import pytest

from nlpkit.errors import DataError, ModelFormatError
from nlpkit.ie import UTCIE
from nlpkit.text.words import DEFAULT_BORDERS


def line(text, *surfaces):
    return {"text": text, "entities": [{"text": surface, "type": "T"} for surface in surfaces]}


# The tiny vocabulary has no Korean; digits and letters show the same.
GLUED = [line("see Kolb1 here", "Kolb"), line("see Baum1 here", "Baum"), line("it was 30Uhr", "30")]


@pytest.fixture(scope="module")
def glued(make_config):
    model = UTCIE(make_config())
    model.fit(GLUED, GLUED)
    return model


def surfaces(result):
    return [entity.text for entity in result.entities]


def test_borders_that_training_spans_need_are_learned_and_said(glued):
    assert glued.word_borders == (*DEFAULT_BORDERS, "letter-digit")
    assert "words also part at borders of the kind letter-digit (2 spans, such as 'Kolb' in 'Kolb1' (line 1))" in (
        glued.notes
    )
    assert surfaces(glued.predict("see Kolb1 here")) == ["Kolb"]
    assert glued.predict("H2O").input.words == 3
    report = glued.evaluate(GLUED)
    assert report.scores()["entity"] == 1.0
    assert glued.dev_scores["entity"] == 1.0


def test_borders_are_saved_with_a_model(glued, tmp_path):
    glued.save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "nlpkit.json").read_text(encoding="utf-8"))
    assert manifest["preprocessing"] == {"words": 2, "borders": ["number-unit", "comma-list", "letter-digit"]}
    again = UTCIE.load(tmp_path / "model")
    assert again.word_borders == glued.word_borders
    assert again.predict("see Kolb1 here") == glued.predict("see Kolb1 here")


def test_without_need_only_the_default_borders_hold(fitted):
    assert fitted.word_borders == DEFAULT_BORDERS
    assert not any("borders" in note for note in fitted.notes)
    assert [fitted.predict(text).input.words for text in ("H2O", "200mg", "Kolb1,2", "1998.12", "김민수가")] == [
        1, 2, 3, 1, 1,
    ]  # fmt: skip


def set_preprocessing(model, folder, preprocessing):
    model.save(folder)
    manifest = json.loads((folder / "nlpkit.json").read_text(encoding="utf-8"))
    manifest["preprocessing"] = preprocessing
    (folder / "nlpkit.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_a_model_of_the_first_word_rules_keeps_them(fitted, tmp_path):
    set_preprocessing(fitted, tmp_path / "old", {"words": 1})
    old = UTCIE.load(tmp_path / "old")
    assert old.word_borders == ()
    texts = ("H2O", "200mg", "Kolb1,2", "1998.12", "1,250.75m", "김민수가")
    assert [result.input.words for result in old.predict(texts)] == [1] * 6
    old.save(tmp_path / "again")
    assert UTCIE.load(tmp_path / "again").word_borders == ()


@pytest.mark.parametrize("preprocessing", [{"words": 3, "borders": []}, {"words": 2, "borders": ["syllable"]}])
def test_a_model_of_other_word_rules_is_refused(fitted, tmp_path, preprocessing):
    set_preprocessing(fitted, tmp_path / "new", preprocessing)
    with pytest.raises(ModelFormatError, match="other rules for what a word is"):
        UTCIE.load(tmp_path / "new")


def test_a_failed_fit_leaves_the_borders_as_they_were(make_config, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    model = UTCIE.load(tmp_path / "model")
    with pytest.raises(DataError):
        model.fit([line("Bosnia", "Bos")])
    assert model.word_borders == DEFAULT_BORDERS


def test_unknown_words_are_counted_in_the_input_and_warned_of_by_fit(make_config):
    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([line("Bo ሰላም left", "Bo"), line("Al left ሰላም 🚀", "Al")])
    assert (
        "warning: 3 of 7 words (42.9%) are unknown to the encoder's tokenizer, wholly or in part: "
        "'ሰላም' (line 1), '🚀' (line 2); a model sees nothing of what is unknown; take an encoder that knows their "
        "script (encoder.name)"
    ) in model.notes
    assert [r.input.unknown for r in model.predict(["Bo ሰላም 🚀", "oﬃce \u200b", [" ", "aሰ"], ""])] == [2, 0, 1, 0]


def test_spans_that_need_borders_which_training_did_not_are_missed_and_said(make_config, fitted):
    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([line("Bo left", "Bo")], [line("see Kolb1", "Kolb")])
    assert model.word_borders == DEFAULT_BORDERS
    [note] = [note for note in model.notes if "word borders" in note]
    assert note.startswith(
        "warning: dev records: 1 span needs word borders that no training span needs, and can only be missed: "
        "<records>:1: entities[0]: 'Kolb' (4 to 8) does not begin and end at word borders"
    )
    report = fitted.evaluate([line("see Kolb1 and 200mg", "Kolb", "200")])
    assert report.misaligned["spans"] == 1
    assert "'Kolb' (4 to 8)" in report.misaligned["places"][0]


def test_widened_gold_is_as_wide_as_the_words_of_the_model(make_config):
    model = UTCIE(make_config(data={"misaligned": "widen"}))
    records = [*GLUED, line("see Annalena here", "Anna")]
    model.fit(records, records)
    assert model.word_borders == (*DEFAULT_BORDERS, "letter-digit")
    assert "dev records: 1 annotation was widened or left out, as data.misaligned says" in model.notes
    assert model.dev_scores["entity"] == 1.0
