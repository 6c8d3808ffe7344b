"""Settings of the text encoder; plain data, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nlpkit.configs import Config
from nlpkit.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Config):
    """The Hugging Face encoder under a model."""

    section = "encoder"

    name: str = "minilm"
    """A folder with a Hugging Face encoder: for another language than English, or a larger one for better scores."""

    word_pooling: Literal["max", "first", "mean"] = "max"
    """How the pieces of a word become one vector; seldom matters much."""

    max_pieces: int | None = None
    """Most pieces of one window, special ones included, by default the encoder's own limit: fewer to save memory."""

    def check(self) -> None:
        """Ranges."""
        if self.max_pieces is not None and self.max_pieces < 8:
            raise ConfigError(f"expected at least 8, got {self.max_pieces}", key="encoder.max_pieces")
