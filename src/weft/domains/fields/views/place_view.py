"""What a place read, drawn: where on the map, in which variables and at which times. Knows no model."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from weft.domains.fields.reading.cells import point_words
from weft.domains.fields.views.maps import Scale, bounds, dress, map_size, spread_out
from weft.domains.fields.views.place_reading import PlaceReading, by_layer, by_time, largest, rings, time_heading
from weft.inspect import coast
from weft.inspect.document import GlobePlace, LookDocument, PageImage, PageTable, TokenGroup
from weft.inspect.figures import DOTS_PER_INCH, INK, LINES, PALE, READ, Format, Sheet, breadth, png_of, shades, sheet
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import LookedAnswer, View

WIDTH, HEIGHT = 5.8, 4.4  # inches: the box of the map
BAR, BAR_WIDTH, FONT = 0.19, 1.3, 7.5  # inches from one bar to the next and of the longest bar; points
MOST_NAME_INCHES = 1.9  # longer names of bars are cut
FIELD_SHADE = 0.2  # how much darker the map is where the field is lowest


def draw(reading: PlaceReading, *, format: Format = "png") -> bytes:
    """A PNG or SVG: the map of where it read with a star at the place, beside it bars by variable and by time."""
    wide, high = map_size(reading.grid, WIDTH, HEIGHT)
    with sheet(format) as on:
        on.text(0, -0.3, reading.title or f"what {reading.place.words} read", size=12, va="bottom")
        below = "" if reading.field is None else ", over the field in pale shades"
        on.text(0, -0.08, f"the share read of each patch{below}", size=8, color=PALE, va="bottom")
        _heat(on, reading, (0, 0, wide, high))
        groups = {"by variable": by_layer(reading), time_heading(reading): by_time(reading)}
        names = max(breadth(name) * FONT / 72 for bars in groups.values() for name, _ in bars)
        y = 0.0
        for heading, bars in groups.items():
            y = _bars(on, heading, bars, (wide + 0.75 + min(names, MOST_NAME_INCHES), y)) + 0.25
        _table(on, reading, high + 0.45)
        return on.bytes()


def _heat(on: Sheet, reading: PlaceReading, place: tuple[float, float, float, float]) -> None:
    """The shares as colours, darker where the field is low; cells without a value stay hatched below them."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    grid, (wide, high) = reading.grid, place[2:]
    axis = on.axis(*place)
    dress(axis, grid, (wide, high), (True, True))
    most = float(reading.map.max()) or 1.0
    levels = np.kron(reading.map / most, np.ones(reading.patch))[: grid.shape[0], : grid.shape[1]]
    field = np.zeros(grid.shape) if reading.field is None else reading.field
    scale, known = Scale.of(field), np.isfinite(field)
    level = np.clip((np.where(known, field, 0) - scale.low) / (scale.high - scale.low), 0, 1)
    pixels = shades(READ)(levels)
    if reading.field is not None:
        pixels[..., :3] *= (1 - FIELD_SHADE * (1 - np.where(known, level, 1)))[..., None]
    pixels[..., 3] = np.where(known, 1, levels.clip(0, 0.7))
    shown = spread_out(pixels, grid, round(high * DOTS_PER_INCH), round(wide * DOTS_PER_INCH))
    axis.imshow(shown.data, extent=bounds(grid), aspect="auto", interpolation="none")
    axis.plot(
        [reading.place.x], [reading.place.y], "*", markersize=15, color="#ffd23f", markeredgecolor=INK,
        markeredgewidth=1, clip_on=False, zorder=5,
    )  # fmt: skip
    bar = ScalarMappable(Normalize(0, 100 * most), shades(READ))
    on.bar(bar, (wide + 0.12, 0, 0.12, high), Scale(0, 100 * most).ticks(4), ".3g")
    on.text(wide + 0.12, -0.05, "%", size=7, color=PALE, va="bottom")


def _bars(on: Sheet, heading: str, bars: Sequence[tuple[str, float]], corner: tuple[float, float]) -> float:
    """Shares as bars with their names on the left; returns where they end."""
    from matplotlib.patches import Rectangle

    x, y = corner
    on.text(x, y - 0.06, heading, size=9, va="bottom")
    axis = on.axis(x, y, BAR_WIDTH, BAR * len(bars), frame=None)
    axis.set(xlim=(0, 1), ylim=(len(bars), 0))
    most = max(share for _, share in bars) or 1.0
    for n, (name, share) in enumerate(bars):
        axis.add_patch(Rectangle((0, n + 0.18), 1, 0.64, color=LINES, linewidth=0))
        axis.add_patch(Rectangle((0, n + 0.18), share / most, 0.64, color=READ[3], linewidth=0))
        on.text(x - 0.06, y + (n + 0.5) * BAR, _cut(name), ha="right", va="center", size=FONT)
        on.text(x + BAR_WIDTH + 0.06, y + (n + 0.5) * BAR, f"{share:.1%}", va="center", size=FONT, color=PALE)
    return y + BAR * len(bars) + 0.2


def _cut(name: str) -> str:
    """A name that is not too long to stand beside its bar."""
    signs = int(MOST_NAME_INCHES * 72 / FONT / 0.62)
    return name if breadth(name) * FONT / 72 <= MOST_NAME_INCHES else f"{name[: signs - 1]}…"


def _table(on: Sheet, reading: PlaceReading, y: float) -> None:
    """The shares in words below the map: by distance on the left, the largest on the right."""
    for x, heading, rows in ((0.0, "by distance", rings(reading)), (2.6, "read most", largest(reading))):
        on.text(x, y, heading, size=9)
        for n, (words, share) in enumerate(rows):
            on.text(x + 0.5, y + 0.24 + 0.17 * n, f"{share:.1%}", size=FONT, color=PALE, ha="right")
            on.text(x + 0.58, y + 0.24 + 0.17 * n, words, size=FONT)


class PlaceView(View):
    """What a place read, as a picture, a page, words and plain values. Shows itself in a notebook."""

    def __init__(
        self,
        reading: PlaceReading,
        answer: LookedAnswer | None = None,
        heads: Callable[[], np.ndarray] | None = None,
        picked: tuple[tuple[str, str], ...] = (),
    ):
        """`heads` gives what every patch reads of every other (layers, heads, patches, patches), for a page."""
        self.reading, self.answer, self.heads, self.picked = reading, answer, heads, picked

    @property
    def about(self) -> str:
        return self._title

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The map with its bars."""
        return draw(self.reading, format=format)

    def document(self) -> LookDocument:
        """The map with what the place reads by variable and time, and what every patch reads in every head."""
        reading, sphere = self.reading, self.reading.grid.surface == "sphere"
        west, east, south, north = bounds(reading.grid)
        lines = coast.within(west, east, south, north) if sphere else []
        y, x = reading.middles
        place = GlobePlace(
            y=tuple(np.round(y[:, 0], 4).tolist()), x=tuple(np.round(x[0], 4).tolist()), sphere=sphere,
            around=reading.grid.wraps, picture=None if reading.field is None else 0,
            coast=tuple(tuple((round(float(a), 1), round(float(b), 1)) for a, b in line) for line in lines),
        )  # fmt: skip
        cells = tuple(point_words(float(a), float(b), reading.grid) for a, b in zip(y.ravel(), x.ravel(), strict=True))
        groups = (
            TokenGroup("patches", cells, place),
            TokenGroup("place", (reading.place.words,), boxes=((self._spot,),)),
        )
        shares = reading.shares.reshape(*reading.shares.shape[:2], 1, -1)
        rows = tuple(layer.name for layer in reading.layers)
        called = f"what {reading.place.words} reads, by variable and time"
        reads = [Read(called, "place", "patches", shares, rows=rows, columns=reading.times)]
        if self.heads is not None:
            reads.append(Read("what every patch reads, by layer and head", "patches", "patches", self.heads()))
        streams, left = streams_of(tuple(reads), groups)
        tables = [
            PageTable(name, ("place", "share"), tuple((words, f"{s:.1%}") for words, s in rows))
            for name, rows in self.tables.items()
        ]
        return LookDocument(
            self._title, "globe", self.about, self.text(), groups=groups, streams=streams, pictures=self._field(),
            answer=self.answer, start=(*self.picked, ("token", "place.1")), tables=tuple(tables), notes=left,
        )  # fmt: skip

    @property
    def _spot(self) -> tuple[float, float, float, float]:
        place = self.reading.place
        return place.x, place.y, place.x, place.y

    def _field(self) -> tuple[PageImage, ...]:
        """The field in pale shades, a pixel for each cell."""
        field = self.reading.field
        if field is None:
            return ()
        scale, known = Scale.of(field), np.isfinite(field)
        level = np.clip((np.where(known, field, 0) - scale.low) / (scale.high - scale.low), 0, 1)
        pixels = np.where(known, 110 + 130 * level, 60).round().astype(np.uint8)[..., None]
        return (
            PageImage("image/png", png_of(pixels), field.shape[1], field.shape[0], "the field, light where it is high"),
        )

    def text(self) -> str:
        """The shares by distance, of the patches read most, by variable and by time."""
        lines = [self._title, *([str(self.answer)] if self.answer is not None else [])]
        for heading, rows in self.tables.items():
            lines += ["", heading, *(f"  {share:6.1%}  {words}" for words, share in rows)]
        return "\n".join(lines)

    @cached_property
    def tables(self) -> dict[str, list[tuple[str, float]]]:
        """Shares under their names: by distance, read most, by variable, by time."""
        reading = self.reading
        return {
            "by distance": rings(reading),
            "read most": largest(reading),
            "by variable": by_layer(reading),
            time_heading(reading): by_time(reading),
        }

    def note(self) -> str | None:
        """What a user should know where nothing was read."""
        return None if self.reading.map.any() else f"{self.reading.place.words} read nothing"

    def to_json(self) -> dict[str, Any]:
        """Plain values: the place, the share of each patch over all layers and times, and the tables."""
        place = self.reading.place
        tables = {
            name.replace(", ", " ").replace(" ", "_"): [[words, round(s, 6)] for words, s in rows]
            for name, rows in self.tables.items()
        }
        return {
            "title": self._title,
            **({} if self.answer is None else {"answer": self.answer.to_json()}),
            "place": {"row": place.row, "column": place.column, "y": place.y, "x": place.x},
            "map": np.round(self.reading.map, 6).tolist(),
            **tables,
        }

    @property
    def _title(self) -> str:
        return self.reading.title or f"what {self.reading.place.words} read"
