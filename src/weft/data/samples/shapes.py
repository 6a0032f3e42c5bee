"""Pictures with captions that ship with weft: coloured shapes, drawn here, and what is to be seen, by a small grammar.

    a large red circle
    a small green cross above a large blue square  =  a large blue square below a small green cross

The sentence follows from the picture alone, so a model is right or wrong. Refuses to know files and models.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SEED, COUNT, SIDE = 1907, 1500, 32
COLOURS = {
    "red": (214, 45, 45),
    "green": (40, 160, 70),
    "blue": (45, 80, 205),
    "yellow": (240, 205, 50),
    "purple": (140, 60, 170),
    "white": (245, 245, 245),
}
RADII = {"small": 4.0, "large": 6.5}  # pixels
RELATIONS = {"left of": "right of", "above": "below"}  # and from the other's side
ALONE = 0.25  # of the pictures have one shape
GROUND = (60, 64, 70)
NOISE = 10.0  # spread of a pixel's brightness

# Whether a pixel at (y, x), in radii from the middle, is inside.
SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "circle": lambda y, x: x**2 + y**2 <= 1,
    "square": lambda y, x: np.maximum(abs(x), abs(y)) <= 0.85,
    "triangle": lambda y, x: (y <= 0.8) & (2 * abs(x) <= y + 1),
    "cross": lambda y, x: (np.minimum(abs(x), abs(y)) <= 0.3) & (np.maximum(abs(x), abs(y)) <= 1),
}


@dataclass(frozen=True)
class Thing:
    """A shape that is to be drawn."""

    size: str
    colour: str
    shape: str

    def __str__(self) -> str:
        return f"a {self.size} {self.colour} {self.shape}"


def sample_shapes() -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Pictures, (N, H, W, 3) in bytes, and the sentences about each: the same every time."""
    chance, noise = random.Random(SEED), np.random.default_rng(SEED)
    drawn = [_scene(chance) for _ in range(COUNT)]
    pixels = np.stack([pixels for pixels, _ in drawn]) + noise.normal(0, NOISE, (COUNT, SIDE, SIDE, 1))
    return np.clip(pixels.round(), 0, 255).astype(np.uint8), [texts for _, texts in drawn]


def _scene(chance: random.Random) -> tuple[np.ndarray, tuple[str, ...]]:
    """One picture with one shape, or with two side by side or one above the other."""
    pixels = np.full((SIDE, SIDE, 3), GROUND, np.float64)
    first, second = _thing(chance), _thing(chance)
    middle = SIDE / 2
    if chance.random() < ALONE:
        _draw(pixels, first, middle + chance.uniform(-8, 8), middle + chance.uniform(-8, 8))
        return pixels, (str(first),)
    relation, inverse = chance.choice(list(RELATIONS.items()))
    across = middle + chance.uniform(-3, 3)
    near, far = SIDE / 4 + chance.uniform(-0.5, 0.5), 3 * SIDE / 4 + chance.uniform(-0.5, 0.5)
    for thing, along in ((first, near), (second, far)):
        _draw(pixels, thing, *((along, across) if relation == "above" else (across, along)))
    return pixels, (f"{first} {relation} {second}", f"{second} {inverse} {first}")


def _thing(chance: random.Random) -> Thing:
    return Thing(*(chance.choice(list(names)) for names in (RADII, COLOURS, SHAPES)))


def _draw(pixels: np.ndarray, thing: Thing, top: float, left: float) -> None:
    y, x = (np.arange(SIDE)[:, None] - top + 0.5, np.arange(SIDE)[None] - left + 0.5)
    radius = RADII[thing.size]
    pixels[SHAPES[thing.shape](y / radius, x / radius)] = COLOURS[thing.colour]
