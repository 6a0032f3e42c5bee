"""How likely data is to a model: an objective summed over batches, without learning."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

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


@torch.inference_mode()
def scored_by_row(model: Any, batches: Iterable[Any], count: Callable[[int], None] | None = None) -> np.ndarray:
    """(rows, 3) for classes of tokens: of each sample the losses summed in nats, the tokens guessed right, and all."""
    device, found, done = next(model.parameters()).device, list[np.ndarray](), 0
    model.eval()
    for batch in batches:
        for part in batch.to(device).each:
            x, truth = part.wanted.picked(model.encode(part.given.raw()).x)
            logits, where = model.head.values(x), part.wanted.where
            losses, right = F.cross_entropy(logits, truth.long(), reduction="none"), logits.argmax(-1) == truth
            rows = len(part.wanted.values)
            owner = torch.arange(rows).repeat_interleave(len(truth) // rows) if where is None else (
                where.nonzero()[:, 0].cpu())  # fmt: skip
            columns = (losses, right, torch.ones_like(losses))  # added up on the CPU: not every device has doubles
            sums = [torch.bincount(owner, one.cpu().double(), rows) for one in columns]
            found.append(torch.stack(sums, 1).numpy())
        done += len(batch)
        if count is not None:
            count(done)
    return np.concatenate(found) if found else np.zeros((0, 3))
