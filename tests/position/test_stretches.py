"""Stretches: fast turns are kept, slow ones slowed; the gain multiplies what is turned."""

import math

import pytest
import torch
from helpers.tiny import close, numbers

from weft.config import from_json
from weft.errors import ConfigError
from weft.position import EachPair, Even, PairRamp, Rotary, Stretch, TurnRamp, turn

FREQUENCY = 100.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
TURNS = 24 * FREQUENCY / (2 * math.pi)  # within 24 places: 3.8, 2.1, 1.2, 0.7 ... 0.07
STRETCHES: dict[str, Stretch] = {
    "even": Even(factor=4.0),
    "by turns": TurnRamp(factor=4.0, context=24, fast=3.0),
    "by pairs": PairRamp(factor=4.0, context=24, fast=3.0, gain=1.2),
    "by parts of pairs": PairRamp(factor=4.0, context=24, fast=3.0, whole=False),
    "each pair": EachPair(factors=(1.0, 1.0, 1.5, 2.0, 3.0, 4.0, 4.0, 4.0)),
}


@pytest.mark.parametrize("name", STRETCHES)
def test_turns_are_slowed_by_one_to_factor_times_and_slower_pairs_no_less_than_faster_ones(name: str):
    by = FREQUENCY / STRETCHES[name].slowed(FREQUENCY, 100.0)
    assert by.min() >= 1 - 1e-12 and by.max() == pytest.approx(4.0)
    assert (by.diff() >= -1e-12).all()


def test_pairs_with_many_turns_are_kept_and_those_with_few_are_slowed_by_the_whole_factor():
    by = FREQUENCY / STRETCHES["by turns"].slowed(FREQUENCY, 100.0)
    assert by[TURNS > 3].tolist() == [1.0] and close(by[TURNS < 1], torch.full((5,), 4.0, dtype=torch.float64))
    between = (TURNS[2] - 1) / 2  # the third pair has 1.2 turns, between 1 and 3
    assert by[2].item() == pytest.approx(1 / (between + (1 - between) / 4))


def test_a_ramp_over_pairs_goes_from_the_pair_with_fast_turns_to_the_one_with_slow_turns():
    kept = PairRamp(factor=4.0, context=24, fast=3.0).kept(FREQUENCY, 100.0)
    # 3 turns stand between the pairs 0 and 1, one turn between 2 and 3
    assert close(kept, torch.tensor([1.0, 2 / 3, 1 / 3, 0, 0, 0, 0, 0], dtype=torch.float64))
    exact = PairRamp(factor=4.0, context=24, fast=3.0, whole=False).kept(FREQUENCY, 100.0)
    first, last = (8 * math.log(24 / (2 * math.pi * turns), 100) for turns in (3, 1))
    assert exact[1].item() == pytest.approx(1 - (1 - first) / (last - first)) and exact[0] == 1 and exact[3] == 0


def test_the_gain_multiplies_what_is_turned_and_nothing_else():
    plain, x = Rotary.Config(share=0.5), numbers(1, 3, 2, 8)
    places = {"position": torch.tensor([[0, 1, 20]])}
    outs = []
    for gain in (1.0, 2.0):
        config = plain.replace(stretch=Even(factor=2.0, gain=gain))
        outs.append(turn(x, *config.build(head_dim=8)(places, x.dtype)))
    assert close(outs[1][..., :4], outs[0][..., :4] * 2) and torch.equal(outs[1][..., 4:], x[..., 4:])


def test_the_gradient_of_a_stretched_turn_with_a_gain_is_right():
    cos, sin = Rotary.Config(stretch=STRETCHES["by pairs"]).build(head_dim=4)(
        {"position": torch.tensor([[3, 9]])}, torch.double
    )
    torch.autograd.gradcheck(lambda x: turn(x, cos, sin), numbers(1, 2, 3, 4).requires_grad_())


def test_places_in_a_text_stretched_evenly_are_interpolated():
    config, x = Rotary.Config(), numbers(1, 1, 2, 8)
    slow = config.replace(stretch=Even(factor=4.0)).build(head_dim=8)({"position": torch.tensor([[20]])}, x.dtype)
    assert close(turn(x, *slow), turn(x, *config.build(head_dim=8)({"position": torch.tensor([[5]])}, x.dtype)), 1e-6)


@pytest.mark.parametrize("name", STRETCHES)
def test_a_stretched_turn_travels_as_json(name: str):
    config = Rotary.Config(base=100.0, stretch=STRETCHES[name])
    assert from_json(config.to_json()) == config
    assert torch.equal(from_json(config.to_json()).build(head_dim=16).frequency, config.build(head_dim=16).frequency)


def test_turns_that_an_earlier_version_wrote_down_have_no_stretch_and_turn_whole_heads():
    data = {"type": "Rotary", "axes": ["position"], "base": 500.0}
    assert from_json(data) == Rotary.Config(base=500.0)


@pytest.mark.parametrize("build", [
    lambda: Even(factor=0.5),
    lambda: Even(factor=2.0, gain=0.0),
    lambda: TurnRamp(factor=2.0, context=24, slow=4.0, fast=4.0),
    lambda: PairRamp(factor=2.0, context=0),
    lambda: EachPair(factors=()),
    lambda: EachPair(factors=(1.0, -1.0)),
    lambda: Rotary.Config(stretch=EachPair(factors=(1.0, 2.0))).build(head_dim=8),
    lambda: Rotary.Config(base=1.0, stretch=PairRamp(factor=2.0, context=24)).build(head_dim=8),
])  # fmt: skip
def test_a_stretch_that_cannot_work_is_refused(build):
    with pytest.raises(ConfigError):
        build()
