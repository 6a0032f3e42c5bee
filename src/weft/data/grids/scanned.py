"""Fields that were looked through once before they are used: damage, missing values, fillers, constants."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from weft.data.grids.fields import OpenedFields
from weft.data.grids.grid import Fields
from weft.data.grids.joining import joined

__all__ = ["OpenedFields", "fingerprint", "open_fields"]


def open_fields(
    sources: Sequence[str | Path],
    variables: Sequence[str] = (),
    *,
    strict: bool = True,
    count: Callable[[int, int], None] | None = None,
) -> OpenedFields:
    """The fields in files, in the convention of weft."""
    return joined(sources, variables, strict=strict)


def fingerprint(fields: Fields) -> str:
    """The same for the same fields, however they are stored: cells, times, names, and a coarse digest of values."""
    digest = hashlib.sha256()
    for axis in (fields.grid.y, fields.grid.x, fields.times.days - fields.times.days[0]):
        digest.update(np.round(axis, 3).astype("<f8").tobytes())
    digest.update("|".join([fields.times.labels[0], *(layer.name for layer in fields.layers)]).encode())
    return digest.hexdigest()
