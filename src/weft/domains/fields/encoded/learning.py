"""A codec from the fields to train on: their climate, and how guesses in space and in time are best joined."""

from collections.abc import Callable

import numpy as np
import torch

from weft.batches.draws import draws
from weft.batches.order import key
from weft.domains.fields.codec.anomalies import FieldCodec, LayerEntry
from weft.domains.fields.codec.first_guess import LEVELS, Blend, in_space, in_time
from weft.domains.fields.encoded.hiding import Chance, Hiding
from weft.domains.fields.encoded.windows import WindowReader
from weft.domains.fields.reading.climatology import best_half_life, learn, pieces
from weft.domains.fields.reading.grid import FieldSpan
from weft.domains.fields.reading.thinned import thinned
from weft.modalities.climate import Climate

MOST_VALUES = 30_000_000  # that a climate is learned from
LAGS = 6  # steps over which correlations of anomalies are measured
TRIED = 24  # windows from which the blend is learned
FEWEST_CELLS = 200  # from which a level of a layer has weights of its own
SURPRISES, SURPRISE_BYTES = 32, 64 * 2**20  # fields that random members are drawn from, and the room for them
RIDGE = 1e-3  # as a share of the variance of the guesses


def learned_codec(
    stretch: FieldSpan, history: int, ahead: int, progress: Callable[[int, int], None] | None = None
) -> FieldCodec:
    """The codec for fields like these; of very many, it learns from a part."""
    stretch = thinned(stretch, MOST_VALUES)
    fields, half_life = stretch.fields, best_half_life(stretch)
    normals = learn(stretch, LAGS, progress)
    climate = normals if half_life is None else learn(stretch, LAGS, progress, half_life)
    weights = np.where(climate.known, fields.grid.weights[:, None], 0.0)
    scale = np.sqrt((weights * climate.spread**2).sum((1, 2)) / weights.sum((1, 2)).clip(min=1e-9))
    config = FieldCodec.Config(
        layers=tuple(
            LayerEntry(variable=one.variable, level=one.level, units=one.units, title=one.title)
            for one in fields.layers
        ),
        y=tuple(fields.grid.y.tolist()),
        x=tuple(fields.grid.x.tolist()),
        sphere=fields.grid.surface == "sphere",
        wraps=fields.grid.wraps,
        step=float(fields.times.step),
        scale=tuple(float(one) if one > 0 else 1.0 for one in scale),
        history=history,
        ahead=ahead,
        half_life=half_life,
    )
    surprises = some_surprises(stretch, climate)
    before = FieldCodec.of(config, climate, normals, Blend.of_time_alone(len(fields.layers)), surprises)
    return FieldCodec.of(config, climate, normals, learned_blend(stretch, before, climate), surprises)


def some_surprises(stretch: FieldSpan, climate: Climate) -> np.ndarray:
    """Differences from damped anomaly persistence, each cell scaled to variance 1 (M V Y X); 0 where unknown."""
    times, found = stretch.fields.times, []
    one = 2 * climate.spread.size
    pairs = np.array([at for a, b in pieces(times, stretch.start, stretch.stop) for at in range(a, b - 1)], np.int64)
    most = max(2, min(SURPRISES, SURPRISE_BYTES // one, len(pairs)))
    for at in pairs[np.unique(np.linspace(0, len(pairs) - 1, most).round().astype(int))] if len(pairs) else ():
        before, after = stretch.fields.read(int(at), int(at) + 2)
        (now, then) = ((times.season[t], times.hour[t]) for t in (at, at + 1))
        found.append(np.nan_to_num(after - climate.damped(before, 1, now, then)))
    surprises = np.stack(found) if found else climate.spread[None]
    size = np.sqrt((surprises**2).mean(0))
    return surprises / np.where(size > 0, size, 1.0)


def learned_blend(stretch: FieldSpan, codec: FieldCodec, climate: Climate) -> Blend:
    """The weights of both guesses by least squares, for each layer and distance, on windows with hidden blocks."""
    reader, config = WindowReader(stretch, codec), codec.config
    layers = len(config.layers)
    products, sums = np.zeros((layers, LEVELS + 1, 2, 2)), np.zeros((layers, LEVELS + 1, 2))
    squares, counts = np.zeros((layers, LEVELS + 1)), np.zeros((layers, LEVELS + 1))
    ends = reader.ends[np.unique(np.linspace(0, len(reader.ends) - 1, TRIED).round().astype(int))]
    hiding = Hiding((layers, config.times, len(config.y), len(config.x)), config.history)
    memory = torch.from_numpy(climate.correlation)
    time = torch.arange(1 - config.history, config.ahead + 1, dtype=torch.float32)[None]
    for end, row in zip(ends, draws(key("blend"), ends, 4096), strict=True):
        values, _, _ = reader.read(int(end))
        truth = torch.from_numpy(values)
        known = truth.isfinite() & torch.from_numpy(~hiding.blocks(Chance(row)))
        seen = truth.masked_fill(~known, 0.0)[None]
        guess, _ = in_time(seen, known[None], time, memory)
        around, level = in_space(seen[0].flatten(0, 1), known.flatten(0, 1), wraps=config.wraps)
        scored = (truth.isfinite() & ~known).flatten(0, 1)
        layer = torch.arange(layers)[:, None].expand(-1, config.times).flatten()[:, None, None].expand_as(level)[scored]
        at = (layer.numpy(), level[scored].numpy())
        both = np.stack([around[scored].numpy(), guess[0].flatten(0, 1)[scored].numpy()], -1).astype(np.float64)
        wanted = truth.flatten(0, 1)[scored].numpy().astype(np.float64)
        np.add.at(products, at, both[:, :, None] * both[:, None])
        np.add.at(sums, at, both * wanted[:, None])
        np.add.at(squares, at, wanted**2)
        np.add.at(counts, at, 1)
    return _solved(products, sums, squares, counts)


def _solved(products: np.ndarray, sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> Blend:
    """The weights; where there was too little data, those of the next nearer distance, or the guess in time."""
    layers = len(counts)
    blend = Blend.of_time_alone(layers)
    for layer in range(layers):
        last = None
        for level in range(LEVELS):
            if counts[layer, level] >= FEWEST_CELLS:
                square = products[layer, level]
                ridge = RIDGE * np.trace(square) / 2 + 1e-9
                weights = np.linalg.solve(square + ridge * np.eye(2), sums[layer, level])
                rest = squares[layer, level] - 2 * weights @ sums[layer, level] + weights @ square @ weights
                last = (*weights, rest / max(squares[layer, level], 1e-9))
            if last is not None:
                blend.in_space[layer, level], blend.in_time[layer, level], blend.variance[layer, level] = last
    return blend
