"""The cache holds what was read: it grows without losing anything, and rows are picked from all of it."""

import pytest
import torch
from helpers.tiny import numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core import Cache
from weft.tokens import Order, Tokens


def line(length: int, start: int = 0, rows: int = 2, valid: torch.Tensor | None = None) -> Tokens:
    position = torch.arange(start, start + length).expand(rows, length)
    return Tokens.line(numbers(rows, length, 3, seed=start), valid=valid, position=position)


@settings(max_examples=40)
@given(st.integers(1, 6), st.lists(st.integers(1, 5), min_size=1, max_size=6), st.sampled_from([1, 2]))
def test_appended_entries_come_back_in_order_however_the_room_grows(capacity: int, cuts: list[int], dim: int):
    whole = numbers(2, *((3, sum(cuts)) if dim == 2 else (sum(cuts), 3)))
    cache = Cache(capacity)
    slots, done = cache.slots("block"), 0
    for piece in whole.split(cuts, dim):
        done += piece.shape[dim]
        cache.length = done
        assert torch.equal(slots.append("k", piece, dim=dim), whole.narrow(dim, 0, done))


def test_room_within_the_capacity_is_allocated_once():
    cache = Cache(8)
    slots = cache.slots("block")
    cache.length = 2
    first = slots.append("k", numbers(1, 2, 3), dim=1)
    for length in range(3, 9):
        cache.length = length
        assert slots.append("k", numbers(1, 1, 3), dim=1).data_ptr() == first.data_ptr()
    cache.length = 9
    assert slots.append("k", numbers(1, 1, 3), dim=1).data_ptr() != first.data_ptr()


def test_extending_gives_all_places_so_far():
    cache = Cache(4)
    for start, length in ((0, 3), (3, 1), (4, 5)):
        seen = cache.extend(line(length, start))
        assert seen.rank.tolist() == seen.coords["position"].tolist() == [list(range(start + length))] * 2
        assert (seen.unpadded, seen.order, seen.line_axis) == (True, Order.LINE, "position")
    assert cache.length == 9


def test_padding_once_read_is_remembered():
    cache = Cache()
    valid = torch.tensor([[False, True, True], [True] * 3])
    cache.extend(line(3, valid=valid))
    seen = cache.extend(line(1, 3))
    assert not seen.unpadded
    assert seen.valid.tolist() == [[False, True, True, True], [True] * 4]


def test_what_is_not_a_line_is_not_called_one():
    cache = Cache()
    cache.extend(line(3))
    seen = cache.extend(Tokens.free(numbers(2, 1, 3), coords={"position": torch.full((2, 1), 3)}))
    assert (seen.order, seen.line_axis) == (Order.ANY, None)


def test_rows_are_taken_from_everything_in_any_order_and_more_than_once():
    cache = Cache(4)
    cache.extend(line(3, rows=3))
    slots = cache.slots("block")
    k, state, once = numbers(3, 2, 3), (numbers(3, 5, seed=1), numbers(3, 5, seed=2)), numbers(3, 1, seed=3)
    slots.append("k", k, dim=2)
    slots.set("state", state)
    slots.once("memory", lambda: once)
    rows = torch.tensor([2, 0, 2, 1])
    cache.take(rows)
    cache.length += 1
    assert torch.equal(slots.append("k", numbers(4, 2, 1, seed=4), dim=2)[:, :, :3], k[rows])
    assert all(torch.equal(kept, was[rows]) for kept, was in zip(slots.get("state"), state, strict=True))
    assert torch.equal(slots.once("memory", lambda: pytest.fail("made twice")), once)  # rows may share a memory's
    cache.take_memory(rows)
    assert torch.equal(slots.once("memory", lambda: pytest.fail("made twice")), once[rows])


def test_rows_are_taken_from_places_that_later_tokens_lack():
    first = line(3)
    cache = Cache(4)
    cache.extend(Tokens(first.x, first.valid, first.rank, {**first.coords, "row": torch.zeros(2, 3)}))
    for start in (3, 4, 5):  # beyond the room of the first
        cache.extend(line(1, start))
    cache.take(torch.tensor([1, 0, 1]))
    seen = cache.extend(line(1, 6, rows=3))
    assert seen.coords["position"].tolist() == [list(range(7))] * 3 and "row" not in seen.coords


def test_parts_do_not_see_each_others_slots():
    cache = Cache()
    cache.slots("a").set("state", numbers(1))
    assert cache.slots("b").get("state") is None
    assert cache.slots("a") is cache.slots("a")
