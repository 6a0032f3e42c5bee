"""A row's arithmetic does not depend on its neighbours: alone and in a batch, in every precision, it has one answer."""

import numpy as np
import pytest
import torch
from helpers.foreign import perturbed
from helpers.tiny import ZOO, language_model
from torch import nn

from weft.core import Lstm, int8
from weft.core.int8 import Int8Weight, int8_linear, rounded_weight
from weft.core.linear import RowwiseLinear
from weft.core.transforms import ACTIVATIONS, same_at_every_place
from weft.generate import Session
from weft.generate.compute import prepared
from weft.generate.decode import Decoding, decode
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.models.zoo.translation import TRANSLATION_MODELS

FP32_NOISE = 2e-5  # of the largest logit: fp32 sums in another order, which nothing rounds any further
STEPS = 2
slow = pytest.mark.slow
QUICK = [name if name == "swift" else pytest.param(name, marks=slow) for name in ZOO]


def prompts(count: int, *, vocab: int, longest: int) -> list[list[int]]:
    draw = np.random.default_rng(0)
    return [draw.integers(1, vocab, int(length)).tolist() for length in draw.integers(1, longest + 1, count)]


def logits(model, rows: list[list[int]]) -> torch.Tensor:
    """Logits after the prompts and after each of a few greedy steps: (rows, steps, vocabulary)."""
    session = Session(model, capacity=32)
    found = [session.start(rows)]
    for _ in range(STEPS):
        found.append(session.step(found[-1].argmax(-1)))
    return torch.stack(found, 1)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("name", QUICK)
def test_a_prompt_has_the_same_logits_alone_and_beside_others(name: str, precision: str):
    model = prepared(language_model(name, context=32, dtype=torch.float32), precision)
    rows = prompts(40, vocab=11, longest=12)
    alone = torch.cat([logits(model, [row]) for row in rows])
    for size in (7, 40):
        beside = torch.cat([logits(model, rows[i : i + size]) for i in range(0, len(rows), size)])
        assert torch.equal(beside.argmax(-1), alone.argmax(-1))
        if precision == "fp32":
            assert float((beside - alone).abs().max()) <= FP32_NOISE * float(alone.abs().max())
        else:
            assert torch.equal(beside, alone)


@slow
@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("dim", [24, 64])
@pytest.mark.parametrize("name", sorted(TRANSLATION_MODELS))
def test_a_sentence_has_the_same_translation_and_score_alone_and_beside_others(name: str, dim: int, precision: str):
    model = perturbed(TRANSLATION_MODELS[name](Size(dim=dim, depth=1, heads=2, context=32), vocab=20))
    sources = [np.array(row) for row in prompts(12, vocab=20, longest=9)]
    how = Decoding(precision=precision, beam=3, best=2)

    def found(some: list[np.ndarray]) -> list:
        return decode(model, some, end=0, limits=[8] * len(some), how=how)

    assert found(sources) == [found([source])[0] for source in sources]


@pytest.mark.parametrize("bias", [True, False])
def test_rows_in_bf16_have_the_same_values_alone_and_cut_out_of_a_wider_tensor(bias: bool):
    draw = torch.Generator().manual_seed(0)
    layer = nn.Linear(24, 40, bias=bias).bfloat16()
    wide = torch.randn(9, 48, generator=draw).bfloat16()
    with torch.no_grad():
        cut = RowwiseLinear(layer)(wide.chunk(2, -1)[1][:, None])
        alone = [RowwiseLinear(layer)(row.chunk(2, -1)[1][:, None]) for row in wide.split(1)]
    assert torch.equal(cut, torch.cat(alone))


@pytest.mark.parametrize("dim", [24, pytest.param(256, marks=slow)])
def test_a_fused_lstm_in_bf16_reads_a_row_alone_as_beside_others_and_without_its_padding(dim: int):
    config = LANGUAGE_MODELS["lstm"](Size(dim=dim, depth=2, heads=2, context=32), vocab=20)
    model = prepared(perturbed(config), "bf16")
    rows = prompts(12, vocab=20, longest=9)
    assert torch.equal(logits(model, rows), torch.cat([logits(model, [row]) for row in rows]))
    assert all(mixer.fused for mixer in model.modules() if isinstance(mixer, Lstm))


def test_few_rows_of_a_small_map_in_bf16_have_the_sums_of_many():
    draw = torch.Generator().manual_seed(0)
    for _ in range(200):
        layer = nn.Linear(64, 20, bias=False).bfloat16()
        x = torch.randn(36, 64, generator=draw).bfloat16()
        with torch.no_grad():
            layer.weight.copy_(torch.randn(20, 64, generator=draw) / 8)
            many = RowwiseLinear(layer)(x)
            few = torch.cat([RowwiseLinear(layer)(rows) for rows in x.split([1, 2, 3, 30])])
        assert torch.equal(few, many)


@pytest.mark.parametrize("width", [1, 7, 64, 1500])
@pytest.mark.parametrize("whole_products", [True, False])
def test_sums_in_eight_bits_are_exact_in_every_kernel_at_every_number_of_rows(
    width: int, whole_products: bool, monkeypatch: pytest.MonkeyPatch
):
    if whole_products and not int8._whole_products_pay():
        pytest.skip("this processor has no product of whole numbers that pays")
    monkeypatch.setattr(int8, "_whole_products_pay", lambda: whole_products)
    weight = torch.randn(9, width, generator=torch.Generator().manual_seed(0))
    x = torch.randn(33, width, generator=torch.Generator().manual_seed(1)) * torch.logspace(-3, 3, 33)[:, None]
    used = rounded_weight(weight)
    kernels = [used, Int8Weight(used.whole, used.scale, "sums")]
    if int8._packed_limit() is not None:
        kernels.append(Int8Weight(used.whole, used.scale, "packed"))
    step = x.abs().amax(1, keepdim=True) / used.row_limit
    sums = (x / step).round().double() @ used.whole.double().T
    exact = sums.float() * used.scale * step
    for kernel in kernels:
        assert torch.equal(int8_linear(x, kernel, None), exact)
        assert torch.equal(int8_linear(x[5:6], kernel, None), exact[5:6])


def test_the_largest_products_do_not_overflow():
    used = rounded_weight(torch.ones(3, 4096))
    found = int8_linear(torch.tensor([[5.0], [-2.0]]).expand(2, 4096), used, None)
    assert torch.allclose(found, torch.tensor([[5.0], [-2.0]]).expand(2, 3) * 4096, rtol=1e-6)


def test_numbers_that_are_none_stay_so_and_spoil_no_other_row():
    x = torch.ones(3, 8)
    x[1, 2] = float("nan")
    found = int8_linear(x, rounded_weight(torch.ones(2, 8)), torch.ones(2))
    assert found[1].isnan().all() and torch.allclose(found[[0, 2]], torch.tensor(9.0))


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "quick", "silu", "relu_squared", "tanh"])
def test_a_function_in_use_is_the_same_wherever_a_number_stands(name: str):
    x = 3 * torch.randn(40, 50, generator=torch.Generator().manual_seed(0))
    act = same_at_every_place(ACTIVATIONS[name])
    assert torch.equal(act(x), torch.cat([act(row[None]) for row in x]))
    assert torch.allclose(act(x), ACTIVATIONS[name](x), atol=1e-6)
