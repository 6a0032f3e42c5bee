"""Trees as gaps between words: there and back, and the best tree by the scores of its gaps."""

import itertools

import numpy as np
import pytest
import torch

from weft.domains.trees.codec import GapCodec, SymbolCodec
from weft.domains.trees.encoded import gaps_of, linearise, tree_of
from weft.domains.trees.gap_tagging import GapScores, best_gaps, log_total
from weft.domains.trees.reading.notation import read_tree
from weft.errors import DataError
from weft.objectives.at_tokens import split_number

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


@pytest.mark.parametrize("with_depths", [False, True])
@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_the_best_gaps_are_the_best_of_all_that_spell_a_tree(words: int, with_depths: bool) -> None:
    draw, labels = np.random.default_rng(words), [0, 1, 1, 2]
    for _ in range(20):
        opening, closing, depths = draw.normal(size=(words, 4)), draw.normal(size=(words, 3)), None
        if with_depths:
            depths = draw.normal(size=(words, 4))
        every = scores(opening, closing, labels, np.zeros((words, 1)) if depths is None else depths)
        best, given = max(every), GapScores(opening, closing, labels, depths)
        found = best_gaps(given)
        assert found.score == pytest.approx(best[0])
        assert (found.opens, found.closes) == (list(best[1]), list(best[2]))
        assert log_total(given) == pytest.approx(np.logaddexp.reduce([one[0] for one in every]))


def scores(opening: np.ndarray, closing: np.ndarray, labels: list[int], depths: np.ndarray) -> list[tuple]:
    """Every way to open and close that spells one tree, with its score; the last word closes what is open."""
    words, found = len(opening), []
    for opens in itertools.product(range(len(labels)), repeat=words):
        for closes in itertools.product(range(closing.shape[1]), repeat=words - 1):
            depth, good, staying = 0, True, 0.0
            for word in range(words):
                depth += labels[opens[word]] - (closes[word] if word < words - 1 else 0)
                good &= depth >= 1 or words == 1
                staying += depths[word, max(0, min(depth, depths.shape[1] - 1))] if word < words - 1 else 0.0
            if good:
                total = sum(opening[w, o] for w, o in enumerate(opens)) + sum(
                    closing[w, c] for w, c in enumerate(closes)
                )
                found.append((total + staying, opens, (*closes, depth)))
    return found


def test_gaps_are_numbers_and_unknown_ones_are_none() -> None:
    codec = GapCodec(GapCodec.Config(opens=("", "NP", "S NP"), closes=3), read=str.encode)
    (numbers,) = codec.encode([[("S NP", 0), ("", 1), ("VP", 1), ("NP", 3)]])
    assert numbers.tolist() == [6, 1, -1, -1] and codec.sizes == (3, 3) and codec.beside == ()


def test_a_gap_may_also_say_what_stays_open_and_the_part_of_speech() -> None:
    config = GapCodec.Config(opens=("", "NP", "S NP"), closes=3, depths=2, tags=("DT", "NN"))
    codec = GapCodec(config, read=str.encode)
    (numbers,) = codec.encode([[("S NP", 0), ("", 1), ("", 0)]], [["DT", "NN", "VB"]])
    assert codec.sizes == (3, 3, 2, 2) and codec.beside == ("depth", "tag")
    assert numbers.tolist() == [((2 * 3 + 0) * 2 + 1) * 2 + 0, ((0 * 3 + 1) * 2 + 1) * 2 + 1, -1]
    assert [digit.tolist() for digit in split_number(torch.tensor(numbers[:2]), codec.sizes)] == [
        [2, 0],
        [0, 1],
        [1, 1],
        [0, 1],
    ]


def test_symbols_come_back_from_their_ids_and_unknown_ones_are_named() -> None:
    codec = SymbolCodec.of(["XX", "(S", ")S"])
    (ids,) = codec.ids(["(S XX XX )S"])
    assert ids.tolist() == [2, 1, 1, 3] and codec.decode([*ids, codec.marks.end]) == "(S XX XX )S" and codec.size == 4
    with pytest.raises(DataError, match=r"'\(NP'"):
        codec.ids(["(NP XX )NP"])
