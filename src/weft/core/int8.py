"""Linear maps in eight bits whose sums are whole numbers: a row's values do not depend on the rows beside it.

    y = (W8 q) * scale * step + b        q = round(x / step), step = max|x| / limit of each row

Whole numbers are added without rounding, so all kernels give the same sums. `Int8Weight` alone picks the kernel.
"""

import time
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, Literal

import torch
from jaxtyping import Float, Int8, Int32
from torch import Tensor
from torch.nn import functional as F

from weft.native import Batch, Kind, Op, Register, library

WEIGHT_LIMIT = 127  # the largest absolute value of a weight
ROW_LIMITS = (127, 63)  # of an activation: eight bits, or seven where a processor cannot add two larger products
TILE_OUTPUTS = 16  # of the tiles that native code reads: `TILE` in native/kernels/linear8.h
TILE_ROOM = 1024  # bytes behind the last of them, which native code may read and multiplies by zero
ROW_BYTES = 64  # rows of whole numbers are padded to multiples of this: `WHOLE8` there
TRIED_ROWS, TRIES = 16, 5  # kernels are compared by products of this many rows, each timed this often
NATIVE_LIMITS = (None, 63, 63, 127, 127)  # of activations with fast products, by the instruction set of native code
EXACT_SUM = 2**24  # whole numbers up to this size have an exact fp32


Kernel = Literal["native", "packed", "sums"]


class Int8Weight:
    """A matrix of whole numbers from -127 to 127, laid out for the fastest exact kernel of the device it stands on.

    Kernels are weft's native code; torch's library of quantised products (fbgemm), where native code is missing; and
    sums by torch's products of other types, on any device.
    """

    def __init__(self, whole: Int8[Tensor, "E D"], scale: Float[Tensor, "E"], kernel: Kernel | None = None):
        """Rows of `whole` times their `scale` are the weights; the kernel is chosen unless it is given."""
        cpu = whole.device.type == "cpu"
        self.kernel: Kernel = kernel or (_kernel() if cpu else "sums")
        self.row_limit = _row_limit() if cpu else ROW_LIMITS[0]  # the largest absolute value of an activation
        self.scale, self.outputs, self.inputs = scale, *whole.shape
        self._laid_out: Any = whole
        if self.kernel == "native":
            self._laid_out = _tiles(whole)
        elif self.kernel == "packed":
            self._laid_out = _packed(whole, scale)

    @property
    def whole(self) -> Int8[Tensor, "E D"]:
        """The matrix of whole numbers."""
        if self.kernel == "native":
            return self._laid_out.transpose(1, 2).flatten(2).flatten(0, 1)[: self.outputs, : self.inputs]
        if self.kernel == "packed":
            return torch.ops.quantized.linear_unpack(self._laid_out)[0].int_repr()
        return self._laid_out

    @cached_property
    def tiles(self) -> Int8[Tensor, "tiles quads 16 4"]:
        """The same as native code reads it: tiles of 16 outputs by 4 inputs, filled up with zeros."""
        return self._laid_out if self.kernel == "native" else _tiles(self.whole)

    @cached_property
    def tile_scale(self) -> Float[Tensor, "F"]:
        """The scale of each output of the tiles."""
        return F.pad(self.scale, (0, -len(self.scale) % TILE_OUTPUTS))

    @cached_property
    def tile_sums(self) -> Int32[Tensor, "F"]:
        """The sum of all weights of each output of the tiles."""
        return self.tiles.sum((1, 3), dtype=torch.int32).flatten()

    def products(self, rows: Float[Tensor, "R D"]) -> Float[Tensor, "R E"]:
        """(W8 q) * scale for rows of whole numbers up to the limit, from exact sums."""
        if self.kernel == "packed":
            return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
                rows, 1.0, self.row_limit + 1, self._laid_out
            )
        return _sums(rows, self.whole) * self.scale


def rounded_weight(weight: Float[Tensor, "E D"]) -> Int8Weight:
    """The weights in eight bits, each row with its own scale."""
    scale = weight.abs().amax(1).clamp(min=1e-12) / WEIGHT_LIMIT
    return Int8Weight((weight / scale[:, None]).round().to(torch.int8), scale)


def int8_linear(
    x: Float[Tensor, "*lead D"], weight: Int8Weight, bias: Float[Tensor, "E"] | None
) -> Float[Tensor, "*lead E"]:
    """W x + b, where each row of x is rounded by its own largest value."""
    rows = x.reshape(-1, x.shape[-1]).float()
    linear = _native_linear if weight.kernel == "native" and not rows.requires_grad else _torch_linear
    y = linear(rows, weight, bias)
    return y.to(x.dtype).reshape(*x.shape[:-1], y.shape[-1])


def _native_linear(rows: Float[Tensor, "R D"], weight: Int8Weight, bias: Tensor | None) -> Float[Tensor, "R E"]:
    """Rounding, product, scales and offsets in one pass, by native code."""
    found, (count, width), rows = library(), rows.shape, rows.contiguous()
    assert found is not None
    y, steps = rows.new_empty(count, len(weight.scale)), rows.new_empty(count)
    rounded = torch.empty(count, width + -width % ROW_BYTES, dtype=torch.uint8)
    if not count:
        return y
    weights = (weight.tiles, weight.tile_scale, bias, weight.tile_sums)
    op = Op.of(
        Kind.LINEAR8,
        Register(0, width),
        Register(0, y.shape[1]),
        size=(weight.row_limit,),
        data=tuple(0 if one is None else one.data_ptr() for one in weights),
    )
    at = Batch(rows=count, fresh=1, threads=torch.get_num_threads())
    at.work, at.out, at.rounded, at.steps = (t.data_ptr() for t in (rows, y, rounded, steps))
    failed = found.run((Op * 1)(op), at)
    assert not failed, "a linear map in eight bits has nothing to refuse"
    return y


def _torch_linear(rows: Float[Tensor, "R D"], weight: Int8Weight, bias: Tensor | None) -> Float[Tensor, "R E"]:
    """The same by several passes of torch's functions."""
    step = rows.abs().amax(1, keepdim=True).clamp(min=1e-30) / weight.row_limit
    y = weight.products((rows / step).round_()).mul_(step)
    return y if bias is None else y.add_(bias)


def _sums(rows: Float[Tensor, "R D"], whole: Int8[Tensor, "E D"]) -> Float[Tensor, "R E"]:
    """W8 q on any device: by a product of whole numbers on a CPU that has one worth using, else in fp32.

    In fp32 few columns are taken at a time, so that no sum can be rounded; the weights are made fp32 at each call,
    which saves memory and takes longer than a model in fp32.
    """
    wide = rows.shape[1] > 1  # torch's product of whole numbers misreads the layout of a single column
    if wide and rows.device.type == "cpu" and _whole_products_pay():
        return torch._int_mm(rows.to(torch.int8), whole.t()).to(rows.dtype)
    return _fp32_sums(rows, whole)


def _fp32_sums(rows: Float[Tensor, "R D"], whole: Int8[Tensor, "E D"]) -> Float[Tensor, "R E"]:
    most = EXACT_SUM // (WEIGHT_LIMIT * ROW_LIMITS[0])
    if rows.shape[1] <= most:
        return F.linear(rows, whole.to(rows.dtype))
    parts = zip(rows.split(most, 1), whole.split(most, 1), strict=True)
    return torch.stack([F.linear(q, w.to(q.dtype)) for q, w in parts]).to(torch.int32).sum(0).to(rows.dtype)


def _packed(whole: Tensor, scale: Tensor) -> Any:
    """The matrix in the layout of torch's library of quantised products (fbgemm)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tensors of a quantised type are to leave torch; `_sums` is there without them
        zero = torch.zeros(len(whole), dtype=torch.long)
        tensor = torch._make_per_channel_quantized_tensor(whole, scale.double(), zero, 0)
        before, torch.backends.quantized.engine = torch.backends.quantized.engine, "fbgemm"
        try:
            return torch.ops.quantized.linear_prepack(tensor, None)
        finally:
            torch.backends.quantized.engine = before


def _tiles(whole: Int8[Tensor, "E D"]) -> Int8[Tensor, "tiles quads 16 4"]:
    """The matrix in tiles, with room behind the last of them."""
    padded = F.pad(whole, (0, -whole.shape[1] % 4, 0, -whole.shape[0] % TILE_OUTPUTS))
    tiles = padded.view(-1, TILE_OUTPUTS, padded.shape[1] // 4, 4).transpose(1, 2)
    return torch.zeros(tiles.numel() + TILE_ROOM, dtype=torch.int8)[: tiles.numel()].view(tiles.shape).copy_(tiles)


def _kernel() -> Kernel:
    """The fastest kernel of this processor."""
    if _native_limit() is not None:
        return "native"
    return "sums" if _packed_limit() is None else "packed"


def _row_limit() -> int:
    """The largest activation of whole numbers on this processor, in every kernel."""
    return _native_limit() or _packed_limit() or ROW_LIMITS[0]


def _native_limit() -> int | None:
    """The largest activation with which native code has fast products; None where it has none."""
    found = library()
    return None if found is None else NATIVE_LIMITS[found.widest]


@cache
def _packed_limit() -> int | None:
    """The largest activation with which the packed kernel adds exactly on this processor; None where there is none."""
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return None
    try:
        packed = _packed(_extremes(8), torch.ones(8))
        for limit in ROW_LIMITS:
            rows = _extremes(2).float().clamp(-limit, limit)
            found = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(rows, 1.0, limit + 1, packed)
            if torch.equal(found, _fp32_sums(rows, _extremes(8))):
                return limit
    except (RuntimeError, AttributeError):  # a build of torch without it
        pass
    return None


@cache
def _whole_products_pay() -> bool:
    """Whether torch's product of whole numbers is exact here and faster than fp32: some builds only define it.

    Both give the same sums, so that this decides over time alone.
    """
    rows, whole = _extremes(TRIED_ROWS), _extremes(256)
    try:
        if not torch.equal(torch._int_mm(rows, whole.t()).float(), _fp32_sums(rows.float(), whole)):
            return False
    except (RuntimeError, AttributeError):  # a build of torch without it
        return False
    asked = rows.float()
    return _seconds(lambda: torch._int_mm(asked.to(torch.int8), whole.t())) < _seconds(lambda: _fp32_sums(asked, whole))


def _extremes(rows: int) -> Int8[Tensor, "R D"]:
    """Rows of the largest numbers, half of them negative: what a kernel that adds inexactly fails on."""
    found = torch.full((rows, 256), WEIGHT_LIMIT, dtype=torch.int8)
    found[rows // 2 :] = -WEIGHT_LIMIT
    return found


def _seconds(work: Callable[[], object]) -> float:
    """The shortest time of a few tries."""
    found = []
    for _ in range(TRIES):
        before = time.perf_counter()
        work()
        found.append(time.perf_counter() - before)
    return min(found)
