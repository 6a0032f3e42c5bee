"""A second set of scenes and questions, with other shapes, colours, sizes and wording than those that weft ships.

    python bench/other_scenes.py FOLDER
    weft train FOLDER/train.jsonl --valid FOLDER/held_out.jsonl --task answer --minutes 10

Settings are chosen on the scenes that ship; this set says whether they carry over. A held-out picture shows a colour
and a shape that are never together in those to learn from. Each picture depends on its side and number alone.
"""

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

SIDE, CELLS = 64, 4
CELL = SIDE / CELLS
COUNTS = {"train": 5000, "held_out": 500}
SIZES = {"tiny": 4.0, "big": 7.4}
GROUND = (226.0, 222.0, 210.0)
COLOURS = {
    "orange": (238, 128, 28),
    "cyan": (20, 178, 196),
    "pink": (240, 120, 178),
    "brown": (112, 68, 34),
    "black": (24, 24, 28),
    "olive": (128, 136, 22),
}


def _star(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.hypot(x, y) <= 0.72 + 0.3 * np.cos(5 * np.arctan2(x, -y))


SHAPES = {
    "star": _star,
    "hexagon": lambda y, x: np.maximum(abs(y), abs(y) / 2 + abs(x) * 0.866) <= 0.9,
    "bar": lambda y, x: (abs(y) <= 0.35) & (abs(x) <= 1),
    "pillar": lambda y, x: (abs(x) <= 0.35) & (abs(y) <= 1),
    "arch": lambda y, x: (np.hypot(x, y) <= 1) & (np.hypot(x, y) >= 0.5) & (y <= 0.2),
    "moon": lambda y, x: (np.hypot(x, y) <= 1) & (np.hypot(x - 0.55, y) >= 0.8),
}
APART = set(zip(COLOURS, (*list(SHAPES)[3:], *list(SHAPES)[:3]), strict=True))
ROWS, COLUMNS = ("upper", "lower"), ("left", "right")
NUMBERS = ("zero", "one", "two", "three", "four")
WORDS = {
    "colour": ("Name the colour of the {}.", "The {} has what colour?", "Tell me the colour of the {}."),
    "shape": ("What kind of figure is the {} one?", "The {} one is what figure?", "Name the figure that is {}."),
    "place": ("Whereabouts is the {}?", "In which corner lies the {}?", "Find the {}: which quarter?"),
    "count": ("Count the {}.", "What is the number of {}?", "How often does one find {}?"),
    "yes or no": ("Can one find a {} here?", "Any {} in view?", "Has this a {} in it?"),
}


@dataclass(frozen=True)
class Figure:
    """A figure: how it looks, the middle of it in pixels, and its radius."""

    size: str
    colour: str
    shape: str
    top: float
    left: float
    radius: float

    @property
    def quarter(self) -> str:
        """The quarter of the picture that it stands in."""
        return f"{ROWS[self.top > SIDE / 2]} {COLUMNS[self.left > SIDE / 2]}"


def figures(side: str, chance: random.Random) -> list[Figure]:
    """One to four figures in cells of their own; a held-out picture has one of a pair that is kept apart."""
    pairs = [(colour, shape) for colour in COLOURS for shape in SHAPES if (colour, shape) not in APART]
    looks = [chance.choice(pairs) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.3:
        looks = [looks[0]] * len(looks)
    if side == "held_out":
        looks[0] = chance.choice(sorted(APART))
    found = []
    for (colour, shape), cell in zip(looks, chance.sample(range(CELLS**2), len(looks)), strict=True):
        size = chance.choice(list(SIZES))
        row, column = divmod(cell, CELLS)
        top, left = ((place + 0.5) * CELL + chance.uniform(-0.5, 0.5) for place in (row, column))
        found.append(Figure(size, colour, shape, top, left, SIZES[size]))
    return found


def pixels(things: list[Figure], chance: random.Random) -> np.ndarray:
    """The picture, with noise."""
    noise = np.random.default_rng(chance.getrandbits(32))
    picture = np.array(GROUND) + chance.uniform(-10, 10) + noise.normal(0, 5, (SIDE, SIDE, 3))
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    for one in things:
        inside = SHAPES[one.shape]((y - one.top) / one.radius, (x - one.left) / one.radius)
        picture[inside] = (
            np.array(COLOURS[one.colour]) + chance.uniform(-12, 12) + noise.normal(0, 5, (inside.sum(), 3))
        )
    return picture.clip(0, 255).astype(np.uint8)


def asked(things: list[Figure], given: Counter[tuple[str, str]], chance: random.Random) -> list[dict[str, str]]:
    """A question of each kind that the picture allows; the answer is one that was given least to its kind."""
    looks, shapes = Counter((one.colour, one.shape) for one in things), Counter(one.shape for one in things)
    colours, quarters = Counter(one.colour for one in things), Counter(one.quarter for one in things)
    open_to: dict[str, list[tuple[str, str]]] = {
        "colour": [(one.shape, one.colour) for one in things if shapes[one.shape] == 1]
        + [(f"figure in the {one.quarter} quarter", one.colour) for one in things if quarters[one.quarter] == 1],
        "shape": [(one.colour, one.shape) for one in things if colours[one.colour] == 1]
        + [(f"{one.quarter}", one.shape) for one in things if quarters[one.quarter] == 1],
        "place": [(f"{one.colour} {one.shape}", one.quarter) for one in things if looks[one.colour, one.shape] == 1],
        "count": [(f"{shape}s", NUMBERS[shapes[shape]]) for shape in SHAPES]
        + [(f"{colour} figures", NUMBERS[colours[colour]]) for colour in COLOURS],
        "yes or no": [(f"{one.colour} {one.shape}", "yes") for one in things]
        + [(f"{colour} {shape}", "no") for colour in colours for shape in SHAPES
           if not looks[colour, shape] and (colour, shape) not in APART],
    }  # fmt: skip
    rows = []
    for kind, choices in open_to.items():
        if not choices:
            continue
        least = min(given[kind, answer] for _, answer in choices)
        name, answer = chance.choice([one for one in choices if given[kind, one[1]] == least])
        if kind == "count" and answer == "zero" and chance.random() < 0.5:
            continue
        given[kind, answer] += 1
        rows.append({"question": chance.choice(WORDS[kind]).format(name), "answer": answer, "kind": kind})
    return rows


def main() -> None:
    """Write pictures and tables."""
    folder = Path(sys.argv[1])
    for side, count in COUNTS.items():
        (folder / side).mkdir(parents=True, exist_ok=True)
        given, lines = Counter[tuple[str, str]](), []
        for number in range(count):
            chance = random.Random(f"{side} {number}")
            things = figures(side, chance)
            name = f"{side}/{number:04}.png"
            Image.fromarray(pixels(things, chance)).save(folder / name)
            lines += [json.dumps({"picture": name, **row}) for row in asked(things, given, chance)]
        (folder / f"{side}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
