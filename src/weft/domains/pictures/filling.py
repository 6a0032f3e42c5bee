"""Pictures filled in by an autoencoder: hidden or missing pixels, predicted, and the error. Opens no files."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weft.domains.pictures.settings import Ground
from weft.errors import ConfigError
from weft.inspect.figures import png_of
from weft.inspect.sheets import reconstructions, veiled
from weft.modalities.image import Picture, paste
from weft.models.autoencoder import Autoencoder
from weft.objectives.reconstruct import draw_shown
from weft.tasks.asks import Answer


class Filling(Ground):
    """Settings of a prediction."""

    hide: float = 0.75
    seed: int = 0
    out: str = "."

    names_files: ClassVar[tuple[str, ...]] = ("out",)
    about: ClassVar[Mapping[str, str]] = {
        "hide": "mask ratio: the share of the patches that are hidden; 0 fills in only missing pixels",
        "seed": "random seed; another seed hides other patches",
        "out": "the folder into which the filled-in pictures are written",
        **Ground.about,
    }

    def check(self) -> None:
        super().check()
        if not 0 <= self.hide < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.hide}", where="hide")


@torch.inference_mode()
def fill(
    model: Autoencoder, picture: Picture, hide: float, *, seed: int = 0, alike: bool = False
) -> tuple[Float[Tensor, "B C Y X"], Bool[Tensor, "B 1 Y X"]]:
    """Pictures with what is hidden or missing filled in, from 0 to 1, and which pixels the model was given.

    With `alike` the same patches are hidden in every picture.
    """
    model.eval()
    embed = model.encoder.embed
    shown = draw_shown(model, picture, hide, seed=seed, alike=alike)
    height, width = picture.pixels.shape[2:]
    made = paste(model(picture, shown), height, width, embed.patch) / embed.scale + embed.mean
    seen = _visible(model, picture, shown)
    return torch.where(seen, picture.pixels, made.clamp(0, 1)), seen


def _visible(model: Autoencoder, picture: Picture, shown: Tensor) -> Bool[Tensor, "B 1 Y X"]:
    """Which pixels the model was given."""
    embed, (height, width) = model.encoder.embed, picture.pixels.shape[2:]
    count = embed.coordinates(picture)["row"].shape[1]
    patches = torch.zeros(len(picture), count, dtype=torch.bool, device=shown.device).scatter(1, shown, True)
    readable = embed.readable(picture)
    patches = patches if readable is None else patches & readable
    pixels = paste(patches[..., None].expand(-1, -1, embed.patch**2), height, width, embed.patch)
    return pixels if picture.missing is None else pixels & ~picture.missing


def squared_errors(picture: Picture, filled: Tensor, seen: Tensor) -> list[float | None]:
    """For each picture the mean square error on known pixels that were hidden, in steps of 255; None without any."""
    hidden = ~seen if picture.missing is None else ~seen & ~picture.missing
    squares = (255 * (filled - picture.pixels)) ** 2
    found = [one[mask.expand_as(one)] for one, mask in zip(squares, hidden, strict=True)]
    return [float(wrong.mean()) if len(wrong) else None for wrong in found]


def answers(
    model: Autoencoder, names: Sequence[str], batches: Iterable[tuple[np.ndarray, Picture]], how: Filling
) -> list[Answer]:
    """For each picture the file that it is filled in as, and how wrong that is where the truth is known."""
    found = [Answer(i) for i in range(len(names))]
    for rows, picture in batches:
        filled, seen = fill(model, picture, how.hide, seed=how.seed, alike=True)
        errors = squared_errors(picture, filled, seen)
        for row, pixels, error in zip(rows, as_bytes(filled), errors, strict=True):
            path = str(Path(how.out) / f"{Path(names[row]).stem}-filled.png")
            wrong = {} if error is None else {"rmse": round(error**0.5, 3)}
            values = {"input": names[row], "output": path, **wrong}
            found[row] = Answer(int(row), values, {path: partial(png_of, pixels)})
    return found


def sheet(model: Autoencoder, picture: Picture) -> bytes:
    """Some pictures, what was shown of them, and what was made of that."""
    filled, seen = fill(model, picture, 0.75)
    whole, made, shown = as_bytes(picture.pixels), as_bytes(filled), seen[:, 0].cpu().numpy()
    rows = [(whole[i], veiled(whole[i], shown[i]), made[i]) for i in range(len(picture))]
    return reconstructions(rows, ("picture", "shown: a quarter", "filled in"))


def as_bytes(pixels: Float[Tensor, "B C Y X"]) -> np.ndarray:
    """Pictures as files have them: height, width and channels, from 0 to 255."""
    return (255 * pixels.permute(0, 2, 3, 1)).round().byte().cpu().numpy()
