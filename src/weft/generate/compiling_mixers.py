"""From the mixers of a decoder to its step program: attention, recurrence, and what is read of a memory."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from weft.core.abreast import Abreast
from weft.core.attention import Attention
from weft.core.contexts import ContextGate, DeepOutput, FirstState, LastToken, MeanToken
from weft.core.mixers import Average, Last
from weft.core.recurrent import Lstm, Recurrent, Rnn
from weft.core.rules import Window
from weft.core.scores import Additive, Capped, Dot
from weft.generate.program import NOWHERE, Kept, Program, Unknown, exactly
from weft.native import Kind, Register
from weft.position import Alibi, Bias, Buckets, Offsets


@dataclass(frozen=True)
class Setting:
    """What surrounds a mixer: the name of its block's slots, and the bias that all layers share.

    `prefixed`: a memory stands before the tokens. `counts` are the tokens' counts, by the name of the coordinate.
    """

    slots: str
    bias: Bias | None = None
    prefixed: bool = False
    counts: dict[str, Register] = field(default_factory=dict)


def mixed(p: Program, mix: nn.Module, x: Register, setting: Setting) -> Register:
    """What a block's mixer gives."""
    exactly(mix, Attention, Lstm, Rnn)
    if isinstance(mix, Attention):
        return _attention(p, mix, x, setting)
    assert isinstance(mix, Recurrent)
    return _recurrent(p, mix, x, setting)


def read_memory(p: Program, read: nn.Module, x: Register, setting: Setting) -> Register:
    """What a block's branch that reads a memory gives."""
    exactly(read, Attention, Abreast, Average, Last)
    if isinstance(read, Attention):
        return _attention(p, read, x, setting)
    if isinstance(read, Average) and not read.same_for_all_queries:
        raise Unknown("rules or weights on a memory")
    p.made_once(read.out)  # type: ignore[arg-type]
    if isinstance(read, Last | Average):
        name = "last" if isinstance(read, Last) else "mean"
        return _recalled(p, Kept(setting.slots, name, of="memory"), x.width, x.width)
    assert isinstance(read, Abreast)
    if read.axis not in setting.counts:
        raise Unknown(f"Abreast along {read.axis}")
    kept = (Kept(setting.slots, "abreast", of="memory"), Kept("", read.axis, of="coordinate"))
    slot = tuple(p.slot(one) for one in kept)
    return p.emit(Kind.ABREAST, setting.counts[read.axis], p.register(x.width), slot=slot)


def _recalled(p: Program, kept: Kept, width: int, row: int) -> Register:
    """The first numbers of what is kept, `row` of them for each row of the batch or of the memory."""
    size = (row, int(kept.of == "memory"))
    return p.emit(Kind.RECALL, NOWHERE, p.register(width), size=size, slot=(p.slot(kept),))


def _recurrent(p: Program, mix: Recurrent, x: Register, setting: Setting) -> Register:
    kind, states = (Kind.LSTM, (0, 1)) if isinstance(mix, Lstm) else (Kind.RNN, (0,))
    state = [Kept(setting.slots, "state", (mix.dim,), part) for part in states]
    slot = tuple(p.slot(one) for one in state)
    if mix.read is None and type(mix.h) is nn.Linear:
        gates, added = p.linear(mix.x, x), p.register(mix.gates * mix.dim)
        p.products += mix.h.weight.numel()
        data = (p.address(mix.h.weight), p.address(mix.h.bias))
        return p.emit(kind, gates, p.register(mix.dim), size=(added.at,), data=data, slot=slot)
    p.one_by_one = True
    h = p.emit(Kind.RECALL, NOWHERE, p.register(mix.dim), size=(mix.dim, 0), slot=slot[:1])
    context = None if mix.read is None else _context(p, mix, h, setting)
    gates = p.linear(mix.x, x if context is None else p.joined(x, context))
    p.emit(Kind.ADD, p.linear(mix.h, h), gates)
    new = p.emit(kind, gates, p.register(mix.dim), slot=slot)
    if mix.output is None or context is None:
        return new
    exactly(mix.output, DeepOutput)
    out = p.linear(mix.output.h, new)
    p.emit(Kind.ADD, p.linear(mix.output.context, context), out)
    return p.emit(Kind.ADD, x, out)


def _context(p: Program, mix: Recurrent, h: Register, setting: Setting) -> Register:
    """What a recurrent mixer reads of the memory before a step; h is its state."""
    read, slots = mix.read, setting.slots
    exactly(read, Attention, Last, FirstState)
    exactly(mix.memory_vector, LastToken, MeanToken)
    p.made_once(mix.start, mix.memory_vector)
    if isinstance(read, Last):
        p.made_once(read.out)
        return _recalled(p, Kept(slots, "last", of="memory"), mix.dim, mix.dim)
    if isinstance(read, FirstState):
        return _recalled(p, Kept(slots, "first state", of="memory"), mix.dim, mix.parts * mix.dim)
    assert isinstance(read, Attention)
    context = _attention(p, read, h, setting)
    if mix.gate is not None:
        exactly(mix.gate, ContextGate)
        p.emit(Kind.WEIGH, p.linear(mix.gate.beta, h), context)
    return context


def _attention(p: Program, attention: Attention, x: Register, setting: Setting) -> Register:
    heads, groups, width, value_width = attention.heads, attention.groups, attention.head_dim, attention.value_dim
    if attention.offset is not None:
        raise Unknown("offsets of queries and values without those of keys")
    projected = p.linear(attention.q if attention.cross else attention.qkv, x)
    if attention.q_norm is not None:
        p.norm(attention.q_norm, projected, projected, 0, heads * width)
    if attention.k_norm is not None and not attention.cross:
        p.norm(attention.k_norm, projected, projected, heads * width, groups * width)
    if attention.turn is not None:
        turned = heads if attention.cross else heads + groups
        p.emit(Kind.TURN, p.angles(attention.turn), projected, size=(0, turned, width))
    out, (number, v) = p.register(heads * value_width), _score(p, attention.score)
    behind = (v, p.address(attention.sinks))
    bias = attention.bias if attention.bias is not None or attention.cross else setting.bias
    sizes = (heads, groups, width, value_width, _window(attention))
    if attention.cross:
        if attention.rules or bias is not None:
            raise Unknown("rules or a bias on a memory")
        p.made_once(attention.kv, attention.k_norm)
        slot = tuple(p.slot(Kept(setting.slots, "memory", part=part, of="memory")) for part in (0, 1))
        p.emit(Kind.READ, projected, out, size=sizes, number=number, data=(0, 0, 0, *behind), slot=slot)
    else:
        if setting.prefixed and (attention.rules or bias is not None):
            raise Unknown("rules or a bias on a line behind a memory")
        lines = (("k", width), ("v", value_width))
        slot = tuple(p.slot(Kept(setting.slots, name, (groups, 0, size), of="line")) for name, size in lines)
        farthest, *data = _bias(p, bias)
        p.emit(Kind.ATTEND, projected, out, size=(*sizes, farthest), number=number, data=(*data, *behind), slot=slot)
    return p.linear(attention.out, out)


def _window(attention: Attention) -> int:
    """How far behind a token may read; -1 for all the way."""
    for rule in attention.rules:
        if type(rule) is not Window or rule.axis != "position":
            raise Unknown(type(rule).__name__)
    return min((rule.radius for rule in attention.rules if isinstance(rule, Window)), default=-1)


def _score(p: Program, score: nn.Module) -> tuple[tuple[float, float], int]:
    """The factor on scores and the cap on them, 0 for none; and the address of v in v . tanh(q + k), 0 for q . k."""
    exactly(score, Dot, Additive, Capped)
    if isinstance(score, Capped):
        (factor, inner), v = _score(p, score.score)
        if inner:
            raise Unknown("Capped scores that are capped again")
        return (factor / score.temperature, score.cap / score.temperature), v
    if isinstance(score, Additive):
        exactly(score.v, nn.Linear)
        return (1 / score.temperature, 0.0), p.address(score.v.weight)
    assert isinstance(score, Dot)
    return (score.factor, 0.0), 0


def _bias(p: Program, bias: nn.Module | None) -> tuple[int, int, int, int]:
    """A bias on scores by distance, as native code reads it.

    The largest distance with a bias of its own, and three addresses: ALiBi's slopes, the table of learned biases, and
    the number of the table's row for each distance. What a bias does not have is 0.
    """
    if bias is None:
        return 0, 0, 0, 0
    exactly(bias, Alibi, Buckets, Offsets)
    axes = bias.axis if isinstance(bias, Alibi) else getattr(bias.config, "axis", None) or bias.config.axes  # type: ignore[union-attr]
    if axes not in ("position", ("position",)):
        raise Unknown(f"{type(bias).__name__} along {axes}")
    if isinstance(bias, Alibi):
        return 0, p.address(bias.slopes), 0, 0
    rows = _rows_by_distance(bias)  # type: ignore[arg-type]
    return len(rows) - 1, 0, p.address(bias.table.weight), p.constant(rows)  # type: ignore[union-attr,arg-type]


def _rows_by_distance(bias: Buckets | Offsets) -> Tensor:
    """The row of a bias's table for keys 0, 1, 2 ... places behind a token; all farther ones have the last."""
    if isinstance(bias, Buckets):
        distance = torch.arange(bias.config.farthest + 1)
        return bias.bucket(-distance[None, None])[0, 0].int()
    far = bias.config.size - 1
    return torch.arange(far, 2 * far + 1, dtype=torch.int32)
