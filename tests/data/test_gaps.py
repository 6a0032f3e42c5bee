"""Trees as gaps between words: there and back, and the best tree by the scores of its gaps."""

import itertools

import numpy as np
import pytest

from weft.codecs import GapCodec, SymbolCodec
from weft.data.readers.trees import read_tree
from weft.data.trees import linearise
from weft.data.trees.gaps import gaps_of, tree_of
from weft.errors import DataError
from weft.generate.gap_trees import best_gaps

TREES = (
    "(S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))",
    "(S (NP (NP (NN a)) (PP (IN b) (NP (NN c)))) (VP (VB d)))",
    "(NP (S (NN a)))",
    "(NN a)",
)


@pytest.mark.parametrize("text", TREES)
def test_a_tree_comes_back_from_its_gaps(text: str) -> None:
    tree = read_tree(text)
    words = linearise(tree).split().count("XX")
    assert linearise(tree_of(gaps_of(tree), ["w"] * words)) == linearise(tree)


def test_the_gaps_of_a_tree() -> None:
    assert gaps_of(read_tree(TREES[0])) == [("S NP", 0), ("", 1), ("VP", 1), ("", 1)]


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_the_best_gaps_are_the_best_of_all_that_spell_a_tree(words: int) -> None:
    draw, labels = np.random.default_rng(words), [0, 1, 1, 2]
    for _ in range(20):
        opening, closing = draw.normal(size=(words, 4)), draw.normal(size=(words, 3))
        best = max(scores(opening, closing, labels), default=None)
        found = best_gaps(opening, closing, labels)
        assert best is not None and found.score == pytest.approx(best[0])
        assert (found.opens, found.closes) == (list(best[1]), list(best[2]))


def scores(opening: np.ndarray, closing: np.ndarray, labels: list[int]) -> list[tuple]:
    """Every way to open and close that spells one tree, with its score; the last word closes what is open."""
    words, found = len(opening), []
    for opens in itertools.product(range(len(labels)), repeat=words):
        for closes in itertools.product(range(closing.shape[1]), repeat=words - 1):
            depth, good = 0, True
            for word in range(words):
                depth += labels[opens[word]] - (closes[word] if word < words - 1 else 0)
                good &= depth >= 1 or words == 1
            if good:
                total = sum(opening[w, o] for w, o in enumerate(opens)) + sum(
                    closing[w, c] for w, c in enumerate(closes)
                )
                found.append((total, opens, (*closes, depth)))
    return found


def test_gaps_are_numbers_and_unknown_ones_are_none() -> None:
    codec = GapCodec(GapCodec.Config(opens=("", "NP", "S NP"), closes=3), read=str.encode)
    (numbers,) = codec.encode([[("S NP", 0), ("", 1), ("VP", 1), ("NP", 3)]])
    assert numbers.tolist() == [6, 1, -1, -1] and codec.sizes == (3, 3)


def test_symbols_come_back_from_their_ids_and_unknown_ones_are_named() -> None:
    codec = SymbolCodec.of(["XX", "(S", ")S"])
    (ids,) = codec.ids(["(S XX XX )S"])
    assert ids.tolist() == [2, 1, 1, 3] and codec.decode([*ids, codec.marks.end]) == "(S XX XX )S" and codec.size == 4
    with pytest.raises(DataError, match=r"'\(NP'"):
        codec.ids(["(NP XX )NP"])
