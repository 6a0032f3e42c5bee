"""Weights of attention from readings: all of them, those of some queries, or sums over all queries.

Sums are made a few queries at a time, so that memory grows with the tokens and not with their square. Knows readings
alone, no tokens and no model.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.core.recording import Reading
from weft.errors import DataError
from weft.inspect.views import AttentionChoice, NoAttention

AT_ONCE = 2**22  # numbers of one layer that are computed together


def weights_of(
    readings: Sequence[Sequence[Reading]], *, queries: Sequence[int] | None = None, row: int = 0
) -> Float[np.ndarray, "L H q K"]:
    """The weights of some queries (None: of all), layer by layer, of one row of the batch.

    A decoder that steps reads many times with few queries each: they are put one below the other.
    """
    if not any(readings):
        raise NoAttention("nothing was read from a memory: this model has no cross-attention to a source")
    layers = [_of_layer(layer, queries, row) for layer in readings]
    if len({layer.shape for layer in layers}) > 1:
        raise DataError(
            f"the layers have attention of different shapes: {', '.join(str(layer.shape) for layer in layers)}"
        )
    return np.stack(layers)


def _of_layer(layer: Sequence[Reading], queries: Sequence[int] | None, row: int) -> np.ndarray:
    if len(layer) == 1:
        return layer[0].weights(queries=queries)[row].float().detach().cpu().numpy()
    found = np.concatenate([one.weights()[row].float().detach().cpu().numpy() for one in layer], 1)
    return found if queries is None else found[:, list(queries)]


def mean_rows(
    readings: Sequence[Sequence[Reading]], choice: AttentionChoice, *, row: int = 0
) -> Iterator[Float[np.ndarray, "K"]]:
    """For each query in turn, the mean of its weights over the chosen layers and heads, from attention in one stream.

    Few queries are computed at a time, so that memory grows with the tokens and not with their square.
    """
    layer, head = choice.indices(len(readings), readings[0][0].q.shape[1])
    chosen = [one[0] for one in (readings if layer is None else readings[layer : layer + 1])]
    count, keys = chosen[0].q.shape[2], chosen[0].k.shape[2]
    for some in _few(count, keys * chosen[0].q.shape[1]):
        heads = None if head is None else [head]
        parts = [one.weights(heads=heads, queries=some)[row].float().mean(0) for one in chosen]
        yield from torch.stack(parts).mean(0).cpu().numpy()


def in_bins(rows: Iterable[np.ndarray], count: int, most: int) -> np.ndarray:
    """Weights (count, count) given row by row as at most (most, most): summed over keys, averaged over queries."""
    size = -(-count // most)
    bins = -(-count // size)
    found, starts = np.zeros((bins, bins), np.float32), np.arange(0, count, size)
    for number, row in enumerate(rows):
        found[number // size] += np.add.reduceat(row, starts)
    return found / np.minimum(size, count - starts)[:, None]


@torch.inference_mode()
def mean_read(layers: Sequence[Reading], *, row: int = 0) -> Float[np.ndarray, "L H K"]:
    """What every head reads of each key, the mean over all queries."""
    found = []
    for one in layers:
        parts = _few(one.q.shape[2], one.q.shape[1] * one.k.shape[2])
        sums = (one.weights(queries=some)[row].float().sum(1) for some in parts)
        found.append(reduce(torch.add, sums) / one.q.shape[2])
    return torch.stack(found).cpu().numpy()


@torch.inference_mode()
def followed(layers: Sequence[Reading], start: Float[Tensor, "N"], *, skip: float = 0.5) -> Float[Tensor, "N"]:
    """How much of each input token ended in output tokens that count as much as `start` says: a row of the rollout.

    `rollout.rollout` gives all rows; this goes back from the last layer with one row alone.
    """
    share = start.float()
    for one in reversed(layers):
        came = torch.zeros_like(share)
        for some in _few(len(share), one.q.shape[1] * len(share)):
            here = torch.as_tensor(some, device=share.device)
            mixed = (1 - skip) * one.weights(queries=some)[0].float().mean(0)
            mixed[torch.arange(len(some)), here] += skip
            total = mixed.sum(-1, keepdim=True)
            came += share[here] @ (mixed / total.clamp_min(1e-30))
        share = came
    return share


def _few(queries: int, numbers: int) -> Iterator[range]:
    """All queries, as many at once as have `AT_ONCE` numbers; each has `numbers`."""
    step = max(1, AT_ONCE // max(1, numbers))
    for start in range(0, queries, step):
        yield range(start, min(start + step, queries))
