"""Micro-batches of labelled and tagged texts: each text once an epoch, with its label, beside texts of like length."""

import numpy as np
import pytest
import torch

from weft.batches.like_lengths import USED, USED_MIXED, LikeLengthSource, together
from weft.batches.samples import PaddedIds
from weft.domains.texts.encoded.whole_texts import TaggedRows
from weft.tasks.labels.rows import LabelledRows


def texts(count: int, seed: int = 0, longest: int = 30) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [np.full(draw.integers(2, longest), i) for i in range(count)]


def labels(data: list[np.ndarray]) -> np.ndarray:
    return np.array([int(text[0]) % 7 for text in data])


def labelled(count: int = 300, tokens: int = 200, seed: int = 0, rows: int | None = None) -> LikeLengthSource:
    train, held = (LabelledRows(data, labels(data), PaddedIds.of) for data in (texts(count), texts(40, seed=1)))
    return LikeLengthSource(train, held, tokens=tokens, fingerprint="f", seed=seed, rows=rows)


def words(data: list[np.ndarray]) -> TaggedRows:
    places = [np.arange(1, len(text), 2) for text in data]
    return TaggedRows(data, places, [np.full(len(at) + 3, int(text[0]) % 5) for at, text in zip(places, data)])


def sentences(seed: int = 0) -> LikeLengthSource:
    return LikeLengthSource(words(texts(300)), words(texts(40, seed=1)), tokens=200, fingerprint="f", seed=seed)


def epoch(source, number: int = 0) -> list:
    start = number * source.per_epoch
    return [b for i in range(source.per_epoch) for b in source.batch(np.array([start + i])).each]


@pytest.mark.parametrize("make", [labelled, sentences])
def test_an_epoch_holds_every_text_once(make):
    for number in (0, 3):
        found = [int(row[0]) for part in epoch(make(), number) for row in part.given.ids]
        assert sorted(found) == list(range(300))


def test_every_text_keeps_its_label():
    for part in [*epoch(labelled()), *(b for batch in labelled().held_out() for b in batch.each)]:
        assert part.wanted.labels.tolist() == (part.given.ids[:, 0] % 7).tolist()


def test_every_word_keeps_its_tag_and_padding_has_none():
    for part in epoch(sentences()):
        for row, places, tags, length in zip(part.given.ids, part.wanted.where, part.wanted.values, part.given.lengths):
            count = int(length) // 2
            assert places[:count].tolist() == list(range(1, int(length), 2))
            assert tags[:count].tolist() == [int(row[0]) % 5] * count and (tags[count:] == -1).all()
        picked, tags = part.wanted.picked(part.given.ids[..., None].double())
        assert torch.equal(tags, part.wanted.values[part.wanted.values >= 0]) and torch.equal(
            picked[:, 0].long() % 5, tags
        )


def test_words_that_were_cut_off_have_no_tag():
    data = TaggedRows([np.arange(4)], [np.array([1, 2])], [np.array([3, 0, 4])])
    assert data.take([0]).wanted.values.tolist() == [[3, 0]]


def test_tokens_and_rows_bound_a_micro_batch():
    for part in epoch(labelled(tokens=100, rows=8)):
        assert part.given.ids.numel() <= 100 and len(part.given.ids) <= 8
    assert max(len(part.given.ids) for part in epoch(labelled(tokens=100))) > 8


@pytest.mark.parametrize("make", [labelled, sentences])
def test_the_order_depends_on_data_seed_and_index_alone(make):
    indices = np.array([3, 900, 3])
    one, two, other = (make(seed=seed).batch(indices).each for seed in (0, 0, 1))
    assert all(torch.equal(a.given.ids, b.given.ids) for a, b in zip(one, two))
    assert not all(torch.equal(a.given.ids, b.given.ids) for a, b in zip(one, other))


@pytest.mark.parametrize("make", [labelled, sentences])
def test_held_out_texts_come_once_each_in_any_portion(make):
    every = [int(row[0]) for batch in make().held_out() for b in batch.each for row in b.given.ids]
    assert sorted(every) == list(range(40)) and len(list(make().held_out(most=1))) == 1


def test_numbers_are_kept_as_they_are():
    train = LabelledRows(texts(20), np.linspace(0, 1, 20), PaddedIds.of)
    source = LikeLengthSource(train, train, tokens=50, fingerprint="f", seed=0)
    part = source.batch(np.array([0])).to("cpu").each[0]
    assert part.wanted.values.tolist() == [train.targets[int(row[0])] for row in part.given.ids]
    assert part.wanted.values.dtype == torch.float64 and part.given.raw().padded_behind


def test_rows_in_use_are_computed_once_and_many_of_one_length_are_never_padded():
    lengths = np.random.default_rng(0).integers(2, 12, 3000).tolist()
    found = together(lengths)
    assert sorted(np.concatenate(found).tolist()) == list(range(3000))
    for some in found:
        alike = len({lengths[i] for i in some}) == 1
        assert max(lengths[i] for i in some) * len(some) <= (USED if alike else USED_MIXED)
    whole = sum(lengths[i] for some in found for i in some if len({lengths[i] for i in some}) == 1)
    assert whole > 0.8 * sum(lengths) and together([]) == []


def test_few_rows_in_use_share_a_batch_and_a_row_beyond_the_bound_stands_alone():
    assert [some.tolist() for some in together([9, 3, 5 * USED, 4])] == [[1, 3, 0], [2]]
