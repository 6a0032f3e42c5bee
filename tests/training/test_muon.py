"""Muon: updates with singular values near one, as torch's own has them."""

import pytest
import torch
from helpers.tiny import close, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.training.muon import Muon, orthogonal


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3), st.integers(0, 10**6))
def test_singular_values_move_near_one_and_singular_vectors_stay(rows: int, columns: int, count: int, seed: int):
    m = numbers(count, rows, columns, seed=seed)
    out = orthogonal(m, steps=5, dtype=torch.float64)
    u, s, vh = torch.linalg.svd(m, full_matrices=False)
    core = u.mT @ out @ vh.mT  # diagonal, if the vectors are the same
    diagonal = core.diagonal(dim1=1, dim2=2)
    assert close(core - torch.diag_embed(diagonal), torch.zeros_like(core), 1e-8)
    assert close(u @ core @ vh, out, 1e-8), "nothing new is added"
    wide = s > 0.03 * s.amax(1, keepdim=True)  # five steps do not lift the very smallest
    assert ((diagonal > 0.3) & (diagonal < 1.3))[wide].all(), "near one, with their sign"


@pytest.mark.parametrize("shape", [(12, 48), (36, 12), (12, 12)])
def test_oblong_matrices_keep_the_digits_that_square_ones_keep(shape: tuple[int, int]):
    u, _, vh = torch.linalg.svd(numbers(3, *shape), full_matrices=False)
    m = (u * torch.logspace(0, -4, 12, dtype=torch.float64)) @ vh  # small singular values lose most
    exact, single = (orthogonal(m, steps=5, dtype=dtype).double() for dtype in (torch.float64, torch.float32))
    assert (single - exact).norm() < 2e-5 * exact.norm()


def test_the_scale_of_the_input_does_not_matter_and_zero_stays_zero():
    m = numbers(2, 6, 4)
    one, large = (orthogonal(t, steps=5, dtype=torch.float64) for t in (m, 1e6 * m))
    assert close(one, large, 1e-9)
    assert not orthogonal(torch.zeros(1, 3, 3), steps=5, dtype=torch.float32).any()


def test_matrices_taken_together_come_out_as_each_alone():
    m = numbers(4, 5, 7)
    together = orthogonal(m, steps=5, dtype=torch.float64)
    alone = torch.cat([orthogonal(one[None], steps=5, dtype=torch.float64) for one in m])
    assert close(together, alone)


@pytest.mark.parametrize("shape", [(6, 10), (10, 6), (8, 8), (40, 3)])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_agree_with_torch_given_the_same_numbers(shape: tuple[int, int], weight_decay: float):
    def parameter() -> torch.nn.Parameter:
        return torch.nn.Parameter(numbers(*shape, dtype=torch.float32))

    ours, theirs, rounded = parameter(), parameter(), parameter()
    same = {"lr": 0.1, "momentum": 0.95, "weight_decay": weight_decay}
    rules = [
        Muon([ours], **same, dtype=torch.float32),
        torch.optim.Muon([theirs], **same, nesterov=True, ns_steps=5, adjust_lr_fn="original"),
        Muon([rounded], **same, dtype=torch.bfloat16),
    ]
    for step in range(3):
        for p, rule in zip((ours, theirs, rounded), rules, strict=True):
            p.grad = numbers(*shape, seed=10 + step, dtype=torch.float32)
            rule.step()
    size = float((theirs - parameter()).detach().norm())
    assert float((ours - theirs).detach().norm()) < 0.05 * size, "torch iterates in bf16"
    assert float((rounded - theirs).detach().norm()) < 0.01 * size, "as ours does when asked to"


def test_a_step_is_the_equation():
    w, g = numbers(6, 4), numbers(6, 4, seed=1)
    p = torch.nn.Parameter(w.clone())
    rule = Muon([p], lr=0.5, momentum=0.9, weight_decay=0.2, dtype=torch.float64)
    buffer = torch.zeros_like(w)
    for _ in range(2):
        p.grad = g.clone()
        rule.step()
        buffer = 0.9 * buffer + 0.1 * g
        ahead = 0.1 * g + 0.9 * buffer
        update = orthogonal(ahead[None], steps=5, dtype=torch.float64)[0]
        w = (1 - 0.5 * 0.2) * w - 0.5 * (6 / 4) ** 0.5 * update
        assert close(p.detach(), w)


def test_parameters_of_one_shape_are_updated_as_each_alone_and_those_without_gradient_stay():
    def parameters() -> list[torch.nn.Parameter]:
        return [torch.nn.Parameter(numbers(4, 6, seed=i)) for i in range(3)]

    together, alone = parameters(), parameters()
    for group in (together, alone):
        for i in (0, 2):
            group[i].grad = numbers(4, 6, seed=20 + i)
    Muon(together, lr=0.1, dtype=torch.float64).step()
    for p in alone:
        Muon([p], lr=0.1, dtype=torch.float64).step()
    assert all(close(a.detach(), b.detach()) for a, b in zip(together, alone, strict=True))
    assert torch.equal(together[1], parameters()[1])


@pytest.mark.parametrize("shape", [(16, 24), (40, 16), (16, 64)])
def test_small_gradients_keep_their_digits_in_fp16(shape: tuple[int, int]):
    m = 1e-8 * numbers(3, *shape, dtype=torch.float32)
    exact, rounded = (orthogonal(m, steps=5, dtype=dtype).float() for dtype in (torch.float32, torch.float16))
    assert float((rounded - exact).norm() / exact.norm()) < 0.01
