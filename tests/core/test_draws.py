"""Chance by sample: what a sample draws depends on its key, the place in the model and its own places alone."""

from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional as F

from weft.core import draws, native_training
from weft.core.draws import Chance, dropout, hashed, opened, signs, unit

ROWS, RATE = 8, 0.1
KEYS = hashed(torch.tensor([[3, 4]], dtype=torch.int32), 2 * ROWS).view(ROWS, 2)


def chance(some: slice = slice(None), *, whole: bool = False) -> Chance:
    """The chance of some of the samples."""
    keys = KEYS[some]
    return Chance(lambda rows, device: keys if rows in (1, len(keys)) else None, whole=whole)


def dropped(x: torch.Tensor, given: Chance, rate: float = RATE) -> torch.Tensor:
    with opened(given):
        return dropout(x, rate, True)


@pytest.mark.parametrize("width", [6, 7])
def test_a_sample_drops_the_same_alone_in_pieces_and_beside_longer_ones(width: int) -> None:
    x = torch.ones(ROWS, 5, width)
    whole = dropped(x, chance())
    for start in range(0, ROWS, 2):
        some = slice(start, start + 2)
        assert torch.equal(dropped(x[some], chance(some)), whole[some])
    longer = F.pad(x, (0, 0, 0, 3), value=1.0)
    assert torch.equal(dropped(longer, chance())[:, :5], whole)
    with opened(chance()):
        first, second = dropout(x, RATE, True), dropout(x, RATE, True)
    assert torch.equal(first, whole) and not torch.equal(second, whole)
    assert torch.equal(dropped(x, chance(), 0.0), x) and torch.equal(dropout(x, RATE, False), x)


@pytest.mark.parametrize("shape", [(ROWS, 33, 7), (ROWS, 300, 513), (ROWS, 5)])
@pytest.mark.parametrize("whole", [False, True])
def test_native_code_drops_the_same_bits_there_and_back(shape: tuple[int, ...], whole: bool) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    if not native_training.ready(x):
        pytest.skip("there is no native code")
    given = chance(slice(0, 1), whole=True) if whole else chance()
    found = dropped(x, given)
    key = (chance(slice(0, 1), whole=True) if whole else chance()).keys(ROWS, 1, x.device)
    assert key is not None
    level = round(RATE * draws.LEVELS)
    plain = draws._dropped(x, key[0], level - draws.LEVELS // 2, draws.LEVELS / (draws.LEVELS - level))
    assert torch.equal(found, plain)
    grad = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    assert torch.equal(*(torch.autograd.grad(y, x, grad)[0] for y in (found, plain)))


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_rate_and_the_mean_stays(rate: float) -> None:
    x = torch.ones(ROWS, 256, 64)
    found = dropped(x, chance(), rate)
    assert float((found == 0).float().mean()) == pytest.approx(rate, abs=4 * (rate * (1 - rate) / x.numel()) ** 0.5)
    assert float(found.mean()) == pytest.approx(1.0, abs=0.02)


def test_places_rows_and_sites_draw_independently() -> None:
    count = 4096
    with opened(chance()):
        drawn = torch.stack([unit(ROWS, count, KEYS.device) for _ in range(40)]).flatten(0, 1) - 0.5
    beside = torch.stack([drawn[:, :-1].flatten(), drawn[:, 1:].flatten()])
    assert abs(float(torch.corrcoef(beside)[0, 1])) < 4 / beside.shape[1] ** 0.5
    apart = torch.corrcoef(drawn).fill_diagonal_(0.0).abs().max()
    assert float(apart) * count**0.5 < 6  # of 320 x 319 / 2 pairs, in standard deviations
    pairs = hashed(KEYS, count).view(torch.int16).view(ROWS, count, 2).float()
    assert abs(float(torch.corrcoef(pairs.flatten(0, 1).T)[0, 1])) < 4 / (ROWS * count) ** 0.5


def test_rows_that_are_no_samples_draw_from_torchs_generator_and_are_named() -> None:
    x, given = torch.ones(ROWS + 3, 50), chance()
    torch.manual_seed(0)
    found = dropped(x, given)
    torch.manual_seed(0)
    assert torch.equal(found, F.dropout(x, RATE)) and given.unknown == {ROWS + 3}
    for inside in (nullcontext(), opened(None)):
        torch.manual_seed(0)
        with inside:
            assert torch.equal(dropout(x, RATE, True), found)


def test_signs_are_both_and_numbers_are_from_zero_to_one() -> None:
    with opened(chance()):
        found, numbers = signs(ROWS, 1000, KEYS.device), unit(ROWS, 1000, KEYS.device)
    assert set(found.unique().tolist()) == {-1, 1} and abs(float(found.float().mean())) < 0.05
    assert 0 <= float(numbers.min()) < 0.001 and 0.999 < float(numbers.max()) < 1
