"""Light and colour of pictures. Knows nothing of where pixels are, but for sharpness.

What brightness, contrast, posterising and the like do to a byte depends on the byte alone, so they are composed into
one table a picture and channel, and applied by one lookup. Saturation and hue are one matrix a picture.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn import functional as F

from weft.batches.draws import Dice
from weft.domains.pictures.settings import OPERATIONS, Augment

LUMINANCE = np.array([0.299, 0.587, 0.114])  # of red, green and blue (ITU-R BT.601)
STRONG_LIGHT, STRONG_SHARPNESS, HUE = 0.6, 0.9, math.pi / 4


def strong_changes(how: Augment, dice: Dice) -> dict[str, np.ndarray]:
    """For every operation, how much of it each picture gets, from -1 to 1: 0 but for `how.strong` of them."""
    if not how.strong:
        return dict.fromkeys(OPERATIONS, np.zeros(len(dice.indices)))
    places = dice.unit("strong", len(OPERATIONS)).argsort(0).argsort(0)
    amounts = np.where(places < how.strong, dice.signed("amounts", len(OPERATIONS)), 0.0)
    return dict(zip(OPERATIONS, amounts, strict=True))


def toned(
    pixels: UInt8[Tensor, "B C H W"], how: Augment, dice: Dice, strong: Mapping[str, np.ndarray]
) -> Float[Tensor, "B C H W"]:
    """Bytes as numbers from 0 to 1, in other light."""
    if not (how.colour or how.strong):
        return pixels.float().div_(255)
    values = pixels.flatten(2).long()
    table = (torch.arange(256) / 255).expand(*pixels.shape[:2], 256)
    if how.strong:
        table = _spread(table, values, strong)
    table = _lit(table, values, how, dice, strong)
    if how.strong:
        table = _broken(table, strong)
    return table.gather(2, values).view(pixels.shape)


def tinted(
    pictures: Float[Tensor, "B C H W"], how: Augment, dice: Dice, strong: Mapping[str, np.ndarray]
) -> Float[Tensor, "B C H W"]:
    """Saturation and hue changed; grey stays as it is, and so do pictures that are not red, green and blue."""
    if pictures.shape[1] != 3 or not (how.colour or how.strong):
        return pictures
    saturation, angle = 1 + STRONG_LIGHT * strong["saturation"], np.zeros(len(dice.indices))
    if how.colour:
        drawn = dice.signed("tint", 2)
        saturation, angle = saturation * (1 + how.colour * drawn[0]), HUE * how.colour * drawn[1]
    # Hue turns colours about the grey diagonal (Rodrigues' formula); saturation moves them from or to their grey.
    third, side = (1 - np.cos(angle)) / 3, np.sin(angle) / math.sqrt(3)
    same, after, before = np.cos(angle) + third, third - side, third + side
    turn = np.stack([same, after, before, before, same, after, after, before, same], 1).reshape(-1, 3, 3)
    grey = (LUMINANCE[:, None] * turn).sum(1, keepdims=True)
    matrix = _column(saturation[:, None, None] * turn + (1 - saturation)[:, None, None] * grey)
    # Written out: a matrix product may sum in another order when the batch has another size.
    red, green, blue = (pictures[:, k : k + 1] * matrix[:, :, k, None, None] for k in range(3))
    return red.add_(green).add_(blue)


def sharpened(pictures: Float[Tensor, "B C H W"], strong: Mapping[str, np.ndarray]) -> Float[Tensor, "B C H W"]:
    """Every pixel moved from or to the mean of its neighbourhood, in the pictures that drew it."""
    rows = np.flatnonzero(strong["sharpness"])
    if rows.size:
        chosen = pictures[rows]
        wide = F.pad(chosen, (1, 1, 1, 1), mode="replicate")
        wide = wide[..., :-2] + wide[..., 1:-1] + wide[..., 2:]
        detail = chosen - (wide[..., :-2, :] + wide[..., 1:-1, :] + wide[..., 2:, :]) / 9
        amount = _column(strong["sharpness"][rows] * STRONG_SHARPNESS)
        pictures[rows] = chosen + amount[:, None, None, None] * detail
    return pictures


def _spread(table: Tensor, values: Tensor, strong: Mapping[str, np.ndarray]) -> Tensor:
    """Autocontrast, and equalise: the values that occur, or their shares, spread over the whole range."""
    table = table.clone()
    for name, spread in (("autocontrast", _stretched), ("equalise", _equalised)):
        rows = np.flatnonzero(strong[name])
        if rows.size:
            table[rows] = spread(_histogram(values[rows]), table[rows])
    return table


def _stretched(histogram: Tensor, table: Tensor) -> Tensor:
    occurs = histogram > 0
    low = torch.where(occurs, table, 1.0).amin(2, keepdim=True)
    high = torch.where(occurs, table, 0.0).amax(2, keepdim=True)
    return torch.where(high > low, ((table - low) / (high - low)).clamp_(0, 1), table)


def _equalised(histogram: Tensor, table: Tensor) -> Tensor:
    up_to = histogram.cumsum(2)
    lowest = torch.where(up_to > 0, up_to, up_to[:, :, -1:]).amin(2, keepdim=True)
    others = up_to[:, :, -1:] - lowest
    return torch.where(others > 0, ((up_to - lowest) / others).clamp_(0, 1), table)


def _histogram(values: Tensor) -> Tensor:
    """How often each byte occurs, by picture and channel."""
    flat = values.flatten(0, 1)
    counts = torch.bincount((flat + 256 * torch.arange(len(flat))[:, None]).flatten(), minlength=256 * len(flat))
    return counts.view(*values.shape[:2], 256)


def _lit(table: Tensor, values: Tensor, how: Augment, dice: Dice, strong: Mapping[str, np.ndarray]) -> Tensor:
    """Brightness, and contrast about the picture's mean."""
    brightness = 1 + STRONG_LIGHT * strong["brightness"]
    contrast = 1 + STRONG_LIGHT * strong["contrast"]
    if how.colour:
        drawn = dice.signed("light", 2)
        brightness, contrast = brightness * (1 + how.colour * drawn[0]), contrast * (1 + how.colour * drawn[1])
    # A sum of whole numbers is exact, in whatever order.
    mean = values.sum((1, 2)).numpy() / (255 * math.prod(values.shape[1:]))
    gain, offset = brightness * contrast, brightness * (1 - contrast) * mean
    return (table * _column(gain)[:, None, None]).add_(_column(offset)[:, None, None]).clamp_(0, 1)


def _broken(table: Tensor, strong: Mapping[str, np.ndarray]) -> Tensor:
    """Posterise to 16 to 128 levels, solarise above a threshold, invert."""
    amount = np.abs(strong["posterise"])
    step = _column(np.where(amount > 0, 2.0 ** (1 + np.floor(4 * amount)), 0.0))[:, None, None]
    table = torch.where(step > 0, (table * 255 / step).floor_() * step / 255, table)
    threshold = _column(1 - 0.7 * np.abs(strong["solarise"]))[:, None, None]
    table = torch.where(table > threshold, 1 - table, table)
    return torch.where(torch.from_numpy(strong["invert"] != 0)[:, None, None], 1 - table, table)


def _column(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values).float()
