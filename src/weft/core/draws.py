"""Chance in training as a pure function: what is drawn for a sample depends on nothing that is computed beside it.

    number = hash(seed and index of the sample, place in the model, place in the sample)

While a `Chance` is open, dropout and the like draw so, and a step is the same however its samples are divided into
pieces and processes. Outside of it they draw from torch's generator. Integers of 32 bits alone, which wrap: every
device has the same bits. Refuses to know batches and what a sample's index is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from weft.core import native_training

STEP, FIRST, SECOND = 0x9E3779B1 - 2**32, 0x21F0AAAD, 0x735A2D97  # odd, without a pattern in their bits
LEVELS = 2**16  # a share is a multiple of 1 / LEVELS
Rows = Callable[[int, torch.device], Int[Tensor, "R 2"] | None]


class Chance:
    """The chance of samples that are computed at once.

    `rows` gives, for a number of rows and a device, the key of each row; None where it knows no such rows. With `whole`
    all rows together are one sample.
    """

    def __init__(self, rows: Rows, *, whole: bool = False):
        self.rows, self.whole = rows, whole
        self.sites = 0  # places in the model that have drawn
        self.unknown: set[int] = set()  # numbers of rows of which it is not known whose they are

    def keys(self, rows: int, sites: int, device: torch.device) -> Int[Tensor, "S R 2"] | None:
        """The keys of rows at the next places in the model; None where it is not known whose the rows are."""
        first = self.sites
        self.sites += sites
        own = self.rows(1 if self.whole else rows, device)
        if own is None:
            self.unknown.add(rows)
            return None
        return own ^ _sites(1 << max(9, self.sites.bit_length()), device)[first : self.sites, None]


_open: ContextVar[Chance | None] = ContextVar("the chance of what is computed", default=None)


@contextmanager
def opened(chance: Chance | None) -> Iterator[None]:
    """What is computed within draws from `chance`; from torch's generator where it is None."""
    before = _open.set(chance)
    try:
        yield
    finally:
        _open.reset(before)


def keys(rows: int, sites: int, device: torch.device) -> Int[Tensor, "S R 2"] | None:
    """The keys of rows at the next places in the model; None where torch's generator draws."""
    chance = None if torch.compiler.is_compiling() else _open.get()
    return None if chance is None else chance.keys(rows, sites, device)


def dropout(x: Tensor, rate: float, training: bool, key: Int[Tensor, "R 2"] | None = None) -> Tensor:
    """Zero a share of the numbers while training, and raise the others. `key` is by default that of the next place."""
    if not (training and rate):
        return x
    if key is None:
        found = keys(len(x), 1, x.device)
        if found is None:
            return F.dropout(x, rate, training)
        key = found[0]
    level = min(LEVELS - 1, round(rate * LEVELS))
    limit, scale = level - LEVELS // 2, LEVELS / (LEVELS - level)
    if native_training.ready(x):
        return native_training.dropped(x, key, limit, scale, _dropped)
    return _dropped(x, key, limit, scale)


def unit(rows: int, count: int, device: torch.device) -> Float[Tensor, "R C"]:
    """Numbers from 0 up to but not 1, `count` for each row."""
    bits = _bits(rows, count, device)
    if bits is None:
        return torch.rand(rows, count, device=device)
    return (bits >> 8).bitwise_and_(0xFFFFFF).float() * 2.0**-24


def signs(rows: int, count: int, device: torch.device) -> Int[Tensor, "R C"]:
    """Numbers that are 1 or -1, `count` for each row."""
    bits = _bits(rows, count, device)
    if bits is None:
        return torch.randint(0, 2, (rows, count), device=device) * 2 - 1
    return torch.where(bits < 0, -1, 1)


def _bits(rows: int, count: int, device: torch.device) -> Int[Tensor, "R C"] | None:
    """Numbers of 32 bits at the next place in the model; None where torch's generator draws."""
    found = keys(rows, 1, device)
    return None if found is None else hashed(found[0], rows * count // found.shape[1]).view(rows, count)


def _dropped(x: Tensor, key: Int[Tensor, "R 2"], limit: int, scale: float) -> Tensor:
    """The numbers of x times `scale`, without those whose 16 bits are below `limit`."""
    return x.mul(scale).masked_fill(_below(x, key, limit), 0.0)


def _below(x: Tensor, key: Int[Tensor, "R 2"], limit: int) -> Bool[Tensor, "..."]:
    """Which numbers of x have 16 bits below `limit`: two neighbours share a number of 32 bits."""
    each = x.numel() // len(key)
    bits = hashed(key, -(-each // 2)).view(torch.int16)
    return (bits[:, :each] < limit).reshape(x.shape)


def hashed(key: Int[Tensor, "R 2"], count: int) -> Int[Tensor, "R C"]:
    """Numbers of 32 bits by the key of a row and the place: kernels/training.h computes the same."""
    h = torch.arange(count, dtype=torch.int32, device=key.device).mul_(STEP) + key[:, :1]
    h.bitwise_xor_((h >> 16).bitwise_and_(0xFFFF)).mul_(FIRST).bitwise_xor_(key[:, 1:])
    h.bitwise_xor_((h >> 15).bitwise_and_(0x1FFFF)).mul_(SECOND)
    return h.bitwise_xor_((h >> 16).bitwise_and_(0xFFFF))


@lru_cache(maxsize=8)
def _sites(count: int, device: torch.device) -> Int[Tensor, "S 2"]:
    """What distinguishes the places in a model."""
    return hashed(torch.tensor([[STEP, FIRST]], dtype=torch.int32), 2 * count).view(count, 2).to(device)
