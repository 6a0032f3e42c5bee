"""Occlusion: parts of a picture are painted over, and a model's answer becomes less probable (Zeiler and Fergus, 2014).

Works for every model that gives probabilities, with attention or without.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.modalities.image import Picture

PARTS = 8  # along the shorter side of a picture
AT_ONCE = 32  # pictures that are computed together

Score = Callable[[Picture], Float[Tensor, "B T"]]  # T numbers for each picture, such as log-probabilities of tokens


@torch.inference_mode()
def covered_scores(raw: Picture, score: Score) -> tuple[np.ndarray, np.ndarray]:
    """The scores of a picture (T,), and of it with each of its parts covered (rows, columns, T).

    A part is covered by a square of twice its side and in the picture's mean colour, so that squares overlap.
    """
    height, width = raw.pixels.shape[2:]
    side = min(height, width) / PARTS
    rows, columns = max(round(height / side), 1), max(round(width / side), 1)
    colour = raw.pixels.mean((2, 3), keepdim=True)
    pictures = [raw.pixels]
    for row in range(rows):
        for column in range(columns):
            top, left = (row - 0.5) * height / rows, (column - 0.5) * width / columns
            down = slice(max(round(top), 0), max(round(top + 2 * height / rows), 1))
            along = slice(max(round(left), 0), max(round(left + 2 * width / columns), 1))
            covered = raw.pixels.clone()
            covered[:, :, down, along] = colour
            pictures.append(covered)
    found = []
    for start in range(0, len(pictures), AT_ONCE):
        pixels = torch.cat(pictures[start : start + AT_ONCE])
        missing, metres = (
            None if part is None else part.expand(len(pixels), *part.shape[1:]) for part in (raw.missing, raw.metres)
        )
        found.append(score(Picture(pixels, missing, metres)).float().cpu())
    scores = torch.cat(found).numpy()
    return scores[0], scores[1:].reshape(rows, columns, -1)
