"""Text encoders: any Hugging Face encoder with a fast tokenizer, or the packaged MiniLM; no torch at import."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlpkit.encoder.config import EncoderConfig as EncoderConfig
    from nlpkit.encoder.encoder import PieceBatch as PieceBatch
    from nlpkit.encoder.encoder import TextEncoder as TextEncoder
    from nlpkit.encoder.folder import encoder_folder as encoder_folder
    from nlpkit.encoder.pieces import WordTokenizer as WordTokenizer

_PLACES = {
    "EncoderConfig": "nlpkit.encoder.config",
    "PieceBatch": "nlpkit.encoder.encoder",
    "TextEncoder": "nlpkit.encoder.encoder",
    "WordTokenizer": "nlpkit.encoder.pieces",
    "encoder_folder": "nlpkit.encoder.folder",
}
__all__ = list(_PLACES)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
