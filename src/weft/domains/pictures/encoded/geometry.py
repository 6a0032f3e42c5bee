"""Where the pixels of a changed picture are read: shift, zoom, flip, turn and slant as one map and one reading.

Places in a picture run from -1 to 1 over each side, edge to edge. Beyond an edge the picture is mirrored:

    … 2 1 0 | 0 1 2 3 | 3 2 1 …
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from weft.batches.draws import Dice
from weft.domains.pictures.settings import Augment

WIDEST = math.log(4 / 3)  # of a part that is zoomed into, against the picture's own proportions
MOST_SLANT = 20.0  # degrees: what is turned all the way round is still not slanted beyond recognition
STRONG_TURN, STRONG_SHEAR, STRONG_SHIFT = 30.0, 0.3, 0.3  # degrees, slope, share of the side


@dataclass(frozen=True)
class Whole:
    """Moves by whole pixels: every pixel is a pixel of the original, exactly."""

    rows: np.ndarray  # (B, H)
    columns: np.ndarray  # (B, W)

    def picture(self, values: Shaped[Tensor, "B C H W"]) -> Shaped[Tensor, "B C H W"]:
        """The pictures, moved."""
        width = values.shape[-1]
        places = torch.from_numpy(self.rows[:, :, None] * width + self.columns[:, None, :]).flatten(1)
        places = places[:, None].expand(-1, values.shape[1], -1)
        return values.flatten(2).gather(2, places).view(values.shape)

    def mask(self, mask: Bool[Tensor, "B 1 H W"]) -> Bool[Tensor, "B 1 H W"]:
        """The mask, moved like the pictures."""
        return self.picture(mask)


@dataclass(frozen=True)
class Affine:
    """A place p of the result is read at centre + linear · p."""

    linear: np.ndarray  # (B, 2, 2); the first of a pair runs across, the second down
    centre: np.ndarray  # (B, 2)
    kept: np.ndarray  # (B, 2) shares of the sides that are read
    size: tuple[int, int]  # height and width of the result

    def picture(self, values: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C h w"]:
        """The pictures, read between their pixels; what shrinks to a half or less is averaged first."""
        sides = np.array([values.shape[-1] / self.size[1], values.shape[-2] / self.size[0]])
        shrink = np.maximum(np.floor(self.kept * sides), 1).astype(np.int64)
        if (shrink == 1).all():
            return self._read(values, slice(None), (1, 1), "bilinear")
        result = values.new_empty(*values.shape[:2], *self.size)
        for across, down in np.unique(shrink, axis=0).tolist():
            rows = np.flatnonzero((shrink == (across, down)).all(1))
            result[rows] = self._read(values[rows], rows, (across, down), "bilinear")
        return result

    def mask(self, mask: Bool[Tensor, "B 1 H W"]) -> Bool[Tensor, "B 1 h w"]:
        """The mask at the pixels nearest to where the pictures are read."""
        return self._read(mask.float(), slice(None), (1, 1), "nearest") > 0.5

    def _read(self, values: Tensor, rows: np.ndarray | slice, shrink: tuple[int, int], mode: str) -> Tensor:
        sides = np.array([values.shape[-1], values.shape[-2]])
        if shrink != (1, 1):
            values = F.avg_pool2d(values, shrink[::-1], ceil_mode=True, count_include_pad=False)
        # Cells at the far edges may stand for fewer pixels: the averaged picture is then a little wider.
        wider = sides / (np.array(shrink) * [values.shape[-1], values.shape[-2]])
        linear = self.linear[rows] * wider[:, None]
        centre = (self.centre[rows] + 1) * wider - 1
        (height, width) = self.size
        across, down = (2 * np.arange(width) + 1) / width - 1, (2 * np.arange(height) + 1) / height - 1
        along_row = linear[:, :, 0, None] * across + centre[:, :, None]  # B, 2, w
        along_column = linear[:, :, 1, None] * down  # B, 2, h
        row, column = (torch.from_numpy(part).float().mT for part in (along_row, along_column))
        grid = row[:, None] + column[:, :, None]
        return F.grid_sample(values, grid, mode=mode, padding_mode="reflection", align_corners=False)


def place(
    how: Augment, dice: Dice, strong: Mapping[str, np.ndarray], sides: tuple[int, int], size: tuple[int, int]
) -> Whole | Affine:
    """How pictures with these sides are read, for results of this size (height, width)."""
    flip = np.where(dice.unit("flip", 1)[0] < 0.5, -1, 1) if how.flip else np.ones(len(dice.indices), np.int64)
    across, down = _whole_shifts(how, dice, sides)
    if not (how.zoom or how.turn or how.strong) and size == sides:
        columns = np.arange(sides[1]) * np.ones_like(flip)[:, None]
        columns = np.where(flip[:, None] < 0, sides[1] - 1 - columns, columns) - across[:, None]
        rows = np.arange(sides[0]) - down[:, None]
        return Whole(_mirrored(rows, sides[0]), _mirrored(columns, sides[1]))
    kept, centre = zoom_of(how, dice)
    # What is moved right is read further left; a side is 2 long.
    centre[:, 0] -= 2 * (across / sides[1] + STRONG_SHIFT * strong["across"])
    centre[:, 1] -= 2 * (down / sides[0] + STRONG_SHIFT * strong["down"])
    linear = _turned(how, dice, strong, sides) * kept[:, None, :]
    linear[:, :, 0] *= flip[:, None]
    return Affine(linear, centre, kept, size)


def boxes(corner: np.ndarray, extent: np.ndarray, size: tuple[int, int]) -> Bool[Tensor, "B 1 h w"]:
    """True inside a rectangle of each picture; corner and extent are (B, 2), down and across, and may reach outside."""
    inside = [
        (np.arange(side) >= corner[:, [axis]]) & (np.arange(side) < corner[:, [axis]] + extent[:, [axis]])
        for axis, side in enumerate(size)
    ]
    return torch.from_numpy(inside[0][:, None, :, None] & inside[1][:, None, None, :])


def _whole_shifts(how: Augment, dice: Dice, sides: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Pixels to the right and down."""
    if not how.shift:
        return np.zeros(len(dice.indices), np.int64), np.zeros(len(dice.indices), np.int64)
    across, down = dice.unit("shift", 2)
    most_across, most_down = int(how.shift * sides[1]), int(how.shift * sides[0])
    return (
        (across * (2 * most_across + 1)).astype(np.int64) - most_across,
        (down * (2 * most_down + 1)).astype(np.int64) - most_down,
    )


def zoom_of(how: Augment, dice: Dice) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the sides that are kept, and the centre of that part; the area is uniform from 1 - zoom to 1."""
    if not how.zoom:
        return np.ones((len(dice.indices), 2)), np.zeros((len(dice.indices), 2))
    area, shape, across, down = dice.unit("zoom", 4)
    area = 1 - how.zoom * area
    # No wider than fits, so that the area is always the one drawn.
    half = np.minimum(WIDEST, -np.log(area)) * (shape - 0.5)
    kept = np.sqrt(area)[:, None] * np.exp(np.stack([half, -half], 1))
    return kept, (1 - kept) * (2 * np.stack([across, down], 1) - 1)


def _turned(
    how: Augment, dice: Dice, strong: Mapping[str, np.ndarray], sides: tuple[int, int]
) -> Float[np.ndarray, "B 2 2"]:
    """Turn and slant, in pixels, written for places from -1 to 1."""
    angle, slope = STRONG_TURN * strong["turn"], STRONG_SHEAR * strong["shear"]
    if how.turn:
        drawn = dice.signed("turn", 2)
        angle = angle + how.turn * drawn[0]
        slope = slope + math.tan(math.radians(min(how.turn, MOST_SLANT))) * drawn[1]
    cos, sin, ratio = np.cos(np.radians(angle)), np.sin(np.radians(angle)), sides[0] / sides[1]
    across = np.stack([cos, (cos * slope - sin) * ratio], 1)
    down = np.stack([sin / ratio, sin * slope + cos], 1)
    return np.stack([across, down], 1)


def _mirrored(places: np.ndarray, side: int) -> np.ndarray:
    """Whole places beyond the edges, mirrored back."""
    around = places % (2 * side)
    return np.where(around < side, around, 2 * side - 1 - around)
