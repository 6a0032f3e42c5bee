"""Objective: a model and a raw batch become a loss, as a sum and a count, to be divided once by whoever adds them up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.config import Config as BaseConfig
from weft.config import Part


@dataclass(frozen=True)
class Loss:
    """The sum of the losses of `count` things predicted. An empty batch is a sum of zero over zero things.

    `wrong` is the number of wrong answers. It is None in training, and where answers are not simply right or wrong.
    """

    total: Float[Tensor, ""]
    count: int
    wrong: int | None = None


def added(losses: Sequence[Loss]) -> Loss:
    """Several losses as one."""
    wrong = [loss.wrong for loss in losses if loss.wrong is not None]
    total = torch.stack([loss.total for loss in losses]).sum()
    return Loss(total, sum(loss.count for loss in losses), sum(wrong) if len(wrong) == len(losses) else None)


def misses(logits: Float[Tensor, "B C"], targets: Int[Tensor, "B"]) -> int:
    """The number of samples whose likeliest class is not the true one."""
    return int((logits.detach().argmax(-1) != targets).sum())


class Objective(Part):
    """Hides or shifts targets, runs the model, compares."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of objective."""

    unit = "things"  # what is counted: tokens, pixels ...
    comparable = True  # whether a lower held-out loss means better weights; not where the target itself moves

    def __call__(self, model: Any, batch: Any) -> Loss:
        raise NotImplementedError

    def calibrate(self, model: Any, held_out: Iterable[Any]) -> None:
        """Correct a trained model's confidence on held-out data; most objectives do nothing here."""
