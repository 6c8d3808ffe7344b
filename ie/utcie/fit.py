"""How a UTC-IE model is fitted: data, labels and modules are put together and given to the common trainer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nlpkit.configs import to_dict
from nlpkit.encoder.config import EncoderConfig
from nlpkit.encoder.encoder import TextEncoder
from nlpkit.errors import DataError, shown_id
from nlpkit.folder import part_path, read_manifest, read_whole, resolve_model_folder
from nlpkit.ie.joining import join_records
from nlpkit.ie.metrics import IEScorer, dev_score_notes, dev_score_parts
from nlpkit.ie.overlap import tightest_policy
from nlpkit.ie.schema import IESchema
from nlpkit.ie.seen import Seen
from nlpkit.ie.training_data import Records, TrainingData, load_training_data
from nlpkit.ie.types import IERecord, Trigger
from nlpkit.ie.unknown import REMEDY as UNKNOWN_REMEDY
from nlpkit.ie.unknown import UnknownWords
from nlpkit.ie.utcie.config import UTCIEConfig
from nlpkit.ie.utcie.data import Example, WindowBatch, collate, join, joinables, prepare, window_length, window_list
from nlpkit.ie.utcie.labels import LabelLayout, lost_annotations
from nlpkit.ie.utcie.model import UTCIENetwork
from nlpkit.ie.utcie.predict import Answers, pair_cost
from nlpkit.ie.utcie.task import UTCIETask
from nlpkit.ie.words import WordView, align_record, alignment_problems
from nlpkit.seed import derive_seed, preserved_rng, seed_everything
from nlpkit.training import Phase, PhaseData, TrainSummary, train
from nlpkit.training.run import finish_run, run_settings
from nlpkit.training.trainer import check_start
from nlpkit.wording import counted

if TYPE_CHECKING:
    from nlpkit.ie.utcie.api import UTCIE

SPAN_BIAS = -4.0
THRESHOLD_BIAS = 2.0
"""Initial output biases: nearly all cells are empty, so training starts from there."""


def fit(
    model: UTCIE,
    train_records: Records,
    dev_records: Records | None,
    *,
    out: Path | None,
    schema: IESchema | str | Path | None,
    init_from: str | Path | None,
    limit: int | None,
    resume: bool,
) -> TrainSummary:
    """Train ``model`` in place, see :meth:`nlpkit.ie.utcie.api.UTCIE.fit`; if it fails, the model is as before."""
    config = model.given_config
    check_start(config.trainer, out, resume=resume)
    data = load_training_data(
        train_records,
        dev_records,
        schema=schema,
        symmetric=config.data.symmetric,
        misaligned=config.data.misaligned,
        offset_unit=config.data.offset_unit,
        limit=limit,
        dev_share=config.trainer.dev_share,
        seed=config.seed,
        licence=config.data.licence,
    )
    with _as_before_if_it_fails(model):
        _install(model, data, init_from)
        phase = _make_phase(model, data)
        files = None
        if out is not None:
            names = {"schema": schema, "limit": limit, "init_from": init_from}
            files = run_settings(out, to_dict(config), model.name, train_records, dev_records, **names)
        summary = _train(model, phase, data, out, resume, files)
        model.dev_scores = dict(summary.dev)
        model.to(config.trainer.device)
        if out is not None:
            finish_run(out)
    return summary


@contextmanager
def _as_before_if_it_fails(model: UTCIE) -> Iterator[None]:
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def _install(model: UTCIE, data: TrainingData, init_from: str | Path | None) -> None:
    """Give the model new modules for the labels of the data."""
    config = model.given_config
    layout = LabelLayout(data.schema, config.model.split_links)
    with preserved_rng():
        seed_everything(derive_seed(config.seed, "init"))
        encoder = (
            TextEncoder.from_config(config.encoder) if init_from is None else _encoder_of(init_from, config.encoder)
        )
        network = UTCIENetwork(config.model, encoder.dim, layout.n_labels, output_bias(layout, config.model.link_loss))
    if init_from is not None:
        _warm_start(network, layout, init_from)
    model._install(encoder, network, layout)


def _make_phase(model: UTCIE, data: TrainingData) -> Phase:
    """The records as the modules of the model see them; settles what ``auto`` stands for."""
    config = model.given_config
    encoder, network = model.modules
    model.word_borders = data.word_borders
    examples = prepare(
        data.train,
        encoder,
        config.model,
        layout=model.layout,
        misaligned=config.data.misaligned,
        word_borders=model.word_borders,
    )
    if not window_list(examples):
        raise DataError("all training texts are empty; there is nothing to learn from")
    model.config = replace(config, model=_resolve_policies(config.model, examples))
    train = _train_data(examples, encoder, config)
    # of the first epoch: how many follow may change when the run is taken up again, the windows of dev may not
    longest = max(train.of_epoch(0).lengths)
    model.seen = Seen.of([(example.view, example.windows) for example in examples], longest)
    model.notes = (*data.notes, *_training_notes(examples), model.seen.note())
    model.training_data = data.sources
    dev = prepare(data.dev, encoder, config.model, seen=model.seen, word_borders=model.word_borders)
    gold = _gold(model, data.dev)
    parts = dev_score_parts(gold, data.schema)
    if dev:
        model.notes += tuple(dev_score_notes(parts, data.schema))
    return Phase(
        name="train",
        task=UTCIETask(encoder, network, model.layout, config.model, _DevScorer(model, gold, dev, parts), parts),
        train=train,
        dev=_phase_data(dev, encoder) if parts else None,
    )


def _gold(model: UTCIE, records: Sequence[IERecord]) -> list[IERecord]:
    """Dev records as training sees records: with spans of whole words, which alone can be predicted."""
    misaligned, borders = model.config.data.misaligned, model.word_borders
    if misaligned == "error":  # what even the finest rules cut was refused when the records were read
        cut = [problem for record in records for problem in alignment_problems(record, borders)]
        if cut:
            what = f"{counted(len(cut), 'span needs', 'spans need')} word borders that no training span needs"
            first = replace(cut[0], remedy="")
            model.notes += (f"warning: dev records: {what}, and can only be missed: {first}",)
        return list(records)
    aligned = [align_record(record, misaligned, borders) for record in records]
    model.notes += _moved_notes(sum(len(changes) for _, changes in aligned), "dev")
    return [record for record, _ in aligned]


def _moved_notes(n_moved: int, where: str) -> tuple[str, ...]:
    if not n_moved:
        return ()
    what = counted(n_moved, "annotation was", "annotations were")
    return (f"{where} records: {what} widened or left out, as data.misaligned says",)


def _train(
    model: UTCIE, phase: Phase, data: TrainingData, out: Path | None, resume: bool, files: dict[str, Any] | None
) -> TrainSummary:
    config = model.given_config

    def save_best(folder: Path) -> None:
        model.dev_scores = dict(phase.task.dev_result)
        model.save(folder)

    def load_best(folder: Path) -> None:
        best = type(model).load(folder, device="cpu")
        for mine, its in zip(model.modules, best.modules, strict=True):
            mine.load_state_dict(its.state_dict())

    return train(
        [phase],
        config.trainer,
        seed=config.seed,
        out=out,
        resume=resume,
        save_best=save_best,
        load_best=load_best,
        settings={**to_dict(config), "training_data": data.identity()},
        settings_file=files,
        notes=model.notes,
    )


def output_bias(layout: LabelLayout, link_loss: str) -> Tensor:
    """Initial bias of each output channel. Shape: (K,)"""
    bias = torch.zeros(layout.n_labels)
    bias[: layout.n_span] = SPAN_BIAS
    for channels in (layout.relations, layout.roles):
        if channels.n_types and link_loss == "adaptive":
            bias[channels.threshold] = THRESHOLD_BIAS
        elif channels.n_types:
            bias[channels.types] = SPAN_BIAS
    return bias


def _train_data(examples: Sequence[Example], encoder: TextEncoder, config: UTCIEConfig) -> PhaseData:
    """The training windows, and in each epoch longer texts that are made of a share of the records anew."""
    windows = window_list(examples)
    alone = _phase_data(examples, encoder)
    items = joinables(examples)
    if not config.data.join_share:
        return alone

    def arrange(epoch: int) -> PhaseData:
        longer = join_records(
            items,
            share=config.data.join_share,
            most=config.data.join_records,
            max_words=config.model.max_words,
            max_pieces=encoder.max_pieces,
            seed=config.seed,
            epoch=epoch,
        )
        texts = [*((k,) for k in range(len(windows))), *longer]

        def make_batch(chosen: Sequence[int]) -> WindowBatch:
            members = [[windows[k] for k in texts[number]] for number in chosen]
            rows = [join([examples[e] for e, _ in text]) for text in members]
            # a record of several windows stays alone, so that the window of its text is that of its first member
            return collate(rows, [(row, text[0][1]) for row, text in enumerate(members)], encoder)

        return PhaseData(
            ids=[" + ".join(alone.ids[k] for k in text) for text in texts],
            lengths=[sum(alone.lengths[k] for k in text) for text in texts],
            cost=pair_cost,
            collate=make_batch,
        )

    return replace(alone, arrange=arrange)


def _phase_data(examples: Sequence[Example], encoder: TextEncoder) -> PhaseData:
    windows = window_list(examples)
    return PhaseData(
        ids=[_window_id(examples[e], e, w) for e, w in windows],
        lengths=[window_length(examples, w) for w in windows],
        cost=pair_cost,
        collate=lambda chosen: collate(examples, [windows[k] for k in chosen], encoder),
        # an id may name the file, which can be written in several ways; what is in it is compared in the settings
        keys=[f"{e}/{w}" for e, w in windows],
    )


def _window_id(example: Example, number: int, window: int) -> str:
    record = example.record
    place = f"{record.source.file}:{record.source.line}" if record.source else str(number)
    name = place if record.id is None else shown_id(record.id)
    return name if len(example.windows) == 1 else f"{name} (window {window + 1})"


def _resolve_policies(model: Any, examples: Sequence[Example]) -> Any:
    """Replace ``auto`` by the strictest overlap policy that loses nothing of the training data."""
    views = [example.view for example in examples]
    spans = {
        "entity_overlap": [[(s, e) for s, e, _ in view.entities or ()] for view in views],
        "trigger_overlap": [
            [(s, e) for s, e, _ in {(t.start, t.end, t.type) for t in _triggers(view)}] for view in views
        ],
        # arguments have no type of their own: the same span twice is one span
        "argument_overlap": [
            list({(a.start, a.end) for event in view.events or () for a in event.arguments}) for view in views
        ],
    }
    found = {name: tightest_policy(lists) for name, lists in spans.items() if getattr(model, name) == "auto"}
    return replace(model, **found)


def _triggers(view: WordView) -> list[Trigger]:
    return [event.trigger for event in view.events or ()]


def _training_notes(examples: Sequence[Example]) -> tuple[str, ...]:
    """What the windows and the word borders cost, in words."""
    n_windowed = sum(len(example.windows) > 1 for example in examples)
    unknown = UnknownWords()
    for example in examples:
        unknown.add(example.record, example.view.words, example.unknown)
    notes = [f"warning: {unknown.message}; {UNKNOWN_REMEDY}"] if unknown.n_unknown else []
    if n_windowed:
        notes.append(
            f"{counted(n_windowed, 'long training text is', 'long training texts are')} read in overlapping windows"
        )
    if n_lost := sum(lost_annotations(example.view, example.windows) for example in examples):
        notes.append(
            f"warning: {counted(n_lost, 'annotation fits', 'annotations fit')} into no window and cannot be learned; "
            "raise model.max_words or model.window_overlap"
        )
    return (*notes, *_moved_notes(sum(len(example.view.skipped) for example in examples), "training"))


def _encoder_of(name: str | Path, config: EncoderConfig) -> TextEncoder:
    """The encoder of another model, with pooling and window limit of ``config``."""

    def read(folder: Path) -> TextEncoder:
        return TextEncoder.from_folder(part_path(folder, read_manifest(folder), "encoder"), config, exact=True)

    return read_whole(lambda: resolve_model_folder(name), read)


def _warm_start(network: UTCIENetwork, layout: LabelLayout, folder: str | Path) -> None:
    """Take all tensors that fit from another model; output channels go by label name."""
    from nlpkit.ie.utcie.api import UTCIE

    other = UTCIE.load(folder, device="cpu")
    assert isinstance(other, UTCIE)
    _, source = other.modules
    mine, theirs = network.state_dict(), source.state_dict()
    fitting = {
        name: value
        for name, value in theirs.items()
        if not name.startswith("output.") and name in mine and mine[name].shape == value.shape
    }
    network.load_state_dict({**mine, **fitting})
    if theirs["output.weight"].shape[1] == mine["output.weight"].shape[1]:
        places = {name: k for k, name in enumerate(layout.channel_names)}
        with torch.no_grad():
            for k, name in enumerate(other.layout.channel_names):
                if name in places:
                    network.output.weight[places[name]] = source.output.weight[k]
                    network.output.bias[places[name]] = source.output.bias[k]


class _DevScorer:
    """Collects what is found in the dev records, and scores it at the end of an epoch."""

    def __init__(
        self, model: UTCIE, gold: Sequence[IERecord], examples: Sequence[Example], parts: Sequence[str]
    ) -> None:
        self.model, self.gold, self.examples, self.parts = model, gold, examples, parts
        self.settings = model.decode_settings()
        self.answers = Answers(model, examples, self.settings)

    def __call__(self, scored: tuple[WindowBatch, Tensor] | None) -> dict[str, float | None]:
        if scored is not None:
            batch, logits = scored
            self.answers.add(batch.windows, logits, batch.word_mask)
            return {}
        scorer = IEScorer(self.model.layout.schema, keep_errors=False)
        for gold, result in zip(self.gold, self.answers.results(), strict=True):
            scorer.add(gold, result)
        self.answers = Answers(self.model, self.examples, self.settings)
        scores = scorer.report().scores()
        return {"score": sum(scores[name] or 0.0 for name in self.parts) / len(self.parts), **scores}
