"""Write the bundled sample ``ie/sample/{train,dev,test}.jsonl`` from the sentence patterns beside this file.

A line of ``sample_patterns/SPLIT.txt`` is a sentence, then `` | `` and what it says::

    {O1} has [bought] the <O2 {L} office of {O3}> for {M}. | acq O1>O2 M

- ``{O1}`` is a slot: its letter is its kind, a digit keeps two of a kind apart. P person, O organization, L location,
  G product ("goods"), M money, T title; dates are D ("on {D}"), Y ("in {Y}"), A (a moment ago) and F (in future).
  ``{L2=L}`` repeats the text of ``L`` as a mention of its own; ``{S}`` is the bare first word of a company, no mention.
  A hint narrows the choice: ``{O:Bank|Capital}`` names what the company may trade in, ``{M:price}`` is the price of
  goods, ``{Y:next}`` lies ahead.
- ``<O2 ...>`` makes a mention of what it holds. ``(G ...)`` does the same and may cross the border of a ``<...>``.
- ``[...]`` is a trigger; the first one is number 1. Two events may name the same trigger.
- An event is its short name with the trigger's number (1 if left out) and its arguments: ``O1>O2`` is who acts and who
  is acted on, ``<O3`` the seller, ``role=slot`` anything else, a bare slot has the usual role of its kind.
- A relation is ``code:head-tail``: w works_for, t has_title, f founder_of, b based_in, s part_of, m makes.

What follows from the rest is added here: whoever is hired works for the employer and has the title; who launches a
product makes it; a place inside the name of an organization is where it is based; an organization inside the name of
another one owns it, and inside the name of a product it makes it. The output depends on these files alone.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATTERNS = HERE / "sample_patterns"
SPLITS = ("train", "dev", "test")
FILLS = 2
"""Sentences made from each pattern that has a slot; the others give one."""

TYPES = {"P": "Person", "O": "Organization", "L": "Location", "G": "Product", "M": "Money", "T": "Title"}
TYPES |= dict.fromkeys("DYAF", "Date")
RELATIONS = {"w": "works_for", "t": "has_title", "f": "founder_of", "b": "based_in", "s": "part_of", "m": "makes"}
EVENTS = {
    "acq": ("Acquisition", "buyer", "target", {"M": "price"}),
    "hire": ("Hiring", "", "", {"P": "person", "O": "employer", "T": "title"}),
    "leave": ("Departure", "", "", {"P": "leaver", "O": "former_employer", "T": "former_title"}),
    "launch": ("Launch", "", "", {"O": "company", "G": "product", "L": "place"}),
    "invest": ("Investment", "investor", "recipient", {"M": "amount"}),
    "sue": ("Lawsuit", "plaintiff", "defendant", {"M": "damages", "L": "place"}),
}
"""Short name -> event type, role of who acts, role of who is acted on, usual roles by kind of slot."""

BORROWED = {"P": 0.3, "O": 0.3, "L": 0.4, "G": 0.3, "T": 0.6, "D": 0.4, "Y": 0.4, "A": 0.5, "F": 0.5}
"""Share of the mentions of dev and test that repeat a mention of the training split."""

PIECE = re.compile(
    r"\{(?P<slot>[A-Z]\d?)(?:=(?P<copy>[A-Z]\d?))?(?::(?P<hint>[^}]+))?\}"
    r"|(?P<trigger>\[)|(?P<end>\])|(?P<bracket>[<(])(?P<open>[A-Z]\d?) |(?P<close>[>)])"
)


@dataclass
class Pattern:
    """One line of a pattern file, taken apart: (kind, key or text, copied slot or closing bracket) for each piece."""

    pieces: list[tuple[str, str, str]]
    hints: dict[str, str] = field(default_factory=dict)
    events: list[tuple[str, int, list[tuple[str, str]]]] = field(default_factory=list)
    relations: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def slots(self) -> list[str]:
        """Keys of the slots that need a name, in order."""
        return [key for kind, key, copied in self.pieces if kind == "slot" and not copied]

    @property
    def makers(self) -> set[str]:
        """Keys of the organizations that make something."""
        launching = {slot for name, _, arguments in self.events if name == "launch" for _, slot in arguments}
        return launching | {head for type_, head, _ in self.relations if type_ == "makes"}


def parse_pattern(line: str) -> Pattern:
    """Take one line of a pattern file apart.

    >>> parse_pattern("{P} has [left] {O}. | leave P O").events
    [('leave', 1, [('person', 'P'), ('employer', 'O')])]
    """
    sentence, *notes = line.split(" | ")
    pieces: list[tuple[str, str, str]] = []
    hints: dict[str, str] = {}
    at = 0
    for match in PIECE.finditer(sentence):
        pieces.append(("text", sentence[at : match.start()], ""))
        at = match.end()
        if match["slot"]:
            if match["hint"]:
                hints[match["slot"]] = match["hint"]
            elif match["slot"][0] == "M" and re.search(r"(?i)\b(a|the|its|just) $", pieces[-1][1]):
                hints[match["slot"]] = "short"
            pieces.append(("slot", match["slot"], match["copy"] or ""))
        elif match["open"]:
            pieces.append(("open", match["open"], {"<": ">", "(": ")"}[match["bracket"]]))
        else:
            pieces.append((str(match.lastgroup), match.group(), ""))
    pattern = Pattern([*pieces, ("text", sentence[at:], "")], hints)
    for note in notes:
        first, *rest = note.split()
        if ":" in first:
            for code, head, tail in (re.split("[:-]", item) for item in note.split()):
                pattern.relations.append((RELATIONS[code], head, tail))
        else:
            name, number = re.fullmatch(r"([a-z]+)(\d?)", first).groups()  # type: ignore[union-attr]
            pattern.events.append((name, int(number or 1), list(_arguments(name, rest))))
    return pattern


def _arguments(event: str, items: Sequence[str]) -> Iterator[tuple[str, str]]:
    _, actor, acted_on, usual = EVENTS[event]
    for item in items:
        if "=" in item:
            role, slot = item.split("=")
            yield role, slot
        elif len(chain := re.split("([<>])", item)) > 1:
            before_seller, seller = (chain[:-2], chain[-1]) if chain[-2] == "<" else (chain, None)
            if len(before_seller) == 3:
                yield actor, before_seller[0]
            yield acted_on, before_seller[-1]
            if seller:
                yield "seller", seller
        else:
            yield usual.get(item[0], "date") if TYPES[item[0]] != "Date" else "date", item


class Names:
    """Draws names for the slots of one split."""

    def __init__(self, split: str, seen: Mapping[str, Sequence[str]]) -> None:
        self.rng = random.Random(f"sample {split}")
        self.all = tomllib.loads((PATTERNS / "names.toml").read_text(encoding="utf-8"))
        self.own = self.all[split]
        self.seen = seen

    def pick(self, items: Sequence[str]) -> str:
        # not random.choice, whose way of drawing is free to change between Python versions
        return items[int(self.rng.random() * len(items))]

    def fill(self, pattern: Pattern) -> dict[str, str]:
        """A text for each slot; no two share a name."""
        filled: dict[str, str] = {}
        taken: set[str] = set()
        for slot in pattern.slots:
            hint = pattern.hints.get(slot) or ("|".join(self.all["makers"]) if slot in pattern.makers else "")
            while True:
                text = self.draw(slot[0], hint)
                words = {w for w in text.split() if len(w) > 3 and w[0].isupper() and w not in self.all["trades"]}
                if text not in filled.values() and not words & taken:
                    break
            filled[slot] = text
            taken |= words
        return filled

    def draw(self, kind: str, hint: str) -> str:
        """One name of a kind: a mention of the training split or one made of the split's own names."""
        if self.rng.random() < BORROWED.get(kind, 0.0) and self.seen:
            trades = set(self.all["trades"]) - set(hint.split("|"))
            fitting = [name for name in self.seen[kind] if kind != "O" or not hint or name.split()[-1] not in trades]
            if hint != "next":
                return self.pick(fitting)
        names = self.own
        match kind:
            case "O" | "S":
                stem = self.pick(names["stems"])
                trade = self.pick(hint.split("|") if hint else self.all["trades"])
                return stem if kind == "S" or self.rng.random() < 0.25 else f"{stem} {trade}"
            case "P":
                surname = self.pick(names["surnames"])
                return surname if self.rng.random() < 0.1 else f"{self.pick(names['given'])} {surname}"
            case "M":
                return self.price() if hint == "price" else self.money(is_short=hint == "short")
            case "T":
                return self.pick(names["titles"])
            case "D":
                if self.rng.random() < 0.5:
                    return self.pick(names["weekdays"])
                return f"{1 + int(self.rng.random() * 28)} {self.pick(names['months'])}"
            case "Y":
                month = f"{self.pick(names['months'])} " if self.rng.random() < 0.4 else ""
                return month + self.pick(names["coming_years" if hint == "next" else "years"])
        return self.pick(names[{"L": "places", "G": "products", "A": "past", "F": "future"}[kind]])

    def money(self, is_short: bool) -> str:
        """An amount for companies; it never starts like "eight" or "eleven", so that it can follow the article "a"."""
        amount = self.pick([str(n) for n in range(2, 100) if n not in (8, 11, 18) and n // 10 != 8])
        unit = "million"
        if self.rng.random() < 0.25:
            amount, unit = f"{self.pick('1234567')}.{self.pick('123456789')}", self.pick(["million", "billion"])
        if self.rng.random() < 0.2 and not is_short:
            return f"{amount} {unit} {self.pick(['crowns', 'dollars'])}"
        return f"{self.pick('$€£')}{amount} {unit}"

    def price(self) -> str:
        """An amount for goods."""
        amount = f"{self.pick('1234567')}{self.pick(['50', '90', ',200', ',900'])}"
        return f"{amount} crowns" if self.rng.random() < 0.3 else f"{self.pick('$€£')}{amount}"


class Rendered:
    """A sentence with its mentions: the texts of the slots put into a pattern."""

    def __init__(self, pattern: Pattern, names: Mapping[str, str]) -> None:
        self.pattern = pattern
        self.text = ""
        self.spans: dict[str, tuple[int, int]] = {}
        self.triggers: list[tuple[int, int]] = []
        opened: dict[str, list[tuple[str, int]]] = {">": [], ")": []}
        trigger_start = 0
        for kind, value, extra in pattern.pieces:
            here = len(self.text)
            if kind == "slot":
                name = self.surface(self.spans[extra]) if extra else names[value]
                self.text += name
                if value[0] != "S":
                    self.spans[value] = (here, here + len(name))
            elif kind == "trigger":
                trigger_start = here
            elif kind == "end":
                self.triggers.append((trigger_start, here))
            elif kind == "open":
                opened[extra].append((value, here))
            elif kind == "close":
                key, start = opened[value].pop()
                self.spans[key] = (start, here)
            else:
                is_short_genitive = self.text.endswith("s") and value.startswith("'s")
                self.text += value.replace("'s", "'", 1) if is_short_genitive else value
        self.text = self.text[0].upper() + self.text[1:]

    def surface(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def quote(self, span: tuple[int, int]) -> dict[str, object]:
        """A span by its surface text, with ``nth`` where the text alone does not say which."""
        surface = self.surface(span)
        places = [m.start() for m in re.finditer(f"(?={re.escape(surface)})", self.text)]
        return {"text": surface} | ({"nth": 1 + places.index(span[0])} if len(places) > 1 else {})

    def to_dict(self) -> dict[str, object]:
        """The record in the raw-text form."""
        keys = sorted(self.spans, key=lambda key: (self.spans[key][0], -self.spans[key][1]))
        events = [
            {
                "trigger": self.quote(self.triggers[number - 1]) | {"type": EVENTS[name][0]},
                "arguments": [self.quote(self.spans[slot]) | {"role": role} for role, slot in arguments],
            }
            for name, number, arguments in self.pattern.events
        ]
        relations = {(keys.index(head), keys.index(tail), type_): None for type_, head, tail in self.relations()}
        return {
            "text": self.text,
            "entities": [self.quote(self.spans[key]) | {"type": TYPES[key[0]]} for key in keys],
            "relations": [{"head": head, "tail": tail, "type": type_} for head, tail, type_ in sorted(relations)],
            "events": events,
        }

    def relations(self) -> Iterator[tuple[str, str, str]]:
        """The relations of the pattern and those that follow from its events and nested mentions."""
        yield from self.pattern.relations
        for name, _, arguments in self.pattern.events:
            slots = {letter: [s for _, s in arguments if s[0] == letter] for letter in "POTG"}
            if name == "hire":
                yield from (("works_for", person, employer) for person in slots["P"] for employer in slots["O"])
                if len(slots["T"]) == 1:
                    yield from (("has_title", person, slots["T"][0]) for person in slots["P"])
            elif name == "launch":
                yield from (("makes", company, product) for company in slots["O"] for product in slots["G"])
        for inner, (start, end) in self.spans.items():
            around = [k for k, (s, e) in self.spans.items() if k != inner and s <= start and end <= e]
            if around:
                # the smallest mention around it
                outer = min(around, key=lambda k: self.spans[k][1] - self.spans[k][0])
                match outer[0] + inner[0]:
                    case "OL":
                        yield "based_in", outer, inner
                    case "OO":
                        yield "part_of", outer, inner
                    case "GO":
                        yield "makes", inner, outer


def patterns(split: str) -> list[Pattern]:
    """The patterns of one split, in the order of the file."""
    lines = (PATTERNS / f"{split}.txt").read_text(encoding="utf-8").splitlines()
    return [parse_pattern(line) for line in lines if line and not line.startswith("#")]


def make_split(split: str) -> list[dict[str, object]]:
    """All records of one split."""
    rendered = _render_split(split)
    return [{"id": f"{split}-{number:03d}"} | sentence.to_dict() for number, sentence in enumerate(rendered, 1)]


def _render_split(split: str) -> list[Rendered]:
    seen: dict[str, list[str]] = {}
    for sentence in _render_split("train") if split != "train" else ():
        for slot in sentence.pattern.slots:
            if slot in sentence.spans:
                seen.setdefault(slot[0], []).append(sentence.surface(sentence.spans[slot]))
    names = Names(split, seen)
    return [
        Rendered(pattern, names.fill(pattern))
        for fill in range(FILLS)
        for pattern in patterns(split)
        if fill == 0 or pattern.slots
    ]


def to_lines(records: Sequence[Mapping[str, object]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main() -> None:
    """Write the three files."""
    for split in SPLITS:
        records = make_split(split)
        path = HERE.parent / "ie" / "sample" / f"{split}.jsonl"
        path.write_text(to_lines(records), encoding="utf-8", newline="")
        print(f"{path.name}: {len(records)} sentences")


if __name__ == "__main__":
    main()
