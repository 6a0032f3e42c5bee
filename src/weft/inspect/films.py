"""Frames as an animated GIF in one palette, bounded in size. Knows nothing of what is drawn."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_BYTES = 8_000_000  # a larger film is made smaller
MIN_WIDTH = 240  # pixels below which a film is not made smaller
PALETTE_FRAMES = 9  # frames whose colours the palette is made of
WHITE = 255  # the last place of the palette is that of paper


def on_one_canvas(png: bytes, size: tuple[int, int] | None) -> np.ndarray:
    """A PNG picture as pixels (H W 3) on white paper of this width and height, by default its own size."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    canvas = Image.new("RGB", size or picture.size, "white")
    canvas.paste(picture)
    return np.asarray(canvas)


def gif(frames: Sequence[np.ndarray], milliseconds: Sequence[int]) -> bytes:
    """Frames (H W 3), each with the time that it is shown, as a GIF with one palette, so that nothing flickers.

    A film of more than `MOST_BYTES` is made smaller.
    """
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    places = np.unique(np.linspace(0, len(pictures) - 1, PALETTE_FRAMES).round().astype(int))
    palette = Image.fromarray(np.concatenate([frames[place] for place in places])).quantize(WHITE)
    colours = [*(palette.getpalette() or [])[: 3 * WHITE]]
    colours += [255] * (3 * (WHITE + 1) - len(colours))
    while True:
        quantized = [_indexed(picture, palette, colours) for picture in pictures]
        buffer = io.BytesIO()
        more = {"save_all": True, "append_images": quantized[1:], "duration": list(milliseconds), "loop": 0}
        quantized[0].save(buffer, "gif", disposal=1, **more)
        if buffer.tell() <= MOST_BYTES or pictures[0].width < MIN_WIDTH:
            return buffer.getvalue()
        wide, high = (max(round(side * 0.7), 1) for side in pictures[0].size)
        pictures = [picture.resize((wide, high), Image.Resampling.LANCZOS) for picture in pictures]


def _indexed(picture: Any, palette: Any, colours: list[int]) -> Any:
    """A picture in the colours of a palette; what is white stays white."""
    from PIL import Image

    found = np.array(picture.quantize(palette=palette, dither=Image.Dither.NONE))
    found[(np.asarray(picture) == 255).all(2)] = WHITE
    indexed = Image.fromarray(found)
    indexed.putpalette(colours)
    return indexed
