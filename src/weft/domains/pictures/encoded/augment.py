"""Pictures changed at random, a batch at a time. Refuses to know files, labels and models.

    bytes -> tone (one table) -> place (one map, one reading) -> tint (one matrix) -> sharpness -> erase

What a picture gets follows from (key, its global index) alone: the same in whatever batch, piece or process it is
computed, bit for bit on one kind of machine.

Mixed with others: mixup (Zhang et al., 2018) and cutmix (Yun et al., 2019).
"""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from weft.batches import order
from weft.batches.draws import Dice, beta, draws
from weft.domains.pictures.encoded.geometry import boxes, place, zoom_of
from weft.domains.pictures.encoded.tone import sharpened, strong_changes, tinted, toned
from weft.domains.pictures.settings import Augment


def partner_indices(indices: np.ndarray, *, key: str) -> np.ndarray:
    """For each sample the index of the one it is mixed with: as far ahead as the key says, in an epoch never reached.

    Neighbours have neighbouring partners, so that a batch of partners costs no more to find than any other.
    """
    indices = np.asarray(indices, np.int64)
    if indices.size and not 0 <= indices.min() <= indices.max() < 2**62:
        raise ValueError(f"expected indices from 0 to 2**62 - 1, found {indices.min()} to {indices.max()}")
    return indices + np.int64(2**60 + int(order.numbers(order.key(key, "partner"), 1)[0] >> np.uint64(5)))


def mix(
    pixels: Float[Tensor, "B C H W"],
    partners: Float[Tensor, "B C H W"],
    indices: np.ndarray,
    how: Augment,
    *,
    key: str,
) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, "B"]]:
    """Each picture mixed with its partner, and the share that is its own: exactly 1 where nothing is mixed.

    mixup:   share · picture + (1 - share) · partner
    cutmix:  a rectangle of the partner; the share is the area around it, counted in pixels
    """
    if not (how.mixup or how.cutmix):
        return pixels, torch.ones(len(pixels))
    size = (pixels.shape[-2], pixels.shape[-1])
    which, drawn, *centre = Dice(key, indices).unit("mix", 4)
    pasted = which < 0.5 if how.mixup and how.cutmix else np.full(len(indices), not how.mixup)
    share = np.ones(len(indices))
    if how.mixup:
        share = np.where(pasted, share, beta(drawn, how.mixup))
    own = torch.from_numpy(share).float()
    weight = own[:, None, None, None].expand(-1, 1, *size)
    if how.cutmix:
        area = np.where(pasted, 1 - beta(drawn, how.cutmix), 0.0)
        box = _windows(area, np.stack(centre, 1), size)
        weight = torch.where(box, 0.0, weight)
        around = 1 - box.flatten(1).sum(1) / (size[0] * size[1])
        own = torch.where(torch.from_numpy(pasted), around, own)
    return (pixels * weight).add_(partners * (1 - weight)), own


def _windows(area: np.ndarray, centre: np.ndarray, size: tuple[int, int]) -> Tensor:
    """Rectangles with the picture's proportions around centres anywhere in it; what reaches outside is cut off."""
    extent = np.rint(np.sqrt(area)[:, None] * size).astype(np.int64)
    corner = np.floor(centre * size).astype(np.int64) - extent // 2
    return boxes(corner, extent, size)


__all__ = ["Augment", "augment", "augment_with_mask", "draws", "mix", "partner_indices", "zoomed"]

ERASED_AREA, ERASED_SHAPE = (0.02, 0.33), math.log(10 / 3)  # shares of the picture; logarithm of height over width


def augment(
    pixels: UInt8[Tensor, "B C H W"],
    indices: np.ndarray,
    how: Augment,
    *,
    key: str,
    size: tuple[int, int] | None = None,
) -> Float[Tensor, "B C h w"]:
    """The pictures as numbers from 0 to 1, changed as `how` says, in the height and width asked for or their own."""
    sides = (pixels.shape[-2], pixels.shape[-1])
    dice = Dice(key, np.asarray(indices, np.int64))
    strong = strong_changes(how, dice)
    pictures = place(how, dice, strong, sides, size or sides).picture(toned(pixels, how, dice, strong))
    pictures = sharpened(tinted(pictures, how, dice, strong), strong)
    return _erased(pictures.clamp_(0, 1), how, dice)


def augment_with_mask(
    pixels: UInt8[Tensor, "B C H W"],
    mask: Bool[Tensor, "B 1 H W"],
    indices: np.ndarray,
    how: Augment,
    *,
    key: str,
    size: tuple[int, int] | None = None,
) -> tuple[Float[Tensor, "B C h w"], Bool[Tensor, "B 1 h w"]]:
    """What `augment` gives, and a mask that was moved along with the pictures."""
    sides = (pixels.shape[-2], pixels.shape[-1])
    dice = Dice(key, np.asarray(indices, np.int64))
    moved = place(how, dice, strong_changes(how, dice), sides, size or sides).mask(mask)
    return augment(pixels, indices, how, key=key, size=size), moved


def zoomed(
    indices: np.ndarray, how: Augment, sides: tuple[int, int], size: tuple[int, int], *, key: str
) -> Float[np.ndarray, "B"]:
    """How many pixels, along a side, fall together in one where `augment` changes pictures of these sides."""
    kept = zoom_of(how, Dice(key, np.asarray(indices, np.int64)))[0]
    return np.sqrt(kept.prod(1) * math.prod(sides) / math.prod(size))


def _erased(pictures: Float[Tensor, "B C H W"], how: Augment, dice: Dice) -> Float[Tensor, "B C H W"]:
    """Random erasing (Zhong et al., 2020): in some pictures a rectangle is replaced by noise."""
    if not how.erase:
        return pictures
    drawn = dice.unit("erase", 5)
    rows = np.flatnonzero(drawn[0] < how.erase)
    if not rows.size:
        return pictures
    area, shape, *corner = drawn[1:, rows]
    area = ERASED_AREA[0] + (ERASED_AREA[1] - ERASED_AREA[0]) * area
    half = ERASED_SHAPE * (shape - 0.5)
    size = (pictures.shape[-2], pictures.shape[-1])
    extent = np.sqrt(area)[:, None] * np.exp(np.stack([half, -half], 1)) * size
    extent = np.clip(np.rint(extent), 1, size).astype(np.int64)
    place = np.floor(np.stack(corner, 1) * (np.array(size) - extent + 1)).astype(np.int64)
    noise = dice.subset(rows).unit("noise", math.prod(pictures.shape[1:])).T.astype(np.float32)
    chosen = pictures[rows]
    pictures[rows] = torch.where(boxes(place, extent, size), torch.from_numpy(noise).view(chosen.shape), chosen)
    return pictures
