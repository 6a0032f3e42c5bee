"""Norms bring each token's own numbers to one scale, whatever the batch."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised
from torch import nn

from weft.core import LayerNorm, OnePlusRmsNorm, RmsNorm

NORMS = {"layer": LayerNorm, "rms": RmsNorm, "one plus": OnePlusRmsNorm}


def test_layer_norm_is_its_equation_and_that_of_torch():
    ours, x = randomised(LayerNorm.Config(eps=1e-3).build(dim=6)).double(), numbers(2, 3, 6)
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    assert close(ours(x), (x - mean) / (variance + 1e-3).sqrt() * ours.gain + ours.offset)
    theirs = nn.LayerNorm(6, eps=1e-3, dtype=torch.float64)
    theirs.load_state_dict({"weight": ours.gain, "bias": ours.offset})
    assert close(ours(x), theirs(x))


def test_a_layer_norm_may_have_a_gain_and_no_offset():
    ours, x = randomised(LayerNorm.Config(offsets=False).build(dim=6)).double(), numbers(2, 3, 6)
    assert [name for name, _ in ours.named_parameters()] == ["gain"]
    assert close(ours(x), nn.functional.layer_norm(x, (6,)) * ours.gain)


def test_rms_norm_is_its_equation():
    ours, x = randomised(RmsNorm.Config(eps=1e-3).build(dim=6)).double(), numbers(2, 3, 6)
    assert close(ours(x), x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * ours.gain)


def test_a_norm_that_stores_its_gain_by_the_excess_over_one_is_its_equation():
    ours, x = randomised(OnePlusRmsNorm.Config(eps=1e-3).build(dim=6)).double(), numbers(2, 3, 6)
    assert close(ours(x), x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * (1 + ours.excess))


@pytest.mark.parametrize("norm", NORMS)
def test_a_norm_starts_as_scaling_alone_and_has_weights_only_if_learned(norm: str):
    learned, bare = (NORMS[norm].Config(learned=learned).build(dim=6).double() for learned in (True, False))
    x = numbers(2, 3, 6)
    assert torch.equal(learned(x), bare(x))
    assert not list(bare.parameters()) and len(list(learned.parameters())) == (2 if norm == "layer" else 1)


@pytest.mark.parametrize("norm", NORMS)
def test_a_norm_does_not_depend_on_scale_or_neighbours(norm: str):
    layer, x = NORMS[norm].Config(eps=1e-12).build(dim=6).double(), numbers(2, 3, 6)
    assert close(layer(1e3 * x), layer(x), 1e-6)
    changed = x.clone()
    changed[0] = 99.0
    assert torch.equal(layer(changed)[1], layer(x)[1])


@pytest.mark.parametrize("norm", NORMS)
def test_a_constant_token_has_a_finite_norm_and_gradient(norm: str):
    layer, x = NORMS[norm].Config().build(dim=6), torch.zeros(1, 1, 6, requires_grad=True)
    layer(x).sum().backward()
    assert layer(x).isfinite().all() and x.grad.isfinite().all()
