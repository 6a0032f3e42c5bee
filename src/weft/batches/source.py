"""Source: what the training loop needs to know of data, whatever the data is."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np


class Source(Protocol):
    """Samples with global indices 0, 1, 2 ... without end: index -> epoch and place in it is a pure function.

    `batch` must depend on nothing but the indices, so that resuming needs one integer and neither the number of
    workers nor of processes changes the order. What it returns must have `to(device)`, `len()` and slicing by rows.

    Processes share the indices of a batch. A source may say otherwise: one that `divides` is given all indices and the
    slice of them that is one process's, as `batch(indices, mine)`; of one whose samples are computed `apart`, some
    processes may have more than others.
    """

    @property
    def fingerprint(self) -> str:
        """Changes when the data changes."""
        ...

    @property
    def per_epoch(self) -> int:
        """Samples in one epoch."""
        ...

    def batch(self, indices: np.ndarray) -> Any:
        """The samples at these global indices."""
        ...

    def held_out(self, *, most: int | None = None) -> Iterator[Any]:
        """Batches of the held-out part, always the same; at most about `most` samples."""
        ...


def divides(source: Source) -> bool:
    """Whether a source divides its batches among processes itself."""
    return getattr(source, "divides", False)


def apart(source: Source) -> bool:
    """Whether a source's samples are computed each for itself."""
    return getattr(source, "apart", False)
