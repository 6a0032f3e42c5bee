"""FieldCodec: fields on a grid become differences from what is usual there, and windows of them get a first guess.

Keeps the climate of every cell in the run folder. Opens no user file; knows no model and no order of samples.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Float
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import Tensor

from weft.config import Config as BaseConfig
from weft.domains.fields.codec.first_guess import LEVELS, Blend, first_guess
from weft.errors import ConfigError, DataError
from weft.modalities.climate import Climate, Number
from weft.modalities.embedder import Embedder
from weft.modalities.field import FieldEmbed, FieldWindow
from weft.tasks.codec import Codec, ReadFile

BLEND = ("in_space", "in_time", "variance")
NORMALS = "normals."  # before the names of arrays of the climate of all years alike


class LayerEntry(BaseConfig):
    """A layer of the fields: a variable at a level."""

    variable: str
    level: float | None = None
    units: str = ""
    title: str = ""


class FieldCodec(Codec):
    """(value - climatology) / spread of the layer, and back. A window has `history` fields and `ahead` to predict."""

    class Config(Codec.Config):
        """Layers, cells and rhythm of the fields. `scale` is the spread of each layer's anomalies over all cells.

        `half_life`: years after which a field counts half as much in the mean; None: all count alike.
        """

        layers: tuple[LayerEntry, ...]
        y: tuple[float, ...]
        x: tuple[float, ...]
        sphere: bool
        wraps: bool
        step: float
        scale: tuple[float, ...]
        history: int
        ahead: int
        half_life: float | None = None
        file: str = "climate.safetensors"

        @property
        def times(self) -> int:
            """Time steps of a window."""
            return self.history + self.ahead

    config: Config

    def __init__(self, config: Config, *, read: ReadFile):
        super().__init__(config, read=read)
        self._read = read

    @classmethod
    def of(cls, config: Config, climate: Climate, normals: Climate, blend: Blend, surprises: np.ndarray) -> Self:
        """The codec of a climate that was just learned; `normals` is the climate of all years alike."""
        arrays = climate.arrays() | {name: getattr(blend, name).numpy() for name in BLEND}
        if normals is not climate:
            arrays |= {NORMALS + name: array for name, array in normals.arrays().items()}
        arrays["surprises"] = surprises.astype(np.float16)
        content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        return cls(config, read=lambda name: content)

    def files(self) -> Mapping[str, bytes]:
        return {self.config.file: self._read(self.config.file)}

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        try:
            found = load(self._read(self.config.file))
        except SafetensorError as error:
            raise DataError(f"this is no climatology: {error}", where=self.config.file) from None
        cells = (len(self.config.layers), len(self.config.y), len(self.config.x))
        shapes = {"spread": cells, **dict.fromkeys(BLEND, (cells[0], LEVELS + 1))}
        fits = all(name in found and found[name].shape == shape for name, shape in shapes.items())
        if not fits or "surprises" not in found or found["surprises"].shape[1:] != cells:
            problem = f"expected a climatology of {cells[0]} layers on {cells[1]} x {cells[2]} cells"
            raise DataError(problem, where=self.config.file, fix="put the run's own file back")
        if not all(np.isfinite(found[name]).all() for name in (*BLEND, "surprises")):
            raise DataError("a climatology with numbers that are not finite", where=self.config.file)
        return found

    @cached_property
    def climate(self) -> Climate:
        """What is usual at each cell."""
        return Climate.from_arrays(self._arrays, self.config.file)

    @cached_property
    def normals(self) -> Climate:
        """What is usual over all years alike: the climate that other methods are measured with."""
        own = {name.removeprefix(NORMALS): array for name, array in self._arrays.items() if name.startswith(NORMALS)}
        normals = Climate.from_arrays(own, self.config.file) if own else self.climate
        if normals.spread.shape != self.climate.spread.shape:
            raise DataError("the climate of all years is of other cells", where=self.config.file)
        return normals

    @cached_property
    def blend(self) -> Blend:
        """How guesses in space and time are joined."""
        return Blend(*(torch.from_numpy(self._arrays[name]) for name in BLEND))

    @cached_property
    def surprises(self) -> Float[np.ndarray, "M V Y X"]:
        """Some differences between fields and their prediction from fields before, with variance 1 at each cell."""
        return self._arrays["surprises"].astype(np.float32)

    @cached_property
    def _memory(self) -> Float[Tensor, "L V Y X"]:
        return torch.from_numpy(self.climate.correlation)

    @cached_property
    def _deviation(self) -> Float[Tensor, "V 1 Y X"]:
        return torch.from_numpy(self.climate.spread / self._scale[:, None, None])[:, None]

    @property
    def cells(self) -> int:
        """Cells of a window."""
        config = self.config
        return len(config.layers) * config.times * len(config.y) * len(config.x)

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.asarray(self.config.scale, np.float32)

    @cached_property
    def place(self) -> Float[Tensor, "3 Y X"]:
        """Where each cell is: a point on the unit sphere, or on a plane, from -1 to 1 around the middle of the grid."""
        y, x = np.meshgrid(np.array(self.config.y), np.array(self.config.x), indexing="ij")
        if self.config.sphere:
            north, east = np.radians(y), np.radians(x)
            points = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
        else:
            points = np.stack([x, y, np.zeros_like(x)])
        if not self.config.wraps:
            points = points - (points.max((1, 2), keepdims=True) + points.min((1, 2), keepdims=True)) / 2
        return torch.from_numpy((points / max(np.abs(points).max(), 1e-9)).astype(np.float32))

    def anomalies(self, values: np.ndarray, season: Number, hour: Number) -> np.ndarray:
        """Fields (n V Y X) as differences from the climatology, in units of the layer's spread; NaN stays NaN."""
        return (values - self.climate.mean(season, hour)) / self._scale[:, None, None]

    def values(self, anomalies: np.ndarray, season: Number, hour: Number) -> np.ndarray:
        """Undoes `anomalies`."""
        return anomalies * self._scale[:, None, None] + self.climate.mean(season, hour)

    def spreads(self, spreads: np.ndarray) -> np.ndarray:
        """Standard deviations (… V Y X) in the units of the layers."""
        return spreads * self._scale[:, None, None]

    def window(
        self, anomalies: np.ndarray, shown: np.ndarray, season: np.ndarray, hour: np.ndarray, time: np.ndarray
    ) -> FieldWindow:
        """Windows (B V T Y X) as a model reads them: of the values that are not NaN, those that are `shown`.

        `season`, `hour` and `time` (B T) say when the fields are; `time` counts steps.
        """
        cells = torch.from_numpy(anomalies)
        known = torch.from_numpy(shown) & cells.isfinite()
        cells, steps = cells.masked_fill(~known, 0.0), torch.from_numpy(time.astype(np.float32))
        guess, variance = (
            torch.cat(parts)
            for parts in zip(*map(self._guess, *(t.split(1) for t in (cells, known, steps))), strict=True)
        )
        return FieldWindow(
            values=torch.where(known, cells, guess),
            known=known,
            doubt=(self._deviation * variance.sqrt()).masked_fill(known, 0.0),
            season=torch.from_numpy(season.astype(np.float32)),
            hour=torch.from_numpy(hour.astype(np.float32)),
            time=steps,
            place=self.place[None].expand(len(cells), -1, -1, -1),
        )

    def _guess(
        self, cells: Float[Tensor, "B V T Y X"], known: Bool[Tensor, "B V T Y X"], steps: Float[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B V T Y X"], Float[Tensor, "B V T Y X"]]:
        """The first guess, for one window at a time: it needs many times the memory of its values."""
        return first_guess(cells, known, steps, self._memory, self.blend, wraps=self.config.wraps)

    def same(self, other: Codec | None) -> bool:
        return isinstance(other, FieldCodec) and super().same(other) and self.files() == other.files()

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        config = self.config
        wanted = (len(config.layers), config.times, config.wraps)
        if not isinstance(embed, FieldEmbed.Config) or (embed.layers, embed.times, embed.wraps) != wanted:
            raise ConfigError("the model and its climatology are of different runs", where=where)
