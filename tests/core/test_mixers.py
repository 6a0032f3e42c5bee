"""The plain mixers: averaging what may be read, and mixing with the token before."""

import math
from dataclasses import replace

import pytest
import torch
from helpers.tiny import close, numbers, randomised

from weft.core import Average, Cache, Edges, NeighbourShift, Same, SymmetricShares, TokenShift
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.relations import EdgeList
from weft.tokens import Tokens


def average(**options) -> Average:
    return randomised(Average.Config(**options).build(dim=4)).double()


def test_an_average_is_the_mean_of_what_may_be_read():
    mixer, x = average(), numbers(2, 5, 4)
    free, line = mixer(x, Pass(Tokens.free(x))), mixer(x, Pass(Tokens.line(x)))
    steps = torch.arange(1, 6)[:, None]
    assert close(free, mixer.out(x.mean(1, keepdim=True)).expand(2, 5, 4))
    assert close(line, mixer.out(x.cumsum(1) / steps))


def test_an_average_leaves_out_padding_and_what_stands_there():
    mixer, x = average(), numbers(2, 5, 4)
    valid = torch.tensor([[True, True, True, False, False], [False] * 5])
    x[~valid] = math.nan
    out = mixer(x, Pass(Tokens.free(x, valid=valid)))
    assert close(out[0, 0], mixer.out(x[0, :3].mean(0)))
    assert close(out[1], mixer.out.bias.expand(5, 4))


def test_an_average_keeps_to_its_rules():
    mixer, x = average(rules=(Same(axis="segment"),)), numbers(1, 4, 4)
    segment = torch.tensor([[0, 1, 0, 1]])
    out = mixer(x, Pass(Tokens.free(x, coords={"segment": segment})))
    assert close(out[0, 0], mixer.out((x[0, 0] + x[0, 2]) / 2)) and close(out[0, 1], mixer.out((x[0, 1] + x[0, 3]) / 2))


def test_means_of_means_keep_a_share_of_the_start():
    mixer, x = average(steps=2, teleport=0.25), numbers(2, 5, 4)
    valid = torch.tensor([[True] * 5, [True, True, False, False, False]])
    once = 0.75 * x[1, :2].mean(0) + 0.25 * x[1, :2]
    twice = 0.75 * once.mean(0) + 0.25 * x[1, :2]
    assert close(mixer(x, Pass(Tokens.free(x, valid=valid)))[1, :2], mixer.out(twice))
    with pytest.raises(ConfigError, match="Average.steps"):
        Average.Config(steps=2).build(dim=4, memory_dim=4)


def test_symmetric_shares_divide_by_the_degrees_of_both_ends():
    """On a star of one middle and three rays: D^-1/2 (A + I) D^-1/2, written out."""
    query, key = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2, 3, 3]), torch.tensor([0, 1, 2, 3, 0, 1, 0, 2, 0, 3])
    edges = EdgeList.of(query, key, batch=1, tokens=4)
    joined = edges.dense()[0].double()
    root = torch.diag(joined.sum(1) ** -0.5)
    mixer, x = average(rules=(Edges(),), shares=SymmetricShares()), numbers(1, 4, 4)
    out = mixer(x, Pass(replace(Tokens.free(x), pairs={"edges": edges})))
    assert close(out[0], mixer.out(root @ joined @ root @ x[0]))
    with pytest.raises(ConfigError, match="Average.shares"):
        Average.Config(shares=SymmetricShares()).build(dim=4, memory_dim=4)


def test_an_average_of_a_memory_is_the_same_for_every_query():
    mixer = randomised(Average.Config().build(dim=4, memory_dim=3)).double()
    x, memory = numbers(2, 5, 4), Tokens.free(numbers(2, 6, 3, seed=1))
    assert close(
        mixer(x, Pass(Tokens.line(x), memory=memory)), mixer.out(memory.x.mean(1, keepdim=True)).expand(2, 5, 4)
    )


@pytest.mark.parametrize("mixer", ["average", "shift"])
@pytest.mark.parametrize("cuts", [(1,) * 6, (4, 2), (5, 1)])
def test_stepping_with_a_cache_equals_one_pass(mixer: str, cuts: tuple[int, ...]):
    config = Average.Config() if mixer == "average" else TokenShift.Config()
    part, tokens = randomised(config.build(dim=4)).double(), Tokens.line(numbers(2, 6, 4))
    cache, outs, start = Cache(2), [], 0
    with torch.no_grad():
        for piece in tokens.x.split(cuts, 1):
            position = torch.arange(start, start + piece.shape[1]).expand(2, -1)
            new = Tokens.line(piece, position=position)
            outs.append(part(piece, Pass(new, seen=cache.extend(new)), cache.slots("block")))
            start += piece.shape[1]
    assert close(torch.cat(outs, 1), part(tokens.x, Pass(tokens)))


def shift() -> TokenShift:
    return randomised(TokenShift.Config().build(dim=4)).double()


def test_a_shift_mixes_each_token_with_the_one_before_and_the_first_with_zero():
    part, x = shift(), numbers(2, 5, 4)
    before = torch.cat([torch.zeros(2, 1, 4, dtype=torch.float64), x[:, :-1]], 1)
    assert close(part(x, Pass(Tokens.line(x))), x + part.mix * (before - x))


def test_a_shift_starts_as_no_mix_at_all():
    part, x = TokenShift.Config().build(dim=4).double(), numbers(2, 5, 4)
    assert torch.equal(part(x, Pass(Tokens.line(x))), x)


@pytest.mark.parametrize("tokens", [1, 2, 5])
def test_a_shift_of_whole_lines_has_the_gradient_of_its_equation(tokens: int):
    part, wanted = shift(), numbers(2, tokens, 4, seed=1)
    x, same, mix = (t.detach().clone().requires_grad_() for t in (*[numbers(2, tokens, 4)] * 2, part.mix))
    part(x, Pass(Tokens.line(x))).backward(wanted)
    before = torch.cat([torch.zeros_like(same[:, :1]), same[:, :-1]], 1)
    (same + mix * (before - same)).backward(wanted)
    assert part.mix.grad is not None and mix.grad is not None and close(part.mix.grad, mix.grad)
    assert x.grad is not None and same.grad is not None and close(x.grad, same.grad)


def test_a_shift_takes_padding_for_nothing_and_never_looks_at_higher_ranks():
    part, x = shift(), numbers(1, 4, 4)
    valid = torch.tensor([[False, True, True, True]])
    dirty = x.clone()
    dirty[:, 0] = math.nan
    out = part(dirty, Pass(Tokens.line(dirty, valid=valid)))
    alone = Tokens.line(x[:, 1:])
    assert close(out[:, 1:], part(alone.x, Pass(alone)))
    falling = Tokens.free(x).with_rank(torch.tensor([[3, 2, 2, 5]]))
    out = part(x, Pass(falling))
    assert close(out[:, 1], x[:, 1] * (1 - part.mix)), "the token before is of higher rank"
    assert close(out[:, 2], x[:, 2] + part.mix * (x[:, 1] - x[:, 2]))


def test_a_shift_of_neighbours_mixes_each_token_with_those_on_both_sides():
    part, x = randomised(NeighbourShift.Config().build(dim=4)).double(), numbers(2, 5, 4)
    nothing = torch.zeros(2, 1, 4, dtype=torch.float64)
    before, behind = torch.cat([nothing, x[:, :-1]], 1), torch.cat([x[:, 1:], nothing], 1)
    wanted = x + part.mix * (before - x) + part.mix_next * (behind - x)
    assert close(part(x, Pass(Tokens.free(x))), wanted)
    assert close(part(x, Pass(Tokens.line(x))), x + part.mix * (before - x) - part.mix_next * x), (
        "none reads its future"
    )
    assert torch.equal(NeighbourShift.Config().build(dim=4).double()(x, Pass(Tokens.free(x))), x)


def test_a_shift_of_neighbours_takes_padding_for_nothing():
    part, x = randomised(NeighbourShift.Config().build(dim=4)).double(), numbers(1, 5, 4)
    valid = torch.tensor([[False, True, True, True, False]])
    alone = x[:, 1:4].clone()
    x[~valid] = math.nan
    out = part(x, Pass(Tokens.free(x, valid=valid)))
    assert close(out[:, 1:4], part(alone, Pass(Tokens.free(alone))))
