"""Native products: every instruction set gives the same whole numbers, and no row depends on its neighbours."""

import pytest
import torch
from torch import Tensor

from weft.core import int8
from weft.core.int8 import rounded_weight
from weft.native import Batch, Kind, Op, Register, library

NATIVE = library()
pytestmark = pytest.mark.skipif(NATIVE is None, reason="there is no C compiler")
INSTRUCTION_SETS = range(NATIVE.widest + 1 if NATIVE else 0)
MOST_ROWS = 40  # beyond two tiles of sixteen


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def product(x: Tensor, weight: Tensor, bias: Tensor | None, threads: int = 1) -> Tensor:
    """W x + b by native code in fp32."""
    assert NATIVE is not None
    (rows, width), outputs = x.shape, len(weight)
    y = x.new_empty(rows, outputs)
    data = (weight.data_ptr(), 0 if bias is None else bias.data_ptr())
    at = Batch(rows=rows, fresh=1, threads=threads)
    at.work, at.out = x.data_ptr(), y.data_ptr()
    assert NATIVE.run((Op * 1)(Op.of(Kind.LINEAR, Register(0, width), Register(0, outputs), data=data)), at) == 0
    return y


@pytest.mark.parametrize("limit", int8.ROW_LIMITS)
@pytest.mark.parametrize("inputs, outputs", [(1, 1), (24, 16), (100, 33), (192, 70), (515, 97)])
def test_products_in_eight_bits_are_bit_for_bit_those_of_plain_code(
    inputs: int, outputs: int, limit: int, monkeypatch: pytest.MonkeyPatch
):
    weight, bias = rounded_weight(numbers(outputs, inputs)), numbers(outputs, seed=1)
    weight.row_limit = limit
    x = numbers(MOST_ROWS, inputs, seed=2) * torch.logspace(-3, 3, MOST_ROWS)[:, None]
    monkeypatch.setattr(NATIVE, "widest", 0)
    plain, bare = int8._native_linear(x, weight, bias), int8._native_linear(x, weight, None)
    step = x.abs().amax(1, keepdim=True) / limit
    sums = (x / step).round().double() @ weight.whole.double().T
    assert torch.equal(bare, sums.float() * weight.scale * step) and torch.equal(plain, bare + bias)
    for instructions in INSTRUCTION_SETS:
        monkeypatch.setattr(NATIVE, "widest", instructions)
        assert torch.equal(int8._native_linear(x, weight, None), bare)
        for rows in range(1, MOST_ROWS + 1):
            assert torch.equal(int8._native_linear(x[:rows], weight, bias), plain[:rows])


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
def test_a_row_that_is_no_number_spoils_no_other_in_eight_bits(instructions: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(NATIVE, "widest", instructions)
    weight, x = rounded_weight(numbers(20, 70)), numbers(MOST_ROWS, 70, seed=1)
    good = int8._native_linear(x, weight, None)
    spoiled = x.clone()
    spoiled[3, 69], spoiled[20, 0], spoiled[7] = torch.nan, torch.inf, 0
    found = int8._native_linear(spoiled, weight, None)
    assert found[3].isnan().all() and not found[20].isfinite().any() and (found[7] == 0).all()
    others = [row for row in range(MOST_ROWS) if row not in (3, 7, 20)]
    assert torch.equal(found[others], good[others])


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("inputs, outputs", [(5, 3), (64, 24), (100, 35), (1700, 50)])
def test_a_product_in_fp32_does_not_depend_on_rows_and_threads(
    inputs: int, outputs: int, instructions: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(NATIVE, "widest", instructions)
    x, weight, bias = numbers(150, inputs), numbers(outputs, inputs, seed=1), numbers(outputs, seed=2)
    found = product(x, weight, bias)
    exact = x.double() @ weight.double().T + bias
    assert torch.allclose(found.double(), exact, rtol=1e-5, atol=1e-4)
    for rows in (1, 2, 3, 4, 5, 7, 16, 33, 129):
        assert torch.equal(product(x[:rows], weight, bias), found[:rows])
    assert torch.equal(product(x, weight, bias, threads=3), found)
    assert torch.equal(product(x, weight, None) + bias, found)
