"""Words in two dimensions: the plane in which their directions differ most (principal components)."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from weft.inspect.document import LookDocument, NodePlace, TokenGroup
from weft.inspect.figures import INK, LINES, SERIES, sheet
from weft.inspect.nearest import WordSpace
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import View

SIDE = 5.6  # inches of the picture
LETTER = 0.078  # inches that a letter of a label is wide
GAP = 0.07  # inches between a point and its label
MARGIN = 0.12  # of the picture, left free around the words


class WordMapView(View):
    """Chosen words as points on a plane. Shows itself in a notebook."""

    def __init__(self, space: WordSpace, words: Sequence[str]):
        self.words = list(words)
        directions = np.stack([space.direction(word, "weft look") for word in self.words])
        self.places, self.shown_share = plane_of(directions)
        self.likeness = directions @ directions.T  # cosines: directions have length 1

    @property
    def about(self) -> str:
        return f"{len(self.words)} words on a plane"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """A point for each word, with the word beside it."""
        low, high = self.places.min(0), self.places.max(0)
        span = max(float((high - low).max()), 1e-9)
        middle, half = (low + high) / 2, span * (0.5 + MARGIN)
        with sheet(format) as on:
            on.text(0, -0.12, f"{len(self.words)} words in two of their dimensions", size=12, va="bottom")
            axis = on.axis(0, 0, SIDE, SIDE)
            axis.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
            axis.axhline(0, color=LINES, linewidth=0.8, zorder=0)
            axis.axvline(0, color=LINES, linewidth=0.8, zorder=0)
            axis.scatter(*self.places.T, s=18, color=SERIES[0], zorder=2)
            points = np.stack((self.places[:, 0] - middle[0] + half, middle[1] + half - self.places[:, 1]), 1)
            for word, (x, y) in zip(self.words, beside(points / (2 * half) * SIDE, self.words), strict=True):
                on.text(x, y, word, size=9, color=INK, va="center", ha="center")
            return on.bytes()

    def document(self) -> LookDocument:
        """The words on the plane, and how alike each two are."""
        low, high = self.places.min(0), self.places.max(0)
        spread = (self.places - low) / max(float((high - low).max()), 1e-9)
        plane = NodePlace(tuple((round(float(x), 4), round(1 - float(y), 4)) for x, y in spread))
        groups = (TokenGroup("words", tuple(self.words), plane),)
        apart = np.where(np.eye(len(self.words), dtype=bool), 0, self.likeness)[None, None]
        streams, left = streams_of((Read("cosine similarity", "words", "words", apart, "cosine"),), groups)
        notes = (f"Two dimensions show {self.shown_share:.0%} of how the words differ.", *left)
        return LookDocument(self.about, "graph", self.about, self.text(), groups=groups, streams=streams, notes=notes)

    def text(self) -> str:
        """The places in numbers."""
        wide = max(map(len, self.words))
        rows = [f"  {word:<{wide}}  {x:+.3f}  {y:+.3f}" for word, (x, y) in zip(self.words, self.places, strict=True)]
        return "\n".join([f"two dimensions show {self.shown_share:.0%} of how the words differ", *rows])

    def note(self) -> str | None:
        """How much of the differences is not shown."""
        return None if self.shown_share > 0.5 else f"two dimensions show {self.shown_share:.0%} of how the words differ"

    def to_json(self) -> dict[str, Any]:
        """The places as plain values."""
        found = zip(self.words, self.places.tolist(), strict=True)
        places = [{"word": word, "x": round(x, 5), "y": round(y, 5)} for word, (x, y) in found]
        return {"words": places, "share": round(self.shown_share, 5)}


def beside(points: np.ndarray, words: Sequence[str]) -> list[tuple[float, float]]:
    """The middle of each label, in inches: right of its point, or where it covers least of points and other labels."""
    sizes = [np.array([LETTER * len(word), 2 * LETTER]) for word in words]
    placed: list[tuple[np.ndarray, np.ndarray]] = [(point, np.full(2, LETTER)) for point in points]
    found = []
    for i, (point, size) in enumerate(zip(points, sizes, strict=True)):
        ways = [point + np.array(way) * (size / 2 + GAP) for way in ((1, 0), (-1, 0), (0, -1), (0, 1))]

        def covered(middle: np.ndarray, size: np.ndarray = size, own: int = i) -> float:
            outside = np.maximum(0, np.abs(middle - SIDE / 2) + size / 2 - SIDE / 2).sum()
            shared = [np.maximum(0, (size + other) / 2 - np.abs(middle - centre)) for centre, other in placed]
            return float(outside + sum(part.prod() for j, part in enumerate(shared) if j != own))

        best = min(ways, key=covered)
        placed.append((best, size))
        found.append((float(best[0]), float(best[1])))
    return found


def plane_of(directions: np.ndarray) -> tuple[np.ndarray, float]:
    """Where directions lie in their two principal components, and the share of their variance that these show.

    The larger part of each component's weight is positive, so that the picture does not turn over by chance.
    """
    centred = directions - directions.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * np.sign(axes[:2].sum(1, keepdims=True) + 1e-30)
    places = centred @ axes.T
    places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    return places, float((sizes[:2] ** 2).sum() / max(float((sizes**2).sum()), 1e-30))
