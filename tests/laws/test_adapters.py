"""The laws of adapters, over models of the zoo: at first nothing changes, only they learn, merged they are equal."""

import pytest
import torch
from helpers.tiny import ENCODER_ZOO, PAIR_ZOO, close, encoder_model, ids, language_model, randomised, translation_model

from weft.batches.windows import windows
from weft.config import from_json
from weft.core import Cache, LowRank
from weft.core.adapters import adapters
from weft.generate.compute import prepared
from weft.json_text import read_json, write_json
from weft.modalities.text import Text
from weft.models.adapted import adapted, has_adapters, merged
from weft.models.stream import Model
from weft.objectives import NextToken
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights
from weft.training.settings import Training

HOW = LowRank.Config(rank=2, alpha=4.0)
TEXT, TARGET = Text(ids(2, 6)), Text(ids(2, 5, seed=1))


def models() -> dict[str, Model]:
    found: dict[str, Model] = {name: language_model(name) for name in ("gpt", "llama", "swift")}
    found |= {f"{name} encoder": encoder_model(name, "tags") for name in ENCODER_ZOO}
    return found | {f"{name} translator": translation_model(name) for name in PAIR_ZOO if not name.startswith("lstm")}


MODELS = models()
every_model = pytest.mark.parametrize("name", MODELS)


def out(model: Model) -> torch.Tensor:
    return model(TEXT, TARGET) if hasattr(model, "source") else model(TEXT)


def learned(name: str) -> Model:
    """With adapters that have gone somewhere."""
    model = adapted(MODELS[name], HOW)
    with torch.no_grad():
        for i, t in enumerate(adapters(model).values()):
            t.copy_(torch.randn(t.shape, generator=torch.Generator().manual_seed(i)) * 0.3)
    return model


@every_model
def test_a_model_that_gets_adapters_gives_the_same_values_and_nothing_else_learns(name: str):
    model = adapted(MODELS[name], HOW)
    assert torch.equal(out(model), out(MODELS[name]))
    assert {n for n, p in model.named_parameters() if p.requires_grad} == set(adapters(model))
    assert all(p.requires_grad for p in MODELS[name].parameters()), "the model itself is left alone"


@every_model
def test_merged_models_are_plain_and_give_the_same_values(name: str):
    model = learned(name)
    assert not close(out(model), out(MODELS[name]), 1e-3)
    plain = merged(model)
    assert close(out(plain), out(model), 1e-9) and not has_adapters(plain) and has_adapters(model)
    assert plain.config == MODELS[name].config and all(p.requires_grad for p in plain.parameters())
    assert list(plain.state_dict()) == list(MODELS[name].state_dict())


@every_model
def test_a_run_with_adapters_is_built_again_from_its_json(name: str):
    model = learned(name)
    assert model.config != MODELS[name].config
    again = from_json(read_json(write_json(model.config.to_json()), where="test"), Model.Config).build().double().eval()
    Weights(again, torch.float32).load(Weights(model, torch.float32).tensors())
    assert torch.equal(out(again), out(model))
    assert not [n for n, p in again.named_parameters() if "trunk" in n and p.requires_grad != (n in adapters(again))]


@pytest.mark.parametrize("name", ["gpt", "llama", "swift"])
def test_stepping_with_a_cache_equals_one_pass(name: str):
    model, cache = learned(name), Cache(2)
    with torch.no_grad():
        steps = [model(Text(piece), cache=cache) for piece in TEXT.ids.split(2, 1)]
    assert close(torch.cat(steps, 1), model(TEXT))


def test_every_adapter_is_in_one_group_of_the_optimizer_and_the_rest_in_none():
    model = adapted(language_model("gpt", dtype=torch.float32), HOW, learn=("embed.place",))
    for kind in ("muon", "adamw"):
        rules = Optimizer(Weights(model, torch.float32), Training(optimizer=kind), fast=torch.float32).rules
        held = [id(p) for rule in rules for group in rule.param_groups for p in group["params"]]
        wanted = {id(p) for p in model.parameters() if p.requires_grad}
        assert sorted(held) == sorted(wanted)
        assert wanted == {id(p) for n, p in model.named_parameters() if n in adapters(model) or "place" in n}


def test_training_adapters_lowers_the_loss_and_moves_nothing_else():
    torch.manual_seed(0)
    model = adapted(language_model("gpt", dtype=torch.float32), HOW)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    weights = Weights(model, torch.float32)
    optimizer = Optimizer(weights, Training(lr=0.01), fast=torch.float32)
    batch, objective, losses = windows(ids(8, 9)), NextToken.Config().build(), []
    for _ in range(30):
        weights.clear()
        loss = objective(model, batch)
        loss.total.backward()
        weights.collect()
        optimizer.step(loss.count, 1.0)
        losses.append(loss.total.item() / loss.count)
    assert losses[-1] < losses[0] - 0.1
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == set(adapters(model))


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_models_that_are_rounded_for_use_are_merged_first(precision: str):
    model = randomised(adapted(language_model("gpt", dtype=torch.float32), HOW), std=0.1).eval()
    used = prepared(model, precision)
    assert not adapters(used) and has_adapters(model)
    assert close(used(TEXT), prepared(merged(model), precision)(TEXT), 1e-6)
