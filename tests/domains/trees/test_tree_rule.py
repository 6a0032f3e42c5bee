"""Search under the rule of trees: whatever a model scores, what it writes is a tree over the words."""

import random

import pytest
import torch

from weft.domains.trees.encoded import linearise, parse_linear
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.well_formed import Alphabet, TreeRule
from weft.errors import DataError
from weft.generate.beam import Beam, BeamSearch

LABELS = ("S", "NP", "NPX")
NAMES = ("XX", *(f"({label}" for label in LABELS), *(f"){label}" for label in LABELS))
SINGLE = Alphabet(LABELS, {name: (i + 1,) for i, name in enumerate(NAMES)}, end=0)
LETTERS = {letter: i + 1 for i, letter in enumerate(sorted({*"".join(NAMES), " "}))}
SPELT = Alphabet(
    LABELS,
    {name: tuple(LETTERS[c] for c in f" {name}") for name in NAMES},
    end=0,
    first={name: tuple(LETTERS[c] for c in name) for name in NAMES},
)
ALPHABETS = {"an id each": SINGLE, "letter by letter": SPELT}


def text_of(alphabet: Alphabet, ids: tuple[int, ...]) -> str:
    if alphabet is SINGLE:
        return " ".join(NAMES[id - 1] for id in ids)
    return "".join(sorted(LETTERS)[id - 1] for id in ids)


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.parametrize("words", [1, 2, 7])
def test_whatever_is_drawn_under_the_rule_is_a_tree_over_all_words(name: str, words: int) -> None:
    alphabet, chance = ALPHABETS[name], random.Random(words)
    for limit in [alphabet.fewest(words) + more for more in (1, 2, 3, 20, 80)] * 8:
        rule, written = TreeRule(alphabet, words, limit), ()
        while (token := chance.choice([int(id) for id in rule.allowed(written)])) != alphabet.end:
            written = (*written, token)
        assert len(written) < limit
        assert parse_linear(text_of(alphabet, written), ["w"] * words).well_formed


@pytest.mark.parametrize("name", ALPHABETS)
def test_every_tree_may_be_written(name: str) -> None:
    alphabet = ALPHABETS[name]
    for tree in ("(S (NP (DT a) (NN b)) (NPX (NP (VB c))) (. .))", "(NPX (NP (S (NN a))))", "(NN a)"):
        symbols = linearise(read_tree(tree)).split()
        ids = [id for i, s in enumerate(symbols) for id in (alphabet.later if i else alphabet.first)[s]]
        rule = TreeRule(alphabet, symbols.count("XX"), len(ids) + 1)
        for place, token in enumerate([*ids, alphabet.end]):
            assert token in rule.allowed(ids[:place])


def test_a_beam_under_rules_of_its_own_for_each_source_writes_trees() -> None:
    chance = torch.Generator().manual_seed(0)
    rules = [TreeRule(SINGLE, words, 20) for words in (1, 3, 6)]
    beam = BeamSearch(0, [20] * 3, Beam(beam=4), rules)
    move, rows = True, 3
    while move:
        logits = 3 * torch.randn(rows, len(NAMES) + 1, generator=chance)
        if (move := beam.advance(logits)) is not None:
            rows = len(move.tokens)
    for words, (best,) in zip((1, 3, 6), beam.found(), strict=True):
        assert best.ended and parse_linear(text_of(SINGLE, best.ids), ["w"] * words).well_formed


def test_no_room_for_a_tree_and_symbols_spelt_alike_are_refused() -> None:
    with pytest.raises(DataError, match="at least 6 tokens, and there is room for 5"):
        TreeRule(SINGLE, 4, 6)
    with pytest.raises(DataError, match="spelt alike"):
        Alphabet(LABELS, dict.fromkeys(NAMES, (1,)), end=0)
