"""Hidden and missing parts of pictures, filled in by an autoencoder: the pictures, how wrong and how sharp they are."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weft.domains.pictures.encoded.frames import scaled
from weft.domains.pictures.encoded.preparing import uncut
from weft.domains.pictures.given import Handed
from weft.inspect.figures import png_of
from weft.inspect.sheets import reconstructions, veiled
from weft.modalities.image import Picture, paste
from weft.models.autoencoder import Autoencoder
from weft.objectives.reconstruct import draw_shown
from weft.tasks.asks import Answer


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
    seen = visible(model, picture, shown)
    return torch.where(seen, picture.pixels, made.clamp(0, 1)), seen


def visible(model: Autoencoder, picture: Picture, shown: Tensor) -> Bool[Tensor, "B 1 Y X"]:
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


def squared_steps(
    picture: Picture, filled: Float[Tensor, "B C Y X"], seen: Bool[Tensor, "B 1 Y X"], patch: int
) -> Float[np.ndarray, "B 2"]:
    """For each picture the squared steps from pixel to pixel, summed over hidden patches: as filled in, and in truth.

    The root of their ratio is the sharpness: 0 of even patches, 1 of patches with as much texture as the truth has.
    Steps from one patch to the next are left out, since seams are no texture.
    """
    hidden = ~seen if picture.missing is None else ~seen & ~picture.missing
    found, hidden = [], hidden.cpu()  # not every device has doubles
    for values in (filled.cpu(), picture.pixels.cpu()):
        total = torch.zeros(len(values), dtype=torch.float64)
        for axis in (2, 3):
            length = values.shape[axis] - 1
            inside = (torch.arange(length) + 1) % patch > 0
            inside = inside.view(-1, 1) if axis == 2 else inside
            both = hidden.narrow(axis, 0, length) & hidden.narrow(axis, 1, length) & inside
            total += torch.where(both, values.diff(dim=axis) ** 2, 0).sum((1, 2, 3), dtype=torch.float64)
        found.append(total)
    return torch.stack(found, 1).numpy()


def answers(
    model: Autoencoder,
    names: Sequence[str],
    handed: Handed,
    batches: Iterable[tuple[np.ndarray, Picture]],
    hide: float,
    *,
    seed: int,
    out: str,
) -> list[Answer]:
    """For each picture the file that it is filled in as, in its own size.

    How wrong it is stands beside it where the truth is known, at the size at which the model reads.
    """
    found = [Answer(i) for i in range(len(names))]
    for rows, picture in batches:
        filled, seen = fill(model, picture, hide, seed=seed, alike=True)
        errors = squared_errors(picture, filled, seen)
        for row, pixels, shown, error in zip(rows, as_bytes(filled), seen[:, 0].cpu().numpy(), errors, strict=True):
            path = str(Path(out) / f"{Path(names[row]).stem}-filled.png")
            wrong = {} if error is None else {"rmse": round(error**0.5, 3)}
            values = {"input": names[row], "output": path, **wrong}
            found[row] = Answer(int(row), values, {path: partial(_written, handed, int(row), pixels, shown)})
    return found


def _written(handed: Handed, row: int, filled: np.ndarray, seen: np.ndarray) -> bytes:
    """The file of a picture in its own size, which is read only now: many large ones do not fit in memory."""
    whole = handed.whole(row)
    height, width = whole.pixels.shape[:2]
    how = handed.preparation
    if how is not None and how.crop is not None:  # what was cut off is known
        shape = how.scaled_shape(height, width)
        filled, seen = uncut(filled, *shape, mode="edge"), uncut(seen, *shape, mode="constant", constant_values=True)
    down, across = (np.arange(side) * count // side for side, count in zip((height, width), seen.shape, strict=True))
    known = seen[down][:, across] if whole.missing is None else seen[down][:, across] & ~whole.missing
    made = scaled(filled, height, width).permute(1, 2, 0).numpy()
    return png_of(np.where(known[..., None], whole.pixels, made))


@torch.inference_mode()
def sheet(model: Autoencoder, pictures: Iterable[Picture]) -> bytes:
    """Some pictures, what was shown of them, and what was made of that."""
    rows = list[tuple[np.ndarray, ...]]()
    for picture in pictures:
        filled, seen = fill(model, picture, 0.75)
        whole, made, shown = as_bytes(picture.pixels), as_bytes(filled), seen[:, 0].cpu().numpy()
        rows += [(whole[i], veiled(whole[i], shown[i]), made[i]) for i in range(len(picture))]
    return reconstructions(rows, ("picture", "shown: a quarter", "filled in"))


def as_bytes(pixels: Float[Tensor, "B C Y X"]) -> np.ndarray:
    """Pictures as files have them: height, width and channels, from 0 to 255."""
    return (255 * pixels.permute(0, 2, 3, 1)).round().byte().cpu().numpy()
