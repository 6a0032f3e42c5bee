"""Weights: the optimizer sees fp32 always; bf16 copies compute; tied weights are one."""

import pytest
import torch
from helpers.tiny import ZOO, close, ids, language_model
from torch import nn

from weft.core.norms import BatchNorm
from weft.errors import ConfigError
from weft.modalities.image import Picture, Sight
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.models.zoo.vision import VisionSize, small_net, vit_hybrid
from weft.training import precision as precision_of
from weft.training.precision import LossScale, Weights, pick_precision, why_precision


def model_of(name: str) -> Stream:
    return language_model(name, dtype=torch.float32)


@pytest.mark.parametrize("name", ZOO)
def test_the_master_copy_stays_fp32_while_the_trunk_computes_in_bf16(name: str):
    model = model_of(name)
    exact = {key: t.clone() for key, t in model.state_dict().items()}
    weights = Weights(model, torch.bfloat16)
    assert all(m.dtype is torch.float32 for m in weights.master.values())
    assert all(torch.equal(t, exact[key]) for key, t in weights.tensors().items()), "nothing is rounded away"
    assert model.trunk.dtype is torch.bfloat16
    assert all(p.dtype is torch.float32 for p in model.embed.parameters()), "small sums matter in tables"
    assert model(Text(ids(2, 6))).dtype is torch.float32


def test_convolutions_compute_in_bf16_and_their_norms_and_places_stay_exact():
    sight = Sight(height=16, width=16, channels=3, mean=(0.5,) * 3, std=(0.25,) * 3)
    model = vit_hybrid(VisionSize(dim=16, depth=1, net=small_net(8, (0, 1))), sight, outputs=3).build()
    picture = Picture(torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(1)))
    before = model(picture).detach()
    weights = Weights(model, torch.bfloat16)
    kinds = {type(m): p.dtype for m in model.embed.modules() for p in m.parameters(recurse=False)}
    assert kinds[nn.Conv2d] is torch.bfloat16 and model.embed.net.dtype is torch.bfloat16
    assert {kinds[BatchNorm], kinds[nn.Linear]} == {torch.float32}
    after = model(picture)
    after.sum().backward()
    weights.collect()
    assert 0 < float((after - before).detach().abs().max()) < 0.05 * float(before.std())
    assert all(m.dtype is m.grad.dtype is torch.float32 for m in weights.master.values() if m.grad is not None)
    for module in model.modules():
        if isinstance(module, BatchNorm):
            assert module.running_mean.dtype is torch.float32


def test_weights_of_another_precision_are_refused_with_what_helps():
    weights = Weights(model_of("gpt"), torch.float32)
    half = {name: tensor.bfloat16() for name, tensor in weights.tensors().items()}
    with pytest.raises(ConfigError, match="numbers of the type bfloat16, the model needs float32") as error:
        weights.load(half)
    assert error.value.fix == "put the run's own file back, or write this tensor as float32"


@pytest.mark.parametrize("name", ZOO)
def test_the_rounded_model_stays_close_to_the_exact_one(name: str):
    model, text = model_of(name), Text(ids(2, 6))
    exact = model(text)
    Weights(model, torch.bfloat16)
    assert float((model(text) - exact).detach().std()) < 0.05 * float(exact.detach().std())


@pytest.mark.parametrize("name", ZOO)
def test_in_fp32_the_model_is_its_own_master(name: str):
    model = model_of(name)
    weights = Weights(model, torch.float32)
    assert all(weights.master[key] is p for key, p in model.named_parameters())


def test_gradients_reach_the_master_and_small_updates_add_up():
    model = model_of("llama")
    weights = Weights(model, torch.bfloat16)
    name = "trunk.blocks.0.mix.qkv.weight"
    work, master = weights.work[name], weights.master[name]
    assert work is not master and work.dtype is torch.bfloat16
    model(Text(ids(2, 6))).sum().backward()
    weights.collect()
    assert master.grad.dtype is torch.float32 and torch.equal(master.grad, work.grad.float())
    before, start = work.detach().clone(), master.detach().clone()
    for _ in range(200):
        with torch.no_grad():
            master += 1e-4 * master.sign()  # less than bf16 can add to most of these
        weights.spread()
    assert torch.equal(work.detach(), master.detach().bfloat16()) and not torch.equal(work, before)
    assert close(master.detach(), start + 0.02 * start.sign(), 1e-4)
    weights.clear()
    assert all(p.grad is None for p in (*weights.work.values(), *weights.master.values()))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16], ids=str)
def test_tied_weights_are_saved_once_and_stay_tied(precision: torch.dtype):
    model = model_of("gpt")
    weights = Weights(model, precision)
    saved = weights.tensors()
    assert "embed.table.weight" in saved and "head.out.weight" not in saved
    assert len({t.data_ptr() for t in saved.values()}) == len(saved)
    weights.load({key: t + 1 for key, t in saved.items()})
    assert model.head.out.weight is model.embed.table.weight


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ZOO)
def test_saved_weights_load_into_another_model_bit_by_bit(name: str, precision: torch.dtype):
    one, other = (
        Weights(model_of(name), precision),
        Weights(language_model(name, dtype=torch.float32, seed=9), precision),
    )
    other.load({key: t.clone() for key, t in one.tensors().items()})
    assert all(torch.equal(t, other.tensors()[key]) for key, t in one.tensors().items())
    assert torch.equal(one.model(Text(ids(2, 6))), other.model(Text(ids(2, 6))))


@pytest.mark.parametrize("name", ZOO)
def test_missing_and_extra_names_and_other_shapes_are_refused_and_nothing_changes(name: str):
    weights = Weights(model_of(name), torch.float32)
    before = {key: t.clone() for key, t in weights.tensors().items()}
    some = next(iter(before))
    missing = {key: t + 1 for key, t in before.items() if key != some}
    extra = {key: t + 1 for key, t in before.items()} | {"more.weight": torch.zeros(1)}
    for wrong, named in ((missing, some), (extra, "more.weight")):
        with pytest.raises(ConfigError, match=named):
            weights.load(wrong)
    shape = dict(before) | {some: torch.zeros(2, 2)}
    with pytest.raises(ConfigError, match=r"has the shape \[2, 2\]"):
        weights.load(shape)
    assert all(torch.equal(t, before[key]) for key, t in weights.tensors().items())


def test_what_the_user_wants_is_taken_and_nonsense_refused():
    cpu = torch.device("cpu")
    assert pick_precision("fp32", cpu) is torch.float32 and pick_precision("bf16", cpu) is torch.bfloat16
    with pytest.raises(ConfigError, match="auto, fp32, bf16 or fp16"):
        pick_precision("fp8", cpu)


@pytest.mark.parametrize(
    ("kind", "bf16", "fp16", "found"),
    [
        ("cuda", 8.0, 8.0, torch.bfloat16),
        ("cuda", 0.2, 6.0, torch.float16),  # a T4, a V100
        ("cuda", 0.9, 1.1, torch.float32),
        ("cpu", 0.9, 6.0, torch.float32),
    ],
)
def test_gpus_without_fast_bf16_train_in_fp16(
    kind: str, bf16: float, fp16: float, found: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision_of, "bf16_speedup", lambda device: bf16)
    monkeypatch.setattr(precision_of, "fp16_speedup", lambda device: fp16)
    device = torch.device(kind)
    assert pick_precision("auto", device) is found
    assert ("bf16 is slow" in why_precision("auto", device, found)) == (found is torch.float16)
    assert pick_precision("fp16", device) is torch.float16


def test_the_scale_of_the_loss_is_halved_where_gradients_overflow_and_doubled_after_many_sound_steps() -> None:
    scale = LossScale(torch.float16)
    first = scale.value
    scale.note(False)
    assert scale.value == first / 2 and not scale.exhausted
    for _ in range(precision_of.GROWS_AFTER):
        scale.note(True)
    assert scale.value == first and scale.sound == 0
    for _ in range(60):
        scale.note(False)
    assert scale.exhausted, "what overflows at any scale is no rounding"
    exact = LossScale(torch.float32)
    exact.note(False)
    assert exact.value == 1.0 and exact.exhausted


def test_gradients_of_a_loss_that_was_scaled_are_divided_by_its_scale_everywhere() -> None:
    found = []
    for scale in (1.0, 16.0):
        model = model_of("llama")
        weights = Weights(model, torch.float16)
        (model(Text(ids(2, 6))).sum() * scale).backward()
        weights.collect(scale)
        found.append({name: m.grad for name, m in weights.master.items() if m.grad is not None})
    assert found[0].keys() == found[1].keys() and any("embed" in name for name in found[0])
    for name, grad in found[0].items():
        assert grad is not None and close(grad, found[1][name], 2e-3 * float(grad.abs().max()) + 1e-6), name
