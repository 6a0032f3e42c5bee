"""From a decoder to its step program, part by part.

A part that native code does not know raises `Unknown` with its name: the decoder is then stepped by its modules.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.core.attention import Attention
from weft.core.block import Block, Parallel, ParallelOneNorm, Plain, PostNorm, PreNorm, ResultNorm, SandwichNorm
from weft.core.heads import PerToken
from weft.core.memories import Across, Prefix
from weft.core.mixture import Mixture
from weft.core.norms import LayerScale
from weft.core.shifts import TokenShift
from weft.core.transforms import BoundedGated, Gated, Layer, Mlp, Pointwise
from weft.generate.compiling_mixers import Setting, mixed, read_memory
from weft.generate.program import NOWHERE, Kept, Program, Unknown, activation_number, exactly
from weft.modalities.counting import Counted
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.native import Kind, Op, Register
from weft.native.layout import DATA
from weft.position import Add, Code, Learned, Sinusoidal, Sum

Added = Mapping[int, Sequence[Float[Tensor, "D"]]]
NOTHING_ADDED: Added = MappingProxyType({})


def program_of(model: nn.Module, added: Added = NOTHING_ADDED) -> Program:
    """The program of a model's step; raises `Unknown` where the model has a part that native code does not know.

    `added` are vectors that are added to the stream of all tokens after a layer; 0 is ahead of the first block.
    """
    program = Program()
    _stream(program, model, added)
    used = {tensor.data_ptr() for tensor in program.tensors}
    for name, parameter in model.named_parameters():
        if parameter.data_ptr() not in used:  # a part that is new to this file must not be left out in silence
            raise Unknown(name)
    return program


def _stream(p: Program, model: nn.Module, added: Added) -> None:
    exactly(model, Stream)
    assert isinstance(model, Stream)
    for module in model.modules():
        if module.training:
            raise Unknown("training")
        if module._forward_hooks or module._forward_pre_hooks:
            raise Unknown("hooks on modules")
        if "forward" in vars(module) or vars(module).get("_compiled_call_impl") is not None:
            raise Unknown("a function in the place of forward")
    (x, counts), trunk = _embedding(p, model.embed), model.trunk
    exactly(trunk.memory, Across, Prefix)
    if trunk.distances is not None:
        raise Unknown("Distances")
    if trunk.gives != "tokens":
        raise Unknown("what blocks added")
    for module in trunk.modules():
        if isinstance(module, Attention) and module.turn is not None:
            p.angles(module.turn)
    _steered(p, x, added.get(0, ()))
    blocks = [block for _ in range(trunk.passes) for block in trunk.blocks]
    for number, block in enumerate(blocks):
        before = p.width
        setting = Setting(f"block {number}", trunk.bias, isinstance(trunk.memory, Prefix), counts)
        _block(p, block, x, setting)
        _steered(p, x, added.get(number + 1, ()))
        p.width = before  # the next block uses the same registers
    last = p.emit(Kind.LAST, x, p.register(x.width))
    _head(p, model.head, p.normed(trunk.norm, last))


def _steered(p: Program, x: Register, vectors: Sequence[Tensor]) -> None:
    """Each of some vectors added to the stream in the register x."""
    for vector in vectors:
        p.emit(Kind.OFFSET, NOWHERE, x, data=(p.constant(vector.float()),))


def _embedding(p: Program, embed: nn.Module) -> tuple[Register, dict[str, Register]]:
    """The vectors of the tokens, and their counts by the name of the coordinate."""
    exactly(embed, TextEmbed)
    assert isinstance(embed, TextEmbed)
    if embed.reading != "line":
        raise Unknown(f"texts that are read {embed.reading}")
    if embed.end is not None:
        raise Unknown("texts that end at an id")
    table = embed.table.weight
    x = p.register(table.shape[1])
    p.emit(Kind.EMBED, NOWHERE, x, size=(len(table),), number=(float(embed.scale),), data=(p.address(table),))
    if embed.grams is not None:
        _grams(p, embed.grams, x)
    if embed.norm is not None:
        p.norm(embed.norm, x, x)
    if embed.segments is not None:  # all tokens that are written belong to the first
        p.emit(Kind.OFFSET, NOWHERE, x, data=(p.address(embed.segments.weight),))
    if embed.place is not None:
        exactly(embed.place, Add)
        _place(p, embed.place.code, x)
    if embed.last_norm is not None:
        p.norm(embed.last_norm, x, x)
    counts = {} if embed.counted is None else {embed.counted.axis: _counts(p, embed.counted)}
    return x if embed.widen is None else p.linear(embed.widen, x), counts


def _counts(p: Program, counted: Counted) -> Register:
    """How many of some ids were met up to each token: a coordinate that goes on from step to step."""
    exactly(counted, Counted)
    flags, kept = counted.counts, Kept("embed", f"count of {counted.axis}", dtype=torch.long)
    size, data = (len(flags),), (p.address(flags, torch.bool),)  # type: ignore[arg-type]
    return p.emit(Kind.COUNT, NOWHERE, p.register(1), size=size, data=data, slot=(p.slot(kept),))


def _grams(p: Program, grams: HashedNgrams, x: Register) -> None:
    tables = [table.weight for table in grams.tables]
    if len(tables) > DATA - 2 or grams.vocab ** (len(tables) + 1) >= 2**62:
        raise Unknown(f"n-grams of {len(tables) + 1} out of {grams.vocab}")
    p.before = grams.before
    size = (len(tables), grams.vocab, *(len(table) for table in tables))  # type: ignore[arg-type]
    p.emit(Kind.GRAMS, NOWHERE, x, size=size, data=tuple(p.address(table) for table in tables))  # type: ignore[arg-type]


def _place(p: Program, code: Code, x: Register) -> None:
    exactly(code, Learned, Sinusoidal, Sum)
    if isinstance(code, Sum):
        for one in code.codes:
            _place(p, one, x)  # type: ignore[arg-type]
    elif isinstance(code, Learned) and code.axis == "position":
        table = code.table.weight
        p.emit(Kind.PLACES, NOWHERE, x, size=(code.start, len(table)), data=(p.address(table),))
    elif isinstance(code, Sinusoidal) and code.axes == ("position",):
        size, number = (len(code.frequency),), (float(code.start),)
        p.emit(Kind.WAVES, NOWHERE, x, size=size, number=number, data=(p.address(code.frequency),))
    else:
        raise Unknown("places along other axes than the position")


def _block(p: Program, block: nn.Module, x: Register, setting: Setting) -> None:
    """All branches of a block; the stream stays in the register x."""
    exactly(block, Block)
    slots = setting.slots
    assert isinstance(block, Block)
    branches: list[tuple[str, Callable[[Register], Register]]] = []
    if (mix := block.mix) is not None:
        branches.append(("mix", lambda t: mixed(p, mix, _shifted(p, block.mix_shift, t, slots, "mix"), setting)))
    if (read := block.read) is not None:
        branches.append(("read", lambda t: read_memory(p, read, t, setting)))
    if (transform := block.transform) is not None:
        shift = block.transform_shift
        branches.append(("transform", lambda t: _transform(p, transform, _shifted(p, shift, t, slots, "transform"))))
    added, shared = list[Register](), None
    for name, compute in branches:
        norm, *behind = (getattr(block, f"{name}_{end}") for end in ("norm", "out_norm", "scale"))
        if isinstance(block.wiring, PreNorm | ResultNorm | SandwichNorm):
            p.emit(Kind.ADD, _finished(p, compute(p.normed(norm, x)), *behind), x)
        elif isinstance(block.wiring, PostNorm):
            p.emit(Kind.ADD, _finished(p, compute(x), *behind), x)
            if norm is not None:
                p.norm(norm, x, x)
        elif isinstance(block.wiring, Plain):
            p.emit(Kind.COPY, _finished(p, compute(x), *behind), x)
        elif isinstance(block.wiring, Parallel):
            added.append(_finished(p, compute(p.normed(norm, x)), *behind))
        elif isinstance(block.wiring, ParallelOneNorm):
            shared = p.normed(norm, x) if shared is None else shared
            added.append(_finished(p, compute(shared), *behind))
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


def _transform(p: Program, transform: nn.Module, x: Register) -> Register:
    exactly(transform, Mlp, Gated, BoundedGated, Layer, Pointwise, Mixture)
    if isinstance(transform, Mixture):
        return _mixture(p, transform, x)
    if isinstance(transform, Mlp):
        return p.linear(transform.down, p.activate(transform.act, p.linear(transform.up, x)))
    if isinstance(transform, Gated | BoundedGated):
        up = p.linear(transform.up, x)
        size, target = (activation_number(transform.act),), p.register(up.width // 2)
        number = (transform.limit, 1.0) if isinstance(transform, BoundedGated) else ()
        return p.linear(transform.down, p.emit(Kind.GATE, up, target, size=size, number=number))
    if isinstance(transform, Layer):
        inner = p.linear(transform.linear, x)
        if transform.omega != 1:
            p.emit(Kind.SCALE, inner, inner, number=(transform.omega,))
        return p.activate(transform.act, inner)
    assert isinstance(transform, Pointwise)
    return p.emit(Kind.ACTIVATE, x, p.register(x.width), size=(activation_number(transform.act),))


def _mixture(p: Program, mixture: Mixture, x: Register) -> Register:
    """What the chosen experts add up to; the operations of an expert that no token chose are left out."""
    scores, before = p.linear(mixture.router, x), p.products
    shares = p.emit(Kind.CHOOSE, scores, p.register(scores.width), size=(mixture.chosen, int(mixture.over_all)))
    out = p.emit(Kind.CLEAR, NOWHERE, p.register(x.width))
    for number, expert in enumerate(mixture.experts):
        width, first = p.width, len(p.ops)
        p.emit(Kind.SKIP, shares, NOWHERE)
        given = _transform(p, expert, x)
        p.emit(Kind.SHARE, given, out, size=(shares.at, shares.width, number))
        inside = p.ops[first + 1 :]
        largest = max(op.source.width * op.target.width for op in inside)
        p.ops[first] = Op.of(Kind.SKIP, shares, NOWHERE, size=(len(inside), number, largest))
        p.width = width  # the next expert uses the same registers
    p.products = before + (p.products - before) * mixture.chosen // len(mixture.experts)
    return out


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
