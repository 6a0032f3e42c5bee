"""Scenes: pictures of coloured objects, drawn here. Knows objects and pixels; refuses to know sentences.

A picture has nine cells and one to four objects, each within a cell of its own, so that no two overlap. Some colours
and shapes are kept apart: a picture to learn from never shows them together, and every held-out picture does.
Everything about a picture depends on the seed, its side (to learn from or held out) and its number alone.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

SIDE, CELLS = 48, 3  # pixels of a picture's side, and cells along it
CELL = SIDE / CELLS
RADII = {"small": 4.5, "large": 7.2}  # pixels
PLACE_JITTER, RADIUS_JITTER = 2.0, 0.25  # pixels at most
COLOUR_JITTER, GROUND_JITTER, NOISE = 14.0, 12.0, 6.0  # of 255: at most, at most, and spread
FINE = 3  # points along a pixel's side that are tested, for smooth edges
MOST = 4  # objects of a picture
ALIKE = (
    2,
    3,
    4,
    4,
)  # numbers of objects that look alike, one drawn: four is there twice, so that enough questions have it as answer
GROUND = (60.0, 64.0, 70.0)
COLOURS = {
    "red": (214, 45, 45),
    "green": (40, 160, 70),
    "blue": (45, 80, 215),
    "yellow": (240, 205, 50),
    "purple": (150, 60, 180),
    "white": (240, 240, 240),
}

# Whether a point at (y, x), in radii from the middle, is inside.
SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "circle": lambda y, x: x**2 + y**2 <= 1,
    "square": lambda y, x: np.maximum(abs(x), abs(y)) <= 0.9,
    "triangle": lambda y, x: (y <= 0.85) & (2 * abs(x) <= y + 1.05),
    "cross": lambda y, x: (np.minimum(abs(x), abs(y)) <= 0.3) & (np.maximum(abs(x), abs(y)) <= 1),
    "ring": lambda y, x: (x**2 + y**2 <= 1) & (x**2 + y**2 >= 0.3),
    "diamond": lambda y, x: abs(x) + abs(y) <= 1.05,
}
KEPT_APART = frozenset(zip(COLOURS, (*list(SHAPES)[2:], *list(SHAPES)[:2]), strict=True))  # (colour, shape)
Pair = tuple[str, str]
PAIRS: tuple[Pair, ...] = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
LEARNT: tuple[Pair, ...] = tuple(pair for pair in PAIRS if pair not in KEPT_APART)

Layout = Literal["alone", "two in line", "alike", "different"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
SHARES = (0.2, 0.3, 0.3, 0.2)  # of the pictures, by layout


@dataclass(frozen=True)
class Thing:
    """An object: how it looks, the row and column of its cell, and where it is drawn, in pixels."""

    size: str
    colour: str
    shape: str
    row: int
    column: int
    top: float  # of its middle
    left: float
    radius: float

    @property
    def look(self) -> tuple[str, str, str]:
        """What is to be seen of it by itself."""
        return self.size, self.colour, self.shape

    @cached_property
    def inside(self) -> np.ndarray:
        """The share of each pixel of its cell that it covers."""
        points = (np.arange(int(CELL) * FINE) + 0.5) / FINE
        y = (points + self.row * CELL - self.top) / self.radius
        x = (points + self.column * CELL - self.left) / self.radius
        fine = SHAPES[self.shape](y[:, None], x[None])
        return fine.reshape(int(CELL), FINE, int(CELL), FINE).mean((1, 3))

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """Top, left, bottom and right of the pixels that it covers, in shares of the picture's sides."""
        rows, columns = (np.flatnonzero(self.inside.any(axis)).tolist() for axis in (1, 0))
        top, left = self.row * CELL, self.column * CELL
        return (
            (top + rows[0]) / SIDE,
            (left + columns[0]) / SIDE,
            (top + rows[-1] + 1) / SIDE,
            (left + columns[-1] + 1) / SIDE,
        )


@dataclass(frozen=True)
class Scene:
    """Objects in reading order: from the top to the bottom, and from left to right."""

    things: tuple[Thing, ...]


def drawn_scene(chance: random.Random, *, unseen: bool = False) -> Scene:
    """A scene by chance; where it is `unseen`, its first look has a colour and a shape that are kept apart."""
    (layout,) = chance.choices(LAYOUTS, SHARES)
    looks = _looks(chance, layout, unseen)
    chance.shuffle(looks)
    cells = [(row, column) for row in range(CELLS) for column in range(CELLS)]
    places = chance.sample(cells, len(looks))
    if layout == "two in line":
        line, ends = chance.randrange(CELLS), chance.sample(range(CELLS), 2)
        places = [(end, line) for end in ends] if chance.random() < 0.5 else [(line, end) for end in ends]
    things = [_placed(chance, look, *place) for look, place in zip(looks, places, strict=True)]
    return Scene(tuple(sorted(things, key=lambda thing: (thing.row, thing.column))))


def pictures(scenes: Sequence[Scene], seed: int) -> np.ndarray:
    """The scenes as pictures, (N, height, width, 3) in bytes."""
    drawn = [_drawn(scene, np.random.default_rng((seed, number))) for number, scene in enumerate(scenes)]
    return np.stack(drawn)


def _looks(chance: random.Random, layout: Layout, unseen: bool) -> list[tuple[str, str, str]]:
    """The looks of a scene's objects, at most four: all alike but perhaps one, or all different."""
    pool = PAIRS if unseen else LEARNT

    def other(*known: tuple[str, str, str]) -> tuple[str, str, str]:
        while (look := (chance.choice(list(RADII)), *chance.choice(pool))) in known:
            pass
        return look

    first = (chance.choice(list(RADII)), *chance.choice(sorted(KEPT_APART))) if unseen else other()
    if layout == "alike":
        count = chance.choice(ALIKE)
        more = [other(first)] if count < MOST and chance.random() < 0.5 else []
        return [first] * count + more
    count = {"alone": 1, "two in line": 2, "different": 3}[layout]
    looks = [first]
    while len(looks) < count:
        looks.append(other(*looks))
    return looks


def _placed(chance: random.Random, look: tuple[str, str, str], row: int, column: int) -> Thing:
    radius = RADII[look[0]] + chance.uniform(-RADIUS_JITTER, RADIUS_JITTER)
    free = min(PLACE_JITTER, CELL / 2 - 1.05 * radius)
    top, left = ((place + 0.5) * CELL + chance.uniform(-free, free) for place in (row, column))
    return Thing(*look, row, column, top, left, radius)


def _drawn(scene: Scene, chance: np.random.Generator) -> np.ndarray:
    ground = np.asarray(GROUND) + chance.uniform(-GROUND_JITTER, GROUND_JITTER)
    pixels = np.tile(ground, (SIDE, SIDE, 1)).astype(np.float32)
    for thing in scene.things:
        colour = np.asarray(COLOURS[thing.colour]) + chance.uniform(-COLOUR_JITTER, COLOUR_JITTER, 3)
        rows, columns = (slice(int(at * CELL), int((at + 1) * CELL)) for at in (thing.row, thing.column))
        inside = thing.inside[..., None]
        pixels[rows, columns] = inside * colour + (1 - inside) * pixels[rows, columns]
    pixels += NOISE * chance.standard_normal((SIDE, SIDE, 1), np.float32)
    return np.clip(pixels.round(), 0, 255).astype(np.uint8)
