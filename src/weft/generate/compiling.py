"""From a decoder to its step program, part by part.

A part that native code does not know raises `Unknown` with its name: the decoder is then stepped by its modules.
"""

from collections.abc import Callable

from torch import nn

from weft.core.attention import Attention
from weft.core.block import Block, Parallel, Plain, PostNorm, PreNorm, SandwichNorm
from weft.core.heads import PerToken
from weft.core.memories import Across
from weft.core.mixers import TokenShift
from weft.core.norms import LayerScale
from weft.core.recurrent import Lstm
from weft.core.rules import Window
from weft.core.scores import Capped, Dot
from weft.core.transforms import Gated, Layer, Mlp, Pointwise
from weft.generate.program import NOWHERE, Kept, Program, Unknown, activation_number, exactly
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.native import Kind, Register
from weft.native.layout import DATA
from weft.position import Add, Alibi, Learned, Sinusoidal


def program_of(model: nn.Module) -> Program:
    """The program of a model's step; raises `Unknown` where the model has a part that native code does not know."""
    program = Program()
    _stream(program, model)
    used = {tensor.data_ptr() for tensor in program.tensors}
    for name, parameter in model.named_parameters():
        if parameter.data_ptr() not in used:  # a part that is new to this file must not be left out in silence
            raise Unknown(name)
    return program


def _stream(p: Program, model: nn.Module) -> None:
    exactly(model, Stream)
    assert isinstance(model, Stream)
    if model.training:
        raise Unknown("training")
    if any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()):
        raise Unknown("hooks on modules")
    x, trunk = _embedding(p, model.embed), model.trunk
    exactly(trunk.memory, Across)
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
    exactly(embed, TextEmbed)
    assert isinstance(embed, TextEmbed)
    if embed.reading != "line":
        raise Unknown(f"texts that are read {embed.reading}")
    if embed.segments is not None:
        raise Unknown("segments")
    table = embed.table.weight
    x = p.register(table.shape[1])
    p.emit(Kind.EMBED, NOWHERE, x, size=(len(table),), number=(float(embed.scale),), data=(p.address(table),))
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
    exactly(place, Add)
    code = place.code
    exactly(code, Learned, Sinusoidal)  # type: ignore[arg-type]
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
        norm, *behind = (getattr(block, f"{name}_{end}") for end in ("norm", "out_norm", "scale"))
        if isinstance(block.wiring, PreNorm | SandwichNorm):
            p.emit(Kind.ADD, _finished(p, compute(p.normed(norm, x)), *behind), x)
        elif isinstance(block.wiring, PostNorm):
            p.emit(Kind.ADD, _finished(p, compute(x), *behind), x)
            if norm is not None:
                p.norm(norm, x, x)
        elif isinstance(block.wiring, Plain):
            p.emit(Kind.COPY, _finished(p, compute(x), *behind), x)
        elif isinstance(block.wiring, Parallel):
            added.append(_finished(p, compute(p.normed(norm, x)), *behind))
        else:
            raise Unknown(type(block.wiring).__name__)
    for one in added:
        p.emit(Kind.ADD, one, x)


def _finished(p: Program, x: Register, norm: nn.Module | None, scale: nn.Module | None) -> Register:
    """What a branch adds to the stream: its numbers normalised and with learned gains, where the block has them."""
    x = p.normed(norm, x)
    if scale is None:
        return x
    exactly(scale, LayerScale)
    return p.emit(Kind.MULTIPLY, x, p.register(x.width), data=(p.address(scale.gain),))  # type: ignore[arg-type]


def _shifted(p: Program, shift: nn.Module | None, x: Register, slots: str, name: str) -> Register:
    if shift is None:
        return x
    exactly(shift, TokenShift)
    data = (p.address(shift.mix),)  # type: ignore[arg-type]
    return p.emit(Kind.SHIFT, x, p.register(x.width), data=data, slot=(p.slot(Kept(slots, name, (1, x.width))),))


def _mixed(p: Program, mix: nn.Module, x: Register, slots: str, shared: nn.Module | None) -> Register:
    exactly(mix, Attention, Lstm)
    if isinstance(mix, Attention):
        return _attention(p, mix, x, slots, shared)
    assert isinstance(mix, Lstm)
    if mix.read is not None:
        raise Unknown(f"Lstm that reads by {type(mix.read).__name__}")
    exactly(mix.h, nn.Linear)
    gates = p.linear(mix.x, x)
    slot = tuple(p.slot(Kept(slots, "state", (mix.dim,), part)) for part in (0, 1))
    data = (p.address(mix.h.weight), p.address(mix.h.bias))
    return p.emit(Kind.LSTM, gates, p.register(mix.dim), data=data, slot=slot)


def _attention(p: Program, attention: nn.Module, x: Register, slots: str, shared: nn.Module | None) -> Register:
    exactly(attention, Attention)
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
        for part in (attention.kv, attention.k_norm):  # used by the modules, once a memory
            p.tensors += [] if part is None else [parameter.detach() for parameter in part.parameters()]
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
    exactly(score, Dot)
    return score.factor, 0.0  # type: ignore[return-value]


def _slopes(p: Program, bias: nn.Module | None) -> int:
    if bias is None:
        return 0
    exactly(bias, Alibi)
    if bias.axis != "position":
        raise Unknown(f"Alibi along {bias.axis}")
    return p.address(bias.slopes)  # type: ignore[arg-type]


def _transform(p: Program, transform: nn.Module, x: Register) -> Register:
    exactly(transform, Mlp, Gated, Layer, Pointwise)
    if isinstance(transform, Mlp):
        return p.linear(transform.down, p.activate(transform.act, p.linear(transform.up, x)))
    if isinstance(transform, Gated):
        up = p.linear(transform.up, x)
        size, target = (activation_number(transform.act),), p.register(up.width // 2)
        return p.linear(transform.down, p.emit(Kind.GATE, up, target, size=size))
    if isinstance(transform, Layer):
        inner = p.linear(transform.linear, x)
        if transform.omega != 1:
            p.emit(Kind.SCALE, inner, inner, number=(transform.omega,))
        return p.activate(transform.act, inner)
    assert isinstance(transform, Pointwise)
    return p.emit(Kind.ACTIVATE, x, p.register(x.width), size=(activation_number(transform.act),))


def _head(p: Program, head: nn.Module | None, x: Register) -> None:
    if head is None:
        raise Unknown("a stream without a head")
    exactly(head, PerToken)
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
