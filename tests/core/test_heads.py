"""Heads: what is read off the last tokens, by plain arithmetic beside them."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised
from torch import nn
from torch.nn import functional as F

from weft.core import Dense, FirstAndMean, LayerNorm, PerToken, Pooled, Summary
from weft.errors import ConfigError
from weft.generate.compute import prepared
from weft.tokens import Tokens

DIM, SIZE = 6, 5
X = numbers(2, 4, DIM)
HALF = Tokens.free(X, valid=torch.tensor([[False, True, True, False], [True] * 4]))


def built(config, **sizes) -> nn.Module:
    return randomised(config.build(dim=DIM, size=SIZE, **sizes)).double().eval()


def test_a_dense_layer_maps_activates_and_norms():
    layer = randomised(Dense.Config(norm=LayerNorm.Config(eps=1e-12), width=3).build(dim=DIM)).double()
    wanted = F.gelu(X @ layer.linear.weight.T + layer.linear.bias)
    assert close(layer(X), F.layer_norm(wanted, (3,), layer.norm.gain, layer.norm.offset, 1e-12))


@pytest.mark.parametrize(("name", "act"), [("tanh", torch.tanh), ("relu", F.relu), ("silu", F.silu)])
def test_a_dense_layer_has_the_activation_it_is_told(name: str, act):
    layer = randomised(Dense.Config(activation=name).build(dim=DIM)).double()
    assert close(layer(X), act(layer.linear(X)))


def test_a_tied_head_shares_the_table_and_has_offsets_of_its_own():
    table = nn.Embedding(SIZE, DIM).double()
    head = PerToken.Config(tied=True, offsets=True, dense=Dense.Config()).build(dim=DIM, size=SIZE, table=table)
    assert head.out.weight is table.weight and not head.out.bias.any(), "offsets start at zero"
    head = randomised(head).double()
    assert close(head.values(X), head.dense(X) @ table.weight.T + head.out.bias)
    head.values(X).sum().backward()
    assert table.weight.grad.any() and head.out.bias.grad.any()


def test_a_narrow_table_is_tied_behind_a_dense_layer_of_its_width_and_refused_otherwise():
    table = nn.Embedding(SIZE, 3)
    head = PerToken.Config(tied=True, dense=Dense.Config(width=3)).build(dim=DIM, size=SIZE, table=table)
    assert head.out.weight is table.weight
    for config in (PerToken.Config(tied=True), PerToken.Config(tied=True, dense=Dense.Config())):
        with pytest.raises(ConfigError, match="width=3"):
            config.build(dim=DIM, size=SIZE, table=table)
    with pytest.raises(ConfigError, match="no embedding table"):
        PerToken.Config(tied=True).build(dim=DIM, size=SIZE)


def test_scale_multiplies_before_the_map_and_leaves_offsets_alone():
    head = built(PerToken.Config(scale=0.25, offsets=True))
    assert close(head.values(X), 0.25 * X @ head.out.weight.T + head.out.bias)


@pytest.mark.parametrize("first", [True, False])
def test_pooled_reads_one_vector_through_its_dense_layer(first: bool):
    head = built(Pooled.Config(first=first, dense=Dense.Config(activation="tanh", width=4)))
    one = torch.stack([X[0, 1], X[1, 0]]) if first else torch.stack([X[0, 1:3].mean(0), X[1].mean(0)])
    assert close(head(HALF), head.out(torch.tanh(head.dense.linear(one))))


def test_pooled_reads_the_last_real_token_without_offsets():
    head = built(Pooled.Config(last=True, offsets=False))
    assert close(head(HALF), torch.stack([X[0, 2], X[1, -1]]) @ head.out.weight.T)


def test_pooled_with_a_typical_number_reads_the_sum_beside_the_mean():
    head = built(Pooled.Config(typical=8.0))
    one = torch.stack([X[0, 1:3].mean(0), X[1].mean(0)]), torch.stack([X[0, 1:3].sum(0), X[1].sum(0)])
    assert close(head(HALF), head.out(torch.cat([one[0], one[1] / 8.0], -1)))
    twice = Tokens.free(torch.cat([X, X], 1))
    assert close(head.summary(twice)[:, :DIM], X.mean(1)) and close(head.summary(twice)[:, DIM:], X.sum(1) / 4.0)


def test_dropout_before_the_last_map_acts_only_while_training():
    head = built(Pooled.Config(dropout=0.5))
    assert torch.equal(head(HALF), head(HALF))
    head.train()
    assert not torch.equal(head(HALF), head(HALF))
    with pytest.raises(ConfigError, match="below 1"):
        Pooled.Config(dropout=1.0)


def test_a_summary_is_the_mean_or_the_first_real_token_and_has_nothing_to_learn():
    mean, first = (Summary.Config(first=one).build(dim=DIM) for one in (False, True))
    assert not list(mean.parameters())
    assert close(mean(HALF), torch.stack([X[0, 1:3].mean(0), X[1].mean(0)]))
    assert close(first(HALF), torch.stack([X[0, 1], X[1, 0]]))


def test_a_summary_of_length_one_keeps_its_direction():
    plain, unit = (Summary.Config(unit=one).build(dim=DIM)(HALF) for one in (False, True))
    assert close(unit.norm(dim=-1), torch.ones(2)) and close(unit * plain.norm(dim=-1, keepdim=True), plain)
    nothing = Tokens.free(X, valid=torch.zeros(2, 4, dtype=torch.bool))
    assert not Summary.Config(unit=True).build(dim=DIM)(nothing).any(), "and of nothing is zero"


def test_a_summary_may_go_through_a_dense_layer():
    head = randomised(Summary.Config(first=True, dense=Dense.Config(activation="tanh")).build(dim=DIM)).double()
    assert close(head(HALF), torch.tanh(head.dense.linear(torch.stack([X[0, 1], X[1, 0]]))))


def test_a_summary_may_be_the_last_real_token_wherever_padding_stands():
    last = Summary.Config(last=True).build(dim=DIM)
    assert close(last(HALF), torch.stack([X[0, 2], X[1, 3]])) and close(last(Tokens.free(X)), X[:, -1])
    behind = Tokens.free(X, valid=torch.tensor([[1, 0, 0, 0], [1, 1, 1, 0]]).bool())
    assert close(last(behind), torch.stack([X[0, 0], X[1, 2]]))
    with pytest.raises(ConfigError, match="the first token or the last"):
        Summary.Config(first=True, last=True)


def test_a_dense_layer_without_offsets_is_a_product_alone():
    dense = randomised(Dense.Config(activation=None, width=3, offsets=False).build(dim=DIM)).double()
    assert [name for name, _ in dense.named_parameters()] == ["linear.weight"]
    assert close(dense(X), X @ dense.linear.weight.T)


@pytest.mark.parametrize("config", [PerToken.Config(), Pooled.Config()])
def test_a_head_whose_size_nobody_knows_is_refused(config):
    with pytest.raises(ConfigError, match="set outputs"):
        config.build(dim=DIM, size=None)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("kind", [PerToken, Pooled])
def test_dense_layers_are_rounded_with_the_rest(kind, precision: str):
    head = randomised(kind.Config(dense=Dense.Config(norm=LayerNorm.Config())).build(dim=DIM, size=SIZE)).eval()
    small = Tokens.free(X.to(torch.bfloat16 if precision == "bf16" else torch.float32))
    exact, rounded = head(Tokens.free(X.float())), prepared(head, precision)(small)
    assert rounded.dtype is torch.float32 and close(rounded, exact, 0.1) and not close(rounded, exact, 1e-6)


def test_a_head_joins_the_first_real_token_and_the_mean_of_the_others():
    head = built(FirstAndMean.Config())
    rows = [torch.cat([X[0, 1], X[0, 2]]), torch.cat([X[1, 0], X[1, 1:].mean(0)])]
    assert close(head(HALF), torch.stack(rows) @ head.out.weight.T + head.out.bias)
