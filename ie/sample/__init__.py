"""The bundled sample: invented business news with entities, relations and events, for tutorial, demo and tests.

It is no benchmark. Sentences and names are invented; ``examples/make_sample.py`` in the repository writes the files.
The relations and events follow a few rules:

- ``works_for`` and ``has_title`` hold where the sentence itself gives a person a post ("Mara Ilvane, treasurer of
  Ostrane") or reports a hiring; a departure alone gives none.
- ``part_of`` links a unit, subsidiary or office to its owner, ``based_in`` an organization to its seat.
- A trigger is the verb with its particle, or the noun, that reports the event; one trigger may report two events
  ("moved from one company to another"). The roles of such events have names of their own (``employer``,
  ``former_employer``): a model that reads roles off a trigger and an argument can then tell the events apart.
"""

from __future__ import annotations

from pathlib import Path

SPLITS = ("train", "dev", "test")


def sample_path(split: str) -> Path:
    """The JSON-lines file of one split: ``train``, ``dev`` or ``test``.

    >>> sample_path("dev").name
    'dev.jsonl'
    """
    if split not in SPLITS:
        raise ValueError(f"expected one of {', '.join(SPLITS)}, got {split!r}")
    return Path(__file__).with_name(f"{split}.jsonl")
