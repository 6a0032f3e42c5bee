"""Several kernels, one law: each equals the explicit one, and a query with nothing to read reads zero."""

import dataclasses
import math
from dataclasses import dataclass
from unittest import mock

import pytest
import torch
from helpers.tiny import close, numbers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.core import (
    Additive,
    Attention,
    Block,
    Capped,
    Edges,
    Mlp,
    Parallel,
    ParallelOneNorm,
    Same,
    SandwichNorm,
    Stride,
    Trunk,
    Window,
    kernels,
)
from weft.core import scope as scopes
from weft.core.rules import Rule
from weft.core.scope import Pass, Scope, Shape
from weft.position import Alibi, Rotary
from weft.tokens import Order, Tokens

FACTOR = 0.7


@dataclass
class Case:
    """Queries, keys and values with a scope: all that a kernel is given."""

    q: Tensor
    k: Tensor
    v: Tensor
    scope: Scope
    rules: tuple[Rule, ...] = ()
    bias: kernels.BiasOf | None = None

    def leaves(self) -> "Case":
        q, k, v = (t.detach().clone().requires_grad_() for t in (self.q, self.k, self.v))
        return dataclasses.replace(self, q=q, k=k, v=v)


def score(q: Tensor, k: Tensor) -> Tensor:
    return (q * FACTOR) @ k.mT


def explicit(c: Case) -> Tensor:
    return kernels.explicit(c.q, c.k, c.v, c.scope, rules=c.rules, score=score, bias=c.bias)


def attend(c: Case) -> Tensor:
    return kernels.attend(c.q, c.k, c.v, c.scope, rules=c.rules, factor=FACTOR, bias=c.bias)


def plain_shape(c: Case) -> Shape:
    shape = c.scope.shape(c.rules)
    return Shape.MASK if shape is Shape.BAND else shape


def written_out(c: Case) -> Tensor:
    shape = plain_shape(c)
    added = kernels.additive(c.scope, shape, c.rules, c.bias, c.q)
    return kernels.written_out(c.q, c.k, c.v, added, FACTOR, c.scope, shape, c.rules)


def fused(c: Case) -> Tensor:
    return kernels.fused(c.q, c.k, c.v, c.scope, plain_shape(c), rules=c.rules, factor=FACTOR, bias=c.bias)


def band(c: Case) -> Tensor:
    return kernels.band(c.q, c.k, c.v, c.scope, rules=c.rules, factor=FACTOR, bias=c.bias)


KERNELS = {"explicit": explicit, "written out": written_out, "fused": fused, "attend": attend}


def by_hand(c: Case) -> Tensor:
    """The definition once more, key by key in plain Python: who may read whom, softmax, weighted sum."""
    (b, heads, queries, _), groups, keys = c.q.shape, c.k.shape[1], c.k.shape[2]
    added = c.bias(c.scope).expand(b, heads, queries, keys) if c.bias else torch.zeros(b, heads, queries, keys)
    out = torch.zeros(b, heads, queries, c.v.shape[-1], dtype=c.v.dtype)
    mine, theirs = c.scope.queries, c.scope.keys

    def readable(r: int, i: int, j: int) -> bool:
        if not theirs.valid[r, j] or (c.scope.ranked and theirs.rank[r, j] > mine.rank[r, i]):
            return False
        for rule in c.rules:
            if isinstance(rule, Edges):
                good = bool(theirs.pairs[rule.name][r, i, j])
            else:
                apart = int(mine.coords[rule.axis][r, i] - theirs.coords[rule.axis][r, j])
                good = {
                    Window: lambda rule=rule, apart=apart: abs(apart) <= rule.radius,
                    Same: lambda apart=apart: apart == 0,
                    Stride: lambda rule=rule, apart=apart: apart % rule.every == 0,
                }[type(rule)]()
            if not good:
                return False
        return True

    for r in range(b):
        for i in range(queries):
            open_to = [j for j in range(keys) if readable(r, i, j)]
            for h in range(heads):
                g = h // (heads // groups)
                energy = [float(FACTOR * c.q[r, h, i] @ c.k[r, g, j] + added[r, h, i, j]) for j in open_to]
                chance = [math.exp(e - max(energy)) for e in energy]
                for j, p in zip(open_to, chance, strict=True):
                    out[r, h, i] += p / sum(chance) * c.v[r, g, j]
    return out


def padding(draw: st.DrawFn, rows: int, length: int) -> Tensor | None:
    """None, or which tokens are real: padded on the left, on the right, or with holes; a row may be all padding."""
    kind = draw(st.sampled_from(["full", "left", "right", "holes"]))
    if kind == "full":
        return None
    if kind == "holes":
        return torch.tensor(
            draw(st.lists(st.lists(st.booleans(), min_size=length, max_size=length), min_size=rows, max_size=rows))
        )
    lengths = torch.tensor(draw(st.lists(st.integers(0, length), min_size=rows, max_size=rows)))[:, None]
    steps = torch.arange(length)[None]
    return steps >= length - lengths if kind == "left" else steps < lengths


def tokens(draw: st.DrawFn, kind: str, rows: int, length: int) -> Tokens:
    seed = draw(st.integers(0, 10**6))
    generator = torch.Generator().manual_seed(seed)
    x, valid = torch.zeros(rows, length, 0, dtype=torch.float64), padding(draw, rows, length)
    segment = {"segment": torch.randint(0, 2, (rows, length), generator=generator)}
    if kind == "line":
        return Tokens.line(x, valid=valid, coords=segment)
    steps = torch.arange(length).expand(rows, length)
    free = Tokens.free(x, valid=valid, coords={"position": steps, **segment})
    if kind == "free":
        return free
    return free.with_rank(torch.randint(0, 3, (rows, length), generator=generator))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, groups, repeat = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    d, e, length = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 7))
    kind = draw(st.sampled_from(["free", "line", "any", "line in steps", "memory"]))
    keys = tokens(draw, kind.removesuffix(" in steps") if kind != "memory" else "free", rows, length)
    queries = keys
    if kind == "line in steps":
        new = draw(st.integers(1, length))
        coords = {axis: c[:, -new:] for axis, c in keys.coords.items()}
        queries = dataclasses.replace(
            keys, x=keys.x[:, -new:], valid=keys.valid[:, -new:], rank=keys.rank[:, -new:], coords=coords
        )
    elif kind == "memory":
        queries = tokens(draw, "line", rows, draw(st.integers(1, 5)))
    count, seed = queries.shape[1], draw(st.integers(0, 10**6))
    generator = torch.Generator().manual_seed(seed)
    edges = torch.rand(rows, count, length, generator=generator) < 0.5
    keys = dataclasses.replace(keys, pairs={"edges": edges})
    every = [
        Window(radius=draw(st.integers(0, 3))),
        Same(axis="segment"),
        Stride(every=draw(st.integers(1, 3))),
        Edges(),
    ]
    rules = tuple(draw(st.lists(st.sampled_from(every), max_size=2, unique_by=type)))
    q = numbers(rows, groups * repeat, count, d, seed=seed)
    k, v = numbers(rows, groups, length, d, seed=seed + 1), numbers(rows, groups, length, e, seed=seed + 2)
    bias = None
    if draw(st.booleans()):
        alibi = Alibi.Config().build(heads=groups * repeat).double()
        bias = lambda scope: alibi(scope.queries.coords, scope.keys.coords)  # noqa: E731
    return Case(q, k, v, Scope(queries, keys, ranked=kind != "memory"), rules, bias)


@settings(max_examples=60)
@given(cases())
def test_the_explicit_kernel_is_the_definition_worked_out_by_hand(case: Case):
    assert close(explicit(case), by_hand(case))


@settings(max_examples=120)
@given(cases())
def test_every_kernel_equals_the_explicit_one(case: Case):
    expected = explicit(case)
    for name, kernel in KERNELS.items():
        assert close(kernel(case), expected), name
        with torch.no_grad():  # where `attend` picks another kernel
            assert close(kernel(case), expected), f"{name} without gradients"
    for plain in (True, False):
        with mock.patch.object(kernels, "_plain_is_faster", return_value=plain):
            assert close(attend(case), expected), f"attend, written out: {plain}"


@settings(max_examples=60)
@given(cases())
def test_every_kernel_has_the_gradients_of_the_explicit_one(case: Case):
    def gradients(kernel) -> list[Tensor]:
        own = case.leaves()
        slope = torch.linspace(0.1, 1, case.q.shape[1], dtype=torch.float64, requires_grad=True)
        if case.bias is not None:
            own.bias = lambda scope: slope[:, None, None] * case.bias(scope)
        out = kernel(own)
        (out * numbers(*out.shape, seed=5)).sum().backward()
        learned = [slope] if case.bias is not None else []
        return [torch.zeros_like(t) if t.grad is None else t.grad for t in (own.q, own.k, own.v, *learned)]

    expected = gradients(explicit)
    for name, kernel in KERNELS.items():
        assert all(close(a, b) for a, b in zip(gradients(kernel), expected, strict=True)), name


@st.composite
def windows(draw: st.DrawFn) -> Case:
    """Long lines with a window: what the band kernel is for."""
    rows, groups, repeat, length = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(9, 21)),
    )
    kind, seed = draw(st.sampled_from(["line", "free", "any"])), draw(st.integers(0, 10**6))
    stream = tokens(draw, kind, rows, length)
    if kind != "line":  # places that grow by more than one keep the promise of `line_axis`
        gaps = torch.randint(1, 3, (rows, length), generator=torch.Generator().manual_seed(seed))
        stream = dataclasses.replace(stream, coords={**stream.coords, "position": gaps.cumsum(1)}, line_axis="position")
    rules: tuple[Rule, ...] = (Window(radius=draw(st.integers(0, 4))),)
    rules += tuple(
        draw(st.lists(st.sampled_from([Same(axis="segment"), Stride(every=2), Window(radius=2)]), max_size=1))
    )
    q = numbers(rows, groups * repeat, length, 3, seed=seed)
    k, v = numbers(rows, groups, length, 3, seed=seed + 1), numbers(rows, groups, length, 2, seed=seed + 2)
    bias = None
    if draw(st.booleans()):
        alibi = Alibi.Config().build(heads=groups * repeat).double()
        bias = lambda scope: alibi(scope.queries.coords, scope.keys.coords)  # noqa: E731
    return Case(q, k, v, Scope(stream, stream, ranked=True), rules, bias)


@settings(max_examples=80)
@given(windows())
def test_a_window_along_a_line_is_read_in_blocks_and_equals_the_dense_mask(case: Case):
    expected = explicit(case)
    with mock.patch.object(scopes, "MIN_BLOCK", 4):
        assert case.scope.shape(case.rules) is Shape.BAND
        assert case.scope.fold(case.rules).ahead is (case.scope.queries.order is not Order.LINE)
        for name, kernel in {"band": band, "attend": attend}.items():
            assert close(kernel(case), expected), name
            with torch.no_grad():
                assert close(kernel(case), expected), f"{name} without gradients"


@settings(max_examples=30)
@given(windows())
def test_blocks_have_the_gradients_of_the_dense_mask(case: Case):
    def gradients(kernel) -> list[Tensor]:
        own = case.leaves()
        out = kernel(own)
        (out * numbers(*out.shape, seed=5)).sum().backward()
        return [t.grad for t in (own.q, own.k, own.v)]

    expected = gradients(explicit)
    with mock.patch.object(scopes, "MIN_BLOCK", 4):
        assert all(close(a, b) for a, b in zip(gradients(band), expected, strict=True))


def test_blocks_are_used_for_long_lines_only_and_for_windows_along_the_line_only():
    def shape(length: int, *rules: Rule, **changes) -> Shape:
        line = dataclasses.replace(Tokens.line(torch.zeros(1, length, 0)), **changes)
        return Scope(line, line, ranked=True).shape(rules)

    near = Window(radius=8)
    assert shape(129, near) is Shape.BAND
    assert shape(128, near) is Shape.MASK
    assert shape(512, Window(radius=200)) is Shape.MASK
    assert shape(513, Window(radius=200)) is Shape.BAND, "blocks of 256, the next multiple of 64"
    assert shape(129) is Shape.CAUSAL
    assert shape(129, Window(radius=8, axis="row"), coords={"row": torch.arange(129)[None]}) is Shape.MASK
    assert shape(129, near, line_axis=None) is Shape.MASK
    assert shape(129, near, Edges()) is Shape.MASK, "blocks keep places, not pairs"


def test_the_cost_of_a_window_grows_linearly_with_length():
    def scores(length: int) -> int:
        line = Tokens.line(torch.zeros(1, length, 0))
        inner = Scope(line, line, ranked=True).folded((Window(radius=8),))
        (b, q), k = inner.queries.shape, inner.keys.shape[1]
        return b * q * k

    assert scores(8192) == 2 * scores(4096) == 4 * scores(2048)


def test_a_window_beside_edges_equals_the_explicit_kernel():
    length = 150
    edges = torch.rand(1, length, length, generator=torch.Generator().manual_seed(0)) < 0.5
    line = dataclasses.replace(Tokens.line(torch.zeros(1, length, 0)), pairs={"edges": edges})
    case = Case(
        *(numbers(1, 2, length, 4, seed=i) for i in range(3)),
        Scope(line, line, ranked=True),
        (Window(radius=3), Edges()),
    )
    assert close(attend(case), explicit(case))


DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def starved(kind: str, dtype: torch.dtype) -> Case:
    """Scores of about -200 throughout; in the first row nothing may be read, for one of three reasons."""
    valid = torch.tensor([[False] * 4, [True] * 4])
    line = Tokens.line(torch.zeros(2, 4, 0), valid=valid if kind == "padding" else None)
    rules: tuple[Rule, ...] = ()
    if kind == "edges":
        line, rules = dataclasses.replace(line, pairs={"edges": valid[:, :, None].expand(2, 4, 4)}), (Edges(),)
    scope = Scope(line, line, ranked=True)
    if kind == "rank":
        keys = line.with_rank(torch.where(valid, line.rank, 9))
        scope = Scope(line, keys, ranked=True)
    q, k = torch.full((2, 2, 4, 8), 6.0), torch.full((2, 2, 4, 8), -6.0)
    return Case(q.to(dtype), k.to(dtype), numbers(2, 2, 4, 8, dtype=dtype), scope, rules).leaves()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["padding", "edges", "rank"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_query_with_nothing_to_read_reads_zero_with_finite_gradients(kernel: str, kind: str, dtype: torch.dtype):
    case = starved(kind, dtype)
    out = KERNELS[kernel](case)
    assert not out[0].any() and out[1].isfinite().all() and out[1].any()
    (out * out.detach().sign()).sum().backward()
    for t in (case.q, case.k, case.v):
        assert t.grad.isfinite().all()
        assert not t.grad[0].any()


@pytest.mark.parametrize("grad", [True, False], ids=["training", "using"])
@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("kernel", ["explicit", "attend", "band"])
def test_what_stands_at_padding_changes_no_bit_of_what_is_read(kernel: str, garbage: float, grad: bool):
    length = 12
    valid = torch.arange(length)[None] >= torch.tensor([[0], [3], [7]])
    line = Tokens.line(torch.zeros(3, length, 0), valid=valid)
    rules = (Window(radius=2),) if kernel == "band" else ()
    q, k, v = (numbers(3, 2, length, 4, seed=i, dtype=torch.float32) for i in range(3))
    gone = ~valid[:, None, :, None]
    outs = []
    for filling in (0.0, garbage):
        case = Case(*(t.masked_fill(gone, filling) for t in (q, k, v)), Scope(line, line, ranked=True), rules)
        with torch.set_grad_enabled(grad), mock.patch.object(scopes, "MIN_BLOCK", 4):
            outs.append({"band": band, **KERNELS}[kernel](case).transpose(1, 2)[valid])
    assert torch.equal(*outs)


@pytest.mark.parametrize("grad", [True, False], ids=["training", "using"])
@pytest.mark.parametrize("kernel", ["explicit", "attend", "written out", "fused"])
@pytest.mark.parametrize("padded", [False, True])
def test_nan_in_a_real_place_surfaces_where_it_is_read(kernel: str, grad: bool, padded: bool):
    valid = torch.tensor([[False, True, True, True, True]]) if padded else None
    line = Tokens.line(torch.zeros(1, 5, 0), valid=valid)
    for which in range(3):
        qkv = [numbers(1, 2, 5, 4, seed=i, dtype=torch.float32) for i in range(3)]
        qkv[which][:, :, 3] = math.nan
        with torch.set_grad_enabled(grad):
            out = KERNELS[kernel](Case(*qkv, Scope(line, line, ranked=True)))
        assert out[:, :, 3].isnan().all()
        if which > 0:
            assert out[:, :, 4].isnan().all()


BLOCKS = {
    "attention": Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config()),
    "rotary, shared keys": Block.Config(mix=Attention.Config(heads=2, kv_heads=1, turn=Rotary.Config())),
    "additive": Block.Config(mix=Attention.Config(heads=2, score=Additive.Config())),
    "capped": Block.Config(mix=Attention.Config(heads=2, score=Capped.Config(cap=2.0)), wiring=SandwichNorm.Config()),
    "side by side": Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config(), wiring=Parallel.Config()),
    "one norm": Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config(), wiring=ParallelOneNorm.Config()),
    "sinks": Block.Config(mix=Attention.Config(heads=2, sinks=True)),
    "slopes": Block.Config(mix=Attention.Config(heads=2, bias=Alibi.Config())),
    "window": Block.Config(mix=Attention.Config(heads=2, rules=(Window(radius=2),))),
}


@pytest.mark.parametrize("grad", [True, False], ids=["training", "using"])
@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e30])
@pytest.mark.parametrize("block", BLOCKS)
def test_what_stands_at_padding_changes_no_bit_of_a_trunk(block: str, garbage: float, grad: bool):
    trunk = Trunk.Config(depth=2, block=BLOCKS[block]).build(dim=8)
    x, valid = numbers(2, 12, 8, dtype=torch.float32), torch.arange(12)[None] >= torch.tensor([[0], [5]])
    outs, gradients = [], []
    for filling in (0.0, garbage):
        content = x.masked_fill(~valid[..., None], filling).requires_grad_()
        with torch.set_grad_enabled(grad), mock.patch.object(scopes, "MIN_BLOCK", 4):
            out = trunk(Tokens.line(content, valid=valid)).x[valid]
        outs.append(out.detach())
        if grad:
            trunk.zero_grad()
            out.square().sum().backward()
            gradients.append([content.grad, *(p.grad.clone() for p in trunk.parameters())])
    assert torch.equal(*outs)
    for a, b in zip(*gradients, strict=True) if grad else ():
        assert torch.equal(a, b)


@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e30])
def test_what_stands_at_the_padding_of_a_memory_changes_no_bit(garbage: float):
    block = Block.Config(mix=Attention.Config(heads=2), read=Attention.Config(heads=2))
    trunk = Trunk.Config(block=block).build(dim=8, memory_dim=5)
    tokens, x = Tokens.line(numbers(2, 6, 8, dtype=torch.float32)), numbers(2, 4, 5, seed=1, dtype=torch.float32)
    valid = torch.tensor([[True, True, False, False], [False, True, True, True]])
    outs, gradients = [], []
    for filling in (0.0, garbage):
        trunk.zero_grad()
        outs.append(trunk(tokens, Tokens.free(x.masked_fill(~valid[..., None], filling), valid=valid)).x)
        outs[-1].square().sum().backward()
        gradients.append([p.grad.clone() for p in trunk.parameters()])
    assert torch.equal(*outs)
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_nan_in_a_real_token_surfaces_through_a_trunk():
    trunk = Trunk.Config(depth=2, block=BLOCKS["attention"]).build(dim=8)
    x = numbers(2, 6, 8, dtype=torch.float32)
    x[0, 2, 0] = math.nan
    for tokens in (Tokens.line(x), Tokens.line(x, valid=torch.ones(2, 6, dtype=torch.bool))):
        out = trunk(tokens).x
        assert out[0, 2:].isnan().all() and out[1].isfinite().all()


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(0, 1e4), st.sampled_from(DTYPES), st.integers(0, 10**6))
def test_extreme_scores_stay_finite_in_every_precision(keys: int, size: float, dtype: torch.dtype, seed: int):
    assume(dtype is not torch.float16 or size < 5e3)
    stream = Tokens.free(torch.zeros(1, keys, 0))
    q, v = torch.full((1, 1, keys, 1), 1 / FACTOR), numbers(1, 1, keys, 3, seed=seed)
    k = numbers(1, 1, keys, 1, seed=seed + 1).sign() * size
    case = Case(q.to(dtype), k.to(dtype), v.to(dtype), Scope(stream, stream, ranked=True))
    exact = explicit(dataclasses.replace(case, q=case.q.double(), k=case.k.double(), v=case.v.double()))
    for name, kernel in KERNELS.items():
        out = kernel(case)
        assert out.isfinite().all(), name
        assert close(out.double(), exact, 8 * torch.finfo(dtype).eps * max(1.0, float(v.abs().max()))), name


def test_one_pass_makes_its_mask_once_for_all_layers():
    stream = Tokens.line(numbers(1, 5, 8), valid=torch.tensor([[False, True, True, True, True]]))
    at = Pass(stream)
    assert at.own.mask(()) is at.own.mask(())
    assert at.own.mask(()).shape == (1, 1, 5, 5)
