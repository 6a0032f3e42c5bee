"""Reconstruct: the pixels of hidden patches, from those that are shown."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from weft.core.draws import unit
from weft.errors import ConfigError
from weft.modalities.image import Picture, cut
from weft.models.autoencoder import Autoencoder
from weft.objectives.objective import Loss, Objective


class Reconstruct(Objective):
    """Mean of (x - predicted)^2 over the known pixels of each hidden patch, in units of the data's spread.

    Of a model that predicts frequency bands: (low - predicted)^2 + |high - predicted| (Reed et al., 2023).
    Which patches are hidden is drawn anew in every step; a model that is being evaluated always meets the same ones.
    """

    class Config(Objective.Config):
        """`hide` is the share of patches that are hidden; `even` brings each patch to mean 0 and spread 1 first."""

        hide: float = 0.75
        even: bool = False

        def check(self) -> None:
            if not 0 < self.hide < 1:
                raise ConfigError(f"must be above 0 and below 1, found {self.hide}", where="hide")

    unit = "patches"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Autoencoder, batch: Picture) -> Loss:
        shown = draw_shown(model, batch, self.config.hide)
        made = model.made(batch, shown)
        targets, known = truth(model, batch)
        if self.config.even:
            targets = evened(targets)
        wanted = model.wanted(targets, known, batch.pixels.shape[2])
        hidden = torch.ones_like(known[..., 0]).scatter(1, shown, False) | ~readable(model, batch, known)
        wrong = (made[0] - wanted[0]) ** 2
        for band, true in zip(made[1:], wanted[1:], strict=True):
            wrong = wrong + (band - true).abs()
        errors = wrong.masked_fill(~known, 0.0).sum(-1) / known.sum(-1).clamp(min=1)
        scored = (hidden & known.any(-1)).flatten()
        many = int(scored.sum()) if batch.missing is not None else scored.numel() - shown.numel()
        places = torch.nonzero_static(scored, size=many)[:, 0]  # as many as are known to be: the host does not wait
        return Loss(errors.flatten().index_select(0, places).sum(), many)


def draw_shown(
    model: Autoencoder, batch: Picture, hide: float, *, seed: int = 0, alike: bool = False
) -> Int[Tensor, "B M"]:
    """Which patches are shown: a random share, those that can be read before those that cannot.

    Outside of training the draw follows from the seed alone. With `alike` it is the same for every picture, so that
    nothing depends on which pictures stand before one.
    """
    valid = model.encoder.embed.readable(batch)
    count = model.encoder.embed.coordinates(batch)["row"].shape[1]
    if model.training:
        chance = unit(len(batch), count, batch.pixels.device)
    else:
        chance = torch.rand(1 if alike else len(batch), count, generator=torch.Generator().manual_seed(seed))
        chance = chance.to(batch.pixels.device).expand(len(batch), -1)
    if valid is not None:
        chance = chance + 2.0 * ~valid
    return chance.argsort(1)[:, : max(1, round((1 - hide) * count))]


def truth(model: Autoencoder, batch: Picture) -> tuple[Float[Tensor, "B N P"], Bool[Tensor, "B N P"]]:
    """The patches' pixels as the model should predict them, and which of them are known (beyond the edge none are)."""
    embed = model.encoder.embed
    pixels = embed.normalised(batch)
    known = torch.ones_like(pixels) if batch.missing is None else (~batch.missing).to(pixels.dtype).expand_as(pixels)
    return cut(pixels, embed.patch), cut(known, embed.patch) > 0


def readable(model: Autoencoder, batch: Picture, known: Tensor) -> Bool[Tensor, "B N"]:
    """Which patches the encoder may read."""
    valid = model.encoder.embed.readable(batch)
    return torch.ones_like(known[..., 0]) if valid is None else valid


def evened(patches: Float[Tensor, "B N P"]) -> Float[Tensor, "B N P"]:
    """Each patch with mean 0 and spread 1."""
    return (patches - patches.mean(-1, keepdim=True)) / (patches.var(-1, keepdim=True) + 1e-6).sqrt()
