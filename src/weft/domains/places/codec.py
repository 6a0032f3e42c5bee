"""PlaceCodec: coordinates as people write them, and the numbers that a model takes. Knows axes; refuses to know files.

ColourCodec: the colour of a place, learned from -1 (black) to 1.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from torch import Tensor

from weft.amounts import DEGREES, beyond_globe, day
from weft.errors import ConfigError, WeftError
from weft.modalities.embedder import Embedder
from weft.tasks.codec import Codec
from weft.tasks.labels.label import LabelCodec


class PlaceCodec(Codec):
    """(coordinate - middle) / reach for each axis; degrees of latitude and longitude stay as they are."""

    class Config(Codec.Config):
        """`cells` is the height and width of the picture or grid that was learned; `dates` are days since 1970."""

        axes: tuple[str, ...]
        middle: tuple[float, ...]
        reach: tuple[float, ...]
        cells: tuple[int, ...] | None = None
        dates: bool = False
        picture: bool = False

        def check(self) -> None:
            if not len(self.axes) == len(self.middle) == len(self.reach) or not self.axes:
                raise ConfigError("expected a middle and a reach for each axis", where="PlaceCodec.axes")
            if any(not 0 < one < math.inf for one in self.reach) or not all(map(math.isfinite, self.middle)):
                raise ConfigError("every reach must be above 0 and finite", where="PlaceCodec.reach")

    config: Config

    @classmethod
    def of(
        cls, where: np.ndarray, axes: tuple[str, ...], *, cells: tuple[int, int] | None, dates: bool, picture: bool
    ) -> Self:
        """The codec for places like these. Axes of a plane share one reach, so distances keep their proportions."""
        low, high = where.min(0), where.max(0)
        fixed = np.array([picture or axis in DEGREES for axis in axes])
        plane = np.array([axis != "time" and axis not in DEGREES for axis in axes])
        reach = (high - low) / 2
        reach = np.where(plane, reach[plane].max(initial=0), reach)
        reach = np.where(fixed | (reach <= 0), 1.0, reach)
        middle = np.where(fixed, 0.0, (high + low) / 2)
        config = cls.Config(
            axes=axes,
            middle=tuple(middle.tolist()),
            reach=tuple(reach.tolist()),
            cells=cells,
            dates=dates,
            picture=picture,
        )
        return cls(config)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return self.config.axes

    @property
    def globe(self) -> bool:
        """Whether places are on the globe."""
        return set(DEGREES) <= set(self.axes)

    def encode(self, where: np.ndarray) -> np.ndarray:
        """(N, A) coordinates as a model takes them."""
        return ((where - np.array(self.config.middle)) / np.array(self.config.reach)).astype(np.float32)

    def apart(self, where: np.ndarray) -> np.ndarray:
        """(N, …) coordinates whose distances are those of the places: on the globe, of unit vectors."""
        if not self.globe:
            return self.encode(where)
        lat, lon = (np.deg2rad(where[:, self.axes.index(axis)]) for axis in ("lat", "lon"))
        others = [i for i, axis in enumerate(self.axes) if axis not in DEGREES]
        unit = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)
        return np.concatenate([unit, self.encode(where)[:, others]], -1)

    def place(self, given: object) -> list[float]:
        """One place as people write it: "48.1, 11.6", numbers in the order of the axes, or a mapping by axis."""
        if isinstance(given, Mapping):
            unknown = [axis for axis in self.axes if axis not in given]
            parts = [] if unknown or len(given) != len(self.axes) else [given[axis] for axis in self.axes]
        elif isinstance(given, str):
            parts = [part for part in given.replace(";", ",").replace(",", " , ").split(" , ") if part.strip()]
            parts = given.split() if len(parts) != len(self.axes) else parts
        elif isinstance(given, np.ndarray | list | tuple):
            parts = np.asarray(given, object).ravel().tolist()
        else:
            parts = []
        if len(parts) != len(self.axes):
            raise WeftError(f"expected a place by its {' and '.join(self.axes)}, found {given!r:.60}", fix=self.example)
        return [self._coordinate(axis, part) for axis, part in zip(self.axes, parts, strict=True)]

    def _coordinate(self, axis: str, given: object) -> float:
        try:
            value: float | None = float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = day(str(given)) if axis == "time" else None
        if value is None or not math.isfinite(value):
            raise WeftError(f"{axis} is {given!r:.40}, expected a number", fix=self.example)
        if problem := beyond_globe(axis, value):
            raise WeftError(problem, fix=self.example)
        return value

    @property
    def example(self) -> str:
        """How a place is written."""
        written = {"lat": "48.1", "lon": "11.6", "time": "2024-07-01" if self.config.dates else "0"}
        return f'write it as "{", ".join(written.get(axis, "0.5") for axis in self.axes)}"'

    def same(self, other: Codec | None) -> bool:
        return isinstance(other, PlaceCodec) and other.config.replace(cells=None) == self.config.replace(cells=None)

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        found: Sequence[str] = getattr(embed, "axes", ())
        if tuple(found) != self.axes:
            problem = f"the places have the axes {list(self.axes)}, the model {list(found)}: they are of different runs"
            raise ConfigError(problem, where=where, fix="put the run's own config.json back")


HALF = 127.5  # of a byte


class ColourCodec(LabelCodec):
    """Bytes of red, green and blue, or of grey."""

    class Config(LabelCodec.Config):
        """`channels` is 3 for colour and 1 for grey."""

        channels: int = 3

        def check(self) -> None:
            if self.channels not in (1, 3):
                raise ConfigError(f"expected 1 or 3, found {self.channels}", where="ColourCodec.channels")

    config: Config

    @property
    def outputs(self) -> int:
        return self.config.channels

    def encode(self, labels: Sequence[Any] | np.ndarray, where: str = "") -> np.ndarray:
        """(N, C) bytes on the scale that is learned."""
        return np.asarray(labels, np.float64).reshape(-1, self.outputs) / HALF - 1

    def restored(self, values: Tensor) -> np.ndarray:
        """(N, C) bytes of values on the learned scale."""
        return ((values.float() + 1) * HALF).round().clamp(0, 255).byte().numpy()

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The colour that each row stands for."""
        return [{"colour": colour} for colour in self.restored(values).tolist()]
