"""Rotary turns: the score of two turned vectors depends on the difference of their places alone."""

import pytest
import torch
from helpers.tiny import close, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.position import Rotary, turn


def turned(config: Rotary.Config, x: torch.Tensor, **places: int) -> torch.Tensor:
    """One vector turned by one place."""
    rotary = config.build(head_dim=x.shape[-1])
    cos, sin = rotary({axis: torch.tensor([[place]]) for axis, place in places.items()}, x.dtype)
    return turn(x.reshape(1, 1, 1, -1), cos, sin).flatten()


@settings(max_examples=40)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(-150, 150), st.integers(0, 10**6))
def test_scores_depend_on_the_difference_of_places_only(i: int, j: int, shift: int, seed: int):
    q, k, config = numbers(8, seed=seed), numbers(8, seed=seed + 1), Rotary.Config()
    here = turned(config, q, position=i) @ turned(config, k, position=j)
    there = turned(config, q, position=i + shift) @ turned(config, k, position=j + shift)
    assert abs(here - there) < 1e-3  # angles are fp32


@settings(max_examples=20)
@given(*[st.integers(0, 50)] * 6, st.integers(0, 10**6))
def test_scores_in_a_picture_depend_on_the_differences_of_rows_and_columns(
    row: int, column: int, row2: int, column2: int, down: int, right: int, seed: int
):
    q, k, config = numbers(8, seed=seed), numbers(8, seed=seed + 1), Rotary.Config(axes=("row", "column"))
    here = turned(config, q, row=row, column=column) @ turned(config, k, row=row2, column=column2)
    there = turned(config, q, row=row + down, column=column + right) @ turned(
        config, k, row=row2 + down, column=column2 + right
    )
    assert abs(here - there) < 1e-3


def test_each_axis_turns_its_own_share_of_the_pairs():
    x, config = numbers(8), Rotary.Config(axes=("row", "column"))
    by_row, by_column = turned(config, x, row=3, column=0) != x, turned(config, x, row=0, column=3) != x
    assert by_row.tolist() == [True, True, False, False] * 2
    assert by_column.tolist() == [False, False, True, True] * 2


def test_a_turn_keeps_lengths_and_place_zero_changes_nothing():
    x, config = numbers(8), Rotary.Config()
    assert close(turned(config, x, position=0), x)
    assert turned(config, x, position=77).norm().item() == pytest.approx(x.norm().item(), abs=1e-6)
    assert not close(turned(config, x, position=1), x, 1e-3)


def test_a_turn_is_multiplication_by_a_complex_number():
    x, angle = numbers(2, 3, 4, 6), numbers(2, 3, 1, 3, seed=1)
    out = turn(x, angle.cos(), angle.sin())
    a, b = x.chunk(2, -1)
    product = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    assert close(out, torch.cat([product.real, product.imag], -1))


def test_the_gradient_of_a_turn_is_right():
    angle = numbers(1, 2, 1, 2, seed=1)
    torch.autograd.gradcheck(lambda x: turn(x, angle.cos(), angle.sin()), numbers(1, 2, 3, 4).requires_grad_())
    strided = numbers(1, 3, 2, 4).transpose(1, 2).requires_grad_()
    torch.autograd.gradcheck(lambda x: turn(x, angle.cos(), angle.sin()), strided)


def test_a_share_of_a_head_is_turned_as_a_narrower_head_and_the_rest_stays():
    x, part = numbers(12), Rotary.Config(share=0.5)
    out = turned(part, x, position=5)
    assert torch.equal(out[:6], turned(Rotary.Config(), x[:6], position=5)) and torch.equal(out[6:], x[6:])
    assert not close(out[:6], x[:6], 1e-3)


def test_the_gradient_of_a_turned_share_is_right():
    angle = numbers(1, 2, 1, 2, seed=1)
    torch.autograd.gradcheck(lambda x: turn(x, angle.cos(), angle.sin()), numbers(1, 2, 3, 7).requires_grad_())


def test_angles_are_worked_out_in_full_precision_also_for_rounded_heads():
    rotary, coords = Rotary.Config().build(head_dim=8), {"position": torch.tensor([[1001]])}
    exact, rounded = rotary(coords, torch.float32), rotary(coords, torch.bfloat16)
    for a, b in zip(exact, rounded, strict=True):
        assert close(a, b.float(), 0.005)


@pytest.mark.parametrize("build", [
    lambda: Rotary.Config().build(head_dim=7),
    lambda: Rotary.Config(axes=("row", "column")).build(head_dim=6),
    lambda: Rotary.Config(axes=()),
    lambda: Rotary.Config(base=-1.0),
    lambda: Rotary.Config(share=0.0),
    lambda: Rotary.Config(share=1.5),
    lambda: Rotary.Config(share=0.25).build(head_dim=12),
    lambda: Rotary.Config(share=0.1).build(head_dim=8),
])  # fmt: skip
def test_a_turn_that_cannot_be_built_is_refused(build):
    with pytest.raises(ConfigError):
        build()
