"""Transforms act on each token by itself."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised
from torch.nn import functional as F

from weft.core import Block, BoundedGated, Gated, Layer, Mlp, Out, Plain, ReluInit, SineInit, Trunk
from weft.core.draws import dropout
from weft.core.transforms import ACTIVATIONS, relu_squared
from weft.tokens import Tokens

KINDS = {"mlp": Mlp, "gated": Gated, "bounded": BoundedGated}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("offsets", [True, False])
def test_an_mlp_is_two_maps_with_an_activation_between(activation: str, offsets: bool):
    layer = randomised(Mlp.Config(activation=activation, hidden=7, offsets=offsets).build(dim=4)).double()
    x, act = numbers(2, 3, 4), ACTIVATIONS[activation]
    inner = x @ layer.up.weight.T + (layer.up.bias if offsets else 0)
    assert close(layer(x), act(inner) @ layer.down.weight.T + (layer.down.bias if offsets else 0))
    assert isinstance(layer.down, Out) and (layer.up.bias is not None) is offsets


def test_a_gated_transform_multiplies_gate_and_value():
    layer = randomised(Gated.Config(hidden=5).build(dim=4)).double()
    x, (gate, value) = numbers(2, 3, 4), layer.up.weight.chunk(2)
    assert close(layer(x), (F.silu(x @ gate.T) * (x @ value.T)) @ layer.down.weight.T)


def test_a_bounded_gate_keeps_gate_and_value_within_its_limit():
    layer = randomised(BoundedGated.Config(hidden=5, limit=0.1).build(dim=4)).double()
    x = numbers(2, 3, 4)
    gate, value = layer.up(x).chunk(2, -1)
    assert (gate > 0.1).any() and (value < -0.1).any() and (value > 0.1).any() and (gate < -0.1).any()
    gate, value = gate.clip(max=0.1), value.clip(-0.1, 0.1)
    assert close(layer(x), layer.down(gate / (1 + torch.exp(-1.702 * gate)) * (value + 1)))
    assert torch.autograd.gradcheck(layer, (x.requires_grad_(),))


def test_hidden_widths_follow_the_ratio_unless_given():
    assert Mlp.Config(ratio=3.0).build(dim=8).up.out_features == 24
    assert Mlp.Config(hidden=5).build(dim=8).up.out_features == 5
    assert Gated.Config().build(dim=64).down.in_features == 176  # 2/3 of 256, up to a multiple of 8
    assert Gated.Config(hidden=5).build(dim=8).down.in_features == 5


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_do_not_see_each_other(kind: str):
    layer, x = KINDS[kind].Config().build(dim=4).double(), numbers(2, 3, 4)
    changed = x.clone()
    changed[:, 1] = 5.0
    assert torch.equal(layer(changed)[:, [0, 2]], layer(x)[:, [0, 2]])


def test_squared_relu_and_its_gradient_are_right():
    x = numbers(5, 4).requires_grad_()
    assert torch.equal(relu_squared(x), x.clamp(min=0) ** 2)
    torch.autograd.gradcheck(relu_squared, x)
    for dtype in (torch.float32, torch.bfloat16):
        low = x.detach().to(dtype).requires_grad_()
        relu_squared(low).sum().backward()
        assert low.grad.dtype is dtype and torch.equal(low.grad, 2 * low.detach().clamp(min=0))


def test_dropout_zeroes_a_share_and_keeps_the_mean():
    x = torch.ones(100, 100)
    dropped = dropout(x, 0.25, True)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)
    assert dropout(x, 0.25, False) is x and dropout(x, 0.0, True) is x


def test_layers_of_sines_keep_their_spread_however_deep() -> None:
    """What the initialisation of SIREN is for: every sine is of numbers with a spread of 1."""
    torch.manual_seed(0)
    block = Block.Config(transform=Layer.Config(activation="sine", omega=30.0), wiring=Plain.Config())
    trunk = Trunk.Config(depth=8, block=block, norm=None, init=SineInit.Config(omega=30.0)).build(dim=256)
    x = torch.sin(torch.rand(512, 1, 256) * 6.28)
    *first, last = (block.transform for block in trunk.blocks)
    for layer in first:
        x = layer(x)
    assert x.std().item() == pytest.approx(0.7, abs=0.05)
    assert (30.0 * x @ last.linear.weight.T).std().item() == pytest.approx(1.0, abs=0.1)  # as the paper derives


def test_layers_of_relu_keep_their_spread_however_deep() -> None:
    torch.manual_seed(0)
    block = Block.Config(transform=Layer.Config(), wiring=Plain.Config())
    trunk = Trunk.Config(depth=8, block=block, norm=None, init=ReluInit.Config()).build(dim=256)
    x = Tokens.free(torch.randn(512, 1, 256).relu())
    assert 0.4 < trunk(x).x.pow(2).mean().sqrt() / x.x.pow(2).mean().sqrt() < 2.5
