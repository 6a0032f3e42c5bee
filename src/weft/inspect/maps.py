"""Maps over a picture: how much was read of each of its patches, by each head of each layer and through all of them.

Knows a picture and a grid of numbers; not which model they come from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from weft.errors import ConfigError, DataError
from weft.inspect.document import LookDocument
from weft.inspect.figures import DOTS_PER_INCH, PALE, Format, Sheet, coloured, fitted, resized, shades, sheet, writable
from weft.inspect.photos import answer_maps, photo
from weft.inspect.streams import streams_of
from weft.inspect.views import ALL, AttentionChoice, View

HEAT = ["#0a1a33", "#3a2a5c", "#a8324a", "#ee7733", "#ffc24d"]  # from what was left to what was read most
DARK_END_SHARE = 0.8  # the dark end of the scale is at most this share of the largest weight: even maps look even
SIDE, GAP, SEAM = 3.3, 0.14, 0.05  # inches: a large picture, between pictures, between those of the grid
MIN_MAP_INCHES = 0.95  # wide enough for a name and a number side by side
BLOCKS = " ░▒▓█"


@dataclass(frozen=True)
class Maps:
    """What one token read of a picture.

    layers[layer, head, row, column] is a share of what was read; `rollout` follows it through all layers.
    """

    picture: np.ndarray  # (height, width, 3 or 1) of 0 to 255
    layers: np.ndarray  # (layers, heads, rows, columns)
    rollout: np.ndarray | None = None  # (rows, columns)
    title: str = ""
    asked: tuple[int, int] | None = None  # the row and column of the patch that reads; None: no patch, or all
    boxes: tuple[tuple[float, float, float, float], ...] = ()  # top, left, bottom, right in shares, to be marked
    name: str | None = None  # what the maps are, where they are not those of attention
    middle: float = 0.5  # of what a part stands for, in shares of the side of its square

    def __post_init__(self) -> None:
        coloured(self.picture)
        layers = np.asarray(self.layers, np.float32)
        if layers.ndim != 4 or 0 in layers.shape:
            raise DataError(f"expected maps of (layers, heads, rows, columns), found {layers.shape}", where="maps")
        if self.rollout is not None and np.shape(self.rollout) != layers.shape[2:]:
            problem = f"expected a rollout of {layers.shape[2:]} patches, found {np.shape(self.rollout)}"
            raise DataError(problem, where="maps")
        if not all(np.isfinite(map).all() for map in (layers, *([] if self.rollout is None else [self.rollout]))):
            raise DataError("some weights are not finite numbers", where="maps")
        if self.asked is not None and not all(
            0 <= n < most for n, most in zip(self.asked, layers.shape[2:], strict=True)
        ):
            raise ConfigError(f"there is no patch {self.asked} in a grid of {layers.shape[2:]}", where="asked")
        object.__setattr__(self, "layers", layers)


@dataclass(frozen=True)
class _Choice:
    """The map to show large, what it is, and the small ones below it."""

    map: np.ndarray
    name: str
    heading: str = ""
    names: Sequence[str] = ()
    maps: np.ndarray | tuple[()] = ()  # (maps, rows, columns)


def draw(maps: Maps, choice: AttentionChoice = ALL, *, format: Format = "png", answer: str = "") -> bytes:
    """A PNG or SVG: the picture, the picture under the rollout, and each head of the last layer.

    The choice of a layer shows its average and its heads, that of a head the head in all layers, both one map alone.
    `choice.every` shows all heads of all layers, or of one layer or head. A model's `answer` stands below the title.
    """
    chosen = _choose(maps, choice)
    with sheet(format) as on:
        wide, high = fitted(maps.picture, SIDE, SIDE)
        if maps.title:
            on.text(0, -0.52 if answer else -0.29, maps.title, size=12, va="bottom")
        if answer and maps.title:
            on.text(0, -0.29, answer, size=9, va="bottom")
        right = max(wide, 1.6) + GAP
        for x, name, pixels in (
            (0.0, "the picture", maps.picture),
            (right, chosen.name, lit(maps.picture, chosen.map, wide, maps.middle)),
        ):
            on.text(x, -0.05, name, va="bottom")
            _mark(on.picture(pixels, x, 0, wide, high, frame=None), maps)
        _scale(on, chosen.map, right + wide + 0.12, high, _empty(maps))
        if choice.every:
            _grid(on, maps, high + 0.36, choice)
        elif len(chosen.maps):
            _row(on, maps, chosen, high + 0.36, max(right + wide, 4.8))
        return on.bytes()


def _choose(maps: Maps, choice: AttentionChoice) -> _Choice:
    layers, heads = maps.layers.shape[:2]
    layer, head = choice.indices(layers, heads)
    if layer is not None and head is not None:
        return _Choice(maps.layers[layer, head], f"layer {layer + 1}, head {head + 1}")
    if head is not None:
        names = [f"layer {n + 1}" for n in range(layers)]
        name = f"head {head + 1}, averaged over {layers} layers"
        return _Choice(
            maps.layers[:, head].mean(0), name, f"head {head + 1} in each layer", names, maps.layers[:, head]
        )
    names, shown = [f"head {n + 1}" for n in range(heads)], layers - 1 if layer is None else layer
    small = (f"layer {shown + 1}, each head by itself", names, maps.layers[shown])
    if layer is not None:
        return _Choice(maps.layers[layer].mean(0), f"layer {layer + 1}, averaged over {heads} heads", *small)
    if maps.name is not None:
        return _Choice(maps.layers.mean((0, 1)), maps.name)
    if maps.rollout is None:
        return _Choice(maps.layers.mean((0, 1)), f"averaged over {layers} layers × {heads} heads", *small)
    return _Choice(np.asarray(maps.rollout, np.float32), f"rollout through {layers} layers", *small)


def _range(map: np.ndarray) -> tuple[float, float]:
    """The weights that are shown darkest and brightest."""
    high = float(map.max())
    return min(float(map.min()), DARK_END_SHARE * high), high


def _levels(map: np.ndarray) -> np.ndarray:
    """A map from 0, read least, to 1, read most; all 0 where nothing was read."""
    low, high = _range(map)
    return (map - low) / (high - low) if high > low else np.zeros_like(map)


def heat(map: np.ndarray, height: int, width: int, middle: float = 0.5) -> np.ndarray:
    """The colours of a map (height, width, 3) from 0 to 1, smooth between the middles of the patches.

    `middle` is where these stand in their squares: features of a network with strides stand near a corner.
    """
    from PIL import Image

    framed = Image.fromarray(np.pad(_levels(map).astype(np.float32), 1, mode="edge"))
    first, (rows, columns) = 1.5 - middle, map.shape
    box = (first, first, first + columns, first + rows)
    levels = framed.resize((width, height), Image.Resampling.BICUBIC, box=box)
    found: np.ndarray = shades(HEAT)(np.clip(np.asarray(levels), 0, 1))[..., :3]
    return found


def grey(pixels: np.ndarray) -> np.ndarray:
    """Coloured pixels (height, width, 3) as shades from 0 to 1 in which colours stay apart from dark and pale grounds.

    The mean of the luminance and the strongest channel: by luminance alone pure blue is as dark as a shadow.
    """
    found: np.ndarray = (pixels @ np.array([0.299, 0.587, 0.114]) + pixels.max(2)) / 510
    return found


def lit(picture: np.ndarray, map: np.ndarray, width: float, middle: float = 0.5) -> np.ndarray:
    """The picture in grey, `width` inches wide, under the heat of a map, smooth between the middles of the patches."""
    height = width * picture.shape[0] / picture.shape[1]
    small = resized(picture, round(height * DOTS_PER_INCH), round(width * DOTS_PER_INCH))
    glow, shade = heat(map, small.shape[0], small.shape[1], middle), grey(small)[..., None]
    # the heat glows on black and lets white through
    lit = glow * (0.72 + 0.1 * shade) + 0.43 * shade * (1 - 0.72 * glow)
    return np.round(np.clip(lit, 0, 1) * 255).astype(np.uint8)


def mark_box(axis: Any, box: tuple[float, float, float, float]) -> None:
    """A frame around a part of a picture: top, left, bottom and right in shares of its height and width."""
    from matplotlib.patches import Rectangle

    top, left, bottom, right = box
    for color, width in (("#0a1a33", 3.2), ("#ffffff", 1.6)):
        axis.add_patch(
            Rectangle(
                (left, 1 - bottom),
                right - left,
                bottom - top,
                fill=False,
                edgecolor=color,
                linewidth=width,
                transform=axis.transAxes,
            )
        )


def _mark(axis: Any, maps: Maps) -> None:
    """A frame around the patch that reads, or around what a word is about."""
    for box in maps.boxes:
        mark_box(axis, box)
    if maps.asked is not None:
        wide, high = 1 / maps.layers.shape[3], 1 / maps.layers.shape[2]
        row, column = maps.asked
        mark_box(axis, (row * high, column * wide, (row + 1) * high, (column + 1) * wide))


def _empty(maps: Maps) -> str:
    """What is said of a map without any weight."""
    return "nothing was read" if maps.name is None else "no part counts"


def _scale(on: Sheet, map: np.ndarray, x: float, height: float, empty: str) -> None:
    """The bar of heat beside the large map, with the weight that each patch would have if all were read alike."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = _range(map)
    if high <= low:
        on.text(x, 0, empty.replace(" ", "\n", 1), color=PALE)
        return
    bar = ScalarMappable(Normalize(low, high), shades(HEAT))
    tall = min(height, 2.6)
    on.bar(bar, (x, 0.0, 0.13, tall), (low, high), ".2g")
    on.text(x, tall + 0.1, f"mean {float(map.mean()):.2g}", color=PALE)


def _row(on: Sheet, maps: Maps, chosen: _Choice, y: float, across: float) -> None:
    """The small maps side by side, in as many rows as keep them large enough to see."""
    columns = _columns(len(chosen.maps), most=min(6, int((across + GAP) / (MIN_MAP_INCHES + GAP))))
    wide, high = fitted(maps.picture, (across + GAP) / columns - GAP, 2.2)
    on.text(
        0,
        y,
        f"{chosen.heading}; bright: most attention, the number is the attention weight of the brightest patch",
        color=PALE,
    )
    for n, (name, map) in enumerate(zip(chosen.names, chosen.maps, strict=True)):
        left, top = n % columns * (max(wide, MIN_MAP_INCHES) + GAP), y + 0.44 + n // columns * (high + 0.34)
        on.text(left, top - 0.05, name, va="bottom", size=7.5)
        right = left + max(wide, MIN_MAP_INCHES)
        on.text(right, top - 0.05, f"{map.max():.2g}", va="bottom", ha="right", color=PALE, size=7.5)
        _mark(on.picture(lit(maps.picture, map, wide, maps.middle), left, top, wide, high, frame=None), maps)


def _columns(count: int, most: int) -> int:
    """The number of columns, at most `most`, that puts `count` pictures into the fewest rows, filled evenly."""
    return -(-count // -(-count // most))


def _grid(on: Sheet, maps: Maps, y: float, choice: AttentionChoice) -> None:
    """All heads as one picture of many: a row for each layer, a column for each head."""
    layer, head = choice.indices(*maps.layers.shape[:2])
    first, start = layer or 0, head or 0
    shown = maps.layers if layer is None else maps.layers[first : first + 1]
    shown = shown if head is None else shown[:, start : start + 1]
    layers, heads = shown.shape[:2]
    side = float(np.clip(7.5 / heads, 0.6, 1.1))
    wide, high = (round(size * DOTS_PER_INCH) / DOTS_PER_INCH for size in fitted(maps.picture, side, side))
    step, gap = max(wide, 0.5) + SEAM, round((max(wide, 0.5) + SEAM - wide) * DOTS_PER_INCH)
    on.text(
        0,
        y,
        "each head by itself, every map with its own scale of colours: rows are layers, columns are heads",
        color=PALE,
    )
    y += 0.44
    rows = [[lit(maps.picture, map, wide, maps.middle) for map in of_layer] for of_layer in shown]
    on.picture(_joined(rows, gap, round(SEAM * DOTS_PER_INCH)), 0, y, heads * step, layers * (high + SEAM), frame=None)
    for i in range(layers):
        on.text(-0.08, y + i * (high + SEAM) + high / 2, f"layer {first + i + 1}", ha="right", va="center")
    for j in range(heads):
        on.text(j * step + wide / 2, y - 0.05, f"head {start + j + 1}", ha="center", va="bottom")


def _joined(rows: Sequence[Sequence[np.ndarray]], right: int, below: int) -> np.ndarray:
    """Pictures of one size as one, with `right` and `below` white pixels between them: drawn a hundred times faster."""
    seam = ((0, below), (0, right), (0, 0))
    return np.concatenate(
        [np.concatenate([np.pad(p, seam, constant_values=255) for p in row], axis=1) for row in rows], axis=0
    )


def as_text(maps: Maps, choice: AttentionChoice = ALL, answer: str = "") -> str:
    """The large map for a terminal: a block for each patch, the fuller the more was read of it."""
    chosen = _choose(maps, choice)
    low, high = _range(chosen.map)
    levels = np.minimum(_levels(chosen.map) * len(BLOCKS), len(BLOCKS) - 1).astype(int)
    rows = [[BLOCKS[level] * 2 for level in row] for row in levels]
    if maps.asked is not None:
        rows[maps.asked[0]][maps.asked[1]] = "[]"
    line = "──" * levels.shape[1]
    body = [f"┌{line}┐", *(f"│{''.join(row)}│" for row in rows), f"└{line}┘"]
    key = f"{BLOCKS[-1] * 2} {high:.2g}, blank {low:.2g} or less" if high > low else _empty(maps)
    key += "; [] is the patch that reads" if maps.asked is not None else ""
    heading = [writable(line) for line in (maps.title, answer) if line]
    return "\n".join([*heading, chosen.name, *body, key])


def to_json(maps: Maps) -> dict[str, Any]:
    """Plain values: the maps, but not the picture."""
    return {
        "title": maps.title,
        "asked": None if maps.asked is None else list(maps.asked),
        "rollout": None if maps.rollout is None else _plain(maps.rollout),
        "layers": _plain(maps.layers),
    }


def _plain(values: np.ndarray) -> list[Any]:
    return np.round(np.asarray(values, np.float64), 6).tolist()


Explain = Callable[[], Mapping[str, tuple[np.ndarray, str]]]  # maps (rows, columns) and what they are, by their ways


class MapsView(View):
    """Maps over a picture as a picture, a page, words and plain values. Shows itself in a notebook."""

    explain: Explain | None = None  # what the answer depends on, for a page, which shows all ways together

    @cached_property
    def maps(self) -> Maps:
        """How much of each patch was read, for every layer and head."""
        raise NotImplementedError

    def chosen(self) -> AttentionChoice:
        """The layer and the head to show."""
        raise NotImplementedError

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The maps as a picture."""
        return draw(self.maps, self.chosen(), format=format, answer=str(self.answer or ""))

    def document(self) -> LookDocument:
        """The picture under what the answer depends on."""
        maps = self.maps
        own = {"map": (maps.layers.mean((0, 1)), maps.name or "what was read")}
        said = self.answer.said[0][0] if self.answer is not None else "the picture"
        groups, reads = answer_maps(said, own if self.explain is None else self.explain())
        streams, left = streams_of(tuple(reads), tuple(groups))
        return LookDocument(
            maps.title or self.about, "picture", self.about, self.text(), groups=tuple(groups), streams=streams,
            pictures=(photo(maps.picture, maps.title),), answer=self.answer, start=(("token", "answer.1"),), notes=left,
        )  # fmt: skip

    def text(self) -> str:
        """The map in characters, for a terminal."""
        return as_text(self.maps, self.chosen(), str(self.answer or ""))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        return {**to_json(self.maps), **answer}
