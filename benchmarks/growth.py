"""How time grows with hostile or merely large input; prints JSON, in CPU seconds.

    python benchmarks/growth.py [SCALE]

Each case is an input of a size n that some part of the library once read, or might read, in quadratic time. It is read
at n, 2n and 4n, each three times, of which the fastest counts; ``ratio`` is the larger of the two steps. Twice the
input should take about twice the time. SCALE (1 by default) multiplies all sizes. Exit status 1 if a ratio is 3 or
more, measured three times.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from nlpkit.data.lines import BadLineError, parse_object
from nlpkit.encoder.folder import encoder_folder
from nlpkit.encoder.pieces import WordTokenizer
from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.check import overlap_counts
from nlpkit.ie.metrics import IEScorer
from nlpkit.ie.oddities import Oddities
from nlpkit.ie.overlap import Candidate, resolve_overlap, tightest_policy
from nlpkit.ie.parse import parse_record
from nlpkit.ie.schema import IESchema, RelationType
from nlpkit.ie.surface import alike_places, difference
from nlpkit.ie.types import IERecord
from nlpkit.ie.utcie.assemble import assemble
from nlpkit.ie.utcie.decode import DecodeSettings, decode_windows, merge_windows
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.words import word_view
from nlpkit.ie.writer import short_table
from nlpkit.text.sentences import sentence_starts
from nlpkit.text.windows import owner, plan_windows
from nlpkit.text.words import BORDERS, split_words

LIMIT = 3.0
"""Ratio that no case may reach: 2 is linear, 4 quadratic."""

SHORTEST = 5e-4
"""Seconds below which no difference can be measured."""

Make = Callable[[int], Callable[[], object]]

REPEATED = {
    "flags": "\U0001f1e9\U0001f1ea",
    "half flags": "\U0001f1e9",
    "combining marks": "\u0301",
    "joined emoji": "\U0001f469\u200d",
    "prepended marks": "\u0600",
    "soft hyphens": "a\u00ad",
    "Devanagari conjuncts": "क्",
    "Hangul": "김",
    "Hangul letters": "\u1100",
    "digits": "1",
    "comma list": "1,",
    "letter and comma list": "a1,",
    "version number": "1.",
    "letters and digits": "a1",
    "blanks": " ",
    "line ends": "\r\n",
    "blank and mark": " \u0301",
    "ruler": "-",
    "apostrophes": "a's",
    "Han": "東",
    "Thai": "ภา",
    "zero-width": "\u200b",
    "letters": "a",
    "accented letters": "é",
}
"""What a text consists of that is nothing else."""


def _words(unit: str, borders: tuple[str, ...] | None, n: int) -> Callable[[], object]:
    text = unit * (n // len(unit))
    return partial(split_words, text) if borders is None else partial(split_words, text, borders)


def _pieces(unit: str, n: int) -> Callable[[], object]:
    tokenizer = WordTokenizer.from_folder(encoder_folder("minilm"))
    return partial(tokenizer.pieces, [[unit * (n // len(unit))]])


def _refused(line: str) -> None:
    try:
        parse_object(line)
    except BadLineError:
        return
    raise AssertionError("the line should have been refused")


def _twice(n: int) -> Callable[[], object]:
    keys = ", ".join(f'"k{k}": 0' for k in range(n))
    return partial(_refused, f'{{{keys}, "z": 1, "z": 2}}')


def _deep(n: int) -> Callable[[], object]:
    return partial(_refused, '{"a": ' + "[" * n + "]" * n + "}")


def _record(**values: Any) -> Callable[[], object]:
    return partial(parse_record, values)


def _surface(n: int) -> Callable[[], object]:
    return _record(text="a" * 2 * n, entities=[{"text": "a" * n, "type": "T"}])


def _surface_elsewhere(n: int) -> Callable[[], object]:
    return _record(text="a" * 2 * n, entities=[{"text": "a" * (n - 1) + "b", "type": "T"}])


def _surface_of_another_case(n: int) -> Callable[[], object]:
    return _record(text="a" * 2 * n, entities=[{"text": "A" * n, "type": "T"}])


def _equal_surfaces(n: int) -> Callable[[], object]:
    return _record(text="Bo " * n, entities=[{"text": "Bo", "nth": k + 1, "type": "T"} for k in range(n)])


def _ambiguous_surfaces(n: int) -> Callable[[], object]:
    return _record(text="Bo " * n, entities=[{"text": "Bo", "type": "T"}] * n)


def _misspelt_surfaces(n: int) -> Callable[[], object]:
    return _record(text="Bo " * n, entities=[{"text": "BO", "type": "T"}] * n)


def _different_surfaces(n: int) -> Callable[[], object]:
    names = [f"n{k}x" for k in range(n)]
    return _record(text=" ".join(names), entities=[{"text": name, "type": "T"} for name in names])


def _keys(n: int) -> Callable[[], object]:
    return _record(text="Bo", entities=[{"start": 0, "end": 2, "type": "T", **{f"typ{k}": k for k in range(n)}}])


def _marks(n: int) -> Callable[[], object]:
    text = "a" + "\u0301\u0323" * n
    return lambda: (alike_places(text, text), difference(text, text[::-1]))


def _annotated(n: int, nested: bool = False) -> Any:
    text = "Bo met Al. " * n
    spans = [(0, 11 * k + 6) for k in range(n)] if nested else [(11 * k, 11 * k + 2) for k in range(n)]
    entities = [{"start": start, "end": end, "type": "T"} for start, end in spans]
    relations = [{"head": k, "tail": k + 1, "type": "R"} for k in range(n - 1)]
    record, _ = parse_record({"text": text, "entities": entities, "relations": relations})
    assert record is not None
    return record


def _viewed(n: int) -> Callable[[], object]:
    return partial(word_view, _annotated(n))


def _cut(n: int) -> Callable[[], object]:
    entities = [{"start": 4 * k, "end": 4 * k + 1, "type": "T"} for k in range(n)]
    record, _ = parse_record({"text": "김수 " * n + "김수김 " * n, "entities": entities})
    return lambda: BorderNeeds().add(record)


def _oddities(n: int) -> Callable[[], object]:
    record = _annotated(n)
    return lambda: Oddities().add(record)


def _scored(n: int) -> Callable[[], object]:
    record = _annotated(n)
    return lambda: IEScorer().add(record, record)


def _table(n: int) -> Callable[[], object]:
    return partial(short_table, _annotated(n))


def _overlaps(n: int) -> Callable[[], object]:
    return partial(overlap_counts, "entities", [(0, k + 1) for k in range(n)])


def _resolved(policy: str, n: int) -> Callable[[], object]:
    chance = random.Random(0)
    places = [(start := chance.randrange(n), start + chance.randint(1, 20)) for _ in range(n)]
    spans = [Candidate(start, end, 0, chance.random()) for start, end in places]
    return partial(resolve_overlap, spans, policy)  # type: ignore[arg-type]


def _policy(n: int) -> Callable[[], object]:
    return partial(tightest_policy, [[(2 * k, 2 * k + 1) for k in range(n)]])


def _sentences(unit: str, n: int) -> Callable[[], object]:
    text = unit * (n // len(unit))
    spans = split_words(text)
    return partial(sentence_starts, [text[start:end] for start, end in spans], text, spans)


def _windows(n: int) -> Callable[[], object]:
    return partial(plan_windows, [1] * n, ["a"] * n, max_words=40, overlap=20, max_pieces=500)


def _owners(n: int) -> Callable[[], object]:
    windows = [(k, k + 4) for k in range(0, 2 * n, 2)]
    return lambda: [owner(windows, k, k + 2) for k in range(2 * n)]


def _everything(n: int) -> Callable[[], object]:
    """A text of n windows in which every span and every link passes."""
    import torch

    words = 12
    schema = IESchema(
        entity_types=("A", "B"),
        relation_types=(RelationType(name="r"),),
        event_types={"E": ("who", "where"), "F": ("who",)},
        discontinuous=True,
    )
    layout, settings = LabelLayout(schema), DecodeSettings(threshold=0.0, entity_overlap="any", argument_overlap="any")
    logits = torch.randn(1, words, words, layout.n_labels, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, words, dtype=torch.bool)
    windows = [(start, start + words) for start in range(0, n * words // 2, words // 2)]
    view = word_view(IERecord(tokens=("a",) * windows[-1][1]))

    def read() -> object:
        found = [decode_windows(logits, mask, [start], layout, settings)[0] for start, _ in windows]
        return assemble(merge_windows(windows, found), view, layout, settings)

    return read


CASES: dict[str, tuple[int, Make]] = {
    **{f"words: {name}": (50_000, partial(_words, unit, None)) for name, unit in REPEATED.items()},
    **{f"words, finest: {name}": (50_000, partial(_words, unit, BORDERS)) for name, unit in REPEATED.items()},
    **{f"pieces: {name}": (5_000, partial(_pieces, unit)) for name, unit in REPEATED.items()},
    "pieces: letters and emoji": (5_000, partial(_pieces, "ab\U0001f469")),
    "pieces: letters of two scripts": (5_000, partial(_pieces, "aሰ")),
    "JSON: a key twice": (20_000, _twice),
    "JSON: nested": (50_000, _deep),
    "record: long surface": (80_000, _surface),
    "record: long surface that is not there": (80_000, _surface_elsewhere),
    "record: long surface in another case": (80_000, _surface_of_another_case),
    "record: equal surfaces": (2_000, _equal_surfaces),
    "record: ambiguous surfaces": (2_000, _ambiguous_surfaces),
    "record: misspelt surfaces": (500, _misspelt_surfaces),
    "record: unknown keys": (2_000, _keys),
    "record: combining marks": (10_000, _marks),
    "record: laid onto words": (5_000, _viewed),
    "record: spans that cut words": (5_000, _cut),
    "record: oddities": (5_000, _oddities),
    "record: scored": (5_000, _scored),
    "record: as a table": (5_000, _table),
    "spans: nested, counted": (5_000, _overlaps),
    "spans: overlap policy flat": (5_000, partial(_resolved, "flat")),
    "spans: overlap policy nested": (5_000, partial(_resolved, "nested")),
    "spans: policy of the data": (5_000, _policy),
    "sentences: full stops": (50_000, partial(_sentences, ". ")),
    "sentences: closing brackets": (50_000, partial(_sentences, ")")),
    "sentences: lines": (50_000, partial(_sentences, "a\n")),
    "windows: planned": (50_000, _windows),
    "windows: owners": (5_000, _owners),
    "windows: all spans and links pass": (40, _everything),
}


def seconds(act: Callable[[], object], rounds: int = 3) -> float:
    """CPU seconds of the fastest of some rounds."""
    taken = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        act()
        taken.append(time.process_time() - start)
    return min(taken)


def growth(size: int, make: Make) -> dict[str, Any]:
    """CPU seconds at one, two and four times a size, and the larger of the two ratios.

    A machine with other work may stretch any measurement, so that one over the limit is repeated.
    """
    taken: list[float] = []
    ratio = LIMIT
    for _ in range(3):
        if ratio >= LIMIT:
            taken = [seconds(make(size * times)) for times in (1, 2, 4)]
            ratio = max(after / max(before, SHORTEST) for before, after in pairwise(taken))
    return {"n": size, "seconds": [round(value, 4) for value in taken], "ratio": round(ratio, 2)}


def main() -> int:
    """Measure all cases."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    cases = {name: growth(int(size * scale), make) for name, (size, make) in CASES.items()}
    worst = max(cases, key=lambda name: cases[name]["ratio"])
    ok = cases[worst]["ratio"] < LIMIT
    print(json.dumps({"cases": cases, "worst": worst, "limit": LIMIT, "ok": ok}, indent=1))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
