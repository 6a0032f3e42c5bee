"""What a model of pictures learned before it saw one: the filters of its patches and the codes of their positions.

After figure 7 of Dosovitskiy et al. (2021). Knows arrays of weights, not whose they are.
"""

import numpy as np
from einops import rearrange

from weft.errors import ConfigError, DataError
from weft.inspect.curves import Series, chart
from weft.inspect.figures import INK, PALE, SHADES, SIGNS, Format, Sheet, shades, sheet

PAGE_INCHES = 6.4  # width of the picture
MAX_MAP_INCHES = 1.1  # width of one map
MAX_PATCHES = 14  # along a side whose similarities are shown; a larger grid is sampled
GAP_INCHES = 0.6  # between two parts of one picture


def filters(weights: np.ndarray, patch: tuple[int, int, int], *, count: int = 28, format: Format = "png") -> bytes:
    """The first principal components of the filters (D, height × width × channels) that embed a patch.

    Each is a small picture of its own contrast, grey where it is zero, with its share of the filters' variance.
    """
    with sheet(format) as on:
        _filters(on, 0.0, weights, patch, count)
        return on.bytes()


def draw(
    weights: np.ndarray | None = None,
    patch: tuple[int, int, int] | None = None,
    codes: np.ndarray | None = None,
    *,
    count: int = 28,
    format: Format = "png",
) -> bytes:
    """All that is given, in one picture: the filters, and below them the positions, by place and by distance."""
    if weights is None and codes is None:
        raise ConfigError("there is nothing to draw: neither filters nor positions", where="learned")
    with sheet(format) as on:
        y = 0.0
        if weights is not None:
            if patch is None:
                raise ConfigError("filters need the size of a patch: height, width, channels", where="patch")
            y = _filters(on, y, weights, patch, count) + GAP_INCHES
        if codes is not None:
            y = _similarity(on, y, codes) + GAP_INCHES
            _by_distance(on, y, codes)
        return on.bytes()


def components(weights: np.ndarray, patch: tuple[int, int, int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first principal components of the filters, (count, height, width, channels), and their shares of variance.

    A component and its negative are the same: the one whose strongest weight is positive is taken.
    """
    weights = np.asarray(weights, np.float64)
    height, width, channels = patch
    if weights.ndim != 2 or weights.shape[1] != height * width * channels or not len(weights):
        problem = f"expected weights of (filters, {height} × {width} × {channels}), found {weights.shape}"
        raise DataError(problem, where="filters")
    if channels not in (1, 3):
        raise DataError(f"expected 1 or 3 channels, which can be seen, found {channels}", where="filters")
    if count < 1:
        raise ConfigError(f"expected 1 or more, found {count}", where="count")
    if not np.isfinite(weights).all():
        raise DataError("some weights are not finite numbers", where="filters")
    _, strengths, found = np.linalg.svd(weights - weights.mean(0), full_matrices=False)
    strongest = np.take_along_axis(found, np.abs(found).argmax(1, keepdims=True), 1)
    found = found[:count] * np.where(strongest[:count] < 0, -1, 1)
    shares = strengths[:count] ** 2 / max(float((strengths**2).sum()), 1e-30)
    there = max(1, int((shares > 1e-9).sum()))  # components beyond the rank of the filters are noise
    return rearrange(found[:there], "n (h w c) -> n h w c", h=height, w=width), shares[:there]


def similarity(codes: np.ndarray) -> np.ndarray:
    """The cosine of the angle between the codes of any two patches: (rows, columns, rows, columns)."""
    codes = np.asarray(codes, np.float64)
    if codes.ndim != 3 or 0 in codes.shape or not np.isfinite(codes).all():
        raise DataError(f"expected finite codes of (rows, columns, width), found {codes.shape}", where="positions")
    unit = codes / np.maximum(np.linalg.norm(codes, axis=-1, keepdims=True), 1e-30)
    return np.einsum("ijd,kld->ijkl", unit, unit)


def _filters(on: Sheet, y: float, weights: np.ndarray, patch: tuple[int, int, int], count: int) -> float:
    """Draws the components from y on, and returns where they end."""
    found, shares = components(weights, patch, count)
    columns = min(7, len(found))
    side, gap = (PAGE_INCHES + 0.14) / 7 - 0.14, 0.14
    high = side * patch[0] / patch[1]
    on.text(
        0,
        y,
        f"filters of {patch[0]} × {patch[1]} pixels: the first {len(found)} principal components of {len(weights)}",
        size=11,
    )
    on.text(0, y + 0.22, f"with their shares of the variance, {shares.sum():.0%} together", color=PALE)
    y += 0.5
    for n, (component, share) in enumerate(zip(found, shares, strict=True)):
        pixels = np.round(127.5 + 127.5 * component / np.abs(component).max()).astype(np.uint8)
        left, top = n % columns * (side + gap), y + n // columns * (high + 0.28)
        on.picture(pixels, left, top, side, high)
        on.text(
            left + side / 2,
            top + high + 0.04,
            f"{share:.1%}" if share >= 0.0005 else "< 0.1%",
            size=7.5,
            color=INK,
            ha="center",
        )
    return y + -(-len(found) // columns) * (high + 0.28) - 0.1


def _similarity(on: Sheet, y: float, codes: np.ndarray) -> float:
    """Draws the maps as one mosaic from y on, and returns where it ends."""
    alike = similarity(codes)
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, MAX_PATCHES)).round().astype(int)) for n in alike.shape[:2])
    some = alike.shape[:2] != (len(rows), len(columns))
    note = "each map: the cosine of one patch's code with those of all patches, arranged as the patches are"
    on.text(0, y, "similarity of position codes", size=11)
    on.text(0, y + 0.22, note + (f"; {len(rows)} × {len(columns)} of them" if some else ""), color=PALE)
    y += 0.5
    mosaic = _mosaic(alike, rows, columns)
    inch = min(PAGE_INCHES, MAX_MAP_INCHES * len(columns)) / mosaic.shape[1]
    inch = min(inch, PAGE_INCHES / mosaic.shape[0])
    wide, tall = mosaic.shape[1] * inch, mosaic.shape[0] * inch
    low, high, colours = _scale(alike)
    image = on.cells(mosaic, (0, y, wide, tall), cmap=shades(colours), vmin=low, vmax=high)
    on.bar(image, (wide + 0.2, y, 0.13, min(tall, 2.6)), (low, (low + high) / 2, high), ".2g")
    return y + tall


def _mosaic(alike: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The maps of some rows and columns as one array, with seams of NaN between them."""
    fine = max(1, 24 // max(alike.shape[:2]))  # small maps in finer cells, so that a seam is not as wide as a patch
    alike = alike.repeat(fine, 2).repeat(fine, 3)
    seam = max(1, round(max(alike.shape[2:]) / 10))
    maps = alike[np.ix_(rows, columns)]
    framed = np.pad(maps, ((0, 0), (0, 0), (0, seam), (0, seam)), constant_values=np.nan)
    return rearrange(framed, "i j h w -> (i h) (j w)")[:-seam, :-seam]


def _scale(alike: np.ndarray) -> tuple[float, float, list[str]]:
    """The darkest and brightest similarity, and the colours between: of different patches, as each is like itself.

    Where some are below 0, blue is below and red above; else shades run from the least to the most.
    """
    own = np.eye(alike.shape[0] * alike.shape[1], dtype=bool).reshape(alike.shape)
    others = alike[~own] if alike.size > 1 else alike.ravel()
    most = float(np.clip(np.abs(others).max(), 0.05, 1))
    low = float(others.min())
    return (-most, most, SIGNS) if low < 0 else (min(low, most - 0.05), most, SHADES)


def _by_distance(on: Sheet, y: float, codes: np.ndarray) -> None:
    """Draws the chart from y on: all pairs with their spread, and those within a row or a column."""
    alike = similarity(codes)
    i, j, k, l = np.indices(alike.shape)  # noqa: E741
    down, along = np.abs(i - k), np.abs(j - l)
    pairs = {"all patches": np.hypot(down, along).round().astype(int)}
    pairs["same row"] = np.where(down == 0, along, -1)
    pairs["same column"] = np.where(along == 0, down, -1)
    lines = {name: _by_step(alike, steps) for name, steps in pairs.items() if steps.max() > 0}
    on.text(0, y, "similarity of position codes by distance", size=11)
    on.text(0, y + 0.22, "mean over all pairs of patches; the band holds the middle 80% of them", color=PALE)
    series: Series = {name: [(step, mean) for step, mean, _, _ in line] for name, line in lines.items()}
    bands = {
        name: [(s, low, high) for s, _, low, high in line] for name, line in lines.items() if name == "all patches"
    }
    axis = on.axis(0.5, y + 0.5, PAGE_INCHES - 0.5, 2.6)
    chart(axis, series, x="distance in patches", y="cosine", bands=bands)


def _by_step(alike: np.ndarray, steps: np.ndarray) -> list[tuple[float, float, float, float]]:
    """For each distance that occurs: itself, the mean, and the first and last tenth."""
    found = []
    for step in range(int(steps.max()) + 1):
        values = alike[steps == step]
        if values.size:
            low, high = np.quantile(values, (0.1, 0.9))
            found.append((float(step), float(values.mean()), float(low), float(high)))
    return found
