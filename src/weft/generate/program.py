"""The step program: what one step of a decoder computes, as a flat list for native code. Knows norms, maps and turns.

`compiling` goes over a model and writes its program.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from weft.core.adapters import Adapted
from weft.core.linear import Out
from weft.core.norms import LayerNorm, OnePlusRmsNorm, RmsNorm
from weft.core.transforms import ACTIVATIONS
from weft.generate.compute import Int8Linear
from weft.native import Kind, Op, Register
from weft.native.layout import ACTIVATIONS as NATIVE_ACTIVATIONS
from weft.position import Rotary

NOWHERE = Register(0, 0)


class Unknown(Exception):
    """A part that native code does not know; its name is the message."""


@dataclass(frozen=True)
class Kept:
    """What a part keeps between steps: the name of its slots, the name in them, and the shape of a row.

    It has a row for each row of the batch (in a `line` the second size is that of the places), was made once of the
    `memory`, or is a named `coordinate` of the memory's tokens. `part` is its number where several share a name.
    """

    slots: str
    name: str
    shape: tuple[int, ...] = ()
    part: int | None = None
    of: Literal["rows", "line", "memory", "coordinate"] = "rows"
    dtype: torch.dtype = torch.float32


class Program:
    """The operations of a step. `kept` lists what they find in their slots; `width` is the floats for each token."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.kept: list[Kept] = []
        self.tensors: list[Tensor] = []  # weights whose addresses the operations hold, and those used once a memory
        self.constants: list[Tensor] = []  # what was computed for the program alone
        self.width = self.widest = self.before = 0
        self.products = 0  # of a step for one token
        self.rounded = False  # whether it rounds: then a row must be computed the same way in every batch
        self.one_by_one = False  # whether a row reads a single token at a time
        self._angles: dict[object, Register] = {}

    @cached_property
    def table(self) -> "ctypes.Array[Op]":
        """The operations side by side, as C reads them."""
        return (Op * len(self.ops))(*self.ops)

    @property
    def values(self) -> int:
        """The number of logits of a token."""
        return self.ops[-1].target.width

    def register(self, width: int) -> Register:
        """Room for some numbers of each token."""
        at, self.width = self.width, self.width + width
        self.widest = max(self.widest, self.width)
        return Register(at, width)

    def slot(self, kept: Kept) -> int:
        """The number of a slot."""
        self.kept.append(kept)
        return len(self.kept) - 1

    def address(self, tensor: Tensor | None, dtype: torch.dtype = torch.float32) -> int:
        """Where a weight stands; 0 for none."""
        if tensor is None:
            return 0
        if tensor.device.type != "cpu" or tensor.dtype != dtype or not tensor.is_contiguous():
            raise Unknown(f"weights in {str(tensor.dtype).removeprefix('torch.')} on {tensor.device.type}")
        self.tensors.append(tensor)
        return tensor.data_ptr()

    def pinned(self) -> list[Tensor]:
        """The weights where they are now: as long as somebody holds this list, no address leads nowhere."""
        return [tensor.detach() for tensor in self.tensors]

    def constant(self, numbers: Tensor) -> int:
        """Where numbers stand that belong to the program itself."""
        self.constants.append(numbers.contiguous())
        return self.constants[-1].data_ptr()

    def emit(self, kind: Kind, source: Register, target: Register, **fields: tuple) -> Register:
        """Add an operation; returns the register that it writes."""
        self.ops.append(Op.of(kind, source, target, **fields))
        return target

    def linear(self, layer: nn.Module, x: Register) -> Register:
        """W x + b; with an adapter, scale * B A x more."""
        if type(layer) is Int8Linear:
            return self._eight_bits(layer, x)
        exactly(layer, nn.Linear, Out, Adapted)
        out = self.product(layer.weight, layer.bias, x)  # type: ignore[arg-type]
        if isinstance(layer, Adapted):
            more = self.product(layer.b, None, self.product(layer.a, None, x))
            self.emit(Kind.ADD, self.emit(Kind.SCALE, more, more, number=(layer.scale,)), out)
        return out

    def product(self, weight: Tensor, bias: Tensor | None, x: Register) -> Register:
        """W x + b of bare weights."""
        self.products += weight.numel()
        data = (self.address(weight), self.address(bias))
        return self.emit(Kind.LINEAR, x, self.register(len(weight)), data=data)

    def _eight_bits(self, layer: Int8Linear, x: Register) -> Register:
        """W x + b with weights in eight bits."""
        weight, self.rounded = layer.weight, True
        data = (
            self.address(weight.tiles, torch.int8),
            self.address(weight.tile_scale),
            self.address(layer.bias),
            self.address(weight.tile_sums, torch.int32),
        )
        target = self.register(len(weight.scale))
        self.products += weight.tiles.numel()
        return self.emit(Kind.LINEAR8, x, target, size=(weight.row_limit,), data=data)

    def norm(
        self, layer: nn.Module, x: Register, target: Register, first: int = 0, count: int | None = None
    ) -> Register:
        """The numbers from `first` on, `count` of them, normalised in groups of the norm's width."""
        exactly(layer, LayerNorm, RmsNorm, OnePlusRmsNorm)
        if isinstance(layer, LayerNorm):
            data, kinds = (self.address(layer.gain), self.address(layer.offset)), (0, 0)
        elif isinstance(layer, RmsNorm):
            data, kinds = (self.address(layer.gain), 0), (1, 0)
        else:
            assert isinstance(layer, OnePlusRmsNorm)
            data, kinds = (self.address(layer.excess), 0), (1, int(layer.excess is not None))
        size = (layer.dim, *kinds, first, x.width if count is None else count)
        return self.emit(Kind.NORM, x, target, size=size, number=(layer.eps,), data=data)

    def normed(self, layer: nn.Module | None, x: Register) -> Register:
        """The normalised numbers in a register of their own; x itself where there is no norm."""
        return x if layer is None else self.norm(layer, x, self.register(x.width))

    def joined(self, *parts: Register) -> Register:
        """Some registers side by side."""
        whole, first = self.register(sum(part.width for part in parts)), 0
        for part in parts:
            self.emit(Kind.PUT, part, whole, size=(first,))
            first += part.width
        return whole

    def made_once(self, *parts: nn.Module | None) -> None:
        """Note parts that the modules use once a memory; steps find what they gave in the slots."""
        self.tensors += [parameter for part in parts if part is not None for parameter in part.parameters()]

    def activate(self, act: Callable[[Tensor], Tensor], x: Register) -> Register:
        """act(x), in place."""
        return self.emit(Kind.ACTIVATE, x, x, size=(activation_number(act),))

    def angles(self, turn: nn.Module) -> Register:
        """Cosines and sines of the turns of each token, computed once a step for all layers with the same turns."""
        exactly(turn, Rotary)
        assert isinstance(turn, Rotary)
        if turn.axes != ("position",):
            raise Unknown(f"Rotary along {', '.join(turn.axes)}")
        key = (turn.gain, tuple(turn.frequency.tolist()))
        if key not in self._angles:
            count, data = len(turn.frequency), (self.address(turn.frequency),)
            made = self.register(2 * count)
            self._angles[key] = self.emit(Kind.ANGLES, NOWHERE, made, size=(count,), number=(turn.gain,), data=data)
        return self._angles[key]


def activation_number(act: Callable[[Tensor], Tensor]) -> int:
    """The number of an activation in native code."""
    act = getattr(act, "computes", act)
    name = next((name for name, known in ACTIVATIONS.items() if known is act), None)
    if name not in NATIVE_ACTIVATIONS:
        raise Unknown(f"activation {name or 'of its own'}")
    return NATIVE_ACTIVATIONS.index(name)


def exactly(part: object, *known: type) -> None:
    """Refuse what is not of a known class; a class derived from it may compute something else."""
    if type(part) not in known:
        raise Unknown(type(part).__name__)
