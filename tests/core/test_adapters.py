"""Adapters: small matrices beside frozen ones, and added to them again."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised
from torch import nn

from weft.config import from_json
from weft.core import Attention, Block, LowRank, Mlp, Out, Trunk
from weft.core.adapters import MAPS, Adapted, adapters, fold
from weft.core.threads import suited_threads
from weft.errors import ConfigError
from weft.tokens import Tokens

DIM = 8
BLOCK = Block.Config(mix=Attention.Config(heads=2), read=Attention.Config(heads=2), transform=Mlp.Config(hidden=12))
PLAIN = Trunk.Config(depth=2, block=BLOCK)
SMALL = LowRank.Config(rank=2, alpha=3.0)
STREAM, MEMORY = Tokens.line(numbers(2, 5, DIM)), Tokens.free(numbers(2, 3, 6))


def built(how: LowRank.Config | None = SMALL, *, draw: bool = True) -> Trunk:
    torch.manual_seed(3)
    trunk = PLAIN.replace(adapters=how).build(dim=DIM, memory_dim=6).double().eval()
    return randomised(trunk) if draw else trunk


def test_an_adapted_map_is_the_sum_of_the_definition():
    plain = randomised(nn.Linear(4, 5)).double()
    one = randomised(Adapted(plain, rank=2, scale=1.5), seed=1).double()
    x = numbers(3, 4)
    assert close(one(x), x @ (one.weight + 1.5 * one.b @ one.a).T + one.bias)


def test_every_map_named_is_adapted_and_starts_as_it_was():
    trunk, plain = built(draw=False), built(None, draw=False)
    found = {name.rsplit(".", 1)[1] for name, m in trunk.named_modules() if isinstance(m, Adapted)}
    assert found == set(MAPS)
    state = trunk.state_dict()
    assert set(plain.state_dict()) == set(state) - set(adapters(trunk)), "the weights keep their names"
    plain.load_state_dict({name: state[name] for name in plain.state_dict()})
    assert torch.equal(trunk(STREAM, MEMORY).x, plain(STREAM, MEMORY).x)
    chosen = built(LowRank.Config(rank=1, maps=("qkv", "up")))
    assert {name.rsplit(".", 2)[1] for name in adapters(chosen)} == {"qkv", "up"}


def test_only_the_adapters_learn():
    trunk = built()
    trunk(STREAM, MEMORY).x.square().sum().backward()
    learned = {name for name, p in trunk.named_parameters() if p.grad is not None}
    assert learned == set(adapters(trunk)) and all(p.grad.any() for p in trunk.parameters() if p.grad is not None)


def test_folded_adapters_give_the_same_values_by_plain_maps():
    trunk = built()
    before = trunk(STREAM, MEMORY).x
    assert fold(trunk) is trunk and not adapters(trunk)
    assert close(trunk(STREAM, MEMORY).x, before, 1e-12)
    assert isinstance(trunk.blocks[0].mix.out, Out) and type(trunk.blocks[0].mix.qkv) is nn.Linear
    assert set(trunk.state_dict()) == set(built(None).state_dict())


def test_adapters_travel_alone():
    one, other = built(), built()
    small = adapters(one)
    assert sum(t.numel() for t in small.values()) < sum(p.numel() for p in one.parameters()) / 2
    with torch.no_grad():
        for t in adapters(other).values():
            t.zero_()
    assert not close(one(STREAM, MEMORY).x, other(STREAM, MEMORY).x, 1e-3)
    with torch.no_grad():
        for name, t in adapters(other).items():
            t.copy_(small[name])
    assert torch.equal(one(STREAM, MEMORY).x, other(STREAM, MEMORY).x)


def test_maps_that_are_not_there_are_refused():
    with pytest.raises(ConfigError, match="quiver"):
        built(LowRank.Config(maps=("qkv", "quiver")))
    with pytest.raises(ConfigError, match="no linear maps"):
        Trunk.Config(depth=0, adapters=SMALL).build(dim=DIM)
    for wrong in ({"rank": 0}, {"alpha": 0.0}):
        with pytest.raises(ConfigError):
            LowRank.Config(**wrong)


def test_a_trunk_with_adapters_survives_json():
    config = PLAIN.replace(adapters=SMALL)
    assert from_json(config.to_json()) == config


def test_adapted_maps_count_as_matrices_when_threads_are_chosen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    seen = []
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    with suited_threads(built(), small=100):
        pass
    assert not seen
