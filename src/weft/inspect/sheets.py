"""Sheets of pictures: many with a caption each, and rows of pictures that belong together."""

from collections.abc import Sequence

import numpy as np

from weft.errors import ConfigError, DataError
from weft.inspect.figures import INK, PALE, Format, breadth, coloured, fitted, sheet, writable

SIDE, GAP = 1.15, 0.16  # inches: the box of a picture, and between two
FONT, LINE = 7.5, 0.135  # points of a caption, inches of its lines
MAX_CAPTION_LINES = 4  # longer captions are cut
HIDDEN_GREY = 226  # brightness of a hidden patch, from 0 to 255
MAX_ROWS_IN_BLOCK = 6  # more rows of pictures stand in two blocks side by side


def contact_sheet(
    pictures: Sequence[np.ndarray],
    captions: Sequence[str],
    *,
    columns: int = 8,
    title: str = "",
    format: Format = "png",
) -> bytes:
    """A PNG or SVG of many pictures, each as it is proportioned, with its caption below: the worst mistakes, say."""
    if len(pictures) != len(captions):
        raise DataError(
            f"expected a caption for each of {len(pictures)} pictures, found {len(captions)}", where="sheet"
        )
    if columns < 1:
        raise ConfigError(f"expected 1 or more, found {columns}", where="columns")
    with sheet(format) as on:
        if title:
            on.text(0, -0.12, title, size=12, va="bottom")
        if not pictures:
            on.text(0, 0, "there are no pictures to show", color=PALE)
        y = 0.0
        for start in range(0, len(pictures), columns):
            row = [(picture, _wrapped(words)) for picture, words in zip(pictures, captions, strict=True)][start:][
                :columns
            ]
            sizes = [fitted(coloured(picture), SIDE, SIDE) for picture, _ in row]
            base = y + max(high for _, high in sizes)
            for n, ((picture, lines), (wide, high)) in enumerate(zip(row, sizes, strict=True)):
                x = n * (SIDE + GAP)
                on.picture(picture, x + (SIDE - wide) / 2, base - high, wide, high)
                on.text(x + SIDE / 2, base + 0.06, "\n".join(lines), size=FONT, ha="center", linespacing=1.15)
            y = base + 0.06 + max(len(lines) for _, lines in row) * LINE + GAP
        return on.bytes()


def _wrapped(words: str) -> list[str]:
    """A caption in lines no wider than a picture and about equally long; what does not fit ends with an ellipsis."""
    words, room = writable(words), SIDE * 1.15 * 72 / FONT
    lines = _lines(words, room)
    if len(lines) > MAX_CAPTION_LINES:
        return [*lines[: MAX_CAPTION_LINES - 1], lines[MAX_CAPTION_LINES - 1][:-1].rstrip(" ,.;:") + "…"]
    narrower = (_lines(words, room * share / 20) for share in range(8, 20))
    return next((found for found in narrower if len(found) == len(lines)), lines)


def _lines(words: str, room: float) -> list[str]:
    """Words in lines of a breadth; a word that is longer than a line is cut."""
    lines = [""]
    for word in words.split():
        if breadth(f"{lines[-1]} {word}".strip()) <= room:
            lines[-1] = f"{lines[-1]} {word}".strip()
            continue
        lines += [""] if lines[-1] else []
        for sign in word:
            lines += [""] if breadth(lines[-1] + sign) > room and lines[-1] else []
            lines[-1] += sign
    return lines


def reconstructions(
    rows: Sequence[tuple[np.ndarray, ...]], heads: Sequence[str], *, title: str = "", format: Format = "png"
) -> bytes:
    """Rows of pictures under common heads: the picture, what was shown of it, what was made of that.

    Many rows stand in two blocks beside each other.
    """
    if any(len(row) != len(heads) for row in rows) or not rows or not heads:
        found = sorted({len(row) for row in rows})
        raise DataError(f"expected rows of {len(heads)} pictures, found {found or 'no rows'}", where="reconstructions")
    blocks = 2 if len(rows) > MAX_ROWS_IN_BLOCK else 1
    down = -(-len(rows) // blocks)
    side = 1.5
    with sheet(format) as on:
        if title:
            on.text(0, -0.34, title, size=12, va="bottom")
        for block in range(blocks):
            x, y = block * (len(heads) * (side + 0.06) + 0.3), 0.0
            for n, head in enumerate(heads):
                on.text(x + n * (side + 0.06) + side / 2, -0.06, head, ha="center", va="bottom", color=INK)
            for row in rows[block * down : (block + 1) * down]:
                sizes = [fitted(coloured(picture), side, side) for picture in row]
                tall = max(high for _, high in sizes)
                for n, (picture, (wide, high)) in enumerate(zip(row, sizes, strict=True)):
                    left = x + n * (side + 0.06) + (side - wide) / 2
                    on.picture(picture, left, y + (tall - high) / 2, wide, high, frame=None)
                y += tall + 0.06
        return on.bytes()


def veiled(picture: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The picture with its hidden patches in light grey; `seen` (rows, columns) is true for patches that are shown."""
    pixels = coloured(picture)
    rows, columns = np.shape(seen)
    down = np.arange(pixels.shape[0]) * rows // pixels.shape[0]
    along = np.arange(pixels.shape[1]) * columns // pixels.shape[1]
    return np.where(np.asarray(seen, bool)[down][:, along, None], pixels, np.uint8(HIDDEN_GREY))
