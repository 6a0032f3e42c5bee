"""The step program of a decoder: what one step computes, as a flat list for native code, made once from the modules.

A part that native code does not know raises `Unknown` with its name: the decoder is then stepped by its modules.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.core.attention import Attention
from weft.core.block import Block, Parallel, Plain, PostNorm, PreNorm, SandwichNorm
from weft.core.heads import PerToken
from weft.core.linear import Out
from weft.core.memories import Across
from weft.core.mixers import TokenShift
from weft.core.norms import LayerNorm, OnePlusRmsNorm, RmsNorm
from weft.core.recurrent import Lstm
from weft.core.rules import Window
from weft.core.scores import Capped, Dot
from weft.core.transforms import ACTIVATIONS, Gated, Layer, Mlp, Pointwise
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.native import Kind, Op, Register
from weft.native.layout import ACTIVATIONS as NATIVE_ACTIVATIONS
from weft.native.layout import DATA
from weft.position import Add, Alibi, Learned, Rotary, Sinusoidal

NOWHERE = Register(0, 0)


class Unknown(Exception):
    """A part that native code does not know; its name is the message."""


@dataclass(frozen=True)
class Kept:
    """What a block keeps between steps: the name of its slots, the name in them, and the shape of a row.

    `part` is its number where several tensors have one name; in a `line`, the second size is that of the places.
    """

    slots: str
    name: str
    shape: tuple[int, ...]
    part: int | None = None
    line: bool = False


class Program:
    """The operations of a step; `kept` lists what they find at their slots, `width` is the number of floats for each token."""

    def __init__(self, model: nn.Module):
        """Raises `Unknown` where the model has a part that native code does not know."""
        self.ops: list[Op] = []
        self.kept: list[Kept] = []
        self.tensors: list[Tensor] = []  # weights whose addresses the operations hold
        self.width = self.widest = self.before = 0
        self._angles: dict[object, Register] = {}
        _stream(self, model)
        self.table = (Op * len(self.ops))(*self.ops)

    def register(self, width: int) -> Register:
        """Room for some numbers of each token."""
        at, self.width = self.width, self.width + width
        self.widest = max(self.widest, self.width)
        return Register(at, width)

    def slot(self, kept: Kept) -> int:
        """The number of a slot."""
        self.kept.append(kept)
        return len(self.kept) - 1

    def address(self, tensor: Tensor | None) -> int:
        """Where a weight stands; 0 for none."""
        if tensor is None:
            return 0
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32 or not tensor.is_contiguous():
            raise Unknown(f"weights in {str(tensor.dtype).removeprefix('torch.')} on {tensor.device.type}")
        self.tensors.append(tensor.detach())
        return tensor.data_ptr()

    def emit(self, kind: Kind, source: Register, target: Register, **fields: tuple) -> Register:
        """Add an operation; returns the register that it writes."""
        self.ops.append(Op.of(kind, source, target, **fields))
        return target

    def linear(self, layer: nn.Module, x: Register) -> Register:
        """W x + b."""
        _exactly(layer, nn.Linear, Out)
        data = (self.address(layer.weight), self.address(layer.bias))  # type: ignore[arg-type]
        return self.emit(Kind.LINEAR, x, self.register(len(layer.weight)), data=data)  # type: ignore[arg-type]

    def norm(
        self, layer: nn.Module, x: Register, target: Register, first: int = 0, count: int | None = None
    ) -> Register:
        """The numbers from `first` on, `count` of them, normalised in groups of the norm's width."""
        _exactly(layer, LayerNorm, RmsNorm, OnePlusRmsNorm)
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

    def activate(self, act: Callable[[Tensor], Tensor], x: Register) -> Register:
        """act(x), in place."""
        return self.emit(Kind.ACTIVATE, x, x, size=(_activation(act),))

    def angles(self, turn: nn.Module) -> Register:
        """Cosines and sines of the turns of each token, computed once a step for all layers with the same turns."""
        _exactly(turn, Rotary)
        assert isinstance(turn, Rotary)
        if turn.axes != ("position",):
            raise Unknown(f"Rotary along {', '.join(turn.axes)}")
        key = (turn.gain, tuple(turn.frequency.tolist()))
        if key not in self._angles:
            count, data = len(turn.frequency), (self.address(turn.frequency),)
            made = self.register(2 * count)
            self._angles[key] = self.emit(Kind.ANGLES, NOWHERE, made, size=(count,), number=(turn.gain,), data=data)
        return self._angles[key]


def _stream(p: Program, model: nn.Module) -> None:
    _exactly(model, Stream)
    assert isinstance(model, Stream)
    if model.training:
        raise Unknown("training")
    if any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()):
        raise Unknown("hooks on modules")
    x, trunk = _embedding(p, model.embed), model.trunk
    _exactly(trunk.memory, Across)
    if trunk.distances is not None:
        raise Unknown("Distances")
    for module in trunk.modules():
        if isinstance(module, Attention) and module.turn is not None:
            p.angles(module.turn)
    blocks = [block for _ in range(trunk.passes) for block in trunk.blocks]
    for number, block in enumerate(blocks):
        before = p.width
        _block(p, block, x, f"block {number}", trunk.bias)
        p.width = before  # the next block uses the same registers
    last = p.emit(Kind.LAST, x, p.register(x.width))
    _head(p, model.head, p.normed(trunk.norm, last))


def _embedding(p: Program, embed: nn.Module) -> Register:
    _exactly(embed, TextEmbed)
    assert isinstance(embed, TextEmbed)
    if embed.reading != "line":
        raise Unknown(f"texts that are read {embed.reading}")
    if embed.segments is not None:
        raise Unknown("segments")
    table = embed.table.weight
    x = p.register(table.shape[1])
    p.emit(Kind.EMBED, NOWHERE, x, number=(float(embed.scale),), data=(p.address(table),))
    if embed.grams is not None:
        _grams(p, embed.grams, x)
    if embed.norm is not None:
        p.norm(embed.norm, x, x)
    if embed.place is not None:
        _place(p, embed.place, x)
    if embed.last_norm is not None:
        p.norm(embed.last_norm, x, x)
    return x if embed.widen is None else p.linear(embed.widen, x)


def _grams(p: Program, grams: HashedNgrams, x: Register) -> None:
    tables = [table.weight for table in grams.tables]
    if len(tables) > DATA - 2 or grams.vocab ** (len(tables) + 1) >= 2**62:
        raise Unknown(f"n-grams of {len(tables) + 1} out of {grams.vocab}")
    p.before = grams.before
    size = (len(tables), grams.vocab, *(len(table) for table in tables))  # type: ignore[arg-type]
    p.emit(Kind.GRAMS, NOWHERE, x, size=size, data=tuple(p.address(table) for table in tables))  # type: ignore[arg-type]


def _place(p: Program, place: nn.Module, x: Register) -> None:
    _exactly(place, Add)
    code = place.code
    _exactly(code, Learned, Sinusoidal)  # type: ignore[arg-type]
    if isinstance(code, Learned) and code.axis == "position":
        table = code.table.weight
        p.emit(Kind.PLACES, NOWHERE, x, size=(code.start, len(table)), data=(p.address(table),))
    elif isinstance(code, Sinusoidal) and code.axes == ("position",):
        size, number = (len(code.frequency),), (float(code.start),)
        p.emit(Kind.WAVES, NOWHERE, x, size=size, number=number, data=(p.address(code.frequency),))
    else:
        raise Unknown("places along other axes than the position")


def _block(p: Program, block: nn.Module, x: Register, slots: str, shared: nn.Module | None) -> None:
    """All branches of a block; the stream stays in the register x."""
    assert isinstance(block, Block)
    branches: list[tuple[str, Callable[[Register], Register]]] = []
    if (mix := block.mix) is not None:
        branches.append(("mix", lambda t: _mixed(p, mix, _shifted(p, block.mix_shift, t, slots, "mix"), slots, shared)))
    if (read := block.read) is not None:
        branches.append(("read", lambda t: _attention(p, read, t, slots, None)))
    if (transform := block.transform) is not None:
        shift = block.transform_shift
        branches.append(("transform", lambda t: _transform(p, transform, _shifted(p, shift, t, slots, "transform"))))
    added = []
    for name, compute in branches:
        norm, out_norm = getattr(block, f"{name}_norm"), getattr(block, f"{name}_out_norm")
        if isinstance(block.wiring, PreNorm | SandwichNorm):
            p.emit(Kind.ADD, p.normed(out_norm, compute(p.normed(norm, x))), x)
        elif isinstance(block.wiring, PostNorm):
            p.emit(Kind.ADD, compute(x), x)
            if norm is not None:
                p.norm(norm, x, x)
        elif isinstance(block.wiring, Plain):
            p.emit(Kind.COPY, compute(x), x)
        elif isinstance(block.wiring, Parallel):
            added.append(compute(p.normed(norm, x)))
        else:
            raise Unknown(type(block.wiring).__name__)
    for one in added:
        p.emit(Kind.ADD, one, x)


def _shifted(p: Program, shift: nn.Module | None, x: Register, slots: str, name: str) -> Register:
    if shift is None:
        return x
    _exactly(shift, TokenShift)
    data = (p.address(shift.mix),)  # type: ignore[arg-type]
    return p.emit(Kind.SHIFT, x, p.register(x.width), data=data, slot=(p.slot(Kept(slots, name, (1, x.width))),))


def _mixed(p: Program, mix: nn.Module, x: Register, slots: str, shared: nn.Module | None) -> Register:
    _exactly(mix, Attention, Lstm)
    if isinstance(mix, Attention):
        return _attention(p, mix, x, slots, shared)
    assert isinstance(mix, Lstm)
    if mix.read is not None:
        raise Unknown(f"Lstm that reads by {type(mix.read).__name__}")
    gates = p.linear(mix.x, x)
    _exactly(mix.h, nn.Linear)
    slot = tuple(p.slot(Kept(slots, "state", (mix.dim,), part)) for part in (0, 1))
    data = (p.address(mix.h.weight), p.address(mix.h.bias))
    return p.emit(Kind.LSTM, gates, p.register(mix.dim), data=data, slot=slot)


def _attention(p: Program, attention: nn.Module, x: Register, slots: str, shared: nn.Module | None) -> Register:
    _exactly(attention, Attention)
    assert isinstance(attention, Attention)
    heads, groups, width, value_width = attention.heads, attention.groups, attention.head_dim, attention.value_dim
    projected = p.linear(attention.q if attention.cross else attention.qkv, x)
    if attention.q_norm is not None:
        p.norm(attention.q_norm, projected, projected, 0, heads * width)
    if attention.k_norm is not None and not attention.cross:
        p.norm(attention.k_norm, projected, projected, heads * width, groups * width)
    if attention.turn is not None:
        turned = heads if attention.cross else heads + groups
        p.emit(Kind.TURN, p.angles(attention.turn), projected, size=(0, turned, width))
    bias = attention.bias if attention.bias is not None or attention.cross else shared
    sizes, number = (heads, groups, width, value_width, _window(attention)), _score(attention.score)
    out = p.register(heads * value_width)
    if attention.cross:
        if attention.rules or bias is not None:
            raise Unknown("rules or a bias on a memory")
        slot = tuple(p.slot(Kept(slots, "memory", (), part)) for part in (0, 1))
        p.emit(Kind.READ, projected, out, size=sizes, number=number, slot=slot)
    else:
        lines = (("k", width), ("v", value_width))
        slot = tuple(p.slot(Kept(slots, name, (groups, 0, size), line=True)) for name, size in lines)
        p.emit(Kind.ATTEND, projected, out, size=sizes, number=number, data=(_slopes(p, bias),), slot=slot)
    return p.linear(attention.out, out)


def _window(attention: Attention) -> int:
    """How far behind a token may read; -1 for all the way."""
    for rule in attention.rules:
        if type(rule) is not Window or rule.axis != "position":
            raise Unknown(type(rule).__name__)
    return min((rule.radius for rule in attention.rules if isinstance(rule, Window)), default=-1)


def _score(score: nn.Module) -> tuple[float, float]:
    """The factor on products of queries and keys, and the cap on scores, 0 for none."""
    if type(score) is Capped and type(score.score) is Dot and score.temperature == 1:
        return score.score.factor, score.cap
    _exactly(score, Dot)
    return score.factor, 0.0  # type: ignore[return-value]


def _slopes(p: Program, bias: nn.Module | None) -> int:
    if bias is None:
        return 0
    _exactly(bias, Alibi)
    if bias.axis != "position":
        raise Unknown(f"Alibi along {bias.axis}")
    return p.address(bias.slopes)  # type: ignore[arg-type]


def _transform(p: Program, transform: nn.Module, x: Register) -> Register:
    _exactly(transform, Mlp, Gated, Layer, Pointwise)
    if isinstance(transform, Mlp):
        return p.linear(transform.down, p.activate(transform.act, p.linear(transform.up, x)))
    if isinstance(transform, Gated):
        up = p.linear(transform.up, x)
        size, target = (_activation(transform.act),), p.register(up.width // 2)
        return p.linear(transform.down, p.emit(Kind.GATE, up, target, size=size))
    if isinstance(transform, Layer):
        inner = p.linear(transform.linear, x)
        if transform.omega != 1:
            p.emit(Kind.SCALE, inner, inner, number=(transform.omega,))
        return p.activate(transform.act, inner)
    assert isinstance(transform, Pointwise)
    return p.emit(Kind.ACTIVATE, x, p.register(x.width), size=(_activation(transform.act),))


def _head(p: Program, head: nn.Module | None, x: Register) -> None:
    if head is None:
        raise Unknown("a stream without a head")
    _exactly(head, PerToken)
    assert isinstance(head, PerToken)
    if (dense := head.dense) is not None:
        x = p.linear(dense.linear, x)
        x = x if dense.act is None else p.activate(dense.act, x)
        x = p.normed(dense.norm, x)
    if head.scale != 1:
        p.emit(Kind.SCALE, x, x, number=(head.scale,))
    x = p.linear(head.out, x)
    if head.cap is not None:
        p.emit(Kind.CAP, x, x, number=(head.cap,))


def _activation(act: Callable[[Tensor], Tensor]) -> int:
    return NATIVE_ACTIVATIONS.index(next(name for name, known in ACTIVATIONS.items() if known is act))


def _exactly(part: object, *known: type) -> None:
    """Refuse what is not of a known class; a class derived from it may compute something else."""
    if type(part) not in known:
        raise Unknown(type(part).__name__)
