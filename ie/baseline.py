"""A dictionary that extracts what it saw in training: the least that a trained model has to beat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from nlpkit.errors import DataError, NotFittedError
from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.types import Argument, Entity, Event, IERecord, Relation, Trigger
from nlpkit.ie.words import WordView, word_view
from nlpkit.text.words import DEFAULT_BORDERS

Key = TypeVar("Key", bound=Hashable)
Label = TypeVar("Label", bound=Hashable)
_Mention = tuple[int, int, str]
_Words = tuple[str, ...]


class DictionaryBaseline:
    """Looks mentions and triggers up, and links them by their types alone.

    - Mentions and triggers: the longest matches of what was annotated in training, from left to right, with the type
      that was most frequent there; case is ignored. Without entities in the data, the arguments of events are the
      mentions, and their role is their type.
    - Relations: all pairs of mentions, taken in the order of the text, get the relation (and the direction) that was
      most frequent in training for their two types.
    - Arguments: all mentions get, for each trigger, the role that was most frequent for the event type and their type.
    - A pair of types is linked at all only where this raises the F1 score on the training data: otherwise pairs that
      are rarely related would drag the baseline down.

    >>> train = IERecord(tokens=("Bo", "left", "Acme"), entities=(Entity(start=0, end=1, type="Person"),))
    >>> baseline = DictionaryBaseline().fit([train])
    >>> baseline.predict(IERecord(tokens=("Then", "Bo", "slept"))).entities
    (Entity(start=1, end=2, type='Person', score=None, text=None),)
    """

    def __init__(self) -> None:
        self.mentions: dict[_Words, str] = {}
        self.triggers: dict[_Words, str] = {}
        self.relations: dict[tuple[str, str], tuple[str, bool]] = {}
        self.roles: dict[tuple[str, str], str] = {}
        self._groups: dict[str, bool] = {}
        self._borders: tuple[str, ...] = DEFAULT_BORDERS

    def fit(self, records: Iterable[IERecord]) -> DictionaryBaseline:
        """Learn the dictionaries.

        Raises:
            DataError: There is no record.
        """
        records = list(records)
        needs = BorderNeeds()
        for record in records:
            needs.add(record)
        self._borders = needs.borders
        views = [word_view(record, "widen", self._borders) for record in records]
        if not views:
            raise DataError("the dictionary baseline was given no training record; expected at least one")
        self._groups = {
            group: any(getattr(view, group) is not None for view in views)
            for group in ("entities", "relations", "events")
        }
        mentions: defaultdict[_Words, Counter[str]] = defaultdict(Counter)
        triggers: defaultdict[_Words, Counter[str]] = defaultdict(Counter)
        for view in views:
            for start, end, label in self._known_mentions(view):
                mentions[_words(view, start, end)][label] += 1
            for event in view.events or ():
                triggers[_words(view, event.trigger.start, event.trigger.end)][event.trigger.type] += 1
        self.mentions = {words: _most_frequent(labels) for words, labels in mentions.items()}
        self.triggers = {words: _most_frequent(labels) for words, labels in triggers.items()}
        self.relations = best_links(link for view in views if view.relations is not None for link in _pairs(view))
        self.roles = best_links(link for view in views for link in self._candidate_roles(view))
        return self

    def predict(self, record: IERecord) -> IERecord:
        """The record with the groups of the training data filled from the dictionaries.

        Raises:
            NotFittedError: There was no ``fit`` before.
        """
        if not self._groups:
            raise NotFittedError("the dictionary baseline has no dictionary yet; call fit first")
        view = word_view(IERecord(text=record.text, tokens=record.tokens), borders=self._borders)
        found = list(matches(view, self.mentions))
        spans = [view.unit_span(start, end) for start, end, _ in found]
        return IERecord(
            id=record.id,
            text=record.text,
            tokens=record.tokens,
            entities=tuple(Entity(start=s, end=e, type=t) for (s, e), (_, _, t) in zip(spans, found, strict=True))
            if self._groups["entities"]
            else None,
            relations=tuple(self._relations(found)) if self._groups["relations"] else None,
            events=tuple(self._events(view, found)) if self._groups["events"] else None,
        )

    def _relations(self, found: Sequence[_Mention]) -> Iterator[Relation]:
        for (i, first), (j, second) in combinations(enumerate(found), 2):
            link = self.relations.get((first[2], second[2]))
            if link:
                label, is_forward = link
                yield Relation(head=i if is_forward else j, tail=j if is_forward else i, type=label)

    def _events(self, view: WordView, found: Sequence[_Mention]) -> Iterator[Event]:
        for start, end, label in matches(view, self.triggers):
            first, last = view.unit_span(start, end)
            arguments = []
            for mention in found:
                role = self.roles.get((label, mention[2]))
                if role:
                    at, to = view.unit_span(mention[0], mention[1])
                    arguments.append(Argument(start=at, end=to, role=role))
            yield Event(trigger=Trigger(start=first, end=last, type=label), arguments=tuple(arguments))

    def _known_mentions(self, view: WordView) -> Sequence[_Mention]:
        if self._groups["entities"]:
            return view.entities or ()
        return sorted({(a.start, a.end, a.role) for event in view.events or () for a in event.arguments})

    def _candidate_roles(self, view: WordView) -> Iterator[tuple[tuple[str, str], str | None]]:
        """(event type, mention type) of every trigger and mention of a record, with the role that joins them."""
        mentions = self._known_mentions(view)
        for event in view.events or ():
            roles = {(a.start, a.end): a.role for a in event.arguments}
            for start, end, label in mentions:
                yield (event.trigger.type, label), roles.get((start, end))


def best_links(candidates: Iterable[tuple[Key, Label | None]]) -> dict[Key, Label]:
    """The most frequent label of each key, for the set of keys that gives the best F1 score on these candidates.

    Args:
        candidates: A key and the label that was annotated for it, or None if there was none.

    >>> best_links([("a", "x"), ("a", "x"), ("a", None), ("b", "y")] + [("b", None)] * 9)
    {'a': 'x'}
    """
    counts: defaultdict[Key, Counter[Label]] = defaultdict(Counter)
    totals: Counter[Key] = Counter()
    for key, label in candidates:
        totals[key] += 1
        if label is not None:
            counts[key][label] += 1
    n_gold = sum(labels.total() for labels in counts.values())
    ranked = sorted(
        ((max(labels.values()), totals[key], key, _most_frequent(labels)) for key, labels in counts.items()),
        key=lambda link: (-link[0] / link[1], str(link[2])),
    )
    best, n_best, hits, predicted = 0.0, 0, 0, 0
    for n, (hit, total, _, _) in enumerate(ranked, 1):
        hits, predicted = hits + hit, predicted + total
        score = 2 * hits / (predicted + n_gold)
        if score > best:
            best, n_best = score, n
    return {key: label for _, _, key, label in ranked[:n_best]}


def matches(view: WordView, dictionary: Mapping[_Words, str]) -> Iterator[_Mention]:
    """The longest entries of a dictionary of words, from left to right, as (start, end, label); none overlap."""
    longest = max(map(len, dictionary), default=0)
    start = 0
    while start < len(view.words):
        for end in range(min(start + longest, len(view.words)), start, -1):
            label = dictionary.get(_words(view, start, end))
            if label is not None:
                yield start, end, label
                start = end
                break
        else:
            start += 1


def _words(view: WordView, start: int, end: int) -> _Words:
    return tuple(word.casefold() for word in view.words[start:end])


def _most_frequent(labels: Counter[Label]) -> Label:
    """The label with the highest count, of equal ones the first in the alphabet: the order of the data is free."""
    return min(labels, key=lambda label: (-labels[label], str(label)))


def _pairs(view: WordView) -> Iterator[tuple[tuple[str, str], tuple[str, bool] | None]]:
    """All pairs of mentions in the order of the text: their types, and the relation with whether it points forward."""
    entities = view.entities or ()
    related: dict[tuple[int, int], tuple[str, bool]] = {}
    for head, tail, label in view.relations or ():
        is_forward = entities[head][:2] <= entities[tail][:2]
        related[(head, tail) if is_forward else (tail, head)] = label, is_forward
    order = sorted(range(len(entities)), key=lambda i: (entities[i][0], entities[i][1]))
    for i, j in combinations(order, 2):
        pair = related.get((i, j), related.get((j, i)))
        yield (entities[i][2], entities[j][2]), pair
