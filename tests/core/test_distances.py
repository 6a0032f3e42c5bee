"""Vectors of distances, and scores in which they meet what the tokens say."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised

from weft.core import (
    Attention,
    Block,
    Cache,
    Capped,
    Disentangled,
    Distances,
    LayerNorm,
    LowRank,
    Mlp,
    RmsNorm,
    Trunk,
    record,
)
from weft.errors import ConfigError
from weft.tokens import Tokens

DIM, LENGTH = 8, 9
KINDS = {
    "shared maps": Disentangled.Config(),
    "own maps": Disentangled.Config(maps="own"),
    "keys of distances": Disentangled.Config(terms=("c2p",), maps="own"),
    "queries of distances": Disentangled.Config(terms=("p2c",), temperature=0.5),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def trunk(kind: str = "shared maps", distances: Distances.Config = Distances.Config(reach=3), **more) -> Trunk:
    mix = Attention.Config(heads=4, score=KINDS[kind], **more)
    block = Block.Config(mix=mix, transform=Mlp.Config(ratio=1))
    return randomised(Trunk.Config(depth=2, block=block, distances=distances).build(dim=DIM)).double().eval()


def row_by_definition(behind: int, reach: int, farthest: int | None) -> int:
    """Number by number, as the paper's code has it."""
    exact, away = reach // 2, abs(behind)
    if farthest is not None and away > exact:
        share = torch.log(torch.tensor(away / exact)) / torch.log(torch.tensor((farthest - 1) / exact))
        behind = (int(torch.ceil(share * (exact - 1))) + exact) * (1 if behind > 0 else -1)
    return min(max(behind + reach, 0), 2 * reach - 1)


@pytest.mark.parametrize(("reach", "farthest"), [(4, None), (8, 40), (256, 512), (5, 9)])
def test_each_distance_has_the_row_of_the_definition(reach: int, farthest: int | None):
    places, part = torch.arange(600)[None], Distances.Config(reach=reach, farthest=farthest).build(dim=2)
    found = part({"position": places}, {"position": places})
    expected = [row_by_definition(behind, reach, farthest) for behind in range(-599, 600)]
    for q in (0, 1, 300, 599):
        assert found[0, q].tolist() == [expected[q - k + 599] for k in range(600)]


@every_kind
def test_scores_are_the_sum_of_the_products(kind: str):
    model, tokens, score = trunk(kind), Tokens.free(numbers(2, LENGTH, DIM), coords=places()), KINDS[kind]
    attention = model.blocks[0].mix
    with record(model) as recorder:
        model(tokens)
    reading = recorder.readings["blocks.0.mix"][0]
    vectors = model.distances.table.weight
    q_far, k_far = attention.qkv(vectors).split(DIM, -1)[:2]
    if score.maps == "own":
        maps = attention.score.to_q, attention.score.to_k
        q_far, k_far = (None if one is None else one(vectors) for one in maps)
    q_far, k_far = (None if one is None else one.unflatten(-1, (4, 2)) for one in (q_far, k_far))
    scores = torch.zeros(2, 4, LENGTH, LENGTH, dtype=torch.float64)
    for i in range(LENGTH):
        for j in range(LENGTH):
            q, k, row = reading.q[:, :, i], reading.k[:, :, j], row_by_definition(i - j, 3, None)
            total = (q * k).sum(-1)
            total = total + (q * k_far[row]).sum(-1) if "c2p" in score.terms else total
            total = total + (k * q_far[row]).sum(-1) if "p2c" in score.terms else total
            scores[:, :, i, j] = total / ((1 + len(score.terms)) * 2) ** 0.5 / score.temperature
    assert close(reading.weights(), scores.softmax(-1))


@every_kind
@pytest.mark.parametrize("before, after", [(3, 0), (0, 2), (1, 2)])
def test_padding_changes_nothing(kind: str, before: int, after: int):
    model, content = trunk(kind), numbers(2, LENGTH, DIM)
    plain = model(Tokens.line(content)).x
    x = torch.cat([numbers(2, before, DIM, seed=1), content, numbers(2, after, DIM, seed=2)], 1)
    valid = torch.zeros(x.shape[:2], dtype=torch.bool)
    valid[:, before : before + LENGTH] = True
    x[~valid] = torch.nan
    position = (torch.arange(x.shape[1]) - before).expand(2, -1)
    out = model(Tokens.line(x, valid=valid, position=position)).x[:, before : before + LENGTH]
    assert close(out, plain)


@every_kind
def test_stepping_with_a_cache_is_one_full_pass(kind: str):
    model, content, cache = trunk(kind), numbers(2, LENGTH, DIM), Cache()
    whole = model(Tokens.line(content)).x
    steps = [
        model(Tokens.line(content[:, n : n + 1], position=torch.full((2, 1), n)), cache=cache).x for n in range(LENGTH)
    ]
    assert close(torch.cat(steps, 1), whole)


def test_recording_changes_no_bit_and_what_is_recorded_was_computed():
    model, tokens = trunk(), Tokens.line(numbers(2, LENGTH, DIM))
    plain = model(tokens).x
    with record(model) as recorder:
        assert torch.equal(model(tokens).x, plain)
    for reading in (found for each in recorder.readings.values() for found in each):
        known = reading.weights()
        again = type(reading)(reading.attention, reading.q, reading.k, reading.v, reading.scope)
        assert torch.equal(known, again.weights())


def test_only_distances_matter_and_a_norm_of_the_vectors_too():
    model, content = trunk(), numbers(2, LENGTH, DIM)
    here, there = (model(Tokens.free(content, coords=places(start))).x for start in (0, 1000))
    assert close(here, there)
    normed = trunk(distances=Distances.Config(reach=3, norm=LayerNorm.Config()))
    assert not close(normed(Tokens.free(content, coords=places())).x, here, 1e-3)


def test_shared_key_heads_and_normalised_heads_have_distances_too():
    model = trunk(kv_heads=2, qk_norm=RmsNorm.Config())
    plain = model(Tokens.free(numbers(2, LENGTH, DIM), coords=places()))
    assert plain.x.isfinite().all() and model.blocks[0].mix.k_norm.gain.shape == (2,)


def test_adapters_are_put_beside_the_maps_and_every_weight_learns():
    model = trunk("own maps")
    model(Tokens.free(numbers(2, LENGTH, DIM), coords=places())).x.square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())
    LowRank.Config(rank=2).build().apply(model)
    assert {name for name, p in model.named_parameters() if p.requires_grad} == {
        f"blocks.{i}.{name}.{end}"
        for i in range(2)
        for name in ("mix.qkv", "mix.out", "transform.up", "transform.down")
        for end in "ab"
    }


def test_distances_without_scores_that_use_them_are_refused_and_the_other_way_round():
    block = Block.Config(mix=Attention.Config(heads=4))
    with pytest.raises(ConfigError, match="no attention has a Disentangled score"):
        Trunk.Config(depth=1, block=block, distances=Distances.Config(reach=3))
    with pytest.raises(ConfigError, match="the trunk has none"):
        Trunk.Config(depth=1, block=block.replace(mix=Attention.Config(heads=4, score=Disentangled.Config())))
    with pytest.raises(ConfigError, match="Disentangled scores cannot be capped"):
        Capped.Config(score=Disentangled.Config())
    with pytest.raises(ConfigError, match="memory has no distances"):
        Attention.Config(heads=4, score=Disentangled.Config()).build(dim=DIM, memory_dim=DIM)
    with pytest.raises(ConfigError, match=r"Distances\.farthest"):
        Distances.Config(reach=40, farthest=20)


def places(start: int = 0) -> dict[str, torch.Tensor]:
    return {"position": torch.arange(start, start + LENGTH).expand(2, -1)}
