import numpy as np
import pytest
import torch

from weft.batches.like_lengths import LikeLengths, LikeLengthSource, in_order, together
from weft.batches.samples import PaddedIds
from weft.domains.pairs.encoded import PairRows

END = 99


def pairs(count: int, seed: int = 0, longest: int = 20) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [
        (np.full(draw.integers(0, longest), i % 90), np.full(draw.integers(0, longest), i // 90)) for i in range(count)
    ]


def rows_of(some: list[tuple[np.ndarray, np.ndarray]]) -> PairRows:
    return PairRows(some, END, END)


def source(count: int = 500, tokens: int = 200, seed: int = 0, **more) -> LikeLengthSource:
    train, held = rows_of(pairs(count, **more)), rows_of(pairs(40, seed=1))
    return LikeLengthSource(train, held, tokens=tokens, fingerprint="f", seed=seed)


def rows(bundle) -> list[tuple]:
    return [
        (tuple(s[:n].tolist()), tuple(t[:m].tolist()))
        for s, n, t, m in zip(
            bundle.given.ids, bundle.given.lengths, bundle.wanted.ids, bundle.wanted.lengths, strict=True
        )
    ]


def epoch(bundles: LikeLengthSource, number: int) -> list:
    start = number * bundles.per_epoch
    return [b for i in range(bundles.per_epoch) for b in bundles.batch(np.array([start + i])).each]


def test_an_epoch_holds_every_pair_once() -> None:
    bundles = source()
    expected = sorted(((*a.tolist(), END), (END, *b.tolist(), END)) for a, b in bundles.train.pairs)
    for number in (0, 1, 7):
        assert sorted(row for bundle in epoch(bundles, number) for row in rows(bundle)) == expected


def test_no_side_of_a_bundle_exceeds_the_tokens_unless_one_pair_does() -> None:
    for tokens in (8, 50, 200, 10_000):
        for bundle in epoch(source(tokens=tokens), 0):
            fits = max(bundle.given.ids.numel(), bundle.wanted.ids[:, 1:].numel()) <= tokens
            assert fits or len(bundle.given.ids) == 1


def test_sentences_of_a_bundle_are_of_like_length() -> None:
    draw = np.random.default_rng(0)
    lengths = draw.integers(3, 20, 5000)
    like = [(np.zeros(n + draw.integers(-2, 3)), np.zeros(n)) for n in lengths]
    bundles = LikeLengthSource(rows_of(like), rows_of(like[:1]), tokens=400, fingerprint="f", seed=0)
    assert bundles.real_share > 0.97
    found = [set(bundle.wanted.lengths.tolist()) for bundle in epoch(bundles, 0)]
    assert sum(len(several) <= 2 for several in found) / len(found) > 0.9


def test_the_share_of_real_tokens_is_counted() -> None:
    bundles = source()
    padded = [b.given.ids.numel() + b.wanted.ids[:, 1:].numel() for b in epoch(bundles, 0)]
    real = [int(b.given.lengths.sum() + (b.wanted.lengths - 1).sum()) for b in epoch(bundles, 0)]
    assert bundles.real_share == pytest.approx(sum(real) / sum(padded))


def test_the_order_depends_on_data_seed_and_index_alone() -> None:
    a, b, other = source(), source(), source(seed=1)
    indices = np.array([3, 1000, 17, 3])
    one = [rows(x) for x in a.batch(indices).each]
    assert one == [rows(x) for i in indices for x in b.batch(np.array([i])).each]
    assert one != [rows(x) for x in other.batch(indices).each]


def test_epochs_differ_in_order_and_company() -> None:
    bundles = source(count=3000, tokens=100)
    first, second = ([frozenset(rows(b)) for b in epoch(bundles, n)] for n in (0, 1))
    assert first != second and set(first) != set(second) and len(first) == len(second)


def test_the_held_out_pairs_come_once_each_in_any_portion() -> None:
    bundles = source()
    every = [row for batch in bundles.held_out() for b in batch.each for row in rows(b)]
    assert len(every) == 40 and len(list(bundles.held_out(most=1))) == 1


def test_bundles_are_cut_by_slices_and_moved() -> None:
    batch = source().batch(np.arange(5))
    assert len(batch) == 5 and len(batch[1:3]) == 2 and len(batch.to("cpu")) == 5
    assert torch.equal(batch[1:3].each[0].given.ids, batch.each[1].given.ids)


def test_even_lines_have_no_padding_to_speak_of() -> None:
    assert PaddedIds.of([np.arange(3), np.arange(3)]).raw().valid is None
    uneven = PaddedIds.of([np.arange(3), np.arange(1)]).raw()
    assert uneven.padded_behind and uneven.valid.tolist() == [[True] * 3, [True, False, False]]


def test_numbers_of_rows_index_tensors() -> None:
    lengths = np.array([3, 1, 2, 2])
    batches = LikeLengths(lengths[:, None], tokens=4, fingerprint="f", seed=0).each(np.arange(2))
    for rows in [*batches, *in_order(lengths[:, None]), *together(lengths.tolist())]:
        assert torch.arange(4)[rows].tolist() == rows.tolist()
