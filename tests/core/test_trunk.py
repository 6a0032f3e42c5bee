"""The trunk: blocks in a row, gone through once or several times, with a bias that all may share."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised

from weft.config import from_json
from weft.core import Attention, Block, Cache, Dot, Lstm, Mlp, PostNorm, Trunk, Window, kernels, record
from weft.core.linear import Gpt2Init, Out
from weft.errors import ConfigError
from weft.position import Alibi, Buckets
from weft.tokens import Tokens

DIM = 8
BUCKETS = Buckets.Config(count=8, farthest=16)
BLOCK = Block.Config(mix=Attention.Config(heads=2, score=Dot.Config(scaled=False)), transform=Mlp.Config(hidden=12))


def built(**config) -> Trunk:
    return randomised(Trunk.Config(**{"depth": 2, "block": BLOCK, **config}).build(dim=DIM)).double().eval()


def places(rows: int, length: int) -> dict[str, torch.Tensor]:
    return {"position": torch.arange(length).expand(rows, length)}


# A bias for the whole trunk.


def owning(trunk: Trunk) -> Trunk:
    """The same trunk with a copy of its bias in every attention."""
    config = Trunk.Config(depth=2, block=BLOCK.replace(mix=BLOCK.mix.replace(bias=BUCKETS)))
    own = config.build(dim=DIM).double().eval()
    state = trunk.state_dict()
    table = state.pop("bias.table.weight")
    own.load_state_dict({**state, **{f"blocks.{i}.mix.bias.table.weight": table for i in range(2)}})
    return own


@pytest.mark.parametrize("kind", ["free", "line", "padded"])
def test_a_shared_bias_is_that_of_every_attention(kind: str):
    trunk, x = built(bias=BUCKETS), numbers(2, 7, DIM)
    valid = torch.arange(7)[None] < torch.tensor([[7], [4]]) if kind == "padded" else None
    tokens = Tokens.line(x) if kind == "line" else Tokens.free(x, valid=valid, coords=places(2, 7))
    out = trunk(tokens).padding_zeroed().x
    assert close(out, owning(trunk)(tokens).padding_zeroed().x)
    with torch.no_grad():
        trunk.bias.table.weight += numbers(8, 2, seed=4)
    assert not close(trunk(tokens).padding_zeroed().x, out, 1e-3)


def test_the_gradient_of_a_shared_bias_is_the_sum_over_layers_in_every_kernel():
    trunk = built(bias=BUCKETS)
    own = owning(trunk)
    for length in (5, 40):  # written out, and fused
        tokens = Tokens.line(numbers(2, length, DIM))
        for one in (trunk, own):
            one.zero_grad()
            one(tokens).x.square().sum().backward()
        parts = [block.mix.bias.table.weight.grad for block in own.blocks]
        assert all(part.any() for part in parts) and close(trunk.bias.table.weight.grad, sum(parts), 1e-8)


def test_a_shared_bias_is_made_once_a_pass(monkeypatch: pytest.MonkeyPatch):
    trunk, made = built(bias=BUCKETS, depth=4, passes=2), []
    forward = Buckets.forward
    monkeypatch.setattr(Buckets, "forward", lambda *a: made.append(1) or forward(*a))
    trunk(Tokens.line(numbers(1, 5, DIM)))
    assert len(made) == 1
    trunk(Tokens.line(numbers(1, 5, DIM)))
    assert len(made) == 2


def test_a_shared_bias_leaves_attention_with_one_of_its_own_and_memories_alone():
    own = BLOCK.replace(mix=BLOCK.mix.replace(bias=Alibi.Config()))
    reading = BLOCK.replace(read=Attention.Config(heads=4))
    config = Trunk.Config(depth=2, blocks=(own, reading), bias=BUCKETS)
    trunk = randomised(config.build(dim=DIM, memory_dim=6)).double().eval()
    with record(trunk) as recorder:
        trunk(Tokens.line(numbers(2, 5, DIM)), Tokens.free(numbers(2, 3, 6), coords=places(2, 3)))
    found = {name: one.bias for name, (one,) in recorder.readings.items()}
    scope = recorder.readings["blocks.0.mix"][0].scope
    assert close(found["blocks.0.mix"](scope), trunk.blocks[0].mix.bias(scope.queries.coords, scope.keys.coords))
    assert close(found["blocks.1.mix"](scope), trunk.bias(scope.queries.coords, scope.keys.coords))
    assert found["blocks.1.read"] is None


def test_weights_that_are_looked_at_have_the_shared_bias_in_them():
    trunk = built(bias=BUCKETS)
    with record(trunk) as recorder:
        trunk(Tokens.line(numbers(1, 6, DIM)))
    (one,) = recorder.readings["blocks.1.mix"]
    plain = kernels.weigh(one.q, one.k, one.scope, score=one.attention.score)
    assert close(one.weights().sum(-1), torch.ones(1, 2, 6)) and not close(one.weights(), plain, 1e-3)


def test_a_shared_bias_reaches_into_the_blocks_of_a_window():
    block = BLOCK.replace(mix=BLOCK.mix.replace(rules=(Window(radius=9),)))
    trunk, x = built(block=block, bias=BUCKETS), numbers(1, 200, DIM)
    whole = Tokens.line(x)
    masked = Tokens(whole.x, whole.valid, whole.rank, whole.coords)  # nothing stated: an explicit mask
    assert close(trunk(whole).x, trunk(masked).x)


def test_a_shared_bias_needs_one_number_of_heads():
    other = BLOCK.replace(mix=Attention.Config(heads=4))
    for blocks in ((BLOCK, other), (Block.Config(mix=Lstm.Config()),)):
        with pytest.raises(ConfigError, match="number of heads"):
            Trunk.Config(blocks=blocks, bias=BUCKETS)


# The same blocks several times.


@pytest.mark.parametrize("block", [BLOCK, BLOCK.replace(wiring=PostNorm.Config())], ids=["before", "after"])
def test_passes_go_through_the_same_weights_again(block: Block.Config):
    trunk = built(block=block, passes=3)
    deep = Trunk.Config(depth=6, block=block).build(dim=DIM).double().eval()
    state = trunk.state_dict()
    deep.load_state_dict(
        {n: state[n if "blocks" not in n else f"blocks.{int(n[7]) % 2}{n[8:]}"] for n in deep.state_dict()}
    )
    tokens = Tokens.line(numbers(2, 5, DIM))
    assert close(trunk(tokens).x, deep(tokens).x)
    assert len(list(trunk.parameters())) == len(list(built(block=block).parameters()))


@pytest.mark.parametrize("mix", [BLOCK.mix, Lstm.Config()], ids=["attention", "lstm"])
@pytest.mark.parametrize("cuts", [[1] * 6, [2, 4]], ids=str)
def test_stepping_keeps_each_pass_apart_and_a_shared_bias_in_place(mix, cuts: list[int]):
    bias = BUCKETS.replace(sides="past") if isinstance(mix, Attention.Config) else None
    trunk, x, cache = built(block=BLOCK.replace(mix=mix), passes=2, bias=bias), numbers(2, 6, DIM), Cache(2)
    position, outs = torch.arange(6).expand(2, 6), []
    with torch.no_grad():
        for piece, places in zip(x.split(cuts, 1), position.split(cuts, 1), strict=True):
            outs.append(trunk(Tokens.line(piece, position=places), cache=cache).x)
    assert close(torch.cat(outs, 1), trunk(Tokens.line(x)).x)


def test_every_pass_is_looked_at_as_a_layer():
    trunk = built(passes=2)
    with record(trunk) as recorder:
        trunk(Tokens.line(numbers(1, 4, DIM)))
        trunk(Tokens.line(numbers(1, 4, DIM, seed=1)))
    names = [f"blocks.{i}.mix{again}" for again in ("", ", round 2") for i in range(2)]
    assert list(recorder.readings) == names and all(len(r) == 2 for r in recorder.readings.values())
    assert not close(*(recorder.readings[name][0].weights() for name in (names[0], names[2])), 1e-6)


def test_blocks_that_write_more_often_start_fainter():
    def spread(passes: int) -> float:
        torch.manual_seed(0)
        trunk = Trunk.Config(depth=2, block=BLOCK, passes=passes, init=Gpt2Init.Config()).build(dim=64)
        return float(torch.cat([m.weight.flatten() for m in trunk.modules() if isinstance(m, Out)]).detach().std())

    assert spread(4) == pytest.approx(spread(1) / 2, rel=1e-3)


def test_passes_and_bias_survive_json_and_impossible_ones_are_refused():
    config = Trunk.Config(depth=2, block=BLOCK, passes=3, bias=BUCKETS)
    assert from_json(config.to_json()) == config
    for wrong in (0, 501):
        with pytest.raises(ConfigError, match="passes"):
            Trunk.Config(depth=2, block=BLOCK, passes=wrong)
