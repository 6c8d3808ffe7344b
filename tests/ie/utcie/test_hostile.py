"""Input that breaks careless code: each has one answer, keeps its place, and leaves its neighbours alone."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit
from nlpkit.errors import ConfigError, DataError, ModelFormatError
from nlpkit.ie import UTCIE
from nlpkit.ie.reader import parse_record
from nlpkit.ie.types import IERecord, IEResult

HOSTILE = {
    "empty": "",
    "blank": " \t ",
    "newlines only": "\r\n\n",
    "zero width only": "\u200b\u200d\ufeff",
    "one word": "Kestrel",
    "one letter": "x",
    "punctuation": "...!?",
    "trailing blanks": "Bo left Acme.   \n",
    "leading blanks": "\n\t Bo left",
    "CRLF": "Bo Holm\r\nleft Acme\r\n",
    "emoji with joiners": "Bo 👩‍🚀👨‍👩‍👧 left 🇳🇴 Acme 👍🏽.",
    "decomposed accents": unicodedata.normalize("NFD", "Émile Žižek quitte Málaga"),
    "dotted capital I": "İstanbul'da İlker Bey İİİ left",
    "long s and sharp s": "ſtraße STRASSE ẞ ﬁne",
    "right to left": "שלום Bo עזב את מרחבא في القاهرة",
    "direction marks": "\u202eBo\u202c left \u200fAcme\u200e",
    "no blanks": "東京でボーさんが働いた。สวัสดีชาวโลก",
    "control characters": "Bo\x00left\x07 Acme\x1b[0m",
    "unknown script": "𒀀𒁀 𓀀 ꙮ Bo",
    "private use": "\ue000 \U000f0000 Bo",
    "soft hyphen": "Kes\u00adtrel Works",
    "special tokens": "[CLS] Bo [SEP] [PAD] <s> [MASK]",
    "url": "https://example.org/a?b=c&d=%20#e Bo",
}


@pytest.fixture(scope="module")
def everything(untrained):
    """Predict with so low a threshold that nearly every span is an entity, so that offsets are put to the test."""

    def predict(inputs: Any, **options: Any) -> Any:
        return untrained.predict(inputs, **{"threshold": 0.0, "overlap": "any", **options})

    return predict


def check(text: str, result: IEResult) -> None:
    """What must hold for the result of any text."""
    assert result.text == text
    assert result.input is not None
    spans = [*result.entities, *(x for e in result.events for x in (e.trigger, *e.arguments))]
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == span.text
        assert not text[span.start].isspace()
        assert not text[span.end - 1].isspace()
    for relation in result.relations:
        assert 0 <= relation.head < len(result.entities)
        assert 0 <= relation.tail < len(result.entities)
        assert relation.head != relation.tail
    back, problems = parse_record(json.loads(json.dumps(result.to_dict())))
    assert problems == []
    assert back == result


@pytest.mark.parametrize("name", HOSTILE)
def test_spans_are_the_text_between_their_ends(name, everything):
    text = HOSTILE[name]
    result = everything(text)
    check(text, result)
    if result.input.words:
        # the first word to the last one, which is the longest span
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        assert min(e.start for e in result.entities) == start
        assert max(e.end for e in result.entities) == end
    else:
        assert text.strip() == ""
        assert (result.entities, result.relations, result.events) == ((), (), ())
        assert result.input.windows == 0


@pytest.mark.parametrize("policy", ["flat", "nested"])
def test_policies_hold_on_anything(policy, everything):
    for text, result in zip(HOSTILE.values(), everything(list(HOSTILE.values()), overlap=policy), strict=True):
        check(text, result)
        for k, a in enumerate(result.entities):
            for b in result.entities[k + 1 :]:
                overlap = a.start < b.end and b.start < a.end
                inside = (a.start <= b.start and b.end <= a.end) or (b.start <= a.start and a.end <= b.end)
                assert not overlap or (policy == "nested" and inside)


def test_hostile_texts_keep_their_place_and_leave_their_neighbours_alone(fitted, few_records):
    sane = [record.text for record in few_records]
    mixed: list[str] = []
    for k, text in enumerate(HOSTILE.values()):
        mixed += [text, sane[k % len(sane)]]
    results = list(fitted.predict(mixed))
    alone = {text: fitted.predict(text) for text in set(mixed)}
    assert [r.text for r in results] == mixed
    for result in results:
        assert without_scores(result) == without_scores(alone[result.text])


def without_scores(result: IEResult) -> str:
    """A result as text, scores rounded: the last digits depend on the batch."""
    return json.dumps(json.loads(json.dumps(result.to_dict()), parse_float=lambda x: round(float(x), 2)))


HUGE = 10**5000  # Python refuses to print it
NO_INPUTS = {
    "bytes": (b"Bo", "found bytes"),
    "no bytes at all": (b"", "found bytes"),
    "bytearray": (bytearray(b"Bo"), "found bytearray"),
    "memoryview": (memoryview(b"Bo"), "found memoryview"),
    "range": (range(3), "found range"),
    "empty range": (range(0), "found range"),
    "huge number": (HUGE, "found int"),
    "half of a surrogate pair": ("Bo \ud83d", "text: half of a surrogate pair"),
    "half a pair in a record": (IERecord(text="Bo \ud83d"), "text: half of a surrogate pair"),
    "number for a text": (IERecord(text=5), "text: expected a string, found an integer"),
    "bytes for a text": (IERecord(text=b"Bo"), "text: expected a string, found a bytes"),
    "numbers for words": (IERecord(tokens=(1, "a")), r"tokens\[0\]: expected a string, found an integer"),
    "text for words": (IERecord(tokens="Bo"), "tokens: expected a list, found a string"),
    "id of no kind": (IERecord(text="Bo", id=object()), "id: a object cannot be written as JSON"),
    "huge id": (IERecord(text="Bo", id=HUGE), "id: a number with thousands of digits"),
    "huge doc_id": ({"text": "Bo", "doc_id": HUGE}, "doc_id: a number with thousands of digits"),
    "huge sent_index": (IERecord(text="Bo", sent_index=HUGE), "sent_index: a number with thousands of digits"),
    "key of no text": ({"text": "Bo", 5: 1}, "expected a string as key, found an integer"),
    "key of words": ({"text": "Bo", (1, 2): 1}, "expected a string as key, found a tuple"),
    "huge key": ({"text": "Bo", HUGE: 1}, "expected a string as key, found an integer"),
    "key of no text inside": ({"text": "Bo", "note": {"a": {None: 1}}}, "note: expected a string as key, found null"),
    "extra that is none": (IERecord(text="Bo", extra=None), "expected a mapping as 'extra'"),
    "extra of no number": (IERecord(text="Bo", extra={"a": float("nan")}), "a: nan is no JSON number"),
    "source of a text": (IERecord(text="Bo", source="a.txt"), "expected a Source"),
    "line of a source": ({"text": "Bo", "source": {"file": "a", "line": HUGE}}, "source: a number with thousands"),
}


@pytest.mark.parametrize("name", NO_INPUTS)
def test_what_is_no_input_is_one_error_that_names_it_after_the_results_before(name, untrained):
    item, message = NO_INPUTS[name]
    with pytest.raises(DataError, match=message) as error:
        untrained.predict(item)
    assert len(error.value.problems) == 1
    stream = untrained.predict(["Bo left.", ["Al", "met"], item, "Cy"])
    assert [next(stream).text, next(stream).tokens] == ["Bo left.", ("Al", "met")]
    with pytest.raises(DataError, match=f"^<records>:3: .*{message}") as error:
        next(stream)
    assert len(error.value.problems) == 1


def test_an_error_of_the_users_own_comes_after_the_results_before(untrained):
    def texts():
        yield from ["Bo left."] * 300
        raise OSError("the disk is gone")

    results = untrained.predict(texts())
    assert [next(results).text for _ in range(300)] == ["Bo left."] * 300
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


NAN = float("nan")
NO_THRESHOLDS = [NAN, np.float64("nan"), HUGE, -HUGE, {"Person": HUGE}, {"Person": NAN}, {HUGE: 0.5}, {None: 0.5}]
NO_THRESHOLDS += [{(1, 2): 0.5}, [0.5], b"0.5", 1j]


@pytest.mark.parametrize("threshold", NO_THRESHOLDS, ids=lambda value: type(value).__name__)
def test_a_threshold_that_is_no_probability_is_one_error(threshold, untrained):
    with pytest.raises(ConfigError, match=r"^threshold: expected"):
        untrained.predict("Bo left.", threshold=threshold)


@pytest.mark.parametrize("options", [{"overlap": HUGE}, {"overlap": ["flat"]}, {"batch_size": -HUGE}], ids=list)
def test_other_options_of_no_kind_are_one_error(options, untrained):
    with pytest.raises(ConfigError, match="expected"):
        untrained.predict("Bo left.", **options)


BLANKS = [" ", "\u200b", "\u00a0", "\u2028", "\x07", "\ufe0f", ""]


@pytest.mark.parametrize("blank", BLANKS)
def test_a_word_without_a_piece_at_the_end_of_a_sentence_is_a_word(blank, everything, untrained):
    words = ["Bo", "left", "Acme", blank]
    longer = "the new firm said it will open a plant in the region".split()
    alone, neighbour = everything([words, longer])
    assert alone.input.words == 4
    assert alone.input.windows == 1
    assert max(e.end for e in alone.entities) == 4
    (only,) = untrained.predict([longer])
    (beside, _) = untrained.predict([longer, words])
    assert without_scores(only) == without_scores(beside)
    assert neighbour.input.words == len(longer)


def test_words_without_a_piece_everywhere(everything):
    for words in ([""], [" ", "\u200b"], ["\u200b", "Bo", " "]):
        (result,) = everything([words])
        assert result.tokens == tuple(words)
        assert result.input.words == len(words)
        assert {e.end for e in result.entities} == set(range(1, len(words) + 1))


def test_a_sentence_without_words(everything):
    results = list(everything([[], ["Bo"], []]))
    assert [r.tokens for r in results] == [(), ("Bo",), ()]
    assert results[0].entities == results[2].entities == ()
    assert results[1].entities != ()


def test_ten_thousand_words(untrained):
    words = ("the firm said that Bo left Acme in Oslo . " * 1000).split()
    assert len(words) == 10_000
    (result,) = untrained.predict([words])
    assert result.input.words == 10_000
    assert result.input.windows > 200
    assert (result.input.truncated, result.input.skipped) == (0, ())


def test_a_word_of_300_pieces_is_read_whole(everything):
    text = f"Bo met {'q' * 300} in Oslo"
    result = everything(text)
    check(text, result)
    assert result.input.words == 5
    assert result.input.pieces > 300
    assert result.input.truncated == 0
    assert any(e.text == "q" * 300 for e in result.entities)


def test_a_word_over_the_limit_of_the_encoder_is_cut_and_that_is_said(everything, untrained):
    limit = untrained.modules[0].max_pieces
    word = "q" * (limit + 90)
    text = f"Bo met {word} in Oslo"
    result = everything(text)
    check(text, result)
    assert result.input.truncated == 90
    assert result.input.windows > 1
    assert any(e.text == word for e in result.entities)  # it is still one word that can be found


def test_too_many_candidates_are_said(everything):
    (result,) = everything([["word"] * 39])
    assert any("candidate" in note for note in result.input.skipped)


def test_training_on_hostile_texts(make_config):
    from nlpkit.ie import UTCIE

    records = []
    for name, text in HOSTILE.items():
        record, problems = parse_record({"id": name, "text": text, "entities": [], "events": []})
        assert not problems
        words = text.split()
        if words and text.strip() and name not in ("no blanks", "zero width only"):
            records.append({"id": name, "text": text, "entities": [{"text": words[0], "type": "First"}]})
        records.append(record)
    model = UTCIE(make_config(trainer={"epochs": 1, "batch_size": 8}, data={"misaligned": "widen"}))
    summary = model.fit(records)
    assert summary.epochs == 1
    assert [r.text for r in model.predict(list(HOSTILE.values()))] == list(HOSTILE.values())


# labels


def test_an_unknown_label_counts_as_missed_and_is_listed(fitted, few_records):
    record = few_records[0].to_dict()
    known = len(record["entities"])
    record["entities"].append({"start": 0, "end": len(record["text"].split()[0]), "type": "Spaceship"})
    record["relations"].append({"head": 0, "tail": 1, "type": "orbits"})
    report = fitted.evaluate([record])
    assert report.unknown_labels["entity"] == {"Spaceship": 1}
    assert report.unknown_labels["relation"] == {"orbits": 1}
    assert report.metrics["entity"].gold == known + 1
    assert report.metrics["entity"].tp <= known
    assert "Spaceship" in str(report)


def test_groups_that_the_model_does_not_know_are_left_out_of_its_scores(make_config):
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([{"text": "Bo left", "entities": [{"start": 0, "end": 2, "type": "P"}]}])
    report = model.evaluate(
        [
            {
                "text": "Bo left",
                "entities": [],
                "events": [{"trigger": {"start": 3, "end": 7, "type": "Exit"}, "arguments": []}],
            }
        ]
    )
    assert "events" in report.left_out
    assert "trigger" not in report.metrics


def test_dev_equal_to_train_is_a_warning_that_is_kept(make_config, few_records, tmp_path):
    import nlpkit
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit(few_records[:2], few_records[:2], out=tmp_path / "run")
    assert any("every dev text is also a training text" in note for note in model.notes)
    assert nlpkit.load(tmp_path / "run").notes == model.notes
    assert "every dev text" in (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")


def test_one_class_only(make_config):
    from nlpkit.ie import UTCIE

    record = {"text": "Bo left", "entities": [{"start": 0, "end": 2, "type": "P"}]}
    model = UTCIE(make_config())
    model.fit([record, {"text": "nobody left", "entities": []}])
    assert model.evaluate([record]).scores()["entity"] == 1.0
    result = model.predict("Bo left")
    assert (result.relations, result.events) == (None, None)


def test_empty_lists_everywhere(make_config):
    from nlpkit.ie import UTCIE, IESchema

    empty = {"text": "Bo left", "entities": [], "relations": [], "events": []}
    with pytest.raises(DataError, match="nothing can be learned"):
        UTCIE(make_config()).fit([empty])
    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([empty, empty], schema=IESchema(entity_types=("P",), relation_types=(), event_types={}))
    result = model.predict("Bo left")
    assert (result.relations, result.events) == ((), ())
    scores = model.evaluate([empty]).scores()
    assert scores["relation"] is None
    assert scores["trigger"] is None


def test_events_without_arguments_and_types_without_roles(make_config):
    from nlpkit.ie import UTCIE

    record = {"text": "Bo left", "events": [{"trigger": {"start": 3, "end": 7, "type": "Exit"}, "arguments": []}]}
    model = UTCIE(make_config())
    model.fit([record])
    result = model.predict("Bo left")
    assert result.entities is None
    assert [(e.trigger.text, e.arguments) for e in result.events] == [("left", ())]


def test_zero_records(fitted):
    assert list(fitted.predict([])) == []
    with pytest.raises(DataError, match="no record"):
        fitted.evaluate([])


def test_training_texts_without_a_word_are_refused(make_config):
    from nlpkit.ie import UTCIE, IESchema

    with pytest.raises(DataError, match="empty"):
        UTCIE(make_config()).fit([{"text": " "}, {"tokens": []}], schema=IESchema(entity_types=("P",)))


def test_dev_texts_without_a_word_are_no_dev_texts(make_config):
    from nlpkit.ie import UTCIE

    model = UTCIE(make_config(trainer={"epochs": 1}))
    model.fit([{"text": "Bo left", "entities": [{"start": 0, "end": 2, "type": "P"}]}], [{"text": " ", "entities": []}])
    assert any("the dev records have no" in note and "last epoch" in note for note in model.notes)


def test_a_blank_text_among_dev_and_training_texts(make_config):
    from nlpkit.ie import UTCIE

    records = [{"text": "Bo left", "entities": [{"start": 0, "end": 2, "type": "P"}]}, {"text": "\n", "entities": []}]
    model = UTCIE(make_config())
    summary = model.fit(records, [*records, {"text": "", "entities": []}])
    assert summary.dev["entity"] == 1.0


# what is no input


@pytest.mark.parametrize("wrong", [5, None, 3.5, b"Bo left", ["Bo", 3], {"Bo"}])
def test_what_is_no_text_is_named(wrong, fitted):
    with pytest.raises(DataError, match="expected a text, a list of words"):
        list(fitted.predict([wrong]))


@pytest.mark.parametrize("line", [{}, {"text": 3}, {"text": "a", "tokens": ["a"]}, {"tokens": "Bo left"}])
def test_a_faulty_data_line_is_named(line, fitted):
    with pytest.raises(DataError, match=r"text|tokens"):
        fitted.predict(line)


@pytest.mark.parametrize("record", [IERecord(id="nothing"), IERecord(text="a", tokens=("a",))])
def test_a_record_needs_either_text_or_tokens(record, fitted):
    with pytest.raises(DataError, match="tokens"):
        fitted.predict(record)


@pytest.mark.parametrize("wrong", [5, None, 3.5, b"Bo left", Path("texts.txt")])
def test_what_holds_no_texts_is_named_at_once(wrong, fitted):
    with pytest.raises(DataError, match="expected a text, a list of words"):
        fitted.predict(wrong)


@pytest.mark.parametrize("wrong", [5, None, b"Bo left", {"text": "Bo left", "entities": []}])
def test_what_holds_no_records_is_named(wrong, fitted, make_config):
    with pytest.raises(DataError, match="put a single one into a list"):
        fitted.evaluate(wrong)
    if wrong is not None:
        with pytest.raises(DataError, match="put a single one into a list"):
            UTCIE(make_config()).fit([{"text": "Bo", "entities": []}], wrong)


@pytest.mark.parametrize("size", [0, -1, 1.5, "8", True])
def test_a_batch_size_is_a_count(size, fitted):
    with pytest.raises(ConfigError, match="batch_size"):
        fitted.predict("Bo left", batch_size=size)
    with pytest.raises(ConfigError, match="batch_size"):
        fitted.evaluate([{"text": "Bo left", "entities": []}], batch_size=size)


@pytest.mark.parametrize("threshold", [{None: 0.5}, {1: 0.5}, {"*": np.float32(2)}, np.array([0.1, 0.2]), [0.5]])
def test_what_is_no_threshold_is_named(threshold, fitted):
    with pytest.raises(ConfigError, match="threshold"):
        fitted.predict("Bo left", threshold=threshold)


def test_numbers_of_numpy_are_numbers(fitted, few_records):
    text = few_records[0].text
    assert fitted.predict(text, threshold=np.float32(0.5)) == fitted.predict(text, threshold=0.5)
    assert fitted.predict(text, threshold={"Person": np.float32(0.5)}) == fitted.predict(text)


def test_wrong_arguments_are_named_and_write_nothing(make_config, few_records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="expected a UTCIEConfig"):
        UTCIE({"seed": 1})
    model = UTCIE(make_config())
    for wrong in ({"out": ""}, {"out": 5}, {"schema": {"entity_types": ["A"]}}, {"limit": -1}, {"limit": "few"}):
        with pytest.raises(ConfigError):
            model.fit(few_records, **wrong)
    assert not model.is_fitted
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\x80\x04cos\nsystem\n.", b"\x00" * 64])
def test_what_is_no_safetensors_file_is_no_model(content, fitted, tmp_path):
    fitted.save(tmp_path / "m")
    (tmp_path / "m" / "head.safetensors").write_bytes(content)
    path = tmp_path / "m" / "nlpkit.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["checksums"]["head.safetensors"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ModelFormatError, match="is no whole safetensors file"):
        nlpkit.load(tmp_path / "m")


def test_streams_and_threads_do_not_disturb_each_other(untrained, few_records):
    texts = [record.text for record in few_records]
    expected = [result.to_dict() for result in untrained.predict(texts, threshold=0.1)]
    pairs = zip(untrained.predict(texts, threshold=0.1), untrained.predict(texts[::-1], threshold=0.1), strict=True)
    there, back = zip(*pairs, strict=True)
    assert [result.to_dict() for result in there] == expected
    assert [result.to_dict() for result in back] == expected[::-1]

    def answer(_: int) -> list[dict[str, Any]]:
        return [result.to_dict() for result in untrained.predict(texts, threshold=0.1)]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(answer, range(4))) == [expected] * 4


def test_a_threshold_of_zero_gives_as_much_as_fits_the_text_and_says_what_was_cut(untrained):
    found = {}
    for n in (99, 198):
        (result,) = untrained.predict([["Bo", "left", "Acme"] * (n // 3)], threshold=0.0, overlap="any")
        assert any("candidate links beyond the most" in what for what in result.input.skipped)
        found[n] = len(result.relations) + sum(len(event.arguments) for event in result.events)
        assert found[n] < 40 * n
    assert found[198] < 3 * found[99]
