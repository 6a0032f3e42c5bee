"""Tokens keep what is known of each token through dropping, restoring, joining and settling."""

import dataclasses
import math

import pytest
import torch
from helpers.tiny import ids, numbers
from jaxtyping import TypeCheckError

from weft.tokens import Order, Tokens, join


def picture(rows: int = 2, length: int = 6) -> Tokens:
    """Free tokens with two axes and one relation, some of them padding."""
    coords = {"row": ids(rows, length, seed=1), "column": ids(rows, length, seed=2)}
    valid = torch.arange(length)[None] < torch.tensor([[length], [length - 2]])
    free = Tokens.free(numbers(rows, length, 3), valid=valid, coords=coords)
    return dataclasses.replace(free, pairs={"edges": numbers(rows, length, length, seed=3)})


def test_taken_tokens_keep_their_places_ranks_and_relations():
    tokens, index = picture(), torch.tensor([[4, 0, 3], [1, 1, 5]])
    taken = tokens.take(index)
    for r, row in enumerate(index.tolist()):
        for new, old in enumerate(row):
            assert torch.equal(taken.x[r, new], tokens.x[r, old])
            assert taken.valid[r, new] == tokens.valid[r, old] and taken.rank[r, new] == tokens.rank[r, old]
            for axis in ("row", "column"):
                assert taken.coords[axis][r, new] == tokens.coords[axis][r, old]
            for other, from_ in enumerate(row):
                assert taken.pairs["edges"][r, new, other] == tokens.pairs["edges"][r, old, from_]


def test_tokens_put_back_stand_where_they_were_and_the_rest_keeps_its_filling():
    tokens, index = picture(), torch.tensor([[4, 0, 3], [1, 2, 5]])
    blank = tokens.with_x(torch.full_like(tokens.x, 7.0))
    restored = tokens.take(index).put_back(index, blank)
    kept = torch.zeros(2, 6, dtype=torch.bool).scatter(1, index, True)
    assert torch.equal(restored.x[kept], tokens.x[kept])
    assert (restored.x[~kept] == 7).all()
    assert restored.coords is tokens.coords and restored.rank is tokens.rank and restored.valid is tokens.valid


def test_taking_all_and_putting_back_is_the_identity():
    tokens = picture()
    index = torch.stack([torch.randperm(6), torch.randperm(6)])
    assert torch.equal(tokens.take(index).put_back(index, tokens.with_x(torch.zeros_like(tokens.x))).x, tokens.x)


def test_a_line_with_gaps_is_no_longer_called_a_line():
    line = Tokens.line(numbers(1, 5, 2))
    taken = line.take(torch.tensor([[0, 3, 4]]))
    assert (taken.order, taken.line_axis, taken.unpadded) == (Order.ANY, None, True)
    assert taken.rank.tolist() == taken.coords["position"].tolist() == [[0, 3, 4]]
    assert Tokens.free(numbers(1, 5, 2)).take(torch.tensor([[0, 3]])).order is Order.FREE


def test_rows_are_picked_with_all_that_is_known_of_them():
    tokens, rows = picture(), torch.tensor([1, 1, 0])
    picked = tokens.rows(rows)
    for new, old in enumerate(rows.tolist()):
        assert torch.equal(picked.x[new], tokens.x[old]) and torch.equal(picked.valid[new], tokens.valid[old])
        assert torch.equal(picked.coords["row"][new], tokens.coords["row"][old])
        assert torch.equal(picked.pairs["edges"][new], tokens.pairs["edges"][old])
    assert (picked.unpadded, picked.order, picked.line_axis) == (tokens.unpadded, tokens.order, tokens.line_axis)


def test_joined_streams_keep_ranks_and_places_and_their_relations_do_not_cross():
    first, second = picture(), Tokens.line(numbers(2, 4, 3, seed=9))
    both = join(first, second)
    assert torch.equal(both.x, torch.cat([first.x, second.x], 1))
    assert torch.equal(both.rank, torch.cat([first.rank, second.rank], 1))
    assert torch.equal(both.valid, torch.cat([first.valid, second.valid], 1))
    assert torch.equal(both.coords["position"][:, 6:], second.coords["position"])
    assert not both.coords["position"][:, :6].any() and not both.coords["row"][:, 6:].any()
    edges = both.pairs["edges"]
    assert torch.equal(edges[:, :6, :6], first.pairs["edges"])
    assert not edges[:, 6:].any() and not edges[:, :, 6:].any()
    assert not both.unpadded and both.order is Order.ANY and both.line_axis is None
    twice = join(second, first).pairs["edges"]
    assert torch.equal(twice[:, 4:, 4:], first.pairs["edges"]) and not twice[:, :4].any() and not twice[:, :, :4].any()


def test_joining_is_full_only_if_both_are():
    a, b = Tokens.free(numbers(1, 2, 3)), Tokens.free(numbers(1, 3, 3))
    assert join(a, b).unpadded
    assert not join(a, dataclasses.replace(b, unpadded=False)).unpadded


@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e30])
def test_settled_tokens_hold_zeros_where_there_is_none_whatever_stood_there(garbage: float):
    tokens = picture()
    dirty = tokens.with_x(tokens.x.masked_fill(~tokens.valid[..., None], garbage).requires_grad_())
    zeroed = dirty.padding_zeroed()
    assert torch.equal(zeroed.x[tokens.valid], tokens.x[tokens.valid])
    assert not zeroed.x[~tokens.valid].any()
    (gradient,) = torch.autograd.grad(zeroed.x.square().sum(), dirty.x)
    assert gradient.isfinite().all()


def test_full_tokens_are_settled_as_they_are():
    tokens = Tokens.line(numbers(1, 3, 2))
    assert tokens.padding_zeroed() is tokens


def test_stated_facts_are_true_of_the_ranks():
    line, free = Tokens.line(numbers(2, 5, 3)), Tokens.free(numbers(2, 5, 3))
    assert line.unpadded and line.order is Order.LINE and (line.rank.diff(dim=1) == 1).all()
    assert line.coords[line.line_axis] is line.rank
    assert free.unpadded and free.order is Order.FREE and (free.rank == free.rank[:, :1]).all()
    assert line.with_rank(free.rank).order is Order.ANY
    assert not Tokens.line(numbers(2, 5, 3), valid=torch.ones(2, 5, dtype=torch.bool)).unpadded


def test_shapes_are_checked_while_tests_run():
    with pytest.raises(TypeCheckError):
        Tokens.line(numbers(2, 5, 3), valid=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(TypeCheckError):
        Tokens.free(numbers(2, 5))
