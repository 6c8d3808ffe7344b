"""The public class of UTC-IE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

import torch

from nlpkit.configs import from_dict, nearest, to_dict
from nlpkit.data.fields import shown_value
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.errors import ConfigError, DataError, ModelFormatError
from nlpkit.folder import as_folder
from nlpkit.ie.metrics import IEReport, IEScorer
from nlpkit.ie.overlap import OverlapPolicy
from nlpkit.ie.reader import is_iterable
from nlpkit.ie.schema import IESchema
from nlpkit.ie.seen import Seen
from nlpkit.ie.training_data import Records, describe, read_or_check
from nlpkit.ie.types import IERecord, IEResult
from nlpkit.ie.utcie.config import UTCIEConfig
from nlpkit.ie.utcie.decode import DecodeSettings
from nlpkit.ie.utcie.labels import LabelLayout
from nlpkit.ie.utcie.model import UTCIENetwork
from nlpkit.ie.utcie.predict import as_record, as_records, predict_records
from nlpkit.model import NlpkitModel, choose_device
from nlpkit.tensors import load_network
from nlpkit.text.offsets import OffsetUnit, check_offset_unit
from nlpkit.text.words import BORDERS, DEFAULT_BORDERS, WORD_RULES
from nlpkit.wording import counted, did_you_mean

if TYPE_CHECKING:
    from nlpkit.training import TrainSummary

Text = str | Mapping[str, Any] | IERecord
"""A text, a data line, or a record; labels in it are not looked at."""

Threshold = float | Mapping[str, float]
"""One probability for all types, or by type; ``*`` stands for the others."""


class UTCIE(NlpkitModel):
    """Entities, relations and events as cells of one table of word pairs.

    Source: Yan et al., "UTC-IE: A Unified Token-pair Classification Architecture for Information Extraction", ACL 2023.

    Args:
        config: All settings; the default is a good start.

    Attributes:
        thresholds: Probability from which a type counts, saved with the model; ``*`` stands for all other types, 0.5 at
            first. What :meth:`predict` is given goes before it.
        seen: The lengths of the texts that it was trained on; None for models of older versions.
        given_config: The settings that training starts from.
        config: The settings in use: after training, what ``auto`` stood for is filled in.
        word_borders: Kinds of borders inside words, see :func:`nlpkit.text.words.split_words`: the default ones, and
            those that the spans of the training data need.

    Example::

        model = UTCIE()
        model.fit("train.jsonl", "dev.jsonl", out="runs/mine")
        for entity in model.predict("Ada Holm joined Kestrel Works.").entities:
            print(entity.type, entity.text, entity.score)
    """

    name: ClassVar[str] = "utcie"
    parts: ClassVar[Mapping[str, str]] = {"encoder": "encoder", "head": "head.safetensors"}

    def __init__(self, config: UTCIEConfig | None = None) -> None:
        if not isinstance(config, UTCIEConfig | None):
            raise ConfigError(
                f"expected a UTCIEConfig, got {type(config).__name__}; write, for example, "
                "UTCIE(UTCIEConfig(trainer=TrainConfig(epochs=5)))"
            )
        self.given_config = config or UTCIEConfig()
        self.config = self.given_config
        self.device = torch.device("cpu")
        self.dev_scores: dict[str, float | None] = {}
        self.thresholds: dict[str, float] = {}
        self.seen: Seen | None = None
        self.word_borders: tuple[str, ...] = DEFAULT_BORDERS
        self.notes: tuple[str, ...] = ()
        self.training_data: tuple[Mapping[str, Any], ...] = ()
        self._encoder: TextEncoder | None = None
        self._network: UTCIENetwork | None = None
        self._layout: LabelLayout | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether the model was trained or loaded."""
        return self._network is not None

    @property
    def schema(self) -> IESchema:
        """The labels that the model knows."""
        return self.layout.schema

    @property
    def layout(self) -> LabelLayout:
        """What the channels of the network mean."""
        self._require_fitted("use this model")
        assert self._layout is not None
        return self._layout

    @property
    def modules(self) -> tuple[TextEncoder, UTCIENetwork]:
        """Encoder and network."""
        self._require_fitted("use this model")
        assert self._encoder is not None
        assert self._network is not None
        return self._encoder, self._network

    def fit(
        self,
        train: Records,
        dev: Records | None = None,
        *,
        out: str | Path | None = None,
        schema: IESchema | str | Path | None = None,
        init_from: str | Path | None = None,
        limit: int | None = None,
        resume: bool = False,
    ) -> TrainSummary:
        """Train; afterwards the model holds the weights of the best dev epoch.

        Args:
            train: A file, several files, or records.
            dev: The same, to pick the best epoch; None holds out a seeded share of the training records.
            out: Run folder for checkpoints, log and best model; None writes nothing.
            schema: The labels; None takes those of the training records.
            init_from: A model folder whose weights are the start, as far as they fit.
            limit: Use only the first training records.
            resume: Go on with the run in ``out``.

        Raises:
            DataError: Something is wrong with the records; all problems are named.
            ConfigError: A setting cannot be used, or ``out`` is not empty.
        """
        from nlpkit.ie.utcie.fit import fit

        if not isinstance(schema, IESchema | str | Path | None):
            raise ConfigError(f"expected an IESchema or a file, got {type(schema).__name__}", key="schema")
        if limit is not None:
            _require_count("limit", limit)
        return fit(
            self,
            train,
            dev,
            out=None if out is None else as_folder(out),
            schema=schema,
            init_from=init_from,
            limit=limit,
            resume=resume,
        )

    @overload
    def predict(  # type: ignore[overload-overlap]  # a text is an iterable of texts, too
        self,
        inputs: Text,
        *,
        threshold: Threshold | None = ...,
        overlap: OverlapPolicy | None = ...,
        batch_size: int | None = ...,
    ) -> IEResult: ...

    @overload
    def predict(
        self,
        inputs: Iterable[Text | Sequence[str]],
        *,
        threshold: Threshold | None = ...,
        overlap: OverlapPolicy | None = ...,
        batch_size: int | None = ...,
    ) -> Iterator[IEResult]: ...

    def predict(
        self,
        inputs: Text | Iterable[Text | Sequence[str]],
        *,
        threshold: Threshold | None = None,
        overlap: OverlapPolicy | None = None,
        batch_size: int | None = None,
    ) -> IEResult | Iterator[IEResult]:
        """Extract entities, relations and events.

        Args:
            inputs: One text, data line or record gives one result; an iterable of them, or of word lists, gives an
                iterator of results in the same order, in constant memory.
            threshold: From which probability something counts, for all types or by type; 0.5 by default.
            overlap: Which spans may overlap, for all groups; as trained by default.
            batch_size: Most texts that go through the network at once.

        Raises:
            NotFittedError: The model was not trained or loaded.
            ConfigError: A threshold names a type that the model does not know.
            DataError: An input is no text, data line or record, or a faulty one. It is named by its place; the results
                of those before it are given first.
        """
        settings = self.decode_settings(threshold, overlap)
        if batch_size is not None:
            _require_count("batch_size", batch_size)
        is_single = isinstance(inputs, (str, Mapping, IERecord)) or not is_iterable(inputs)
        # what is wrong with a single input is said at once
        records = [as_record(inputs)] if is_single else as_records(cast("Iterable[Any]", inputs))
        results = self._stream(records, lambda chunk: predict_records(self, chunk, settings, batch_size))
        return next(results) if is_single else results

    def evaluate(
        self,
        data: Records,
        *,
        threshold: Threshold | None = None,
        overlap: OverlapPolicy | None = None,
        batch_size: int | None = None,
        offset_unit: OffsetUnit | None = None,
        on_record: Callable[[], object] | None = None,
    ) -> IEReport:
        """Score the model on annotated data.

        A gold span that cuts a word is treated as ``data.misaligned`` said in training: widened to whole words, left
        out, or else it can only be missed. The report counts and names them.

        Args:
            data: A file, several files, or records.
            threshold: See :meth:`predict`.
            overlap: See :meth:`predict`.
            batch_size: See :meth:`predict`.
            offset_unit: What the positions in the texts count, ``codepoint``, ``utf16`` or ``byte``; by default as in
                training.
            on_record: Called after each record, for a progress bar.

        Raises:
            DataError: Something is wrong with the records, or there is none.
        """
        settings = self.decode_settings(threshold, overlap)
        if batch_size is not None:
            _require_count("batch_size", batch_size)
        scorer = IEScorer(
            self.schema,
            model=self.name,
            data=describe(data),
            misaligned=self.config.data.misaligned,
            word_borders=self.word_borders,
        )
        # no gold span is refused for cutting a word: the scorer counts and names those
        unit = self.config.data.offset_unit if offset_unit is None else offset_unit
        check_offset_unit(unit)
        records = iter(read_or_check(data, misaligned="skip", offset_unit=unit))

        def answer(chunk: list[IERecord]) -> list[tuple[IERecord, IEResult]]:
            return list(zip(chunk, predict_records(self, chunk, settings, batch_size), strict=True))

        n_records = 0
        for gold, result in self._stream(records, answer):
            n_records += 1
            scorer.add(gold, result)
            if on_record is not None:
                on_record()
        if not n_records:
            raise DataError(f"{describe(data)}: there is no record in it; nothing to evaluate")
        return scorer.report()

    def decode_settings(
        self, threshold: Threshold | None = None, overlap: OverlapPolicy | None = None
    ) -> DecodeSettings:
        """How scores become results, from the model's settings and what the caller wants."""
        model = self.config.model
        known = {*self.layout.span_names, *self.layout.relation_names, *self.schema.roles}
        given = threshold if isinstance(threshold, Mapping) else {} if threshold is None else {"*": threshold}
        # one number for all types also stands above the model's own numbers for some
        by_type = {**({} if set(given) == {"*"} else self.thresholds), **given}
        general = by_type.pop("*", 0.5)
        for name, value in [*by_type.items(), ("*", general)]:
            if not isinstance(name, str):
                raise ConfigError(f"expected names of types, got {shown_value(name)}", key="threshold")
            if name != "*" and name not in known:
                near = nearest(name, known)
                hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"
                raise ConfigError(f"the model knows no type {name!r}; {hint}", key="threshold")
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:
                raise ConfigError(f"expected a probability from 0 to 1, got {shown_value(value)}", key="threshold")
        if not isinstance(overlap, str | None) or overlap not in (None, "flat", "nested", "any"):
            hint = did_you_mean(overlap, ("flat", "nested", "any")) if isinstance(overlap, str) else ""
            raise ConfigError(f"expected flat, nested or any, got {shown_value(overlap)}{hint}", key="overlap")

        def policy(trained: Literal["auto", "flat", "nested", "any"]) -> OverlapPolicy:
            return overlap or ("nested" if trained == "auto" else trained)

        return DecodeSettings(
            threshold=float(general),
            thresholds={name: float(value) for name, value in by_type.items()},
            entity_overlap=policy(model.entity_overlap),
            trigger_overlap=policy(model.trigger_overlap),
            argument_overlap=policy(model.argument_overlap),
            multi_label=model.multi_label,
            schema_filter=model.schema_filter,
            adaptive=model.link_loss == "adaptive",
            link_agreement=model.link_agreement,
        )

    def to(self, device: str) -> UTCIE:
        """Move the weights: ``auto``, ``cpu`` or ``gpu``."""
        self.device = choose_device(device)
        for module in self.modules:
            module.to(self.device)
        return self

    def _manifest(self) -> dict[str, Any]:
        return {
            "config": {**to_dict(self.config), "encoder": {**to_dict(self.config.encoder), "name": "encoder"}},
            "schema": self.schema.to_dict(),
            "preprocessing": {"words": WORD_RULES, "borders": list(self.word_borders)},
            "seen": self.seen.to_dict() if self.seen else None,
            "thresholds": dict(self.thresholds),
            "calibration": None,
            "dev": self.dev_scores,
            "notes": list(self.notes),
            "training_data": [dict(source) for source in self.training_data],
        }

    def _write_parts(self, folder: Path) -> None:
        from safetensors.torch import save_file

        encoder, network = self.modules
        encoder.save(folder / self.parts["encoder"])
        tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
        save_file(tensors, folder / self.parts["head"])

    @classmethod
    def _from_parts(cls, manifest: Mapping[str, Any], parts: Mapping[str, Path], device: torch.device) -> UTCIE:
        config = from_dict(UTCIEConfig, manifest["config"])
        model = cls(config)
        encoder = TextEncoder.from_folder(parts["encoder"], config.encoder, exact=True)
        layout = LabelLayout(IESchema.from_dict(manifest["schema"]), config.model.split_links)
        network = load_network(lambda: UTCIENetwork(config.model, encoder.dim, layout.n_labels), parts["head"])
        model._install(encoder, network, layout)
        model.word_borders = _saved_borders(manifest["preprocessing"])
        if manifest.get("seen") is not None:
            model.seen = Seen.from_dict(manifest["seen"])
        model.thresholds = dict(manifest["thresholds"])
        model.dev_scores = dict(manifest.get("dev", {}))
        model.notes = tuple(manifest.get("notes", ()))
        model.training_data = tuple(manifest.get("training_data", ()))
        model.device = device
        for module in model.modules:
            module.to(device).eval()
        return model

    def _facts(self) -> list[str]:
        n_parameters = sum(p.numel() for module in self.modules for p in module.parameters())
        return ["on the CPU" if self.device.type == "cpu" else "on a GPU", counted(n_parameters, "parameter")]

    def _install(self, encoder: TextEncoder, network: UTCIENetwork, layout: LabelLayout) -> None:
        self._encoder, self._network, self._layout = encoder, network, layout


def _saved_borders(preprocessing: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of borders inside words that a saved model was trained with; at first there were none."""
    version, borders = preprocessing["words"], tuple(preprocessing.get("borders", ()))
    if version not in (1, WORD_RULES) or not set(borders) <= set(BORDERS):
        raise ModelFormatError(
            f"the model was trained with other rules for what a word is ({version} with {list(borders)}, here "
            f"{WORD_RULES} with any of {list(BORDERS)}); use the version of nlpkit that made it"
        )
    return borders


def _require_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"expected a whole number of 1 or more, got {shown_value(value)}", key=name)
