"""What training will take, said before it begins."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.data.plan import EpochPlan
from nlpkit.training.config import TrainConfig
from nlpkit.training.phase import Phase
from nlpkit.training.progress import show_bytes
from nlpkit.wording import counted

BYTES_TRAINED = 16
"""Per trained parameter: its value, its gradient and two moments of AdamW, 4 bytes each."""

BYTES_FROZEN = 4


def describe_work(phase: Phase, plans: Sequence[EpochPlan], config: TrainConfig, device: str, precision: str) -> str:
    """Size of the model, of an epoch and of the largest batch, and a rough need of memory."""
    parameters = list(phase.task.parameters())
    trained = sum(p.numel() for p in parameters if p.requires_grad)
    frozen = sum(p.numel() for p in parameters) - trained
    n_steps = sum(plan.n_steps(config.accumulate) for plan in plans)
    batches = [len(plan) for plan in plans]
    epoch, cost = max(enumerate(max(plan.costs) for plan in plans), key=lambda pair: pair[1])
    largest = plans[epoch].batches[plans[epoch].costs.index(cost)]
    lengths = phase.train.of_epoch(epoch).lengths
    n, longest = len(largest), max(lengths[i] for i in largest)
    memory = trained * BYTES_TRAINED + frozen * BYTES_FROZEN
    activations = phase.task.activation_bytes(n, longest)
    dev = (
        f"{len(phase.dev):,} for dev" if phase.dev is not None else "none for dev, so the last epoch counts as the best"
    )
    spread = "" if min(batches) == max(batches) else f"{min(batches):,} to "
    if activations is not None:
        need = show_bytes(memory + activations)
    else:
        need = f"{show_bytes(memory)} for weights, gradients and optimiser, and the activations of a batch"
    size = f"{counted(trained, 'parameter')} to train{f', {frozen:,} frozen' if frozen else ''}"
    steps = f"{counted(n_steps, 'step')} in {counted(config.epochs, 'epoch')}"
    lines = [
        f"training on {counted(len(phase.train), 'record')} ({dev}), {device}, {precision}",
        f"{size}; {spread}{counted(max(batches), 'batch')} an epoch, {steps}",
        f"largest batch: {n} x length {longest}, cost {cost:,} (trainer.budget {config.budget:,})",
        f"memory: about {need}",
    ]
    alone = sum(phase.train.cost(1, length) > config.budget for length in phase.train.lengths)
    if alone:
        lines.append(f"{alone} records cost more than trainer.budget and are batches of their own")
    return "\n".join(lines)
