from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.batches.order import WindowOrder, key, permuted


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 1000, 4096, 4097, 65537])
def test_a_permutation_has_every_place_once(count: int) -> None:
    for name in ("a", b"b", key("c", 1)):
        assert np.array_equal(np.sort(permuted(np.arange(count), count, name)), np.arange(count))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 2**40), st.text(), st.data())
def test_a_huge_permutation_never_sends_two_to_one_place(count: int, name: str, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, count - 1), unique=True, max_size=20))
    places = permuted(np.array(indices, np.int64), count, name)
    assert len(set(places.tolist())) == len(indices)
    assert all(0 <= place < count for place in places.tolist())


def test_a_permutation_does_not_depend_on_what_is_asked_with_it() -> None:
    indices = np.arange(1000).reshape(10, 100)
    places = permuted(indices, 1000, "k")
    assert places.shape == (10, 100) and places.dtype == np.int64
    assert places[7, 3] == permuted(np.array([703]), 1000, "k")[0]
    assert permuted(np.array([], np.int64), 1000, "k").size == 0


def test_another_key_gives_another_order_and_orders_look_random() -> None:
    count = 10_000
    orders = np.stack([permuted(np.arange(count), count, key("print", seed)) for seed in range(40)])
    assert abs(np.corrcoef(orders)[~np.eye(40, dtype=bool)]).max() < 0.06
    assert max(abs(np.corrcoef(order[:-1], order[1:])[0, 1]) for order in orders) < 0.06
    assert max(abs(np.corrcoef(order, np.arange(count))[0, 1]) for order in orders) < 0.06
    assert (orders == np.arange(count)).mean() < 10 / count


@pytest.mark.parametrize("count", [2, 3, 5, 6, 17])
def test_every_place_is_equally_likely_even_in_small_orders(count: int) -> None:
    orders = np.stack([permuted(np.arange(count), count, key(seed)) for seed in range(600)])
    table = np.stack([np.bincount(orders[:, i], minlength=count) for i in range(count)])
    assert ((table - 600 / count) ** 2 / (600 / count)).sum() < count**2 + 6 * count


def test_indices_outside_are_refused() -> None:
    for indices, count in (([5], 5), ([-1], 5), ([0], 0)):
        with pytest.raises(ValueError, match="indices from 0 to 4|cannot permute 0"):
            permuted(np.array(indices), count, "k")


def test_keys_differ_where_any_part_differs() -> None:
    parts: list[tuple[str | int, ...]] = [
        ("a", 1),
        ("a", "1"),
        ("a1",),
        ("a", 1, ""),
        ("", "a", 1),
        ("a,str:1:1",),
        ("a", 11),
        (1, "a"),
    ]
    assert len({key(*p) for p in parts}) == len(parts)
    assert key("a", 1) == key("a", 1)


# Windows


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 5), st.integers(0, 3))
def test_windows_of_an_epoch_lie_side_by_side_inside_the_stream(
    tokens: int, context: int, epoch: int, seed: int
) -> None:
    order = WindowOrder(tokens, context, "print", seed)
    starts = np.sort(order.starts(np.arange(epoch * order.per_epoch, (epoch + 1) * order.per_epoch)))
    if tokens <= context:
        assert starts.tolist() == [0]
    else:
        assert (np.diff(starts) == context).all()
        assert starts[0] >= 0 and starts[-1] + context + 1 <= tokens
        assert order.per_epoch >= max(1, (tokens - 1) // context - 1)


@pytest.mark.parametrize(
    ("tokens", "context"), [(9, 8), (10, 8), (16, 8), (23, 8), (24, 8), (25, 8), (50, 1), (103, 10)]
)
def test_every_token_is_predicted_in_some_epoch(tokens: int, context: int) -> None:
    order = WindowOrder(tokens, context, "print", 0)
    starts = order.starts(np.arange(order.per_epoch * 300))
    assert set((starts[:, None] + 1 + np.arange(context)).ravel()) == set(range(1, tokens))
    assert set(starts) == set(range(tokens - context)), "windows begin anywhere"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 17), min_size=1, max_size=12), st.integers(0, 2**40))
def test_the_order_does_not_depend_on_batches_or_on_where_it_resumes(batches: list[int], first: int) -> None:
    order = WindowOrder(200, 16, "print", 3)
    total = sum(batches)
    edges = first + np.cumsum([0, *batches])
    pieces = [order.starts(np.arange(a, b)) for a, b in pairwise(edges)]
    assert np.array_equal(np.concatenate(pieces), order.starts(np.arange(first, first + total)))
    assert np.array_equal(order.starts(np.arange(first, first + total)[::-1])[::-1], np.concatenate(pieces))


def test_epochs_seeds_and_data_each_change_the_order() -> None:
    base = WindowOrder(5000, 10, "print", 0)
    count = base.per_epoch
    first = base.starts(np.arange(count))
    others = [
        base.starts(np.arange(count, 2 * count)),
        WindowOrder(5000, 10, "print", 1).starts(np.arange(count)),
        WindowOrder(5000, 10, "other", 0).starts(np.arange(count)),
    ]
    for other in others:
        assert (np.argsort(first) != np.argsort(other)).mean() > 0.9
    assert len({int(base.starts(np.arange(e * count, (e + 1) * count)).min()) for e in range(30)}) > 5, "phases differ"
    assert np.array_equal(first, WindowOrder(5000, 10, "print", 0).starts(np.arange(count)))


def test_a_stream_of_a_trillion_tokens_costs_nothing() -> None:
    order = WindowOrder(10**12, 4096, "print", 0)
    starts = order.starts(np.arange(1000))
    assert len(set(starts.tolist())) == 1000 and starts.max() > 2**39 and starts.min() >= 0


@pytest.mark.parametrize("part", [np.int64(1), np.str_("a"), True, 1.0, None, b"a", ("a",)], ids=repr)
def test_parts_of_a_key_are_texts_and_whole_numbers(part: object) -> None:
    with pytest.raises(AssertionError, match="expected str and int"):
        key("a", part)


def test_a_key_is_what_it_was() -> None:
    """Runs that were begun draw their samples by these digests."""
    assert key("a", 1) == "77d08adde68b2d08a82681abbda203d9853e1f617d8ecb783fc661eca99205f6"
    assert key() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
