"""Which cells are hidden to measure how gaps are filled: blocks, the same for every method. Needs no torch."""

import numpy as np

SHARE, SIDE = 0.3, 8


def blocks(known: np.ndarray, rng: np.random.Generator, share: float = SHARE, side: int = SIDE) -> np.ndarray:
    """Cells (Y X) in square blocks at random places, until at least `share` of the known cells (Y X) is hidden.

    Blocks may overlap, and reach over the edges of the grid, so that cells near an edge are hidden as often as others.
    The mask is True at hidden cells, all of them known.
    """
    rows, columns = known.shape
    hidden = np.zeros_like(known, bool)
    wanted, count = min(share, 1.0) * known.sum(), 0
    while count < wanted:
        top, left = (int(rng.integers(1 - side, size)) for size in (rows, columns))
        block = (slice(max(top, 0), top + side), slice(max(left, 0), left + side))
        count += int((known[block] & ~hidden[block]).sum())
        hidden[block] = True
    return hidden & known


def hidden_at(field: np.ndarray, time: int, share: float = SHARE, side: int = SIDE, seed: int = 0) -> np.ndarray:
    """The cells (Y X) of one field (V Y X) that are hidden in all layers, by the field's time and a seed alone."""
    return blocks(np.isfinite(field).any(0), np.random.default_rng([seed, time]), share, side)
