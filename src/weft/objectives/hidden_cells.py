"""HiddenCells: the values of hidden cells, each with a spread."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from weft.batches.field_windows import FieldSamples
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective


class HiddenCells(Objective):
    """The continuous ranked probability score of a normal distribution at every hidden cell, weighted by area.

    CRPS = s (z (2 Φ(z) - 1) + 2 φ(z) - 1 / √π), z = (x - mean) / s (Gneiting et al., 2005): the absolute error of a
    sure answer, and less for an answer whose spread is as large as its error.
    """

    class Config(Objective.Config):
        """No settings."""

    unit = "cells"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: FieldSamples) -> Loss:
        found = model.embed.distribution(batch.given, model(batch.given))
        wanted = batch.wanted
        scores = crps(wanted.values, found.mean, found.spread) * wanted.weights[:, None, None, :, None]
        return Loss(scores.masked_fill(~wanted.scored, 0.0).sum(), wanted.many)


def crps(
    truth: Float[Tensor, "*cells"], mean: Float[Tensor, "*cells"], spread: Float[Tensor, "*cells"]
) -> Float[Tensor, "*cells"]:
    """The score of normal distributions; a spread below 1e-6 counts as 1e-6."""
    spread = spread.clamp(min=1e-6)
    z = (truth - mean) / spread
    density = (-0.5 * z**2).exp() / math.sqrt(2 * math.pi)
    return spread * (z * torch.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi))
