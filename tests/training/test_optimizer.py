"""The optimizer: every parameter in one group, a step that can be counted on, a memory that travels."""

import math

import pytest
import torch
from helpers.tiny import SIZE, VOCAB, ZOO, close, ids, language_model, numbers

from weft.batches.windows import windows
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS
from weft.objectives import NextToken
from weft.training.muon import Muon
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights
from weft.training.settings import Training

OBJECTIVE = NextToken.Config().build()
RULES = ["muon", "adamw"]


def model_of(name: str) -> Stream:
    torch.manual_seed(0)
    return language_model(name, dtype=torch.float32).train()


def ready(name: str, rule: str = "muon", precision: torch.dtype = torch.float32, **settings) -> Optimizer:
    weights = Weights(model_of(name), precision)
    return Optimizer(weights, Training(optimizer=rule, **settings), fast=torch.float32)


def learn(optimizer: Optimizer, steps: int, start: int = 0) -> list[float]:
    losses = []
    for step in range(start, start + steps):
        loss = OBJECTIVE(optimizer.weights.model, windows(ids(4, 9, seed=step % 3)))
        loss.total.backward()
        optimizer.weights.collect()
        assert math.isfinite(optimizer.step(loss.count, 1.0))
        optimizer.weights.clear()
        losses.append(float(loss.total.detach()) / loss.count)
    return losses


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ZOO)
def test_every_parameter_is_in_exactly_one_group(name: str, rule: str):
    optimizer = ready(name, rule)
    held = [id(p) for each in optimizer.rules for group in each.param_groups for p in group["params"]]
    assert len(held) == len(set(held))
    assert set(held) == {id(p) for p in optimizer.weights.master.values()}
    assert {id(p) for p in optimizer.weights.model.parameters()} == set(held), "in fp32 the model is its own master"


@pytest.mark.parametrize("rule", RULES)
def test_parts_that_another_run_learned_have_a_share_of_the_rate_of_new_ones(rule: str):
    def rates(**settings) -> dict[str, float]:
        optimizer = ready("swift", rule, **settings)
        names = {id(p): name for name, p in optimizer.weights.master.items()}
        return {names[id(p)]: g["lr"] for each in optimizer.rules for g in each.param_groups for p in g["params"]}

    alone = next(name for name in rates() if name.startswith("trunk.blocks.0."))  # a single weight is a part as well
    usual, mixed = rates(), rates(learned=("embed", "trunk.blocks.1", alone), learned_lr=0.1)
    assert usual.keys() == mixed.keys()
    for name, rate in mixed.items():
        share = 0.1 if name == alone or name.startswith(("embed.", "trunk.blocks.1.")) else 1.0
        assert rate == pytest.approx(share * usual[name]), name
    assert {share for name, rate in mixed.items() if (share := round(rate / usual[name], 3))} == {0.1, 1.0}


@pytest.mark.parametrize("name", ZOO)
def test_muon_takes_the_matrices_of_the_trunk_and_nothing_else(name: str):
    optimizer = ready(name)
    muon = [p for rule in optimizer.rules if isinstance(rule, Muon) for g in rule.param_groups for p in g["params"]]
    inside = {id(p) for p in optimizer.weights.model.trunk.parameters() if p.ndim == 2}
    assert {id(p) for p in muon} == inside and muon
    adam = ready(name, "adamw")
    assert not any(isinstance(rule, Muon) for rule in adam.rules)


@pytest.mark.parametrize("name", ZOO)
def test_beside_muon_a_head_of_its_own_learns_at_half_the_rate_and_a_tied_one_as_the_table_does(name: str):
    optimizer = ready(name, lr=1e-2, matrix_lr=2.0)
    rates = {id(p): g["lr"] for rule in optimizer.rules for g in rule.param_groups for p in g["params"]}
    model = optimizer.weights.model
    tied = model.head.out.weight is model.embed.table.weight
    assert rates[id(model.head.out.weight)] == pytest.approx(1e-2 if tied else 5e-3)
    assert rates[id(model.embed.table.weight)] == pytest.approx(1e-2)
    assert tied == (name == "gpt")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ZOO)
def test_weight_decay_falls_on_matrices_of_the_trunk_only(name: str, rule: str):
    optimizer = ready(name, rule, weight_decay=0.1)
    trunk = {id(p) for p in optimizer.weights.model.trunk.parameters()}
    for each in optimizer.rules:
        for group in each.param_groups:
            for p in group["params"]:
                assert (group["weight_decay"] > 0) == (id(p) in trunk and p.ndim == 2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ZOO)
def test_training_lowers_the_loss(name: str, rule: str):
    losses = learn(ready(name, rule, lr=1e-2), 18)
    assert sum(losses[-3:]) < 0.95 * sum(losses[:3])


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ZOO)
def test_a_memory_that_travelled_goes_on_bit_by_bit(name: str, rule: str, precision: torch.dtype):
    whole = ready(name, rule, precision)
    learn(whole, 2)
    weights = {key: t.clone() for key, t in whole.weights.tensors().items()}
    memory = {key: t.clone() for key, t in whole.tensors().items()}
    learn(whole, 2, start=2)
    later = Weights(LANGUAGE_MODELS[name](SIZE, vocab=VOCAB).build().train(), precision)
    later.load(weights)
    resumed = Optimizer(later, Training(optimizer=rule), fast=torch.float32)
    resumed.load(memory)
    learn(resumed, 2, start=2)
    one, other = whole.weights.tensors(), resumed.weights.tensors()
    assert list(one) == list(other) and all(torch.equal(one[key], other[key]) for key in one)
    one, other = whole.tensors(), resumed.tensors()
    assert set(one) == set(other) and all(torch.equal(one[key], other[key]) for key in one)


def test_without_its_memory_a_run_does_not_go_on_the_same():
    whole, forgetful = ready("gpt"), ready("gpt")
    learn(whole, 2)
    forgetful.weights.load({key: t.clone() for key, t in whole.weights.tensors().items()})
    learn(whole, 1, start=2)
    learn(forgetful, 1, start=2)
    assert any(not torch.equal(t, forgetful.weights.tensors()[key]) for key, t in whole.weights.tensors().items())


def test_a_memory_of_a_parameter_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"lacks: trunk\.blocks\.9"):
        ready("gpt").load({"trunk.blocks.9.mix.qkv.weight/momentum": torch.zeros(3)})


def test_gradients_are_divided_once_by_the_count_and_clipped_by_their_norm():
    optimizer = ready("gpt", "adamw", clip=1.0)
    master = optimizer.weights.master
    for i, p in enumerate(master.values()):
        p.grad = numbers(*p.shape, seed=i, dtype=torch.float32)
    norm = math.sqrt(sum(float(p.grad.double().square().sum()) for p in master.values()))
    assert optimizer.step(4, 0.0) == pytest.approx(norm / 4, rel=1e-5)
    clipped = math.sqrt(sum(float(p.grad.double().square().sum()) for p in master.values()))
    assert clipped == pytest.approx(min(1.0, norm / 4), rel=1e-4)


def test_the_factor_scales_every_rate_and_zero_changes_nothing():
    optimizer = ready("gpt", lr=1e-2, matrix_lr=2.0)
    peaks = [g["lr"] for rule in optimizer.rules for g in rule.param_groups]
    before = {key: t.clone() for key, t in optimizer.weights.tensors().items()}
    for p in optimizer.weights.master.values():
        p.grad = torch.ones_like(p)
    optimizer.step(1, 0.0)
    assert all(torch.equal(t, before[key]) for key, t in optimizer.weights.tensors().items())
    optimizer.step(1, 0.5)
    assert [g["lr"] for rule in optimizer.rules for g in rule.param_groups] == pytest.approx([p / 2 for p in peaks])
    assert sorted(set(peaks)) == pytest.approx([1e-2, 2e-2])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(bad: float):
    optimizer = ready("gpt")
    learn(optimizer, 1)
    before = [t.clone() for t in (*optimizer.weights.tensors().values(), *optimizer.tensors().values())]
    for p in optimizer.weights.master.values():
        p.grad = torch.ones_like(p)
    next(iter(optimizer.weights.master.values())).grad[0, 0] = bad
    assert not math.isfinite(optimizer.step(1, 1.0))
    after = (*optimizer.weights.tensors().values(), *optimizer.tensors().values())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_norm_beyond_the_squares_of_fp32_is_still_a_number():
    optimizer = ready("gpt")
    for p in optimizer.weights.master.values():
        p.grad = torch.full_like(p, 1e25)
    count = sum(p.numel() for p in optimizer.weights.master.values())
    assert optimizer.step(1, 1.0) == pytest.approx(1e25 * math.sqrt(count), rel=1e-6)
    assert all(t.isfinite().all() for t in optimizer.weights.tensors().values())


def test_a_batch_with_nothing_to_learn_changes_nothing():
    optimizer = ready("gpt")
    before = {key: t.clone() for key, t in optimizer.weights.tensors().items()}
    assert optimizer.step(0, 1.0) == 0.0
    assert all(torch.equal(t, before[key]) for key, t in optimizer.weights.tensors().items())


def test_a_tied_table_is_learned_once_and_without_decay():
    optimizer = ready("gpt", weight_decay=0.5)
    table = optimizer.weights.master["embed.table.weight"]
    assert "head.out.weight" not in optimizer.weights.master
    before = table.detach().clone()
    for p in optimizer.weights.master.values():
        p.grad = torch.zeros_like(p)
    optimizer.step(1, 1.0)
    assert close(table.detach(), before)


@pytest.mark.parametrize("rule", RULES)
def test_gradients_of_the_rows_that_were_read_train_as_whole_gradients_do(rule: str, monkeypatch: pytest.MonkeyPatch):
    def trained(many_rows: int) -> Optimizer:
        monkeypatch.setattr("weft.training.optimizer.MANY_ROWS", many_rows)
        optimizer = ready("swift", rule)
        learn(optimizer, 2)
        loss = OBJECTIVE(optimizer.weights.model, windows(ids(2, 9)))
        for _ in range(2):  # micro-batches read the same rows
            loss.total.backward(retain_graph=True)
        sparse = {n for n, p in optimizer.weights.master.items() if p.grad is not None and p.grad.is_sparse}
        assert bool(sparse) == (many_rows == 1) and not any(n.startswith("head") for n in sparse)
        optimizer.step(2 * loss.count, 1.0)
        return optimizer

    whole, rows = (trained(many).weights.tensors() for many in (10**9, 1))
    assert all(close(t, rows[name], 1e-6) for name, t in whole.items())
