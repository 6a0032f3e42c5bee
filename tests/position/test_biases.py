"""Score biases: a number for each head, query and key, from their places alone."""

import math

import pytest
import torch
from helpers.tiny import close
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.position import Alibi, Buckets, Offsets


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


PLACES = torch.arange(300)[None]


def bucket_by_definition(ahead: int, count: int, farthest: int, both: bool) -> int:
    """The definition of the paper's code, number by number."""
    start = 0
    if both:
        count //= 2
        start = count if ahead > 0 else 0
    distance = abs(ahead) if both else max(0, -ahead)
    exact = count // 2
    if distance < exact:
        return start + distance
    share = math.log(distance / exact) / math.log(farthest / exact)
    return start + min(count - 1, exact + int(share * (count - exact) + 1e-6))


@pytest.mark.parametrize("sides", ["both", "past"])
@pytest.mark.parametrize(("count", "farthest"), [(32, 128), (8, 20), (6, 50)])
def test_distances_fall_into_the_buckets_of_the_definition(sides: str, count: int, farthest: int):
    bias = Buckets.Config(count=count, farthest=farthest, sides=sides).build(heads=2)
    ahead = torch.arange(-299, 300)
    found = bias.bucket(ahead[None, None])[0, 0]
    assert found.tolist() == [bucket_by_definition(int(a), count, farthest, sides == "both") for a in ahead]
    assert set(found.tolist()) <= set(range(count)) and len(set(found.tolist())) >= count - 1


def test_what_lies_ahead_is_one_bucket_where_only_the_past_is_read():
    bias = Buckets.Config(sides="past").build(heads=2)
    out = bias({"position": PLACES[:, :1]}, {"position": PLACES})
    assert torch.equal(out, out[..., :1].expand_as(out))


def test_a_bucket_s_number_is_learned_for_each_head():
    bias = Buckets.Config().build(heads=3).double()
    q, k = PLACES[:, 5:7], PLACES[:, :9]
    out = bias({"position": q}, {"position": k})
    assert out.shape == (1, 3, 2, 9)
    assert torch.equal(out[0, :, 0, 5], bias.table.weight[0]) and torch.equal(out[0, :, 1, 4], bias.table.weight[2])
    out.sum().backward()
    assert bias.table.weight.grad.any()


def test_buckets_that_cannot_be_told_apart_are_refused():
    for wrong in ({"count": 2}, {"farthest": 8}, {"count": 8, "sides": "past", "farthest": 4}):
        with pytest.raises(ConfigError):
            Buckets.Config(**wrong)


def test_offsets_on_a_grid_have_a_number_each_and_farther_ones_count_as_the_farthest():
    bias = Offsets.Config(size=2).build(heads=1)
    bias.table.weight.data = torch.arange(9.0)[:, None]
    q, k = {"row": torch.tensor([[0.0]]), "column": torch.tensor([[0.0]])}, {}
    k["row"], k["column"] = torch.tensor([[0.0, 1, 0, -1, 5]]), torch.tensor([[0.0, 0, 1, 1, -7]])
    assert bias(q, k)[0, 0, 0].tolist() == [4, 1, 3, 6, 2]


@pytest.mark.parametrize("fields", [{"size": 0}, {"size": 2, "axes": ()}])
def test_offsets_that_cannot_be_meant_are_refused(fields):
    with pytest.raises(ConfigError):
        Offsets.Config(**fields)
