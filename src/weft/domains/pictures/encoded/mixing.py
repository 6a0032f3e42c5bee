"""Pictures mixed with others: mixup (Zhang et al., 2018) and cutmix (Yun et al., 2019). Refuses to know labels."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.batches import order
from weft.batches.draws import Dice, beta
from weft.domains.pictures.encoded.geometry import boxes
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
