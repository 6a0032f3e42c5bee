"""A forecast as an animation: a GIF with one map a frame, or two where the truth is known, in colours that stay."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.inspect.fieldmaps import Scale, kind_of, map_size, paint, value_bar
from weft.inspect.fieldseries import FieldSeries
from weft.inspect.figures import PALE, sheet

WIDTH, HEIGHT = 2.8, 2.6  # inches: the box of each map
MOST_FRAMES = 60  # of more times some are left out, evenly
MOST_BYTES = 8_000_000  # a larger film is made smaller
WHITE = 255  # the last place of the palette is that of paper
FRAME_MS, LAST_MS = 350, 1500  # how long frames are shown


def forecast_film(series: FieldSeries, forecast: np.ndarray, *, truth: np.ndarray | None = None) -> bytes:
    """An animated GIF of a forecast (n Y X), one frame for each time of the series, beside the truth where it is known."""
    shown = series.picked(MOST_FRAMES)
    given = {"forecast": forecast, "truth": truth}
    panels = {name: series.checked(part, name)[shown] for name, part in given.items() if part is not None}
    return _gif(list(_frames(series, [series.labels[n] for n in shown], panels)))


def _frames(series: FieldSeries, times: Sequence[str], panels: dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """The pixels of each frame (H W 3); all frames have one size."""
    from PIL import Image

    grid, scale = series.grid, Scale.of(list(panels.values()), kind_of(series.layer))
    wide, high = map_size(grid, WIDTH if len(panels) > 1 else 1.5 * WIDTH, HEIGHT)
    size = None
    for n, time in enumerate(times):
        with sheet("png") as on:
            on.text(0, -0.32, f"{series.heading}, {time}", size=10, va="bottom")
            for k, (name, values) in enumerate(panels.items()):
                x = k * (wide + 0.12)
                on.text(x, -0.05, name, size=8, color=PALE, va="bottom")
                _, image = paint(on, values[n], grid, (x, 0, wide, high), scale, labels=(k == 0, True))
            value_bar(on, image, scale, (len(panels) * (wide + 0.12), 0, 0.12, high), series.layer.units)
            picture = Image.open(io.BytesIO(on.bytes())).convert("RGB")
        size = size or picture.size
        canvas = Image.new("RGB", size, "white")
        canvas.paste(picture)
        yield np.asarray(canvas)


def _indexed(picture: Any, palette: Any, colours: list[int]) -> Any:
    """A picture in the colours of a palette; what is white stays white."""
    from PIL import Image

    found = np.array(picture.quantize(palette=palette, dither=Image.Dither.NONE))
    found[(np.asarray(picture) == 255).all(2)] = WHITE
    indexed = Image.fromarray(found)
    indexed.putpalette(colours)
    return indexed


def _gif(frames: Sequence[np.ndarray]) -> bytes:
    """Frames as a GIF with one palette for all, so that nothing flickers; smaller where it would be too large."""
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    few = [pictures[0], pictures[len(pictures) // 2], pictures[-1]]
    palette = Image.fromarray(np.concatenate([np.asarray(picture) for picture in few])).quantize(WHITE)
    colours = [*(palette.getpalette() or [])[: 3 * WHITE]]
    colours += [255] * (3 * (WHITE + 1) - len(colours))
    while True:
        quantized = [_indexed(picture, palette, colours) for picture in pictures]
        times = [*[FRAME_MS] * (len(pictures) - 1), LAST_MS]
        buffer = io.BytesIO()
        more = {"save_all": True, "append_images": quantized[1:], "duration": times, "loop": 0, "disposal": 1}
        quantized[0].save(buffer, "gif", **more)
        if buffer.tell() <= MOST_BYTES or pictures[0].width < 240:
            return buffer.getvalue()
        wide, high = (max(round(side * 0.7), 1) for side in pictures[0].size)
        pictures = [picture.resize((wide, high), Image.Resampling.LANCZOS) for picture in pictures]
