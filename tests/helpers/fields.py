"""Windows, codecs and models of fields made for tests, without files: small, seeded, and with random weights."""

from typing import Any

import numpy as np
import torch

from helpers.field_arrays import ArrayFields, times_every
from helpers.tiny import randomised
from weft.domains.fields.codec.anomalies import FieldCodec, LayerEntry
from weft.domains.fields.codec.first_guess import Blend
from weft.domains.fields.encoded.learning import learned_codec
from weft.domains.fields.reading.grid import FieldGrid, FieldSpan
from weft.modalities.climate import Climate
from weft.modalities.field import FieldWindow
from weft.models.stream import Stream
from weft.models.zoo.fields import FIELD_MODELS, FieldSize

GLOBE = FieldGrid(np.linspace(75.0, -75.0, 6), np.arange(12) * 30.0 - 180.0, "sphere", wraps=True)


def window(
    rows: int = 2, layers: int = 2, times: int = 4, shape: tuple[int, int] = (5, 7), seed: int = 0
) -> FieldWindow:
    """A random window of which half of the cells are known."""
    rng = np.random.default_rng(seed)
    size = (rows, layers, times, *shape)
    known = rng.random(size) < 0.5
    doubt = np.where(known, 0.0, 0.2 + rng.random(size))
    parts = rng.random((2, rows, times))
    time = np.broadcast_to(np.arange(times) - times // 2, (rows, times))
    place = rng.random((rows, 3, *shape))
    tensors = (rng.normal(size=size), known, doubt, *parts, time.astype(np.float64), place)
    return FieldWindow(*(torch.from_numpy(np.ascontiguousarray(one)) for one in tensors))


def field_model(
    name: str = "swift", *, layers: int = 2, times: int = 4, wraps: bool = False, seed: int = 0, **size: Any
) -> Stream:
    """A model for fields of the zoo, tiny, with random weights, in float64."""
    sizes = FieldSize(**{"dim": 16, "depth": 2, "heads": 2, "patch": 2, "halo": 1, **size})
    model = FIELD_MODELS[name](sizes, layers=layers, times=times, wraps=wraps).build()
    return randomised(model, seed=seed).double().eval()


def process(count: int = 60, layers: int = 2, grid: FieldGrid = GLOBE, keep: float = 0.9, seed: int = 0) -> np.ndarray:
    """Smooth fields that forget slowly: each is `keep` of the one before and a new smooth part; float32 (T V Y X)."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(grid.shape[1]) / grid.shape[1]
    waves = np.stack([np.cos(k * angle + phase) for k in (1, 2) for phase in (0.0, np.pi / 2)])  # 4 X
    rows = np.stack([np.ones(grid.shape[0]), np.linspace(-1, 1, grid.shape[0])])  # 2 Y
    states = np.zeros((count, layers, 2, 4))
    states[0] = rng.normal(size=states.shape[1:])
    for t in range(1, count):
        states[t] = keep * states[t - 1] + np.sqrt(1 - keep**2) * rng.normal(size=states.shape[1:])
    smooth = np.einsum("tvrw,ry,wx->tvyx", states, rows, waves)
    return (10.0 + 3.0 * smooth + 0.05 * rng.normal(size=smooth.shape)).astype(np.float32)


def stretch_of(values: np.ndarray, grid: FieldGrid = GLOBE, gaps: tuple[int, ...] = ()) -> FieldSpan:
    """Daily fields, all of them."""
    return FieldSpan(ArrayFields(values, times_every(1.0, len(values), gaps=gaps), grid), 0, len(values))


def codec_of(stretch: FieldSpan, history: int = 3, ahead: int = 2) -> FieldCodec:
    """The codec that is learned from some fields."""
    return learned_codec(stretch, history, ahead)


def plain_codec(
    shape: tuple[int, int, int] = (2, 6, 12), history: int = 3, ahead: int = 2, *, keep: float = 0.9, lags: int = 6
) -> FieldCodec:
    """A codec whose cells all have mean 0, spread 1 and the correlation keep^lag; guesses come from time alone."""
    cells = np.ones(shape, np.float32)
    memory = keep ** np.arange(1, lags + 1, dtype=np.float32)
    climate = Climate(
        harmonics=0 * cells[None],
        bins=0 * cells[None].repeat(12, 0),
        spread=cells,
        correlation=memory[:, None, None, None] * cells,
        known=cells > 0,
        columns=np.zeros(1, np.int64),
    )
    config = FieldCodec.Config(
        layers=tuple(LayerEntry(variable=f"layer{i}") for i in range(shape[0])),
        y=tuple(np.linspace(75.0, -75.0, shape[1]).tolist()),
        x=tuple((np.arange(shape[2]) * 360.0 / shape[2] - 180).tolist()),
        sphere=True,
        wraps=True,
        step=1.0,
        scale=(1.0,) * shape[0],
        history=history,
        ahead=ahead,
    )
    surprises = np.random.default_rng(0).choice([-1.0, 1.0], (16, *shape))
    return FieldCodec.of(config, climate, climate, Blend.of_time_alone(shape[0]), surprises)
