"""Every task learns: a few steps on one batch of its toy data, in the training loop, lower the loss on that batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.batch_digests import planned
from helpers.trials import EVERY

import weft
from weft.batches.source import Source

STEPS, RATE = 4, 0.03
RATES = {"embed-words": 3.0}  # learning rates of tasks that need another one
MOVING = {"distill-images"}  # its targets are those of a teacher that moves, so its loss need not fall
LOWER = 0.985  # share of the first loss that is left at most


@dataclass(frozen=True)
class OneBatch:
    """A source whose batches are all its first."""

    source: Source

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    @property
    def per_epoch(self) -> int:
        return self.source.per_epoch

    def batch(self, indices: np.ndarray) -> Any:
        """The first samples, as many as are asked for."""
        return self.source.batch(indices - indices[0])

    def held_out(self, *, most: int | None = None) -> Iterator[Any]:
        """The held-out part of the source."""
        return self.source.held_out(most=most)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in MOVING])
def test_a_few_steps_on_one_batch_lower_its_loss(name: str, tmp_path: Path) -> None:
    needed = EVERY[name].needs
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    _, work = planned(f"{name} undisturbed")
    settings = {"lr": RATES.get(name, RATE), "batch": work.training.batch, "warmup": 1, "precision": "fp32"}
    run = weft.fit(
        work.model, work.objective, OneBatch(work.source), out=tmp_path / "run", steps=STEPS, quiet=True, **settings
    )
    losses = [line["loss"] for line in run.metrics]
    assert len(losses) == STEPS and losses[-1] < LOWER * losses[0], losses
