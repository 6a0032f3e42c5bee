"""Sampling: each cut keeps the set that its definition says; draws follow the distribution and nothing else."""

import math

import pytest
import torch
from helpers.tiny import numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.errors import ConfigError, NotNumbers, WeftError
from weft.generate import Sampling, sampling
from weft.generate.sampling import (
    draw,
    generator,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    likeliest,
    next_tokens,
    penalised,
    shaped,
)
from weft.native import library

NOTHING = torch.zeros(1, 0, dtype=torch.long)


@st.composite
def logits(draw: st.DrawFn) -> Tensor:
    """Rows of scores, some of them equal, some of them hopeless."""
    rows, vocab = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    score = st.sampled_from([-30.0, -2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 20.0]) | st.floats(-8, 8, width=32)
    return torch.tensor(draw(st.lists(st.lists(score, min_size=vocab, max_size=vocab), min_size=rows, max_size=rows)))


def kept(cut: Tensor, row: int) -> set[int]:
    return set(torch.nonzero(cut[row] > -math.inf).flatten().tolist())


@settings(max_examples=80)
@given(logits(), st.integers(1, 12))
def test_top_k_keeps_the_k_likeliest_and_their_ties(scores: Tensor, k: int):
    cut = keep_top_k(scores, k)
    for row, values in enumerate(scores.tolist()):
        last = sorted(values, reverse=True)[min(k, len(values)) - 1]
        assert kept(cut, row) == {i for i, v in enumerate(values) if v >= last}
    assert torch.equal(cut[cut > -math.inf], scores[cut > -math.inf])
    assert keep_top_k(scores, None) is scores


@settings(max_examples=80)
@given(logits(), st.floats(0.01, 1.0))
def test_top_p_keeps_a_smallest_set_of_likeliest_tokens_that_holds_its_share(scores: Tensor, p: float):
    cut, chance = keep_top_p(scores, p), scores.double().softmax(-1)
    for row in range(len(scores)):
        chosen = kept(cut, row)
        inside = sorted(chance[row, i].item() for i in chosen)
        outside = [chance[row, i].item() for i in range(scores.shape[1]) if i not in chosen]
        assert chosen and sum(inside) >= p - 1e-6, "the set holds the share"
        assert len(chosen) == 1 or sum(inside) - inside[0] < p + 1e-6, "and is no larger than it must be"
        assert max(outside, default=0) <= inside[0] + 1e-9, "and of the likeliest"


@settings(max_examples=80)
@given(logits(), st.floats(0.0, 0.99))
def test_min_p_keeps_what_is_at_least_p_times_as_likely_as_the_best(scores: Tensor, p: float):
    cut, chance = keep_min_p(scores, p), scores.double().softmax(-1)
    for row in range(len(scores)):
        ratio = (chance[row] / chance[row].max()).tolist()
        sure = {i for i, r in enumerate(ratio) if r >= p + 1e-6}
        assert sure <= kept(cut, row) <= {i for i, r in enumerate(ratio) if r >= p - 1e-6}
        assert int(scores[row].argmax()) in kept(cut, row)


@settings(max_examples=60)
@given(logits(), st.integers(1, 9), st.floats(0.05, 1.0), st.floats(0.0, 0.9), st.floats(0.1, 5.0))
def test_all_cuts_together_leave_the_likeliest_and_what_they_leave_is_a_distribution(
    scores: Tensor, k: int, p: float, least: float, temperature: float
):
    how = Sampling(top_k=k, top_p=p, min_p=least, temperature=temperature)
    out = shaped(scores, NOTHING.expand(len(scores), 0), how)
    for row in range(len(scores)):
        assert int(scores[row].argmax()) in kept(out, row)
        assert len(kept(out, row)) <= len(kept(keep_top_k(scores, k), row))
    assert torch.allclose(out.softmax(-1).sum(-1), torch.ones(len(scores)))


@settings(max_examples=40)
@given(logits(), st.integers(0, 100))
def test_temperature_zero_is_the_argmax_whatever_the_seed_and_the_cuts(scores: Tensor, seed: int):
    how = Sampling(temperature=0.0, top_k=1, top_p=0.1, seed=seed)
    out = shaped(scores, NOTHING.expand(len(scores), 0), how)
    chosen = draw(out, how, [generator(seed, i) for i in range(len(scores))])
    assert torch.equal(scores.gather(1, chosen[:, None])[:, 0], scores.amax(-1))


def test_a_low_temperature_sharpens_and_a_high_one_flattens():
    scores = numbers(4, 9, dtype=torch.float32)
    best = [
        shaped(scores, NOTHING.expand(4, 0), Sampling(temperature=t, top_p=1.0)).softmax(-1).amax(-1)
        for t in (0.3, 1.0, 3.0)
    ]
    assert (best[0] > best[1]).all() and (best[1] > best[2]).all()


def test_the_repetition_penalty_lowers_what_occurred_and_nothing_else():
    scores = torch.tensor([[2.0, -2.0, 1.0, 0.0], [4.0, -1.0, 0.5, 3.0]])
    out = penalised(scores, torch.tensor([[0, 1, 1], [3, 3, 3]]), 2.0)
    assert out.tolist() == [[1.0, -4.0, 1.0, 0.0], [4.0, -1.0, 0.5, 1.5]]
    assert penalised(scores, torch.tensor([[0], [1]]), 1.0) is scores
    assert penalised(scores, NOTHING.expand(2, 0), 2.0) is scores
    raised = penalised(scores, torch.tensor([[0], [0]]), 0.5)
    assert (raised[:, 0] > scores[:, 0]).all() and torch.equal(raised[:, 1:], scores[:, 1:])


def test_the_penalty_counts_an_id_once_however_often_it_occurred():
    scores = torch.tensor([[3.0, 1.0]])
    assert penalised(scores, torch.tensor([[0] * 7]), 3.0).tolist() == [[1.0, 1.0]]


def test_draws_follow_the_distribution():
    draws, chance = 4000, torch.tensor([0.5, 0.25, 0.15, 0.07, 0.03])
    how = Sampling(temperature=1.0, top_p=1.0, seed=3)
    rows = chance.log().expand(draws, 5)
    chosen = draw(rows, how, [generator(3, i) for i in range(draws)])
    found = torch.bincount(chosen, minlength=5).double()
    expected = draws * chance.double()
    assert ((found - expected) ** 2 / expected).sum() < 18.5  # the 0.1 % point of chi-square with 4 degrees


def test_draws_of_one_generator_follow_the_distribution_too():
    chance, one = torch.tensor([[0.6, 0.3, 0.1]]), generator(0, "row")
    chosen = torch.cat([draw(chance.log(), Sampling(temperature=1.0), [one]) for _ in range(2000)])
    expected = 2000 * chance[0].double()
    assert ((torch.bincount(chosen, minlength=3) - expected) ** 2 / expected).sum() < 13.8


@settings(max_examples=60)
@given(logits(), st.integers(0, 1000))
def test_what_was_cut_is_never_drawn(scores: Tensor, seed: int):
    how = Sampling(temperature=1.0, top_k=2, top_p=0.8, seed=seed)
    out = shaped(scores, NOTHING.expand(len(scores), 0), how)
    chosen = draw(out, how, [generator(seed, i) for i in range(len(scores))])
    assert all(int(token) in kept(out, row) for row, token in enumerate(chosen))


def test_the_ends_of_the_unit_interval_draw_the_first_and_the_last_token_that_have_a_chance(monkeypatch):
    scores = torch.tensor([[-math.inf, 1.0, 2.0, -math.inf]])
    how = Sampling(temperature=1.0)
    for u, expected in ((0.0, 1), (1 - 2**-53, 2), (1.0, 2)):
        monkeypatch.setattr(torch, "rand", lambda *a, u=u, **k: torch.tensor([u], dtype=torch.float64))
        assert draw(scores, how, [generator(0)]).tolist() == [expected]


@settings(max_examples=40)
@given(logits(), st.integers(0, 1000))
def test_the_draw_of_a_row_does_not_depend_on_its_neighbours(scores: Tensor, seed: int):
    how = Sampling(temperature=1.0, top_k=5, repetition_penalty=1.5, seed=seed)
    seen = torch.zeros(len(scores), 1, dtype=torch.long)

    def chosen(rows: list[int]) -> list[int]:
        out = shaped(scores[rows], seen[rows], how)
        return draw(out, how, [generator(seed, i) for i in rows]).tolist()

    together = chosen(list(range(len(scores))))
    assert [chosen([i])[0] for i in range(len(scores))] == together
    assert chosen(list(range(len(scores)))[::-1]) == together[::-1]


def test_a_generator_depends_on_the_seed_and_on_what_is_continued():
    def first(*parts: object) -> float:
        return torch.rand(1, generator=generator(*parts)).item()

    assert first(1, [2, 3], 0) == first(1, [2, 3], 0)
    others = [first(2, [2, 3], 0), first(1, [2, 4], 0), first(1, [2, 3], 1), first(1, [2], 3, 0), first(1, "\ud800", 0)]
    assert len({first(1, [2, 3], 0), *others}) == 6


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_that_are_not_numbers_are_an_error_and_never_a_token(bad: float, temperature: float):
    scores = torch.tensor([[0.0, 1.0], [0.0, bad]])
    how = Sampling(temperature=temperature)
    with pytest.raises(WeftError, match="not numbers"):
        draw(shaped(scores, NOTHING.expand(2, 0), how), how, [generator(0), generator(1)])


@pytest.mark.parametrize("field, wrong", [
    ("temperature", -1.0), ("temperature", math.nan), ("temperature", math.inf), ("temperature", 1e3), ("top_k", 0),
    ("top_k", -1),
    ("top_p", 0.0), ("top_p", 1.1), ("top_p", -0.5), ("min_p", 1.0), ("min_p", -0.1), ("repetition_penalty", 0.0),
    ("repetition_penalty", -1.0), ("max_tokens", -1), ("max_tokens", 10**9), ("samples", 0), ("samples", 10**6),
    ("stop", ("",)), ("stop", ("a", "")), ("top_k", 1.5), ("seed", "x"),
])  # fmt: skip
def test_bad_settings_are_refused(field: str, wrong: object):
    with pytest.raises(ConfigError, match=field):
        Sampling(**{field: wrong})
    with pytest.raises(ConfigError):
        Sampling().replace(**{field: wrong})


@pytest.mark.parametrize("temperature", [1e-30, 1e-3, 100.0])
def test_extreme_temperatures_still_draw(temperature: float):
    scores = torch.tensor([[0.0, 5.0, -5.0]])
    how = Sampling(temperature=temperature)
    assert draw(shaped(scores, NOTHING, how), how, [generator(0)]).tolist()[0] in (0, 1, 2)


@pytest.mark.parametrize("temperature", [1e-40, 1e-300, 5e-324])
@pytest.mark.parametrize("top_k", [None, 2])
@pytest.mark.parametrize("shift", [0.0, -50.0])
def test_a_temperature_that_no_float_divides_by_takes_the_likeliest(
    temperature: float, top_k: int | None, shift: float
):
    nothing = torch.zeros(2, 0, dtype=torch.long)
    scores = torch.tensor([[0.0, 5.0, -5.0], [-1.0, -2.0, -0.5]]) + shift
    for top_p in (1.0, 0.5):
        how = Sampling(temperature=temperature, top_k=top_k, top_p=top_p)
        chance = [generator(0), generator(1)]
        assert draw(shaped(scores, nothing, how), how, chance).tolist() == [1, 2]
        assert next_tokens(scores, nothing, how, chance).tolist() == [1, 2]


@pytest.mark.parametrize("values", [1, 2, 9, 70, 400])
@pytest.mark.parametrize("top_k", [None, 1, 5])
@pytest.mark.parametrize("top_p", [1.0, 0.95, 0.5, 0.01])
def test_tokens_drawn_in_native_code_are_those_of_the_definition(values: int, top_k: int | None, top_p: float):
    scores = (
        numbers(6, values, seed=values, dtype=torch.float32) * torch.tensor([0.1, 1.0, 3.0, 10.0, 3.0, 80.0])[:, None]
    )
    scores[4] = scores[4].round()  # equals: the first stays
    scores[5, 1::2] = -math.inf  # what a rule does not allow
    seen = torch.zeros(6, 1, dtype=torch.long)
    for temperature, min_p, penalty in ((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.7, 0.1, 1.3), (2.0, 0.9, 1.0)):
        how = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=penalty)
        a, b = ([generator(0, row) for row in range(6)] for _ in range(2))
        expected = draw(shaped(scores, seen, how), how, a)
        assert next_tokens(scores, seen, how, b).tolist() == expected.tolist()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused_in_native_code_too(temperature: float, bad: float):
    scores = torch.tensor([[0.0, bad, 1.0]])
    with pytest.raises(WeftError, match="not numbers"):
        next_tokens(scores, NOTHING, Sampling(temperature=temperature), [generator(0)])


@pytest.mark.skipif(library() is None, reason="there is no C compiler")
@pytest.mark.parametrize("values", [10, 33, 700])
def test_the_likeliest_tokens_in_native_code_are_those_of_torch(values: int, monkeypatch: pytest.MonkeyPatch):
    logits = torch.randn(5, values, generator=torch.Generator().manual_seed(values)) * 9
    allowed = logits.clone()
    allowed[:, ::3] = -torch.inf
    native = likeliest(allowed, logits, 10)
    monkeypatch.setattr(sampling, "library", lambda: None)
    plain = likeliest(allowed, logits, 10)
    open_ = plain[0].isfinite()  # of tokens that are not allowed, any may fill the places that are left
    assert torch.equal(native[1][open_], plain[1][open_])
    assert torch.allclose(native[0], plain[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_token_is_likeliest_where_a_logit_is_not_a_number(bad: float):
    logits = torch.zeros(2, 40)
    logits[1, 7] = bad
    with pytest.raises(NotNumbers):
        likeliest(logits, logits, 3)
