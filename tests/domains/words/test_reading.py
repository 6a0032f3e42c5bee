"""Words as samples: vocabularies, thinned lines with neighbours, counts of pairs: pure functions of the index."""

from collections import Counter

import numpy as np
import pytest
import torch

from weft.batches.words import BLOCK
from weft.domains.words.codec import WordCodec, count_words
from weft.domains.words.dataset import WordTexts
from weft.domains.words.encoded.counts import CountedPairs, NearbyPairs, count_pairs
from weft.domains.words.encoded.lines import DRAWN, LINE, NeighbourLines, NoiseTable, Thinning
from weft.domains.words.settings import WordTraining
from weft.modalities.words import plain_words

TEXT = ["The dog sees the cat.\nThe cat, it ", "doesn't see l'accord.\n\nthe end", None, "the dog", None]


def stream(words: int = 40, length: int = 4000, seed: int = 0) -> np.ndarray:
    """Ids of words, of which low ones are frequent, with the ends of sentences among them."""
    drawn = np.random.default_rng(seed).zipf(1.3, length)
    return np.where(drawn > words, words, drawn - 1).astype(np.int32)


def source(ids: np.ndarray, words: int = 40, sample: float = 0.01, seed: int = 3) -> NeighbourLines:
    """Lines of these ids."""
    counts = np.bincount(ids[ids < words], minlength=words)
    return NeighbourLines(ids, ids[:500], counts, Thinning(3, sample), span=64, fingerprint="f", seed=seed)


def test_words_have_no_signs_around_them() -> None:
    assert plain_words("The dog (it doesn't) l'accord: new_york 3.5!\nx", "lines") == [
        "The", "dog", "it", "doesn't", "l'", "accord", "new_york", "3", "5", "\n", "x"]  # fmt: skip
    assert plain_words("a\n \nb\nc", "paragraphs") == ["a", "\n \n", "b", "c"]
    assert plain_words("a\n\nb", "documents") == ["a", "b"]
    assert plain_words("犬が", "lines") == ["犬", "が"]


def test_a_text_becomes_numbers_in_sentences() -> None:
    counts = count_words(TEXT, lower=True, breaks="lines")
    assert counts["the"] == 5 and counts["doesn't"] == 1 and "\n" not in counts
    codec = WordCodec.of(["the", "cat", "dog"], [5, 2, 2], lower=True)
    ids, many = codec.ids(TEXT)
    assert ids.tolist() == [0, 2, 0, 1, 3, 0, 1, 3, 0, 3, 0, 2, 3, 3]
    assert many == counts.total()
    assert codec.find("Cat") == 1 and codec.find("emu") is None


def test_a_batch_depends_on_its_indices_alone() -> None:
    one, other = source(stream()), source(stream())
    other.batch(np.arange(8))
    for indices in (np.arange(4), np.array([17, 3, 200])):
        a, b = one.batch(indices), other.batch(indices)
        assert torch.equal(a.given.raw(), b.given.raw()) and torch.equal(a.wanted.rows.raw(), b.wanted.rows.raw())
        assert torch.equal(a.wanted.sentence, b.wanted.sentence) and torch.equal(a.wanted.reach, b.wanted.reach)
    assert not torch.equal(
        one.batch(np.arange(4)).given.raw(), source(stream(), seed=4).batch(np.arange(4)).given.raw()
    )


def test_neighbours_stand_in_one_sentence_within_reach() -> None:
    ids = stream()
    batch = source(ids, sample=0.0).batch(np.arange(6))
    words, near = batch.given.raw(), batch.wanted.near(BLOCK)
    assert words.shape[1] == LINE and batch.wanted.rows.places.shape[1] == LINE + DRAWN
    flat, sentence, reach = (t.reshape(-1, BLOCK) for t in (words, batch.wanted.sentence, batch.wanted.reach))
    for row in range(len(flat)):
        for i in range(BLOCK):
            for j in range(BLOCK):
                wanted = i != j and abs(i - j) <= int(reach[row, i]) and bool(sentence[row, i] == sentence[row, j])
                assert bool(near[row, i, j]) == wanted
    assert int(reach.max()) == 3 and bool((batch.wanted.rows.raw()[:, :LINE] == words).all())
    starts = source(ids, sample=0.0).order.starts(np.arange(6))
    text = np.concatenate([ids[start : start + 64] for start in starts])
    assert words.flatten()[: int((text < 40).sum())].tolist() == text[text < 40].tolist()


def test_padding_is_nobodys_neighbour() -> None:
    ids = np.array([0, 1, 40, 2, 3], np.int32)
    batch = source(ids, sample=0.0).batch(np.array([0]))
    near = batch.wanted.near(BLOCK)
    assert int(near.sum()) == 4 and bool(near[0, 0, 1]) and bool(near[0, 2, 3]) and not near[0, 1, 2]


def test_frequent_words_are_thinned_as_said() -> None:
    counts = np.array([9000, 900, 90, 10])
    kept = Thinning(5, 0.001).kept(counts)
    ratio = 0.001 * 10000 / counts
    assert kept == pytest.approx(np.minimum(1, np.sqrt(ratio) + ratio)) and kept[3] == 1
    assert Thinning(5, 0.0).kept(counts).tolist() == [1, 1, 1, 1]


def test_words_are_drawn_by_a_power_of_their_counts() -> None:
    counts = np.array([1000, 100, 10])
    drawn = NoiseTable(counts).words(np.linspace(0, 1, 100_000, endpoint=False))
    shares = counts**0.75 / (counts**0.75).sum()
    assert np.bincount(drawn) / 100_000 == pytest.approx(shares, abs=1e-3)


def test_counted_pairs_are_those_of_a_plain_loop() -> None:
    ids, words, window = stream(length=300), 40, 4
    wanted: Counter[tuple[int, int]] = Counter()
    for i, one in enumerate(ids):
        for j in range(i + 1, min(len(ids), i + window + 1)):
            if words in ids[i : j + 1]:
                break
            wanted[int(one), int(ids[j])] += 1 / (j - i)
            wanted[int(ids[j]), int(one)] += 1 / (j - i)
    found = count_pairs(ids, words, window)
    counted = {(int(a), int(b)): float(n) for a, b, n in zip(found.first, found.second, found.counts, strict=True)}
    assert counted == pytest.approx(dict(wanted)) and len(counted) == len(found)


def test_every_pair_is_met_once_in_a_round() -> None:
    many = 2000
    pairs = NearbyPairs(np.arange(many, dtype=np.int32), np.zeros(many, np.int32), np.arange(1.0, many + 1))
    drawn = CountedPairs(pairs, pairs, most=10.0, fingerprint="f", seed=0)
    for epoch in (0, 1):
        batch = drawn.batch(np.arange(drawn.per_epoch) + epoch * drawn.per_epoch)
        assert sorted(batch.given.raw().tolist()) == list(range(many))
    first = drawn.batch(np.arange(1))
    counts = first.given.raw() + 1
    assert torch.allclose(first.wanted.logs, counts.log()) and torch.allclose(
        first.wanted.weights, (counts / 10).clamp(max=1) ** 0.75
    )


def test_the_sample_is_read_again_as_it_was() -> None:
    one, other = (WordTexts().read((), None, WordTraining()) for _ in range(2))
    assert one.fingerprint == other.fingerprint and one.held_out.questions == other.held_out.questions
