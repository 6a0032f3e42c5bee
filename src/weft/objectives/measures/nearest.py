"""The answer of the nearest samples: what a model should beat. Knows places, and classes or numbers at them."""

import numpy as np
import torch
from torch import Tensor

NEIGHBOURS = 5
MOST_PAIRS = 100_000_000  # of places compared; beyond it some of those asked for are left out, spread evenly
AT_ONCE = 10_000_000  # pairs compared at once
LEAST_DISTANCE = 1e-6  # below which a place counts as the same


def asked_within(asked: int, known: int) -> np.ndarray:
    """Which of the places that are asked for can be compared with all known ones in some seconds."""
    return np.unique(
        np.linspace(0, asked - 1, max(1, min(asked, MOST_PAIRS // max(known, 1)))).round().astype(np.int64)
    )


@torch.inference_mode()
def neighbours(known: np.ndarray, asked: np.ndarray, count: int = NEIGHBOURS) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the nearest known places for each asked place, (N, count), and their weights by inverse distance."""
    base, rows = torch.from_numpy(np.asarray(known, np.float32)), list[Tensor]()
    weights = list[Tensor]()
    count, step = min(count, len(base)), max(1, AT_ONCE // len(base))
    for some in torch.from_numpy(np.asarray(asked, np.float32)).split(step):
        distance, row = torch.cdist(some, base).topk(count, largest=False)
        weight = 1 / distance.clamp(min=LEAST_DISTANCE)
        weights.append(weight / weight.sum(1, keepdim=True))
        rows.append(row)
    return torch.cat(rows).numpy(), torch.cat(weights).numpy()


def nearest_numbers(rows: np.ndarray, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of the nearest values, nearer ones counting more; (N,) or (N, C)."""
    found = values[rows].astype(np.float64)
    return (found * weights.reshape(*weights.shape, *(1,) * (found.ndim - 2))).sum(1)


def nearest_classes(rows: np.ndarray, weights: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The class with the most votes among the nearest, nearer ones counting more."""
    votes = np.zeros((len(rows), classes))
    np.add.at(votes, (np.arange(len(rows))[:, None], labels[rows]), weights)
    return votes.argmax(1)


def psnr(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Peak signal-to-noise ratio of bytes in decibels: 10 log10(255^2 / mean squared error)."""
    error = float(((np.asarray(predicted, np.float64) - np.asarray(truth, np.float64)) ** 2).mean())
    return 10 * float(np.log10(255.0**2 / max(error, 1e-12)))
