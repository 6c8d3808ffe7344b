"""Information extraction: texts -> entities, relations and events. Names are loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlpkit.ie.schema import IESchema, RelationType
    from nlpkit.ie.types import Argument, Entity, Event, IERecord, IEResult, InputInfo, Relation, Trigger
    from nlpkit.ie.utcie.api import UTCIE
    from nlpkit.ie.utcie.config import IEDataConfig, UTCIEConfig, UTCIEModelConfig

_HOMES = {
    "Argument": "types",
    "Entity": "types",
    "Event": "types",
    "IEDataConfig": "utcie.config",
    "IERecord": "types",
    "IEResult": "types",
    "IESchema": "schema",
    "InputInfo": "types",
    "Relation": "types",
    "RelationType": "schema",
    "Trigger": "types",
    "UTCIE": "utcie.api",
    "UTCIEConfig": "utcie.config",
    "UTCIEModelConfig": "utcie.config",
}

__all__ = [
    "UTCIE",
    "Argument",
    "Entity",
    "Event",
    "IEDataConfig",
    "IERecord",
    "IEResult",
    "IESchema",
    "InputInfo",
    "Relation",
    "RelationType",
    "Trigger",
    "UTCIEConfig",
    "UTCIEModelConfig",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"nlpkit.ie.{_HOMES[name]}"), name)
