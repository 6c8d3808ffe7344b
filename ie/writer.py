"""Results as JSON lines, as a table to read, as CoNLL columns and as a page; each writer streams but the page.

A writer takes results and an open text file, and flushes after every result, so that a reader at the other end of a
pipe need not wait. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

from nlpkit.data.lines import dump_line
from nlpkit.errors import shown_id
from nlpkit.ie.borders import BorderNeeds
from nlpkit.ie.types import IERecord, IEResult
from nlpkit.ie.words import WordView, word_view
from nlpkit.wording import counted, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Writer = Callable[[Iterable[IEResult], TextIO], None]

SHORT_TEXT = 300
"""Characters of a text that ``print`` shows."""

SHORT_ROWS = 20
"""Rows that ``print`` shows of what was found."""


def write_jsonl(results: Iterable[IERecord], out: TextIO) -> None:
    """One JSON object a line, which reads back as a data line.

    >>> import sys
    >>> write_jsonl([IERecord(text="Bo met Al", entities=())], sys.stdout)
    {"text": "Bo met Al", "entities": []}
    """
    is_utf = _is_utf(out)
    for result in results:
        # Not every terminal can show every character; JSON can say each in ASCII.
        out.write(dump_line(result.to_dict(), ascii_only=not is_utf) + "\n")
        out.flush()


def write_table(results: Iterable[IERecord], out: TextIO) -> None:
    """What was found in each text, to be read by people.

    >>> import sys
    >>> write_table([IERecord(text="Bo met Al", entities=())], sys.stdout)
    Bo met Al
      nothing found
    <BLANKLINE>
    """
    console = _console(out)
    for result in results:
        out.write(_table(result, console, is_utf=_is_utf(out)) + "\n")
        out.flush()


def short_table(record: IERecord) -> str:
    """The table of one record as plain text, cut where it would fill the screen: what ``print(record)`` shows.

    >>> print(short_table(IERecord(text="word " * 5000)))  # doctest: +ELLIPSIS
    word word ... ... (25,000 characters)
      nothing found
    """
    out = StringIO()
    return _table(record, _console(out, color_system=None), is_utf=True, is_short=True).rstrip("\n")


def _console(out: TextIO, **options: Any) -> Console:
    from rich.console import Console

    return Console(file=out, highlight=False, markup=False, emoji=False, **options)


def _table(record: IERecord, console: Console, *, is_utf: bool, is_short: bool = False) -> str:
    """What was found in one text, each line with its end."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, style in (("what", "dim"), ("type", "cyan"), ("text", None), ("score", "dim")):
        table.add_column(name, style=style, overflow="fold", no_wrap=name == "score")
    heading, rows, notes = _heading(record), list(_rows(record)), list(input_notes(record))
    if is_short:
        if len(rows) > SHORT_ROWS:
            notes.insert(0, f"... and {counted(len(rows) - SHORT_ROWS, 'row')} more")
        heading = _shortened(heading)
        rows = [(kind, label, _shortened(text), score) for kind, label, text, score in rows[:SHORT_ROWS]]
    for kind, label, text, score in rows:
        number = "" if score is None else f"{score:.2f}"
        table.add_row(f"  {kind}", *(_cell(part, is_utf) for part in (label, text)), number)
    with console.capture() as capture:
        console.print(_cell(heading, is_utf, "bold"))
        console.print(table if table.row_count else Text("  nothing found", style="dim"))
        for note in notes:
            console.print(_cell(f"  {note}", is_utf, "yellow"))
    # The columns are filled up with blanks, which nobody needs at the end of a line.
    return "".join(f"{line.rstrip(' ')}\n" for line in capture.get().removesuffix("\n").split("\n"))


def write_conll(results: Iterable[IERecord], out: TextIO) -> None:
    """A word a line with its BIO tag after a tab, and a blank line after each record.

    Lines without a tab are comments: the record's id, and what flat tags cannot say. Where entities overlap the longest
    wins, then the earlier, then the likelier; the others are named in comments, and relations and events are counted.
    White space in a word becomes ``_``.

    >>> import sys
    >>> from nlpkit.ie.types import Entity
    >>> record = IERecord(text="Al Bo met", entities=(Entity(start=0, end=5, type="Person"),))
    >>> write_conll([record], sys.stdout)  # doctest: +NORMALIZE_WHITESPACE
    Al	B-Person
    Bo	I-Person
    met	O
    <BLANKLINE>
    """
    for result in results:
        # the words of the model that made the result are not known; these are as fine as its spans need
        needs = BorderNeeds()
        needs.add(result)
        view = word_view(result, "widen", needs.borders)
        kept, dropped = _flat(view, result)
        tags = ["O"] * len(view.words)
        for start, end, label in kept:
            tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        lines = [] if result.id is None else [f"# id: {_one_line(shown_id(result.id))}"]
        lines += [f"# {_one_line(note)}" for note in view.skipped]
        for start, end, label in dropped:
            surface = _one_line(view.surface(start, end))
            lines.append(f"# left out, overlaps a longer entity: {label} words {start} to {end}: {surface}")
        for what in ("relations", "events"):
            if found := getattr(result, what):
                lines.append(f"# left out, not of this format: {counted(len(found), what.removesuffix('s'))}")
        lines += [f"{_column(word)}\t{_column(tag)}" for word, tag in zip(view.words, tags, strict=True)]
        text = "".join(f"{line}\n" for line in [*lines, ""])
        out.write(text if _is_utf(out) else _encodable(text, out))
        out.flush()


def write_html(results: Iterable[IERecord], out: TextIO) -> None:
    """One self-contained page with all results drawn; holds them in memory."""
    from nlpkit.ie.report import render_results

    page = render_results(list(results), title="nlpkit: what was found")
    if not _is_utf(out):
        page = page.encode("ascii", "xmlcharrefreplace").decode("ascii")
    out.write(page)
    out.flush()


formats: dict[str, Writer] = {
    "jsonl": write_jsonl,
    "table": write_table,
    "html": write_html,
    "conll": write_conll,
}
"""Name of ``--format`` and its writer."""


def _shortened(text: str) -> str:
    if len(text) <= SHORT_TEXT:
        return text
    return f"{text[:SHORT_TEXT].rstrip()}... ({counted(len(text), 'character')})"


def _heading(record: IERecord) -> str:
    text = record.text if record.text is not None else " ".join(record.tokens or ())
    return f"{shown_id(record.id)}: {text}" if record.id is not None else text


def _rows(record: IERecord) -> Iterator[tuple[str, str, str, float | None]]:
    """What was found: kind, label, text, score; arguments stand under their event."""
    for entity in record.entities or ():
        yield "entity", entity.type, record.surface(entity.start, entity.end), entity.score
    for relation in record.relations or ():
        ends = (record.head_of(relation), record.tail_of(relation))
        text = " -> ".join(record.surface(e.start, e.end) for e in ends)
        yield "relation", relation.type, text, relation.score
    for event in record.events or ():
        trigger = event.trigger
        yield "event", trigger.type, record.surface(trigger.start, trigger.end), trigger.score
        for argument in event.arguments:
            part = "" if argument.group is None else f" (part of {argument.group})"
            text = record.surface(argument.start, argument.end) + part
            yield "", f"  {argument.role}", text, argument.score


def input_notes(record: IERecord) -> Iterator[str]:
    """What a reader should know of how the model read a text."""
    info = record.input if isinstance(record, IEResult) else None
    if info is None:
        return
    if info.windows > 1:
        yield f"read in {info.windows} windows"
    if info.truncated:
        are_left = plural(info.truncated, "was", "were")
        yield f"{counted(info.truncated, 'piece')} of words longer than the encoder {are_left} left out"
    if info.unknown:
        yield f"{counted(info.unknown, 'word is', 'words are')} unknown to the encoder's tokenizer, wholly or in part"
    yield from info.skipped


def _flat(view: WordView, record: IERecord) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]:
    """The entities that flat tags can hold, in order, and the others."""
    scores: dict[tuple[int, int, str], float] = {}
    for entity in record.entities or ():
        spot = (entity.start, entity.end, entity.type)
        scores[spot] = max(scores.get(spot, 0.0), entity.score or 0.0)

    def rank(item: tuple[int, int, str]) -> tuple[int, int, float, str]:
        start, end, label = item
        return start - end, start, -scores.get((*view.unit_span(start, end), label), 0.0), label

    kept: list[tuple[int, int, str]] = []
    dropped: list[tuple[int, int, str]] = []
    taken = [False] * len(view.words)
    for item in sorted(view.entities or (), key=rank):
        start, end, _ = item
        if any(taken[start:end]):
            dropped.append(item)
        else:
            kept.append(item)
            taken[start:end] = [True] * (end - start)
    return sorted(kept), sorted(dropped)


def _column(word: str) -> str:
    """A word as one column of a line; it may hold white space or be empty in the user's own tokens."""
    return "".join("_" if char.isspace() or ord(char) < 32 else char for char in word) or "_"


def _one_line(text: str) -> str:
    """Text in one line without tabs and control characters."""
    return "".join(" " if char.isspace() else char for char in text if char.isspace() or not _is_control(char))


def _cell(text: str, is_utf: bool, style: str = "") -> Text:
    """Text for a terminal: control characters, which could steer it, are shown and not sent."""
    from rich.text import Text

    shown = "".join(char.encode("unicode_escape").decode("ascii") if _is_control(char) else char for char in text)
    if not is_utf:
        shown = shown.encode("ascii", "backslashreplace").decode("ascii")
    return Text(shown, style=style)


def _is_control(char: str) -> bool:
    return ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029"


def _is_utf(out: TextIO) -> bool:
    return (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def _encodable(text: str, out: TextIO) -> str:
    return text.encode(out.encoding, "backslashreplace").decode(out.encoding)
