"""``nlpkit models``: the zoo."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nlpkit.cli.options import Parser
from nlpkit.data.lines import dump_line
from nlpkit.errors import NlpkitError
from nlpkit.registry import ModelSpec, all_specs


def run(words: Sequence[str]) -> int:
    """List every model, also those that other packages announce."""
    parser = Parser(prog="nlpkit models", usage="nlpkit models [--json]", description="List the models of the zoo.")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    found = parser.parse(words)
    rows = []
    for spec in all_specs():
        if isinstance(spec, ModelSpec):
            rows.append((spec.name, spec.task, weights_state(spec), spec.summary))
        else:
            name, error = spec
            print(f"nlpkit: the announced model {name!r} cannot be imported: {error}", file=sys.stderr)
    if found.json:
        for row in rows:
            print(dump_line(dict(zip(("name", "task", "weights", "summary"), row, strict=True))))
        return 0
    rows.insert(0, ("name", "task", "weights", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip())
    return 0


def weights_state(spec: ModelSpec) -> str:
    """``in place``, ``not installed``, or ``train it`` for a model without ready weights."""
    if spec.weights is None:
        return "train it"
    try:
        spec.resolve("weights")(spec.name)  # type: ignore[operator]
    except NlpkitError:
        return "not installed"
    return "in place"
