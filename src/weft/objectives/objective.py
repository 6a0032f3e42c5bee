"""Objective: a model and a raw batch become a loss, as a sum and a count, to be divided once by whoever adds them up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part


@dataclass(frozen=True)
class Loss:
    """The sum of the losses of `count` things predicted. An empty batch is a sum of zero over zero things."""

    total: Float[Tensor, ""]
    count: int


def added(losses: Sequence[Loss]) -> Loss:
    """Several losses as one."""
    return Loss(torch.stack([loss.total for loss in losses]).sum(), sum(loss.count for loss in losses))


class Objective(Part):
    """Hides or shifts targets, runs the model, compares."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of objective."""

    unit = "things"  # what is counted: tokens, pixels ...
    comparable = True  # whether a lower held-out loss means better weights; not where the target itself moves

    def __call__(self, model: nn.Module, batch: Any) -> Loss:
        raise NotImplementedError
