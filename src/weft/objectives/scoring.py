"""How likely data is to a model: an objective summed over batches, without learning."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from weft.objectives.objective import Objective


@torch.inference_mode()
def scored(
    objective: Objective.Config, model: nn.Module, batches: Iterable[Any], count: Callable[[int], None] | None = None
) -> tuple[float, int]:
    """The sum of the losses in nats and the number of things predicted; `count` hears how many samples are done."""
    judge, device = objective.build(), next(model.parameters()).device
    model.eval()
    total, seen, done = 0.0, 0, 0
    for batch in batches:
        loss = judge(model, batch.to(device))
        total, seen, done = total + float(loss.total), seen + loss.count, done + len(batch)
        if count is not None:
            count(done)
    return total, seen
