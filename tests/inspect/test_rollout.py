"""Attention rollout: shares of the input that reach each output, followed through all layers."""

import time

import pytest
import torch

from weft.errors import ConfigError, DataError
from weft.inspect.rollout import rollout


def attention(layers: int = 3, rows: int = 2, heads: int = 2, tokens: int = 5, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (rows, heads, tokens, tokens)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1) for _ in range(layers)]


def test_what_reaches_an_output_adds_up_to_one():
    found = rollout(attention())
    assert torch.allclose(found.sum(-1), torch.ones(2, 5).double()) and (found >= 0).all()


def test_the_first_layer_is_read_through_the_last():
    first, last = attention(2)
    own = torch.eye(5).double()
    expected = (own + last.mean(1)) / 2 @ ((own + first.mean(1)) / 2)
    assert torch.allclose(rollout([first, last]), expected)
    assert not torch.allclose(rollout([last, first]), expected)


def test_a_token_copied_in_each_layer_is_found_where_it_began():
    """Token 2 is written into token 1, then token 1 into token 0: token 0 holds token 2, and nothing else."""
    own = torch.eye(3)
    first, second = own.clone(), own.clone()
    first[1], second[0] = own[2], own[1]
    found = rollout([layer[None, None] for layer in (first, second)], skip=0.0)
    assert torch.equal(found[0, 0], own[2])


@pytest.mark.parametrize("skip", [0.0, 0.25, 1.0])
def test_the_residual_line_carries_its_share(skip: float):
    (weights,) = attention(1)
    expected = skip * torch.eye(5).double() + (1 - skip) * weights.mean(1)
    assert torch.allclose(rollout([weights], skip=skip), expected)


@pytest.mark.parametrize("skip", [0.0, 0.5])
def test_a_token_that_reads_nothing_keeps_what_it_has(skip: float):
    layers = attention()
    for layer in layers:
        layer[:, :, 4] = 0
    found = rollout(layers, skip=skip)
    assert found.isfinite().all() and torch.equal(found[0, 4], torch.eye(5).double()[4])


def test_half_precision_is_followed_in_single():
    layers = attention()
    found = rollout([layer.bfloat16() for layer in layers])
    assert found.dtype == torch.float32 and torch.allclose(found, rollout(layers).float(), atol=0.01)


def test_ten_pictures_take_well_under_a_second():
    layers = [torch.rand(10, 12, 197, 197).softmax(-1)] * 12
    start = time.perf_counter()
    rollout(layers)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("layers", [[], [attention(1)[0], attention(1, tokens=4)[0]]])
def test_layers_that_cannot_be_followed_are_refused(layers: list):
    with pytest.raises(DataError, match="layer"):
        rollout(layers)


def test_a_share_beyond_one_is_refused():
    with pytest.raises(ConfigError, match="from 0 to 1"):
        rollout(attention(), skip=1.5)
