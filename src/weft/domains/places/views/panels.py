"""Fields as pictures: values over a plane or a globe, channels of a position code, errors. Knows arrays alone."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from weft.inspect.figures import INK, PALE, SIGNS, Format, Sheet, fitted, shades, sheet
from weft.inspect.views import LookedAnswer, View

PAGE_INCHES = 7.2  # width of a picture of several panels
GAP_INCHES = 0.18
SCALE_INCHES = 0.55  # for the scale of numbers
LINE_INCHES = 0.3  # above a panel, for its title
MARK_POINTS = 5.0  # size of the cross at a place
LOW_SHARE, HIGH_SHARE = 0.01, 0.99  # of the values, between which shades run
GOLDEN = 0.618034  # turns of hue from one class to the next: neighbours in number never look alike


@dataclass(frozen=True)
class Panel:
    """One field: (Y, X, 3) in bytes, or (Y, X) numbers from `low` to `high`; colours that grow, or show the sign."""

    title: str
    values: np.ndarray
    low: float | None = None
    high: float | None = None
    signed: bool = False
    mark: tuple[float, float] | None = None  # shares of the height and the width at which a place is marked

    def span(self) -> tuple[float, float]:
        """The numbers with the first and the last colour."""
        known = self.values[np.isfinite(self.values)]
        low, high = np.quantile(known, (LOW_SHARE, HIGH_SHARE)) if known.size else (0.0, 1.0)
        low, high = (low if self.low is None else self.low), (high if self.high is None else self.high)
        most = max(abs(low), abs(high), 1e-9)
        return (-most, most) if self.signed else (float(low), float(max(high, low + 1e-9)))


def field_colours(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Numbers as (…, 3) bytes, dark below and bright above."""
    from matplotlib import colormaps

    shares = np.clip((np.nan_to_num(values) - low) / max(high - low, 1e-12), 0, 1)
    return np.round(255 * colormaps["viridis"](shares)[..., :3]).astype(np.uint8)


def class_colours(classes: int) -> np.ndarray:
    """(C, 3) bytes, one colour a class, told apart by hue and brightness."""
    found = [colorsys.hsv_to_rgb(i * GOLDEN % 1, (0.45, 0.75)[i % 2], (0.95, 0.7, 0.5)[i % 3]) for i in range(classes)]
    return np.round(255 * np.array(found)).astype(np.uint8)


def panels(given: Sequence[Panel], *, columns: int = 2, title: str = "", format: Format = "png") -> bytes:
    """Fields beside and below each other, each with its title and its scale."""
    columns, scaled = min(columns, len(given)), any(panel.values.ndim == 2 for panel in given)
    wide = (PAGE_INCHES - (columns - 1) * GAP_INCHES) / columns
    with sheet(format) as on:
        if title:
            on.text(0, -0.12, title, size=12, va="bottom")
        y = 0.0
        for start in range(0, len(given), columns):
            tallest = 0.0
            for n, panel in enumerate(given[start : start + columns]):
                tallest = max(tallest, _panel(on, panel, n * (wide + GAP_INCHES), y, wide - SCALE_INCHES * scaled))
            y += tallest + GAP_INCHES
        return on.bytes()


def _panel(on: Sheet, panel: Panel, x: float, y: float, wide: float) -> float:
    """Draws one field in a box and returns its height, title and all; its scale stands to the right of the box."""
    numbers = panel.values.ndim == 2
    width, height = fitted(panel.values, wide, wide)
    on.text(x, y + 0.05, panel.title, size=8.5, color=INK)
    top = y + LINE_INCHES
    if numbers:
        low, high = panel.span()
        scale = shades(SIGNS) if panel.signed else "viridis"
        image = on.cells(panel.values, (x, top, width, height), cmap=scale, vmin=low, vmax=high)
        on.bar(
            image,
            (x + width + 0.06, top, 0.09, min(height, 1.6)),
            (low, (low + high) / 2, high),
            ".0f" if max(-low, high) >= 1000 else ".3g",
        )
    else:
        on.picture(panel.values, x, top, width, height)
    if panel.mark is not None:
        axis = on.figure.add_axes((x, -top - height, width, height))
        axis.set(xlim=(0, 1), ylim=(1, 0))
        axis.axis("off")
        axis.plot([panel.mark[1]], [panel.mark[0]], "+", color="white", markersize=2 * MARK_POINTS, markeredgewidth=2.5)
        axis.plot([panel.mark[1]], [panel.mark[0]], "+", color=PALE, markersize=2 * MARK_POINTS, markeredgewidth=1)
    return LINE_INCHES + height


def animation(frames: Sequence[np.ndarray], *, seconds: float = 0.4) -> bytes:
    """Pictures of one size, (Y, X, 3) in bytes, one after another as a GIF; the last stays longer."""
    import io

    from PIL import Image

    images = [Image.fromarray(frame) for frame in frames]
    times = [round(1000 * seconds)] * (len(images) - 1) + [round(4000 * seconds)]
    buffer = io.BytesIO()
    images[0].save(buffer, "gif", save_all=True, append_images=images[1:], duration=times, loop=0)
    return buffer.getvalue()


@dataclass(eq=False, repr=False)
class FieldView(View):
    """Panels with words beside them."""

    title: str
    shown: tuple[Panel, ...]
    words: str
    facts: dict[str, Any] = field(default_factory=dict)
    columns: int = 2
    answer: LookedAnswer | None = None

    @property
    def about(self) -> str:
        return self.title

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The panels."""
        return panels(self.shown, columns=self.columns, title=self.title, format=format)

    def text(self) -> str:
        """What can be said without a picture."""
        return "\n".join([*([str(self.answer)] if self.answer is not None else []), self.words])

    def to_json(self) -> dict[str, Any]:
        """The facts, and the titles of the panels."""
        said = {} if self.answer is None else {"answer": self.answer.to_json()}
        titles = [panel.title for panel in self.shown]
        return {"title": self.title, "panels": titles, "words": self.words, **said, **self.facts}
