"""Precision: in which number format to compute, and the fp32 master copy behind bf16 weights."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import torch
from torch import Tensor, nn

from weft.core.norms import BatchNorm
from weft.core.row_table import RowTable
from weft.errors import ConfigError
from weft.modalities.convnet import ConvNet
from weft.modalities.embedder import Embedder
from weft.models.outline import own_tensors
from weft.training.shares import Share

MIN_BF16_SPEEDUP = 1.3  # bf16 products over fp32 products a second, above which the rounding is worth it
RATE_SECONDS, COMPARED_SECONDS = 0.25, 0.05  # how long products are timed: for their rate; to compare two formats
FEWEST_PRODUCTS = 5
EXACT = (Embedder, RowTable, BatchNorm)  # in fp32 always
ROUNDED = (ConvNet,)  # of an embedder, what takes nearly all of its time


@cache
def product_rate(device: torch.device, dtype: torch.dtype, size: int = 512) -> float:
    """Measured speed of a matrix product of a trunk's kind, in multiply-adds times two a second."""
    return _best_rates(device, (dtype,), size, RATE_SECONDS)[0]


@cache
def bf16_speedup(device: torch.device) -> float:
    """How many times as fast products in bf16 are as products in fp32."""
    rounded, exact = _best_rates(device, (torch.bfloat16, torch.float32), 512, COMPARED_SECONDS)
    return rounded / exact


def _best_rates(device: torch.device, dtypes: Sequence[torch.dtype], size: int, seconds: float) -> list[float]:
    """The rate of the fastest product in each number format: other programs only ever make one slower.

    Formats take turns, so that what disturbs one disturbs the others too.
    """
    factors = [tuple(torch.ones(n, size, device=device, dtype=one) for n in (2 * size, size)) for one in dtypes]
    times: list[list[float]] = [[] for _ in dtypes]
    began = time.perf_counter()
    while len(times[0]) < FEWEST_PRODUCTS or time.perf_counter() - began < seconds * len(dtypes):
        for (x, w), found in zip(factors, times, strict=True):
            start = time.perf_counter()
            y = torch.nn.functional.linear(x, w)
            if device.type != "cpu":
                float(y[0, 0])
            found.append(time.perf_counter() - start)
    return [2 * 2 * size**3 / max(min(found[1:]), 1e-9) for found in times]


def pick_precision(wanted: str, device: torch.device) -> torch.dtype:
    """bf16 where it is measurably fast on this device, fp32 elsewhere, or what the user wants."""
    if wanted == "fp32":
        return torch.float32
    if wanted == "bf16":
        return torch.bfloat16
    if wanted != "auto":
        raise ConfigError(f"expected auto, fp32 or bf16, found {wanted!r}", where="precision")
    return torch.bfloat16 if bf16_speedup(device) > MIN_BF16_SPEEDUP else torch.float32


def exact_parameters(model: nn.Module) -> set[nn.Parameter]:
    """The weights that stay in fp32 whatever the precision: for each, the nearest module around it that says decides.

    An embedder is exact, the convolutions inside it are not, and the batch norms inside those are.
    """
    return set(_exact(model, False))


def _exact(module: nn.Module, exact: bool) -> Iterator[nn.Parameter]:
    exact = isinstance(module, EXACT) or (exact and not isinstance(module, ROUNDED))
    if exact:
        yield from module.parameters(recurse=False)
    for part in module.children():
        yield from _exact(part, exact)


class Weights:
    """A model's parameters as the optimizer sees them: fp32 always, and of each the part that this process holds.

    In bf16 trunks, heads and convolutions compute with rounded copies; embedders, tables of rows and batch norms keep
    fp32, where small sums matter. What processes hold together (`share`) is rounded while it is gathered, and kept in fp32 alone.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype, share: Share | None = None):
        self.model, self.share = model, share
        exact = exact_parameters(model)
        self.work = dict(model.named_parameters())
        self.master: dict[str, Tensor] = {}
        for name, p in self.work.items():
            if share is not None:
                self.master[name] = p.detach().to_local()  # type: ignore[attr-defined]
            elif dtype is torch.float32 or p in exact or not p.is_floating_point():
                self.master[name] = p
            else:
                self.master[name] = p.detach().clone().requires_grad_(p.requires_grad)
                p.data = p.data.to(dtype)
        self._pairs = [(p, self.master[n]) for n, p in self.work.items() if self.master[n] is not p]

    @torch.no_grad()
    def collect(self) -> None:
        """Hand the gradients of the rounded copies to the master copy."""
        for p, m in self._pairs:
            own = p.grad if self.share is None or p.grad is None else p.grad.to_local()  # type: ignore[attr-defined]
            m.grad = None if own is None else own.to(m.dtype)

    @torch.no_grad()
    def spread(self) -> None:
        """Round the master copy into the model."""
        if self._pairs and self.share is None:
            torch._foreach_copy_([p for p, _ in self._pairs], [m for _, m in self._pairs])

    def clear(self) -> None:
        """Forget all gradients."""
        for p in (*self.work.values(), *self.master.values()):
            p.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The model's weights in full precision, buffers included, by name."""
        return {name: self.master.get(name, t).detach() for name, t in own_tensors(self.model).items()}

    def rows(self, name: str) -> int:
        """The rows of a whole weight."""
        return len(self.work[name])

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What `kept` gave, as whole tensors in all processes."""
        share = self.share
        if share is None or not share.divided:
            return dict(tensors)
        there = {name: t.to(share.world.device) for name, t in tensors.items() if name in self.work}
        return {n: share.whole(there.pop(n), self.rows(n)).cpu() if n in there else t for n, t in tensors.items()}

    def kept(self) -> dict[str, Tensor]:
        """The same, copied into memory of the host: that of a GPU is for what training needs."""
        return {name: t.to("cpu", copy=True) for name, t in self.tensors().items()}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor]) -> None:
        """Set the weights from `tensors()`; every name must be used."""
        own = self.tensors()
        if set(own) != set(tensors):
            odd = sorted(set(own) ^ set(tensors))
            raise ConfigError(f"the weights do not fit this model: {', '.join(odd[:3])}{' ...' if odd[3:] else ''}")
        for name, t in own.items():
            if t.shape != tensors[name].shape:
                raise ConfigError(f"{name} has the shape {list(tensors[name].shape)}, the model needs {list(t.shape)}")
            if t.dtype != tensors[name].dtype:
                found, needed = (str(one.dtype).removeprefix("torch.") for one in (tensors[name], t))
                problem = f"{name} has numbers of the type {found}, the model needs {needed}"
                raise ConfigError(problem, fix=f"put the run's own file back, or write this tensor as {needed}")
        for name, t in own.items():
            t.copy_(tensors[name])
        self.spread()
