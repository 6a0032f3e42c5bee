"""A block mixes, may read, then transforms; the wiring says how each branch joins the stream."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised

from weft.core import (
    Attention,
    Average,
    Block,
    LayerNorm,
    LayerScale,
    Lstm,
    Mlp,
    Parallel,
    ParallelOneNorm,
    Plain,
    PostNorm,
    PreNorm,
    ResultNorm,
    RmsNorm,
    SandwichNorm,
    TokenShift,
    Trunk,
)
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.tokens import Tokens

DIM = 8


def built(**fields) -> Block:
    config = Block.Config(
        mix=Attention.Config(heads=2), read=Attention.Config(heads=2), transform=Mlp.Config(), **fields
    )
    return randomised(config.build(dim=DIM, memory_dim=4)).double().eval()


TOKENS, MEMORY = Tokens.line(numbers(2, 5, DIM)), Tokens.free(numbers(2, 3, 4, seed=1))


def branches(block: Block, at: Pass):
    return (
        (lambda t: block.mix(t, at), block.mix_norm),
        (lambda t: block.read(t, at), block.read_norm),
        (block.transform, block.transform_norm),
    )


def test_pre_norm_adds_each_branch_of_the_normalised_stream():
    block, at = built(wiring=PreNorm.Config()), Pass(TOKENS, memory=MEMORY)
    x = TOKENS.x
    for f, norm in branches(block, at):
        x = x + f(norm(x))
    assert close(block(TOKENS.x, at), x)


def test_a_branch_without_its_norm_is_given_the_stream_as_it_is():
    block, at = built(wiring=PreNorm.Config(), unnormed=("mix",)), Pass(TOKENS, memory=MEMORY)
    assert block.mix_norm is None and block.read_norm is not None and block.transform_norm is not None
    x = TOKENS.x
    for f, norm in branches(block, at):
        x = x + f(x if norm is None else norm(x))
    assert close(block(TOKENS.x, at), x)


def test_post_norm_normalises_each_sum():
    block, at = built(wiring=PostNorm.Config()), Pass(TOKENS, memory=MEMORY)
    x = TOKENS.x
    for f, norm in branches(block, at):
        x = norm(x + f(x))
    assert close(block(TOKENS.x, at), x)


def test_a_sandwich_normalises_what_a_branch_reads_and_what_it_gives():
    block, at = built(wiring=SandwichNorm.Config()), Pass(TOKENS, memory=MEMORY)
    x, after = TOKENS.x, (block.mix_out_norm, block.read_out_norm, block.transform_out_norm)
    for (f, norm), out_norm in zip(branches(block, at), after, strict=True):
        x = x + out_norm(f(norm(x)))
    assert close(block(TOKENS.x, at), x)
    assert len({id(norm) for norm in (*after, block.mix_norm, block.read_norm, block.transform_norm)}) == 6


def test_the_norm_of_a_result_comes_before_it_joins_the_stream():
    block, at = built(wiring=ResultNorm.Config()), Pass(TOKENS, memory=MEMORY)
    x = TOKENS.x
    ends = (block.mix_out_norm, block.read_out_norm, block.transform_out_norm)
    for (f, norm), last in zip(branches(block, at), ends, strict=True):
        assert norm is None
        x = x + last(f(x))
    assert close(block(TOKENS.x, at), x)


def test_parallel_branches_all_read_the_stream_as_it_was():
    block, at = built(wiring=Parallel.Config()), Pass(TOKENS, memory=MEMORY)
    assert close(block(TOKENS.x, at), TOKENS.x + sum(f(norm(TOKENS.x)) for f, norm in branches(block, at)))
    assert block.mix_out_norm is None


def test_parallel_branches_with_one_norm_all_read_that_norm():
    block, at = built(wiring=ParallelOneNorm.Config()), Pass(TOKENS, memory=MEMORY)
    normed = block.mix_norm(TOKENS.x)
    assert close(block(TOKENS.x, at), TOKENS.x + sum(f(normed) for f, _ in branches(block, at)))
    assert block.read_norm is None and block.transform_norm is None


def test_plain_is_the_branches_alone_without_norms():
    block, at = built(wiring=Plain.Config()), Pass(TOKENS, memory=MEMORY)
    x = TOKENS.x
    for f, norm in branches(block, at):
        assert norm is None
        x = f(x)
    assert close(block(TOKENS.x, at), x)


def test_a_shift_comes_before_mix_and_transform_each_with_its_own_weights():
    block, at = built(shift=TokenShift.Config()), Pass(TOKENS, memory=MEMORY)
    x = TOKENS.x
    x = x + block.mix(block.mix_shift(block.mix_norm(x), at), at)
    x = x + block.read(block.read_norm(x), at)
    x = x + block.transform(block.transform_shift(block.transform_norm(x), at))
    assert close(block(TOKENS.x, at), x)
    assert block.mix_shift is not block.transform_shift


def test_parts_that_are_not_there_leave_no_weights():
    block = Block.Config(transform=Mlp.Config()).build(dim=DIM)
    assert {name.split(".")[0] for name, _ in block.named_parameters()} == {"transform", "transform_norm"}
    empty = Block.Config().build(dim=DIM).double()
    assert torch.equal(empty(TOKENS.x, Pass(TOKENS)), TOKENS.x)


def test_dropout_acts_on_branches_while_training_and_never_in_use():
    block, at = built(dropout=0.5), Pass(TOKENS, memory=MEMORY)
    assert torch.equal(block(TOKENS.x, at), block(TOKENS.x, at))
    block.train()
    first, second = block(TOKENS.x, at), block(TOKENS.x, at)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    again = block(TOKENS.x, at)
    torch.manual_seed(3)
    assert torch.equal(block(TOKENS.x, at), again)


@pytest.mark.parametrize(
    "config",
    [
        Block.Config(read=Attention.Config(heads=2)),
        Block.Config(read=Average.Config()),
        Block.Config(mix=Lstm.Config(read=Attention.Config(heads=1))),
    ],
    ids=["attention", "average", "recurrent"],
)
def test_a_block_that_reads_a_memory_is_refused_where_there_is_none(config: Block.Config):
    with pytest.raises(ConfigError, match="reads a memory"):
        config.build(dim=DIM)
    config.build(dim=DIM, memory_dim=4)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0])
def test_a_dropout_that_leaves_nothing_is_refused(rate: float):
    with pytest.raises(ConfigError, match=r"Block\.dropout"):
        Block.Config(dropout=rate)


@pytest.mark.parametrize(
    "wiring, final", [(PreNorm, True), (PostNorm, False), (Plain, False), (SandwichNorm, True), (Parallel, True)]
)
def test_a_trunk_ends_with_a_norm_where_the_wiring_leaves_the_stream_without_one(wiring, final: bool):
    block = Block.Config(mix=Average.Config(), wiring=wiring.Config())
    trunk = randomised(Trunk.Config(depth=2, block=block).build(dim=DIM)).double()
    assert (trunk.norm is not None) is final
    x = TOKENS.x
    for each in trunk.blocks:
        x = each(x, Pass(TOKENS))
    assert close(trunk(TOKENS).x, trunk.norm(x) if final else x)


def test_a_trunk_is_copies_of_one_block_or_a_list_of_different_ones():
    mix, mlp = Block.Config(mix=Attention.Config(heads=2)), Block.Config(transform=Mlp.Config())
    listed = Trunk.Config(blocks=(mix, mlp, mix), norm=RmsNorm.Config()).build(dim=DIM)
    assert [b.mix is not None for b in listed.blocks] == [True, False, True]
    assert listed.blocks[0].mix.qkv.weight is not listed.blocks[2].mix.qkv.weight
    for wrong in ({}, {"block": mix, "blocks": (mlp,)}, {"block": mix, "depth": 0}):
        with pytest.raises(ConfigError, match="Trunk"):
            Trunk.Config(**wrong)


def test_a_silent_start_makes_every_block_the_identity():
    from weft.core import SilentInit

    block = Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config(), norm=LayerNorm.Config())
    trunk = Trunk.Config(depth=3, block=block, norm=None, init=SilentInit.Config()).build(dim=DIM).double()
    assert torch.equal(trunk(TOKENS).x, TOKENS.x)


def test_a_start_as_in_gpt2_has_its_spread_and_less_for_what_writes_to_the_stream():
    block = Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config())
    trunk = Trunk.Config(depth=8, block=block).build(dim=64)
    reads = torch.cat([b.mix.qkv.weight.flatten() for b in trunk.blocks]).std().item()
    writes = torch.cat([b.mix.out.weight.flatten() for b in trunk.blocks]).std().item()
    assert reads == pytest.approx(0.02, rel=0.05) and writes == pytest.approx(0.02 / 4, rel=0.05)
    assert not any(b.mix.qkv.bias.any() for b in trunk.blocks)


def test_gains_of_a_layer_scale_weigh_what_each_branch_adds():
    config = Block.Config(mix=Average.Config(), transform=Mlp.Config(hidden=4), scale=LayerScale.Config(init=0.5))
    block, tokens = config.build(dim=DIM), Tokens.free(numbers(2, 3, DIM))
    assert block.mix_scale.gain.tolist() == [0.5] * DIM
    block = randomised(block).double()
    x = tokens.x
    x = x + block.mix_scale.gain * block.mix(block.mix_norm(x), Pass(tokens))
    x = x + block.transform_scale.gain * block.transform(block.transform_norm(x))
    assert close(block(tokens.x, Pass(tokens)), x)
