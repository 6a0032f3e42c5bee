"""The first guess of hidden cells, before any model: from the same place at other times, and from places nearby.

In time: the best linear estimate from the nearest known values before and after, given how anomalies of this cell
correlate over time. With a past alone this is damped anomaly persistence. In space: linearly along rows and columns,
the nearer known cells counting more, or from ever larger squares where a row and a column know nothing; then smoothed.
`Blend` joins both. Knows tensors alone.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

LEVELS = 7  # of squares: 2, 4, ... 128 cells along a side, then the whole field
SMOOTHED = 6  # times that filled cells are replaced by the mean of their neighbours
LEAST_VARIANCE = 1e-3  # of a guess, as a share of the variance of anomalies
NEAR_SURE = 0.999  # the largest correlation at some distance in time


@dataclass(frozen=True)
class Blend:
    """guess = in_space * (guess in space) + in_time * (guess in time), by layer and how far away something is known.

    The distance is counted in levels: at level l the nearest known cells lie about 2^l cells away, at the last level
    nothing is known at that time. `variance` is that of the guess's error, as a share of the variance of anomalies;
    at the last level it is the guess in time's own.
    """

    in_space: Float[Tensor, "V L"]
    in_time: Float[Tensor, "V L"]
    variance: Float[Tensor, "V L"]

    @staticmethod
    def of_time_alone(layers: int) -> "Blend":
        """Before anything is learned: the guess in time."""
        ones = torch.ones(layers, LEVELS + 1)
        return Blend(torch.zeros_like(ones), ones, ones.clone())


def in_time(
    anomalies: Float[Tensor, "B V T Y X"],
    known: Bool[Tensor, "B V T Y X"],
    time: Float[Tensor, "B T"],
    correlation: Float[Tensor, "L V Y X"],
) -> tuple[Float[Tensor, "B V T Y X"], Float[Tensor, "B V T Y X"]]:
    """The estimate from the nearest known values before and after, and its variance as a share of the anomalies'.

    `correlation` is that of anomalies 1, 2, ... steps apart. Known cells, and those without a known value at any time,
    get 0 with variance 1. Correlations measured on few values may contradict each other (less than no variance would be
    left): then the value that correlates more counts alone.
    """
    steps, hidden = anomalies.shape[2], (~known).flatten().nonzero()[:, 0]
    table = _every_lag(correlation, int((time[:, -1] - time[:, 0]).max().ceil()) + 1)
    before, after = (_nearest(anomalies, known, time, order) for order in (range(steps), range(steps - 1, -1, -1)))
    last, back, following, ahead = (part.flatten()[hidden] for part in (*before, *after))
    field = correlation[0, 0].numel()
    cell = hidden // (steps * field) % anomalies.shape[1] * field + hidden % field
    near, far, both = (_at_lag(table, lag, cell) for lag in (back, ahead, back + ahead))
    rest = 1 - both**2
    first, second = (near - far * both) / rest, (far - near * both) / rest
    alone = torch.where(near.abs() >= far.abs(), near * last, far * following)
    left = 1 - first * near - second * far
    guess, variance = torch.zeros_like(anomalies), torch.ones_like(anomalies)
    guess.view(-1)[hidden] = torch.where(left >= 0, first * last + second * following, alone)
    left = torch.where(left >= 0, left, 1 - torch.maximum(near.abs(), far.abs()) ** 2)
    variance.view(-1)[hidden] = left.clamp(LEAST_VARIANCE, 1.0)
    return guess, variance


def _nearest(
    anomalies: Tensor, known: Tensor, time: Tensor, order: range
) -> tuple[Float[Tensor, "B V T Y X"], Float[Tensor, "B V T Y X"]]:
    """The last known value on the way through the times, and how many steps ago; infinitely many without one."""
    value = torch.zeros_like(anomalies[:, :, 0])
    when = torch.full_like(value, float("inf"))
    values, lags = torch.empty_like(anomalies), torch.empty_like(anomalies)
    for t in order:
        now = time[:, t, None, None, None]
        values[:, :, t], lags[:, :, t] = value, (now - when).abs()
        value = torch.where(known[:, :, t], anomalies[:, :, t], value)
        when = torch.where(known[:, :, t], now, when)
    return values, lags


def _every_lag(correlation: Float[Tensor, "L V Y X"], most: int) -> Float[Tensor, "M V Y X"]:
    """The correlation at 0, 1, 2, ... steps; beyond those that were measured it goes on falling by the last factor."""
    lags = [torch.full_like(correlation[0], NEAR_SURE), *correlation.clamp(-NEAR_SURE, NEAR_SURE)]
    fall = (lags[-1] / lags[-2].clamp(min=1e-3)).clamp(0.0, NEAR_SURE)
    while len(lags) <= most:
        lags.append(lags[-1] * fall)
    return torch.stack(lags)


def _at_lag(table: Float[Tensor, "M V Y X"], lag: Float[Tensor, "C"], cell: Int[Tensor, "C"]) -> Float[Tensor, "C"]:
    """The correlation of cells at distances in time, interpolated between whole steps; 0 at an infinite distance."""
    flat, last = table.flatten(), table.shape[0] - 1
    far = lag.isinf()
    lag = lag.clamp(max=last)
    below = lag.long()
    found = flat[below * table[0].numel() + cell]
    share = lag - below
    if bool(share.any()):
        above = flat[(below + 1).clamp(max=last) * table[0].numel() + cell]
        found = found + share * (above - found)
    return found.masked_fill_(far, 0.0)


def in_space(
    anomalies: Float[Tensor, "M Y X"], known: Bool[Tensor, "M Y X"], *, wraps: bool
) -> tuple[Float[Tensor, "M Y X"], Int[Tensor, "M Y X"]]:
    """Every field filled in from its known cells, and the level at which each cell found something known."""
    weight = known[:, None].to(anomalies.dtype)
    rows = anomalies[:, None] * weight
    levels = [(rows, weight)]
    while len(levels) < LEVELS and max(rows.shape[2:]) > 1:
        total = F.avg_pool2d(F.pad(rows * weight, _even(rows)), 2)
        weight = F.avg_pool2d(F.pad(weight, _even(weight)), 2)
        rows = total / weight.clamp(min=1e-6)
        levels.append((rows, weight))
    total, weight = (rows * weight).sum((2, 3), keepdim=True), weight.sum((2, 3), keepdim=True)
    filled = total / weight.clamp(min=1e-6)
    level = torch.where(weight > 0, LEVELS - 1, LEVELS)
    for depth in range(len(levels) - 1, -1, -1):
        rows, weight = levels[depth]
        here, shape = weight > 0, rows.shape[2:]
        filled = torch.where(here, rows, _larger(filled, shape, wraps))
        level = torch.where(here, depth, F.interpolate(level.float(), shape).long())
    (rows, near), (columns, beside) = (_along(anomalies, known, axis, wraps=wraps and axis == 2) for axis in (1, 2))
    weight = near**2 + beside**2
    crossed = (rows * near**2 + columns * beside**2) / weight.clamp(min=1e-9)
    first = torch.where(known, anomalies, torch.where(weight > 0, crossed, filled[:, 0]))
    return _smoothed(first[:, None], known[:, None], wraps)[:, 0], level[:, 0]


def _along(
    anomalies: Float[Tensor, "M Y X"], known: Bool[Tensor, "M Y X"], axis: int, *, wraps: bool
) -> tuple[Float[Tensor, "M Y X"], Float[Tensor, "M Y X"]]:
    """Interpolated between the nearest known cells on both sides of a line, and its weight: 1 / distance, summed."""
    size = anomalies.shape[axis]
    if wraps:  # once more on either side
        anomalies, known = torch.cat([anomalies] * 3, axis), torch.cat([known] * 3, axis)
    before, near = _last_known(anomalies, known, axis)
    after, far = (part.flip(axis) for part in _last_known(anomalies.flip(axis), known.flip(axis), axis))
    if wraps:
        before, near, after, far = (part.narrow(axis, size, size) for part in (before, near, after, far))
    weight = near + far
    return (before * near + after * far) / weight.clamp(min=1e-9), weight


def _last_known(anomalies: Tensor, known: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The last known value on the way along an axis, and 1 / its distance: 0 where there is none."""
    shape = [1, 1, 1]
    shape[axis] = -1
    place = torch.arange(anomalies.shape[axis], device=known.device).reshape(shape).expand_as(known)
    last = torch.where(known, place, -1).cummax(axis).values
    distance = (place - last).clamp(min=1)
    return anomalies.gather(axis, last.clamp(min=0)), (last >= 0).to(anomalies.dtype) / distance


def _even(rows: Tensor) -> tuple[int, int, int, int]:
    return (0, rows.shape[3] % 2, 0, rows.shape[2] % 2)


def _larger(coarse: Float[Tensor, "M 1 R S"], shape: torch.Size, wraps: bool) -> Float[Tensor, "M 1 Y X"]:
    """Linearly between the middles of the squares."""
    if coarse.shape[2:] == (1, 1):
        return coarse.expand(-1, -1, *shape)
    padded = F.pad(coarse, (1, 1, 0, 0), mode="circular" if wraps else "replicate")
    fine = F.interpolate(padded, scale_factor=2, mode="bilinear", align_corners=False)
    return fine[..., : shape[0], 2 : 2 + shape[1]]


def _smoothed(
    filled: Float[Tensor, "M 1 Y X"], known: Bool[Tensor, "M 1 Y X"], wraps: bool
) -> Float[Tensor, "M 1 Y X"]:
    """Filled cells drawn towards the mean of their four neighbours, which takes the steps out of them."""
    for _ in range(SMOOTHED):
        wide = F.pad(filled, (1, 1, 0, 0), mode="circular" if wraps else "replicate")
        wide = F.pad(wide, (0, 0, 1, 1), mode="replicate")
        mean = (wide[:, :, 1:-1, :-2] + wide[:, :, 1:-1, 2:] + wide[:, :, :-2, 1:-1] + wide[:, :, 2:, 1:-1]) / 4
        filled = torch.where(known, filled, mean)
    return filled


def first_guess(
    anomalies: Float[Tensor, "B V T Y X"],
    known: Bool[Tensor, "B V T Y X"],
    time: Float[Tensor, "B T"],
    correlation: Float[Tensor, "L V Y X"],
    blend: Blend,
    *,
    wraps: bool,
) -> tuple[Float[Tensor, "B V T Y X"], Float[Tensor, "B V T Y X"]]:
    """The guess for all cells and its variance, as a share of the variance of anomalies. Known cells do not matter."""
    guess, variance = in_time(anomalies, known, time, correlation)
    count = known.sum((3, 4))
    partly = ((count > 0) & (count < known[0, 0, 0].numel())).flatten()  # fields that are known in part
    if not bool(partly.any()):
        return guess, variance
    around, level = in_space(anomalies.flatten(0, 2)[partly], known.flatten(0, 2)[partly], wraps=wraps)
    batch, layers, steps = anomalies.shape[:3]
    layer = torch.arange(layers, device=guess.device)[None, :, None].expand(batch, -1, steps).flatten()[partly]
    space, time_share, error = (
        table[layer[:, None, None], level] for table in (blend.in_space, blend.in_time, blend.variance)
    )
    some, own = guess.flatten(0, 2), variance.flatten(0, 2)
    some[partly] = space * around + time_share * some[partly]
    own[partly] = torch.where(level < LEVELS, error, own[partly])
    return some.reshape(guess.shape), own.reshape(guess.shape).clamp(LEAST_VARIANCE, 1.0)
