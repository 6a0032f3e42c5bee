"""Stored numbers as values: unpacked, in float32, NaN where one is missing.

A number is missing where it is NaN, equals `_FillValue` or `missing_value`, lies outside `valid_range`, or equals a
filler that the file does not declare and that `scan` found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.errors import DataError


@dataclass(frozen=True)
class Packing:
    """How a variable's numbers are stored."""

    dtype: np.dtype[Any]
    unsigned: bool = False
    scale: float = 1.0
    offset: float = 0.0
    fillers: tuple[float, ...] = ()  # stored numbers that mean missing
    low: float | None = None  # the least and greatest stored number that is valid
    high: float | None = None
    nan_declared: bool = False
    undeclared: tuple[float, ...] = ()  # values that mean missing, though the file does not say so

    @property
    def packed(self) -> bool:
        """Whether values are stored as integers, to be scaled."""
        return self.dtype.kind in "iu" and (self.scale, self.offset) != (1.0, 0.0)

    def declared(self, stored: np.ndarray) -> np.ndarray:
        """Which stored numbers are missing by what the file declares."""
        gone = np.zeros(stored.shape, bool)
        for filler in self.fillers:
            gone |= stored == stored.dtype.type(filler)
        if self.low is not None:
            gone |= stored < self.low
        if self.high is not None:
            gone |= stored > self.high
        return gone

    def native(self, stored: np.ndarray) -> np.ndarray:
        """Stored numbers in this machine's byte order, and without a sign where the file says so."""
        stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
        return stored.view(f"u{stored.itemsize}") if self.unsigned else stored

    def values(self, stored: np.ndarray) -> np.ndarray:
        """Stored numbers as values in float32."""
        stored = self.native(stored)
        gone = self.declared(stored)
        with np.errstate(over="ignore"):  # what is beyond float32 is refused as infinite
            if (self.scale, self.offset) == (1.0, 0.0):
                values = stored.astype(np.float32)
            else:
                values = (stored * np.float64(self.scale) + self.offset).astype(np.float32)
        for filler in self.undeclared:
            gone |= values == np.float32(filler)
        values[gone] = np.nan
        return values


def packing_of(name: str, dtype: np.dtype[Any], attributes: Mapping[str, Any], where: str) -> Packing:
    """How a variable is stored, by its attributes."""
    if dtype.kind not in "iuf":
        kind = {"c": "complex numbers", "b": "truth values"}.get(dtype.kind, "text or objects")
        raise DataError(f"{name} holds {kind}; expected real numbers", where=where)
    unsigned = dtype.kind == "i" and str(attributes.get("_Unsigned", "")).lower() == "true"
    stored = np.dtype(f"u{dtype.itemsize}") if unsigned else dtype.newbyteorder("=")
    said = [number for key in ("_FillValue", "missing_value") for number in _numbers(attributes.get(key), stored)]
    low, high = _limits(attributes, stored)
    scale, offset = (_one(name, attributes, key, default, where) for key, default in SCALING)
    if scale == 0:
        raise DataError(f"scale_factor of {name} is 0", where=where, fix="write the true factor")
    fillers = tuple(dict.fromkeys(number for number in said if not np.isnan(number)))
    return Packing(stored, unsigned, scale, offset, fillers, low, high, nan_declared=any(map(np.isnan, said)))


def unpacked(
    name: str, stored: np.ndarray, attributes: Mapping[str, Any], where: str
) -> tuple[np.ndarray, Mapping[str, Any]]:
    """The values of an axis, and its attributes without those by which they were packed; axes seldom are."""
    if not any(key in attributes for key, _ in SCALING) or stored.dtype.kind not in "iuf":
        return stored, attributes
    scale, offset = (_one(name, attributes, key, default, where) for key, default in SCALING)
    return stored * scale + offset, {key: attributes[key] for key in attributes if key not in dict(SCALING)}


SCALING = (("scale_factor", 1.0), ("add_offset", 0.0))


def _one(name: str, attributes: Mapping[str, Any], key: str, default: float, where: str) -> float:
    numbers = np.atleast_1d(np.asarray(attributes.get(key, default)))
    if numbers.size != 1 or numbers.dtype.kind not in "iuf" or not np.isfinite(numbers.astype(float)).all():
        raise DataError(f"{key} of {name} is {str(attributes[key])[:40]}; expected one finite number", where=where)
    return float(numbers[0])


def _numbers(given: Any, dtype: np.dtype[Any]) -> list[float]:
    """The numbers of an attribute that the stored type can hold; nothing else can be equal to one."""
    found = []
    for one in np.atleast_1d(np.asarray([] if given is None else given)):
        try:
            with np.errstate(all="ignore"):
                number = float(one)
                if dtype.kind == "f":
                    found.append(float(dtype.type(number)))
                elif number == int(number):
                    bits = 8 * dtype.itemsize
                    whole = int(number) % 2**bits if dtype.kind == "u" else int(number)
                    found += [whole] if np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max else []
        except (TypeError, ValueError, OverflowError):
            continue
    return found


def _limits(attributes: Mapping[str, Any], dtype: np.dtype[Any]) -> tuple[float | None, float | None]:
    """The least and greatest valid stored number, as far as they are declared."""
    both = _numbers(attributes.get("valid_range"), dtype)
    if len(both) == 2:
        return both[0], both[1]
    low, high = (_numbers(attributes.get(key), dtype) for key in ("valid_min", "valid_max"))
    return (low[0] if low else None), (high[0] if high else None)
