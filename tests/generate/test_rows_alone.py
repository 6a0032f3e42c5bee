"""A row's arithmetic does not depend on its neighbours: alone and in a batch, in every precision, it has one answer."""

import numpy as np
import pytest
import torch
from foreign import perturbed
from tiny import ZOO, language_model

from weft.core.int8 import Int8Weight, int8_linear, rounded_weight
from weft.core.transforms import ACTIVATIONS, same_at_every_place
from weft.generate import Session
from weft.generate.compute import prepared
from weft.generate.decode import Decoding, decode
from weft.models.zoo import Size
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
@pytest.mark.parametrize("name", ["swift", "transformer"])
def test_a_sentence_has_the_same_translation_and_score_alone_and_beside_others(name: str, precision: str):
    model = perturbed(TRANSLATION_MODELS[name](Size(dim=24, depth=1, heads=2, context=32), vocab=20))
    sources = [np.array(row) for row in prompts(12, vocab=20, longest=9)]
    how = Decoding(precision=precision, beam=3, best=2)

    def found(some: list[np.ndarray]) -> list:
        return decode(model, some, end=0, limits=[8] * len(some), how=how)

    assert found(sources) == [found([source])[0] for source in sources]


@pytest.mark.parametrize("width", [1, 7, 64, 1500])
def test_sums_in_eight_bits_are_exact_in_every_kernel_at_every_number_of_rows(width: int):
    weight = torch.randn(9, width, generator=torch.Generator().manual_seed(0))
    x = torch.randn(33, width, generator=torch.Generator().manual_seed(1)) * torch.logspace(-3, 3, 33)[:, None]
    used = rounded_weight(weight)
    plain = Int8Weight(used.whole, used.scale)
    plain.packed, plain._whole = None, used.whole
    step = x.abs().amax(1, keepdim=True) / used.row_limit
    sums = (x / step).round().double() @ used.whole.double().T
    exact = sums.float() * used.scale * step
    for kernel in (used, plain):
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
