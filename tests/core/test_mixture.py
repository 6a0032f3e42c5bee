"""Mixtures of experts: what is chosen, its shares, gradients, and the ways in which they are computed."""

import pytest
import torch
from helpers.tiny import SIZE, VOCAB, close, ids, numbers, randomised

from weft.core import Cache, Gated, Mixture, Mlp
from weft.core.transforms import Transform
from weft.errors import ConfigError
from weft.generate.compute import prepared
from weft.modalities.text import Text
from weft.models.zoo import LANGUAGE_MODELS

DIM = 8
X = numbers(2, 5, DIM)


def built(**fields) -> Mixture:
    return randomised(Mixture.Config(experts=4, **fields).build(dim=DIM)).double().eval()


@torch.no_grad()
def by_hand(mixture: Mixture, x: torch.Tensor, *, over_all: bool) -> torch.Tensor:
    """The definition, token by token."""
    out = torch.zeros_like(x)
    for b, n in torch.cartesian_prod(*map(torch.arange, x.shape[:2])).tolist():
        scores = mixture.router(x[b, n])
        best = scores.argsort(descending=True)[: mixture.chosen].tolist()
        total = sum(float(scores[i].exp()) for i in (range(len(scores)) if over_all else best))
        for i in best:
            out[b, n] += float(scores[i].exp()) / total * mixture.experts[i](x[b : b + 1, n : n + 1])[0, 0]
    return out


@pytest.mark.parametrize("expert", [Gated.Config(hidden=6), Mlp.Config(hidden=6)], ids=["gated", "mlp"])
@pytest.mark.parametrize("shares", ["chosen", "all"])
def test_the_best_experts_add_by_the_softmax_of_their_scores(expert: Transform.Config, shares: str, monkeypatch):
    mixture = built(expert=expert, shares=shares, offsets=True)
    wanted = by_hand(mixture, X, over_all=shares == "all")
    assert close(mixture(X), wanted)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    assert close(mixture(X), wanted), "in a graph all experts read all tokens"


@pytest.mark.parametrize("shares", ["chosen", "all"])
def test_gradients_reach_tokens_router_and_experts(shares: str):
    mixture = built(expert=Gated.Config(hidden=6), shares=shares)
    assert torch.autograd.gradcheck(mixture, (X.clone().requires_grad_(),))
    one = X[:1, :1].clone()
    mixture(one).square().sum().backward()
    sizes = [float(expert.up.weight.grad.abs().sum()) for expert in mixture.experts]
    assert sum(size > 0 for size in sizes) == 2, "experts that nobody chose have a gradient of zero"
    assert mixture.router.weight.grad.abs().sum() > 0


def test_stepping_with_a_cache_equals_one_pass_and_later_tokens_change_nothing():
    config = LANGUAGE_MODELS["llama"](SIZE, vocab=VOCAB).set("trunk.block.transform", "Mixture")
    model = randomised(config.set("trunk.block.transform.experts", "3").build()).double().eval()
    text, cache = ids(3, 7), Cache(8)
    with torch.no_grad():
        whole = model(Text(text))
        assert close(torch.cat([model(Text(piece), cache=cache) for piece in text.split([4, 1, 2], 1)], 1), whole)
        assert close(model(Text(text[:, :5])), whole[:, :5])


def test_a_row_is_read_alike_alone_and_beside_others_in_eight_bits():
    mixture, x = built(expert=Gated.Config(hidden=6)).float(), X.float()
    with torch.inference_mode():
        rounded = prepared(mixture, "int8")
        assert torch.equal(rounded(x)[:1], rounded(x[:1])) and not torch.equal(rounded(x), mixture(x))


def test_no_more_experts_can_be_chosen_than_there_are():
    with pytest.raises(ConfigError, match="5 of 4 experts cannot be chosen"):
        Mixture.Config(experts=4, chosen=5)
