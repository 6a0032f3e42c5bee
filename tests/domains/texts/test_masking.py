"""Hidden tokens: a share of them, decided by key and index alone, never marks, whole words on request."""

from functools import cache

import numpy as np
import pytest
import torch

from weft.batches.draws import Dice
from weft.domains.texts.encoded.masking import MaskedWindows, TokenMasker
from weft.errors import ConfigError
from weft.modalities.encoding import encode_pieces
from weft.modalities.framing import Joins
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_making import train

STORY = "Once upon a time there was a weaver, who wove naïve cloth, and sold it in the town for bread. " * 60


@cache
def made(kind: str = "bpe") -> Tokenizer:
    return train(kind, [STORY], 330 if kind == "bpe" else None, mask=True)


@cache
def stream(kind: str = "bpe") -> np.ndarray:
    return encode_pieces(made(kind), [STORY, None, STORY[:200], None, STORY[100:], None])


def source(kind: str = "bpe", context: int = 34, seed: int = 0, **more) -> MaskedWindows:
    masker = TokenMasker(made(kind), **more)
    return MaskedWindows(
        stream(kind), stream(kind)[:500], made(kind), masker, context=context, fingerprint="f", seed=seed
    )


def test_a_window_is_a_stretch_of_the_text_between_its_marks():
    tokenizer, windows = made(), source()
    batch = windows.batch(np.arange(windows.per_epoch))
    assert batch.wanted.values.shape == (windows.per_epoch, 34)
    assert (batch.wanted.values[:, 0] == tokenizer.end).all() and (batch.wanted.values[:, -1] == tokenizer.end).all()
    text = " ".join(map(str, stream().tolist()))
    assert all(" ".join(map(str, row[1:-1].tolist())) in text for row in batch.wanted.values)
    assert torch.equal(batch.given.ids[~batch.wanted.where], batch.wanted.values[~batch.wanted.where])


def test_a_share_is_hidden_and_special_tokens_never():
    windows = source(context=102)
    batch = windows.batch(np.arange(2000))
    special = torch.isin(batch.wanted.values, torch.from_numpy(made().special))
    assert special[:, 1:-1].any(), "ends of documents stand inside of windows"
    assert not (batch.wanted.where & special).any()
    free = (~special).sum(1)
    assert torch.equal(batch.wanted.where.sum(1), (0.15 * free.double()).round().long().clamp(min=1))
    assert source(share=0.5).batch(np.arange(50)).wanted.where.float().mean() > 0.4


def test_four_of_five_are_masked_one_in_ten_is_another_and_one_in_ten_stays():
    batch = source(context=102).batch(np.arange(3000))
    read, truth = batch.given.ids[batch.wanted.where], batch.wanted.values[batch.wanted.where]
    masked, same = (read == made().mask).double().mean(), (read == truth).double().mean()
    others = read[(read != made().mask) & (read != truth)]
    assert float(masked) == pytest.approx(0.8, abs=0.01) and float(same) == pytest.approx(0.1, abs=0.01)
    assert len(others) / len(read) == pytest.approx(0.1, abs=0.01)
    assert not set(others.tolist()) & set(made().special.tolist()) and len(set(others.tolist())) > 200


def test_every_place_is_hidden_equally_often():
    hidden = source(context=22).batch(np.arange(8000)).wanted.where[:, 1:-1].double().mean(0)
    assert float(hidden.min()) > 0.12 and float(hidden.max()) < 0.18


@pytest.mark.parametrize("kind", ["bpe", "characters", "bytes"])
def test_whole_words_are_hidden_or_shown_and_no_more_than_the_share(kind: str):
    windows = source(kind, context=82, whole_words=True)
    batch = windows.batch(np.arange(400))
    starts = Joins.of(made(kind)).starts(batch.wanted.values.numpy())
    for row, hidden in zip(starts, batch.wanted.where.numpy(), strict=True):
        word = np.cumsum(row)
        assert all(hidden[word == w].all() for w in set(word[hidden]))
    share = batch.wanted.where.float().sum(1) / 80
    assert float(share.max()) <= 0.16 and float(share.mean()) > 0.1


def test_a_word_longer_than_the_share_is_hidden_all_the_same():
    ids = made("characters").encode("weaverweaver")[None].astype(np.int64)
    read, hidden = TokenMasker(made("characters"), whole_words=True).hide(ids, Dice("k", np.array([0])))
    assert hidden.all() and read.shape == ids.shape


def test_what_is_hidden_depends_on_data_seed_and_index_alone():
    a, b, other = source(), source(), source(seed=1)
    indices = np.array([5, 900, 17, 5])
    whole = a.batch(indices)
    for i, index in enumerate(indices):
        one = b.batch(np.array([index]))
        assert torch.equal(one.given.ids[0], whole.given.ids[i]) and torch.equal(
            one.wanted.where[0], whole.wanted.where[i]
        )
    assert not torch.equal(other.batch(indices).wanted.where, whole.wanted.where)


def test_epochs_hide_other_tokens():
    windows = source(context=10_000)
    assert windows.per_epoch == 1
    first, second = windows.batch(np.array([0])), windows.batch(np.array([1]))
    assert torch.equal(first.wanted.values, second.wanted.values) and not torch.equal(
        first.wanted.where, second.wanted.where
    )


def test_the_held_out_text_is_met_whole_with_the_same_tokens_hidden_for_every_seed():
    a, b = list(source().held_out()), list(source(seed=7).held_out())
    assert all(
        torch.equal(x.given.ids, y.given.ids) and torch.equal(x.wanted.where, y.wanted.where)
        for x, y in zip(a, b, strict=True)
    )
    rows = [row for batch in a for row in batch.wanted.values[:, 1:-1].tolist()]
    assert [id for row in rows[:-1] for id in row] == stream()[: 32 * (len(rows) - 1)].tolist()
    assert rows[-1] == stream()[468:500].tolist()
    few = [row for batch in source().held_out(most=3) for row in batch.given.ids.tolist()]
    every = [row for batch in a for row in batch.given.ids.tolist()]
    assert len(few) == 3 and few[0] == every[0] and few[-1] == every[-1]


def test_a_text_shorter_than_the_context_is_one_window():
    windows = MaskedWindows(
        stream()[:9], stream()[:5], made(), TokenMasker(made()), context=64, fingerprint="f", seed=0
    )
    assert windows.batch(np.array([0])).given.ids.shape == (1, 11)
    assert [tuple(batch.given.ids.shape) for batch in windows.held_out()] == [(1, 7)]


def test_batches_are_cut_by_slices_and_moved():
    batch = source().batch(np.arange(6))
    assert (
        len(batch) == 6
        and len(batch[2:4]) == 2
        and torch.equal(batch[2:4].to("cpu").wanted.values, batch.wanted.values[2:4])
    )
    assert batch.given.raw().valid is None


def test_what_cannot_be_hidden_is_refused():
    with pytest.raises(ConfigError, match="no token that stands for a hidden one"):
        TokenMasker(train("bytes", [STORY]))
    with pytest.raises(ConfigError, match="above 0 and below 1"):
        TokenMasker(made(), share=1.0)
    with pytest.raises(ConfigError, match="2 tokens leave no room"):
        source(context=2)
