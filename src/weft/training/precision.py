"""Precision: in which number format to compute, and the fp32 master copy behind weights in bf16 or fp16."""

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

MIN_BF16_SPEEDUP = 1.3  # bf16 (or fp16) products over fp32 products a second, above which the rounding is worth it
RATE_SECONDS, COMPARED_SECONDS = 0.25, 0.05  # how long products are timed: for their rate; to compare two formats
FEWEST_PRODUCTS = 5
EXACT = (Embedder, RowTable, BatchNorm)  # in fp32 always
ROUNDED = (ConvNet,)  # of an embedder, what takes nearly all of its time
FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FIRST_SCALE = 2.0**4  # of the sum over a batch; of the mean over 4,096 tokens that is 2 ** 16, as usual
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-20, 2.0**24
GROWS_AFTER = 1000  # sound steps


@cache
def product_rate(device: torch.device, dtype: torch.dtype, size: int = 512) -> float:
    """Measured speed of a matrix product of a trunk's kind, in multiply-adds times two a second."""
    return _best_rates(device, (dtype,), size, RATE_SECONDS)[0]


@cache
def bf16_speedup(device: torch.device) -> float:
    """How many times as fast products in bf16 are as products in fp32."""
    return _speedup(device, torch.bfloat16)


@cache
def fp16_speedup(device: torch.device) -> float:
    """The same in fp16."""
    return _speedup(device, torch.float16)


def _speedup(device: torch.device, dtype: torch.dtype) -> float:
    rounded, exact = _best_rates(device, (dtype, torch.float32), 512, COMPARED_SECONDS)
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
    """What the user wants; or bf16 where it is measurably fast, on GPUs without fast bf16 fp16, elsewhere fp32."""
    if wanted in FORMATS:
        return FORMATS[wanted]
    if wanted != "auto":
        raise ConfigError(f"expected auto, fp32, bf16 or fp16, found {wanted!r}", where="precision")
    if bf16_speedup(device) > MIN_BF16_SPEEDUP:
        return torch.bfloat16
    return torch.float16 if device.type != "cpu" and fp16_speedup(device) > MIN_BF16_SPEEDUP else torch.float32


def name_of(dtype: torch.dtype) -> str:
    """What a number format is called in settings."""
    return next(name for name, known in FORMATS.items() if known is dtype)


def why_precision(wanted: str, device: torch.device, dtype: torch.dtype) -> str:
    """The number format that `auto` means here, with the reason where it is neither of the usual ones."""
    slow = wanted == "auto" and dtype is torch.float16
    return f"{name_of(dtype)} (bf16 is slow on this {device.type} device)" if slow else name_of(dtype)


class LossScale:
    """By what the loss is multiplied in fp16, whose smallest number is 6e-8: gradients that are less would be lost.

    It is a power of two, so that dividing by it rounds nothing. Where gradients overflow, the step is left out and the
    scale is halved; after `GROWS_AFTER` sound steps it is doubled. As losses are sums over a batch and no means, it
    begins lower than elsewhere. In other formats it is 1 and stays so.
    """

    def __init__(self, dtype: torch.dtype, scale: float | None = None, sound: int = 0):
        """`scale` and `sound` are those of a checkpoint."""
        self.on = dtype is torch.float16
        self.value = (FIRST_SCALE if scale is None else scale) if self.on else 1.0
        self.sound = sound  # steps since it was changed last

    def note(self, finite: bool) -> None:
        """The gradients of a step were finite numbers, or were not."""
        if not self.on:
            return
        self.sound = self.sound + 1 if finite else 0
        if not finite:
            self.value /= 2
        elif self.sound == GROWS_AFTER:
            self.value, self.sound = min(self.value * 2, LARGEST_SCALE), 0

    @property
    def exhausted(self) -> bool:
        """Whether a smaller scale would not help: what overflows is no rounding."""
        return self.value < SMALLEST_SCALE or not self.on


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

    In bf16 and fp16 trunks, heads and convolutions compute with rounded copies; embedders, tables of rows and batch
    norms keep fp32, where small sums matter. What processes hold together (`share`) is rounded while it is gathered,
    and kept in fp32 alone.
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
    def collect(self, scale: float = 1.0) -> None:
        """Hand the gradients of the rounded copies to the master copy, and divide them by the scale of the loss."""
        for p, m in self._pairs:
            own = p.grad if self.share is None or p.grad is None else p.grad.to_local()  # type: ignore[attr-defined]
            m.grad = None if own is None else own.to(m.dtype)
        if scale != 1.0:
            for m in self.master.values():
                if m.grad is not None:
                    m.grad.mul_(1 / scale)

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
