"""What all pictures share: colours, a sheet measured in inches, pixels of the right size, words in any script, bytes.

Knows nothing of what is drawn.
"""

import io
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np

from weft.errors import ConfigError, DataError, harmless
from weft.inspect import fonts

Format = Literal["png", "svg", "pdf"]

INK, PALE, LINES, EDGE = "#1b2733", "#6b7785", "#e3e8ee", "#c5ced8"
SHADES = ["#ffffff", "#dbe8f5", "#9cc3e4", "#4a90c9", "#1c5b9e", "#0a2f63"]  # from nothing to all
SIGNS = ["#1c5b9e", "#9cc3e4", "#f7f8fa", "#ecaa9b", "#b5333f"]  # from -1 over nothing to 1
VALUES = [
    "#241a4d",
    "#2f5597",
    "#2e8c9a",
    "#68bd82",
    "#cfdc6b",
    "#fdf7c3",
]  # from the lowest to the highest, evenly lighter
READ = [
    "#ffffff",
    "#fde7c0",
    "#f6ad5b",
    "#dd4f2f",
    "#7a1022",
]  # from what was left to what was read most, on light maps
MISSING, MISSING_LINES = "#e4e7eb", "#c9cfd6"  # where there is no value: light grey, hatched
SERIES = ["#1f5fa8", "#d1495b", "#3a8f6b", "#e0a030", "#7a5ba8", "#6b7785", "#45a5b8", "#a8623a"]
DOTS_PER_INCH = 160  # of a PNG
MAX_PIXELATED_SIDE = 32  # pictures with a smaller side, such as digits, show their pixels when they are enlarged


class Sheet:
    """A figure measured in inches, x to the right and y downwards, that is as large as what was drawn on it."""

    def __init__(self, figure: Any, format: Format):
        self.figure, self.format = figure, format

    def axis(self, x: float, y: float, width: float, height: float, *, frame: str | None = EDGE) -> Any:
        """An empty place for drawing; `frame` is the colour of the line around it."""
        axis = self.figure.add_axes((x, -y - height, width, height))
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(visible=frame is not None, color=frame, linewidth=0.6)
        return axis

    def picture(
        self, pixels: np.ndarray, x: float, y: float, width: float, height: float, *, frame: str | None = EDGE
    ) -> Any:
        """Pixels that fill a place."""
        axis = self.axis(x, y, width, height, frame=frame)
        shown = resized(pixels, round(height * DOTS_PER_INCH), round(width * DOTS_PER_INCH))
        axis.imshow(shown, aspect="auto", interpolation="auto" if self.format == "png" else "none")
        return axis

    def cells(self, values: np.ndarray, place: tuple[float, float, float, float], **more: Any) -> Any:
        """Numbers as shades, one cell each; NaN is left blank. Returns what a `bar` needs."""
        axis = self.axis(*place, frame=None)
        return axis.imshow(values, aspect="auto", interpolation="none", **more)

    def bar(self, image: Any, place: tuple[float, float, float, float], ticks: Sequence[float], digits: str) -> None:
        """The scale of shades, upright, with some of its numbers."""
        axis = self.figure.add_axes((place[0], -place[1] - place[3], place[2], place[3]))
        bar = self.figure.colorbar(image, cax=axis)
        bar.outline.set(edgecolor=EDGE, linewidth=0.6)
        bar.set_ticks(list(ticks), labels=[format(tick, digits) for tick in ticks])
        axis.tick_params(length=0, labelsize=8, labelcolor=PALE, pad=4)

    def text(self, x: float, y: float, words: str, *, size: float = 8, color: str = INK, **more: Any) -> None:
        """Words with their upper left corner at a place, unless `ha` and `va` say otherwise."""
        shown = writable(words)
        place = {"ha": "left", "va": "top", **more}
        self.figure.text(x, -y, shown, fontsize=size, color=color, family=fonts.families([shown]), **place)

    def width(self, words: str, size: float) -> float:
        """The width of a text in inches, as it would be drawn."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        shown = writable(words)
        with quiet():
            text = self.figure.text(0, 0, shown, fontsize=size, family=fonts.families([shown]))
            found = text.get_window_extent(FigureCanvasAgg(self.figure).get_renderer()).width / self.figure.dpi
            text.remove()
        return float(found)

    def top(self) -> float:
        """How far up reaches what was drawn so far."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        with quiet():
            return float(self.figure.get_tightbbox(FigureCanvasAgg(self.figure).get_renderer()).y1)

    def bytes(self) -> bytes:
        """What was drawn, as a PNG or SVG."""
        from matplotlib.text import Text

        words = [text.get_text() for text in self.figure.findobj(Text)]
        return written(self.figure, self.format, [*fonts.preferred(words), *fonts.families(words)])


@contextmanager
def sheet(format: Format) -> Iterator[Sheet]:
    """A sheet to draw on; the user's settings of matplotlib are neither used nor changed."""
    if format not in get_args(Format):
        raise ConfigError(f"expected png, svg or pdf, found {format!r}", where="format")
    from matplotlib import style
    from matplotlib.figure import Figure

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "weft", "pdf.fonttype": 42, "text.parse_math": False}
    with style.context(["default", settings]):
        yield Sheet(Figure(figsize=(1, 1), dpi=DOTS_PER_INCH if format == "png" else 72, facecolor="white"), format)


def coloured(picture: np.ndarray) -> np.ndarray:
    """Grey or coloured pixels as (H, W, 3) of 0 to 255."""
    pixels = np.asarray(picture)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        found = f"{pixels.dtype} of {np.shape(picture)}"
        raise DataError(
            f"expected whole numbers from 0 to 255 of (height, width, 1 or 3), found {found}", where="picture"
        )
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3))


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """The picture with other sides: smooth, but a small one keeps its pixels visible when it grows."""
    from PIL import Image

    pixels = coloured(picture)
    grows, small = height >= pixels.shape[0], min(pixels.shape[:2]) < MAX_PIXELATED_SIDE
    how = Image.Resampling.LANCZOS if not grows else Image.Resampling.NEAREST if small else Image.Resampling.BICUBIC
    return np.asarray(Image.fromarray(pixels).resize((max(width, 1), max(height, 1)), how))


def fitted(picture: np.ndarray, width: float, height: float) -> tuple[float, float]:
    """The largest width and height within a box that keep the aspect of a picture."""
    high, wide = np.shape(picture)[:2]
    scale = min(width / wide, height / high)
    return wide * scale, high * scale


def shades(colours: Sequence[str]) -> Any:
    """A scale that runs evenly through some colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", list(colours))


def breadth(label: str) -> float:
    """About how wide a label is, in sizes of its font."""
    return sum(1.0 if unicodedata.east_asian_width(sign) in "WF" else 0.62 for sign in label)


def writable(text: str) -> str:
    """A text without the signs that XML does not allow or a reader cannot bear."""
    return re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", harmless(text))


@contextmanager
def quiet() -> Iterator[None]:
    """Without matplotlib's warnings of missing signs: `fonts.missing_glyphs` reports them once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def written(figure: Any, format: Format, families: Sequence[str], *, pad: float = 0.25) -> bytes:
    """The bytes of a figure, the same each time; `families` are the fonts that an SVG asks for."""
    buffer = io.BytesIO()
    still = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[format]
    with quiet():
        figure.savefig(buffer, format=format, bbox_inches="tight", pad_inches=pad, metadata=still)
    if format != "svg":
        return buffer.getvalue()
    # the fonts once, in the style sheet: every family that may have the signs on the machine where it is looked at
    asked = ", ".join(f"'{family}'" for family in dict.fromkeys(families) if not re.search("[^\\w .-]", family))
    style = f"text{{unicode-bidi: plaintext; font-family: {asked}, sans-serif}}"
    text = re.sub(r'(<text style="[^"]*?)font-family: [^;"]*;? ?', r"\1", buffer.getvalue().decode("utf-8"))
    return text.replace('<style type="text/css">', f'<style type="text/css">{style}', 1).encode("utf-8")


def png_of(picture: np.ndarray) -> bytes:
    """A picture, (Y, X, 1 or 3) in uint8, as a PNG file."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture).save(buffer, "png")
    return buffer.getvalue()
