"""Score biases: a number for each head, query and key, from their places alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import close

from weft.position import Alibi


@given(st.integers(1, 16))
def test_slopes_fall_by_one_factor_from_head_to_head_down_to_two_to_the_minus_eight(heads: int):
    slopes = Alibi.Config().build(heads=heads).slopes.double()
    assert close(slopes, torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)], dtype=torch.float64), 1e-7)
    assert slopes[-1] == pytest.approx(2**-8)


def test_eight_heads_have_the_slopes_of_the_paper():
    assert Alibi.Config().build(heads=8).slopes.tolist() == [2.0**-n for n in range(1, 9)]


def test_the_bias_is_minus_slope_times_distance_in_both_directions():
    bias = Alibi.Config(axis="time").build(heads=2)
    q, k = torch.tensor([[5, 0]]), torch.tensor([[5, 3, 9]])
    out = bias({"time": q}, {"time": k})
    distance = torch.tensor([[0.0, 2, 4], [5, 3, 9]])
    assert close(out, -torch.stack([distance / 16, distance / 256])[None], 1e-6)


def test_the_bias_depends_on_differences_only_and_has_nothing_to_learn():
    bias, places = Alibi.Config().build(heads=4), torch.arange(6)[None]
    here, there = (bias({"position": p}, {"position": p}) for p in (places, places + 1000))
    assert torch.equal(here, there)
    assert not list(bias.parameters()) and not bias.state_dict()
