"""Epochs: which row of the data is the i-th sample. Knows numbers; refuses to know what the rows are."""

import numpy as np

from weft.batches.order import key, permuted


class Epochs:
    """Which row is the i-th sample: every epoch is a new order of all of them."""

    def __init__(self, count: int, fingerprint: str, seed: int):
        self.count, self.fingerprint, self.seed = count, fingerprint, seed

    def rows(self, indices: np.ndarray) -> np.ndarray:
        """The rows at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.count)
        rows = np.empty_like(within)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            rows[chosen] = permuted(within[chosen], self.count, key(self.fingerprint, self.seed, int(epoch)))
        return rows
