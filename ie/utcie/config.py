"""Settings of UTC-IE; plain data, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nlpkit.configs import Config
from nlpkit.encoder.config import EncoderConfig
from nlpkit.errors import ConfigError
from nlpkit.training.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class UTCIEModelConfig(Config):
    """The network and its decoder. Source: Yan et al., UTC-IE, ACL 2023, section 3."""

    section = "model"

    channels: int = 32
    """Width C of the word-pair tensor, a multiple of 8: 64 or more for many labels and much data; slower."""

    biaffine_dim: int = 128
    """Width d of the two projections before the biaffine layer."""

    layers: int = 2
    """Plusformer layers N: more for links that depend on each other, fewer for speed; 0: the plain biaffine model."""

    position_dim: int = 50
    """Width of the embedding of the distance between two words; 0 switches it off."""

    shape_dim: int = 16
    """Width of the embedding of a word's shape (case, digits, punctuation), unseen by an uncased encoder; 0: off."""

    dropout: float = 0.3
    """Dropout on word vectors and projections: more for few data, less for many."""

    plus_dropout: float = 0.15
    """Dropout inside Plusformer: more for few data, less for many."""

    link_loss: Literal["adaptive", "bce"] = "adaptive"
    """Loss of relations and roles: adaptive threshold, or binary cross-entropy."""

    split_links: bool = True
    """Give the start-start and the end-end cells of a link channels of their own; in the paper they share one."""

    empty_link_weight: float = 1.0
    """Weight of the link loss on word pairs that are no border pair of two gold spans."""

    reduction: Literal["sum", "positives", "cells"] = "sum"
    """How the losses of a record's cells are put together: their sum, or divided by the gold cells or all cells."""

    entity_overlap: Literal["auto", "flat", "nested", "any"] = "auto"
    """Entities may overlap never, one inside another, at will, or as in the data: flat if nested ones are mistakes."""

    trigger_overlap: Literal["auto", "flat", "nested", "any"] = "auto"
    """The same for triggers."""

    argument_overlap: Literal["auto", "flat", "nested", "any"] = "auto"
    """The same for argument spans."""

    multi_label: bool = True
    """Allow several types on one span, and several relation types or roles on one pair."""

    link_agreement: Literal["mean", "min"] = "mean"
    """Whether the two border cells of a link must pass on average, or each (``min``): fewer and surer links."""

    schema_filter: bool = False
    """Keep only relations and roles whose types were seen together in training or are in the schema."""

    max_words: int = 200
    """Most words in a window, longer texts are read in overlapping ones: fewer to save memory, more for long links."""

    window_overlap: int = 60
    """Words that two neighbouring windows share: more for links that reach far, fewer for speed."""

    def check(self) -> None:
        """Ranges."""
        if self.channels < 8 or self.channels % 8:
            raise ConfigError(f"expected a multiple of 8, got {self.channels}", key="model.channels")
        for key, low in (
            ("biaffine_dim", 1),
            ("layers", 0),
            ("position_dim", 0),
            ("shape_dim", 0),
            ("max_words", 2),
            ("window_overlap", 0),
        ):
            if getattr(self, key) < low:
                raise ConfigError(f"expected at least {low}, got {getattr(self, key)}", key=f"model.{key}")
        for key in ("dropout", "plus_dropout"):
            if not 0 <= getattr(self, key) < 1:
                raise ConfigError(f"expected 0 to below 1, got {getattr(self, key)}", key=f"model.{key}")
        if not self.empty_link_weight >= 0:
            raise ConfigError(f"expected 0 or more, got {self.empty_link_weight}", key="model.empty_link_weight")
        if self.window_overlap >= self.max_words:
            raise ConfigError(
                f"expected less than model.max_words ({self.max_words}), got {self.window_overlap}",
                key="model.window_overlap",
            )


@dataclass(frozen=True, kw_only=True)
class IEDataConfig(Config):
    """How records become training data."""

    section = "data"

    misaligned: Literal["error", "widen", "skip"] = "error"
    """What to do with a span that cuts a word: widen it, or skip it, if you cannot correct the data."""

    offset_unit: Literal["codepoint", "utf16", "byte"] = "codepoint"
    """What positions in a text count: code points as in Python, UTF-16 units as in Java, or UTF-8 bytes."""

    symmetric: tuple[str, ...] = ()
    """Relation types without direction, such as married_to, for data that gives only one of the two orders."""

    join_share: float = 0.3
    """Share of the training records that are read a second time in each epoch, in longer texts made of several records:
    more for texts of many sentences, less to train faster, 0 to read only the records as they are."""

    join_records: int = 4
    """Most records of such a text; neighbours of one document first, else any."""

    licence: str | None = None
    """Licence of the training data, kept in the saved model beside their hash."""

    def check(self) -> None:
        """Ranges."""
        if not 0 <= self.join_share <= 1:
            raise ConfigError(f"expected a share from 0 to 1, got {self.join_share}", key="data.join_share")
        if self.join_records < 2:
            raise ConfigError(f"expected at least 2, got {self.join_records}", key="data.join_records")


@dataclass(frozen=True, kw_only=True)
class UTCIEConfig(Config):
    """All settings of a UTC-IE run.

    >>> UTCIEConfig(trainer=TrainConfig(epochs=5)).trainer.epochs
    5
    """

    model: UTCIEModelConfig = field(default_factory=UTCIEModelConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    trainer: TrainConfig = field(default_factory=TrainConfig)
    data: IEDataConfig = field(default_factory=IEDataConfig)
    seed: int = 1
    """Rules all chance: another one to see how much it does."""
