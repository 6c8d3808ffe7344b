"""Whether the spans of a file fit its texts better when their positions count something else. Loads no torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from nlpkit.data.lines import read_objects
from nlpkit.errors import Problem
from nlpkit.ie.parse import parse_record
from nlpkit.ie.words import alignment_problems
from nlpkit.text.offsets import OFFSET_UNITS, UNIT_NAMES, OffsetUnit
from nlpkit.wording import counted, plural, setting

_SHARE_LEFT = 0.1
"""Share of the faults that may be left for another unit to explain them."""


def shift_problem(path: str, unit: OffsetUnit) -> Problem | None:
    """A warning if another unit than the given one explains the faults of a file; reads the file again.

    Only records that the units see differently are looked at: texts with a character beyond ASCII.
    """
    if not Path(path).is_file():  # a pipe is read once
        return None
    n_faults: Counter[OffsetUnit] = Counter()
    for _, obj in read_objects(path, []):
        text = obj.get("text")
        if not isinstance(text, str) or text.isascii():
            continue
        for each in OFFSET_UNITS:
            record, problems = parse_record(obj, offset_unit=each)
            n_faults[each] += sum(problem.severity == "error" for problem in problems)
            n_faults[each] += 0 if record is None else len(alignment_problems(record))
    best = min(OFFSET_UNITS, key=lambda each: n_faults[each])
    n, n_left = n_faults[unit], n_faults[best]
    if not n or n_left > _SHARE_LEFT * n:
        return None
    units, left = plural(2, UNIT_NAMES[best]), f"{n_left:,}" if n_left else "none"
    return Problem(
        message=f"the positions seem to count {units}, which leaves {left} of {counted(n, 'error')}",
        remedy=f"use {setting('data.offset_unit', best)}",
        file=path,
        severity="warning",
    )
