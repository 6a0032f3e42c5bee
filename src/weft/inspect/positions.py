"""How a model of texts knows where a token stands: sines and cosines, a learned table, or turns, drawn as a picture.

Rows are positions, columns the numbers of a code; or, for rotary turns, the pairs of numbers that are turned. Beside
it: how alike the codes of two positions are, by their distance.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from weft.errors import WeftError
from weft.inspect.figures import INK, PALE, Sheet, shades, sheet
from weft.inspect.views import View
from weft.models.stream import Stream
from weft.position.codes import Learned, Sinusoidal
from weft.position.turns import Rotary

MOST_POSITIONS = 256
SIGNED = ("#2b5c9e", "#dbe6f2", "#ffffff", "#f6ddd3", "#b2452b")  # from -1 over 0 to 1
WIDE, HIGH = 6.0, 4.2  # inches of the matrix
FAR = 0.9  # inches between the two panels


@dataclass(frozen=True)
class LineCodes:
    """The codes of positions: `values` (positions, numbers), and how alike they are (positions, positions)."""

    kind: str  # what such codes are called
    columns: str  # what a column is
    values: np.ndarray
    alike: np.ndarray

    def by_distance(self) -> np.ndarray:
        """The mean likeness of two positions, by how far apart they are."""
        return np.array([np.diagonal(self.alike, k).mean() for k in range(len(self.alike))])


@torch.inference_mode()
def line_codes(model: Stream, *, where: str = "weft look") -> LineCodes:
    """The position codes of a model of texts, up to its context."""
    embed: Any = model.embed
    count = min(int(model.config.embed.context), MOST_POSITIONS)  # type: ignore[attr-defined]
    if getattr(embed, "place", None) is not None:
        code = embed.place.code
        limit = model.config.embed.place.code.limit()  # type: ignore[attr-defined]
        count = count if limit is None else min(count, limit)
        device = next(model.parameters()).device
        values = code({"position": torch.arange(count, device=device)[None]})[0].double().cpu().numpy()
        unit = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
        return LineCodes(*_words(code), values, unit @ unit.T)
    turned = next((part for part in model.modules() if isinstance(part, Rotary)), None)
    if turned is None:
        fix = "look at the attention within a text: weft look RUN TEXT"
        raise WeftError("this model has no code for positions: it reads one token after another", where=where, fix=fix)
    places = np.arange(count)
    angles = places[:, None] * turned.frequency.double().cpu().numpy()
    apart = places[:, None] - places
    alike = np.mean([np.cos(apart * one) for one in turned.frequency.double().cpu().numpy()], 0)
    words = "turned in every layer, queries and keys alike (rotary positions): the cosine of the angle"
    return LineCodes(words, "pairs of numbers of a head, the fastest first", np.cos(angles), alike)


def _words(code: torch.nn.Module) -> tuple[str, str]:
    """What a code is called, and what its columns are."""
    if isinstance(code, Sinusoidal):
        return (
            "sines and cosines, added to the embeddings",
            "numbers of the code: sines, then cosines, each the fastest first",
        )
    if isinstance(code, Learned):
        return "a learned table, added to the embeddings", "numbers of the code"
    return f"{type(code).__name__} codes", "numbers of the code"


class LinePositionsView(View):
    """The position codes of a model of texts."""

    def __init__(self, codes: LineCodes):
        self.codes = codes

    @property
    def about(self) -> str:
        return f"positions: {self.codes.kind}"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The codes by position, and how alike they are by distance."""
        with sheet(format) as on:
            values, top = self.codes.values, float(np.abs(self.codes.values).max()) or 1.0
            on.text(0, -0.42, self.about, size=12)
            image = on.cells(values, (0, 0, WIDE, HIGH), cmap=shades(SIGNED), vmin=-top, vmax=top)
            on.bar(image, (WIDE + 0.15, 0, 0.13, min(HIGH, 2.6)), (-top, 0, top), ".2g")
            on.text(-0.08, 0, "0", color=PALE, ha="right")
            on.text(-0.08, HIGH, str(len(values) - 1), color=PALE, ha="right", va="bottom")
            on.text(-0.32, HIGH / 2, "position", ha="right", va="center", rotation=90)
            on.text(0, HIGH + 0.1, f"{values.shape[1]} {self.codes.columns}", color=PALE)
            self._curve(on, WIDE + FAR + 0.4)
            return on.bytes()

    def _curve(self, on: Sheet, x: float) -> None:
        """The mean likeness by distance."""
        axis = on.figure.add_axes((x, -HIGH, WIDE * 0.7, HIGH))
        axis.plot(self.codes.by_distance(), color=SIGNED[0], linewidth=1.6)
        axis.axhline(0, color=PALE, linewidth=0.6)
        axis.set_xlim(0, len(self.codes.alike) - 1)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8, labelcolor=PALE)
        axis.set_xlabel("distance of two positions", fontsize=8, color=INK)
        axis.set_ylabel("how alike their codes are (mean cosine)", fontsize=8, color=INK)

    def text(self) -> str:
        """How alike positions are at some distances."""
        near = self.codes.by_distance()
        steps = [step for step in (0, 1, 2, 4, 8, 16, 32, 64, 128) if step < len(near)]
        lines = [f"  {step:>4}  {near[step]:+.3f}" for step in steps]
        size = f"{len(self.codes.values)} positions, {self.codes.values.shape[1]} {self.codes.columns}"
        return "\n".join([self.about, size, "distance and mean cosine of two codes:", *lines])

    def to_json(self) -> dict[str, Any]:
        """Plain values: the codes, and their likeness by distance."""
        near = [round(float(one), 6) for one in self.codes.by_distance()]
        return {"positions": self.codes.kind, "codes": self.codes.values.round(6).tolist(), "alike": near}
