"""What one step computes: gradients over the pieces of a batch, and the score on held-out data."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from weft.batches.order import key
from weft.batches.pieces import pieces
from weft.batches.source import apart, divides
from weft.core import beside, draws
from weft.training.compiling import eagerly
from weft.training.job import Job
from weft.training.others import OtherProcesses
from weft.training.score import HeldOutScore
from weft.training.sums import Sums, counted, to_differentiate


def accumulate(job: Job, indices: np.ndarray, step: int, mine: slice = slice(None)) -> Sums:
    """Forward and backward over this process's samples, in pieces of `micro`; returns the sums of losses and counts.

    Gradients are `job.scale` times those of the loss.
    """
    job.model.train()
    seed_step(job.training.seed, step, job.world.rank, job.device)
    as_one = job.training.as_one and job.world.size > 1
    own, others = indices[mine], OtherProcesses(job.world) if as_one else None
    batch = job.source.batch(indices, mine) if as_one and divides(job.source) else job.source.batch(own)  # type: ignore[call-arg]
    counts, sums = counted(job.objective, batch, job.world), Sums()
    work = [(piece, chance, 1) for piece, chance in computed(job, batch, own)]
    if as_one and (not work or (apart(job.source) and len(own) * job.world.size < len(indices))):
        spare = indices[:1]  # others compute one piece more, and all wait for one another: this one does not count
        work += [(piece, chance, 0) for piece, chance in computed(job, job.source.batch(spare), spare)][:1]
    for place, (piece, chance, times) in enumerate(work, 1):
        job.compute.synchronize(place == len(work))
        with draws.opened(chance), beside.standing(others if times else None):
            loss = job.compute(piece.to(job.device)).times(times)
            if loss.count or job.compute.share is not None:  # the others wait for the gradients of an empty piece too
                whole = to_differentiate(loss, counts)
                (whole if job.scale == 1.0 else whole * job.scale).backward()
        sums.add(loss)
        if chance is not None and chance.unknown - job.unplaced:
            job.unplaced |= chance.unknown
            rows = " and ".join(map(str, sorted(chance.unknown)))
            job.progress.say(
                f"dropout on {rows} rows for {len(own)} samples is drawn by process: whose they are is unknown"
            )
    return sums.read()


def computed(job: Job, batch: Any, indices: np.ndarray) -> Iterator[tuple[Any, draws.Chance | None]]:
    """The pieces of a batch, and what draws for the samples in them; None for torch's generator."""
    training = job.training
    if training.as_one:
        return pieces(batch, indices, training.micro, key(training.seed, "chance"))
    each = training.micro or len(batch)
    return ((batch[start : start + each], None) for start in range(0, len(batch), each))


def evaluate(job: Job, *, most: int | None = None) -> HeldOutScore:
    """The score of the model on held-out data, at most `most` samples of it. Further terms count by their weights."""
    job.model.eval()
    sums, wrong = Sums(), 0
    judged = True  # whether every answer is right or wrong
    alone = job.compute.share is None
    with torch.inference_mode() if alone else torch.no_grad(), eagerly(job):  # gathered weights serve training too
        for batch in job.source.held_out(most=most):
            loss = job.compute(batch.to(job.device))
            sums.add(loss)
            judged, wrong = judged and loss.wrong is not None, wrong + (loss.wrong or 0)
    job.compute.let_go()
    return HeldOutScore(sums.loss, wrong / sums.count if judged and sums.count else None, int(sums.count))


def seed_step(seed: int, step: int, rank: int, device: torch.device) -> None:
    """Seed what torch's generator draws by (seed, step, rank) alone: resuming restores nothing."""
    digest = hashlib.sha256(f"{seed} {step} {rank}".encode()).digest()
    # torch.manual_seed writes down the stack for each kind of device that is absent: up to half a millisecond
    seeded = torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed
    seeded(int.from_bytes(digest[:8], "little") >> 1)
