"""A forecast as an animation: a GIF with one map a frame, or two where the truth is known, in colours that stay."""

from collections.abc import Iterator, Sequence

import numpy as np

from weft.domains.fields.views.maps import Scale, kind_of, map_size, paint, value_bar
from weft.domains.fields.views.series import FieldSeries
from weft.inspect.figures import PALE, sheet
from weft.inspect.films import gif, on_one_canvas

WIDTH, HEIGHT = 2.8, 2.6  # inches: the box of each map
MOST_FRAMES = 60  # of more times some are left out, evenly
FRAME_MS, LAST_MS = 350, 1500  # how long frames are shown


def forecast_film(series: FieldSeries, forecast: np.ndarray, *, truth: np.ndarray | None = None) -> bytes:
    """An animated GIF of a forecast (n Y X), one frame for each time, beside the truth where it is known."""
    shown = series.picked(MOST_FRAMES)
    given = {"forecast": forecast, "truth": truth}
    panels = {name: series.checked(part, name)[shown] for name, part in given.items() if part is not None}
    frames = list(_frames(series, [series.labels[n] for n in shown], panels))
    return gif(frames, [*[FRAME_MS] * (len(frames) - 1), LAST_MS])


def _frames(series: FieldSeries, times: Sequence[str], panels: dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """The pixels of each frame (H W 3); all frames have one size."""
    grid, scale = series.grid, Scale.of(list(panels.values()), kind_of(series.layer))
    wide, high = map_size(grid, WIDTH if len(panels) > 1 else 1.5 * WIDTH, HEIGHT)
    size: tuple[int, int] | None = None
    for n, time in enumerate(times):
        with sheet("png") as on:
            on.text(0, -0.32, f"{series.heading}, {time}", size=10, va="bottom")
            for k, (name, values) in enumerate(panels.items()):
                x = k * (wide + 0.12)
                on.text(x, -0.05, name, size=8, color=PALE, va="bottom")
                _, image = paint(on, values[n], grid, (x, 0, wide, high), scale, labels=(k == 0, True))
            value_bar(on, image, scale, (len(panels) * (wide + 0.12), 0, 0.12, high), series.layer.units)
            frame = on_one_canvas(on.bytes(), size)
        size = (frame.shape[1], frame.shape[0])
        yield frame
