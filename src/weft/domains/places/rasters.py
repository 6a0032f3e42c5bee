"""Fields computed at many places: as fast as the model goes, over rasters of cells, as pictures. Reads no files."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.core.threads import each_on_one_thread
from weft.domains.places.codec import ColourCodec, PlaceCodec
from weft.domains.places.reading.grids import pixel_places
from weft.domains.places.views.panels import HIGH_SHARE, LOW_SHARE, class_colours, field_colours
from weft.errors import ConfigError
from weft.modalities.points import PointEmbed, Points
from weft.models.stream import Stream
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec

AT_ONCE = 4096  # places computed at once: their numbers stay in the cache of a processor
MAP_SIDE = 256  # cells along the longer side of a raster, by default
MOST_CELLS = 200_000_000


def values_at(model: Stream, places: np.ndarray, count: Callable[[int], None] | None = None) -> Tensor:
    """The values of the model's head at places as it takes them, (N, A) in float32."""
    model.eval()
    device = next(model.parameters()).device
    found = torch.empty(len(places), model.config.outputs or 1)
    given = torch.from_numpy(np.ascontiguousarray(places, np.float32))

    def compute(start: int) -> None:
        some = slice(start, start + AT_ONCE)
        with torch.inference_mode():
            found[some] = model(Points(given[some].to(device))).float().cpu()
        if count is not None:
            count(min(start + AT_ONCE, len(given)))

    each_on_one_thread(compute, range(0, len(given), AT_ONCE))
    return found


@dataclass(frozen=True)
class Raster:
    """Cells over all of a field, `height` rows of `width`; axes beyond two stay at their middle."""

    codec: PlaceCodec
    height: int
    width: int

    @staticmethod
    def usual(codec: PlaceCodec, longest: int = MAP_SIDE) -> "Raster":
        """A raster with the aspect of what was learned, at most `longest` cells along a side."""
        if len(codec.axes) < 2:
            return Raster(codec, 1, longest)
        height, width = (codec.config.cells or (1, 1)) if codec.config.picture else (1, 2) if codec.globe else (1, 1)
        shrink = longest / max(height, width)
        shrink = min(1.0, shrink) if codec.config.picture else shrink
        return Raster(codec, max(1, round(height * shrink)), max(1, round(width * shrink)))

    @staticmethod
    def asked(codec: PlaceCodec, size: str) -> "Raster":
        """A raster of a size as people write it: 2048x1536."""
        parts = size.lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise ConfigError(f"expected width and height as in 2048x1536, found {size!r}", where="size")
        width, height = map(int, parts)
        if not width or not height or width * height > MOST_CELLS:
            raise ConfigError(f"expected from 1 to {MOST_CELLS:,} cells in all, found {width * height:,}", where="size")
        return Raster(codec, height, width)

    def places(self) -> np.ndarray:
        """(Y X, A) the middles of the cells, in the user's units."""
        config = self.codec.config
        if config.picture:
            return pixel_places(self.height, self.width) if self._same_aspect() else self._stretched()
        down, across = ((2 * np.arange(n) + 1) / n - 1 for n in (self.height, self.width))
        spans = {"lat": -90 * down, "lon": 180 * across}
        lines = [spans.get(axis) for axis in self.codec.axes[:2]] if self.codec.globe else [None, None]
        middle, reach = np.array(config.middle), np.array(config.reach)
        found = np.broadcast_to(middle, (self.height, self.width, len(middle))).copy()
        if self.codec.globe:
            found[..., 0], found[..., 1] = lines[0][:, None], lines[1][None]  # type: ignore[index]
        else:
            found[..., 0] += reach[0] * across[None]
            if len(middle) > 1:
                found[..., 1] -= reach[1] * down[:, None]  # y grows upwards, as on a map
        return found.reshape(-1, len(middle))

    def _same_aspect(self) -> bool:
        height, width = self.codec.config.cells or (self.height, self.width)
        return abs(height * self.width - width * self.height) < max(height, width, self.height, self.width)

    def _stretched(self) -> np.ndarray:
        """A picture in another aspect: all of it, stretched."""
        height, width = self.codec.config.cells or (self.height, self.width)
        own = np.array([width, height]) / max(width, height)
        x, y = ((2 * np.arange(n) + 1) / n - 1 for n in (self.width, self.height))
        return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2) * own

    def marked(self, place: list[float]) -> tuple[float, float]:
        """Where a place is, as shares of the height and the width."""
        if self.codec.globe:
            return (90 - place[0]) / 180, (place[1] + 180) % 360 / 360
        scaled: list[float] = [*self.codec.encode(np.array([place]))[0].tolist(), 0.0]
        x, y = scaled[:2]
        if self.codec.config.picture:
            height, width = self.codec.config.cells or (1, 1)
            longest = max(height, width)
            return 0.5 + y * longest / height / 2, 0.5 + x * longest / width / 2
        return 0.5 - y / 2, 0.5 + x / 2

    def values(self, model: Stream, count: Callable[[int], None] | None = None) -> Tensor:
        """(Y X, V) of the model's head."""
        return values_at(model, self.codec.encode(self.places()), count)

    def codes(self, model: Stream) -> np.ndarray:
        """(Y, X, D) the position code of each cell."""
        embed = model.embed
        assert isinstance(embed, PointEmbed)
        with torch.inference_mode():
            places = torch.from_numpy(self.codec.encode(self.places())).to(next(model.parameters()).device)
            return embed.code(embed.coords(places))[:, 0].reshape(self.height, self.width, -1).cpu().numpy()

    def pixels(self, label: LabelCodec, values: Tensor, span: tuple[float, float] | None = None) -> np.ndarray:
        """(Y, X, 1 or 3) bytes: colours as they are, numbers in shades within a span, classes in a colour each."""
        if isinstance(label, ColourCodec):
            flat = label.restored(values)
        elif isinstance(label, ClassCodec):
            flat = class_colours(label.outputs)[values.argmax(-1).numpy()]
        else:
            numbers = self.numbers(label, values).ravel()
            low, high = span or np.quantile(numbers, (LOW_SHARE, HIGH_SHARE)).tolist()
            flat = field_colours(numbers, low, high)
        return flat.reshape(self.height, self.width, -1)

    def numbers(self, label: LabelCodec, values: Tensor) -> np.ndarray:
        """(Y, X) numbers in the user's unit."""
        assert isinstance(label, NumberCodec)
        return label.restored(values[:, 0]).numpy().reshape(self.height, self.width)
