"""Ahead: the next batch is read while the last one is computed with. Knows nothing of what is read."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from weft.batches.source import Source, divides


class Ahead:
    """A `Source` like the one it wraps. Batches come at even distances, so the next one is known in advance."""

    def __init__(self, source: Source):
        self.source, self.fingerprint = source, source.fingerprint
        self._inner: Any = source
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="weft-ahead")
        self._last: np.ndarray | None = None
        self._next: tuple[np.ndarray, slice | None, Future[Any]] | None = None

    @property
    def per_epoch(self) -> int:
        """Samples in one epoch."""
        return self.source.per_epoch

    @property
    def divides(self) -> bool:
        """Whether a batch is divided among processes once it is made."""
        return divides(self.source)

    def batch(self, indices: np.ndarray, mine: slice | None = None) -> Any:
        """The samples at these global indices: waiting already, where the guess was right."""
        found, waiting = None, self._next
        if waiting is not None and waiting[1] == mine and np.array_equal(waiting[0], indices):
            found = waiting[2].result()
        step = None if self._last is None or len(self._last) != len(indices) else indices - self._last
        self._last = indices
        if step is not None and len(step) and step[0] > 0 and (step == step[0]).all():
            coming = indices + step
            self._next = coming, mine, self._pool.submit(self._read, coming, mine)
        return self._read(indices, mine) if found is None else found

    def _read(self, indices: np.ndarray, mine: slice | None) -> Any:
        return self.source.batch(indices) if mine is None else self._inner.batch(indices, mine)

    @property
    def inputs(self) -> Any:
        """What the model is given, where the source says so."""
        return self._inner.inputs

    def with_inputs(self, inputs: Any) -> Any:
        """The source with other inputs, which are in memory: nothing is read ahead."""
        return self._inner.with_inputs(inputs)

    def held_out(self, *, most: int | None = None) -> Iterator[Any]:
        """The held-out part, as it is."""
        return self.source.held_out(most=most)
