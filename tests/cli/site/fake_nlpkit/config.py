from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nlpkit.encoder.config import EncoderConfig
from nlpkit.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class FakeModelConfig:
    size: int = 4
    """How big it is, 100% honest."""

    rare: float = 0.5
    """A setting that nobody changes."""

    mode: Literal["long", "short"] = "long"
    """Which way."""

    is_loud: bool = False
    """Whether it shouts."""

    names: tuple[str, ...] = ()
    """Some names."""

    depth: int | None = None
    """How deep, if at all."""

    def __post_init__(self) -> None:
        if self.size % 2:
            raise ConfigError(f"expected an even number, got {self.size}", key="model.size")


@dataclass(frozen=True, kw_only=True)
class FakeConfig:
    model: FakeModelConfig = field(default_factory=FakeModelConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    seed: int = 1
