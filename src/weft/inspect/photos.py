"""Pictures for a page: the bytes of a photo, and maps over it as streams of a document."""

import io
from collections.abc import Mapping

import numpy as np

from weft.inspect.document import GridPlace, PageImage, TokenGroup
from weft.inspect.figures import coloured, png_of
from weft.inspect.streams import Read

MOST_PIXELS = 640  # of the longer side
MOST_PNG = 200_000  # bytes up to which a picture stays a PNG
QUALITY = 88  # of a JPEG
ANSWER = "answer"  # the group with the answer as its one token


def photo(pixels: np.ndarray, name: str = "") -> PageImage:
    """A picture, not larger than needed: a PNG, or a JPEG where that would be large."""
    from PIL import Image as Pillow

    picture = Pillow.fromarray(np.ascontiguousarray(coloured(pixels)))
    picture.thumbnail((MOST_PIXELS, MOST_PIXELS))
    content = png_of(np.asarray(picture))
    if len(content) <= MOST_PNG:
        return PageImage("image/png", content, *picture.size, name)
    buffer = io.BytesIO()
    picture.save(buffer, "jpeg", quality=QUALITY)
    return PageImage("image/jpeg", buffer.getvalue(), *picture.size, name)


def patches(
    rows: int, columns: int, first: int = 0, *, name: str = "patches", picture: int = 0, middle: float = 0.5
) -> TokenGroup:
    """The tokens of a picture: class tokens, then patches by row and column."""
    names = [f"class {n + 1}" if n else "class" for n in range(first)]
    names += [f"patch {row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
    return TokenGroup(name, tuple(names), GridPlace(rows, columns, first, picture, middle))


def answer_maps(said: str, maps: Mapping[str, tuple[np.ndarray, str]]) -> tuple[list[TokenGroup], list[Read]]:
    """Maps (rows, columns) of what an answer depends on: groups and streams, by the names of the ways.

    Each map comes with what its numbers are, in words.
    """
    groups, reads = [TokenGroup(ANSWER, (said,))] if maps else [], list[Read]()
    for by, (map, what) in maps.items():
        name = f"parts by {by}"
        groups.append(patches(*map.shape, name=name))
        reads.append(Read(what, ANSWER, name, np.asarray(map, np.float32).reshape(1, 1, 1, -1), by))
    return groups, reads
