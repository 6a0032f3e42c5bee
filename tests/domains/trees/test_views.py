"""A look at a tree: brackets stand above their words, and every part of the tree says what was read for it."""

import re
from typing import Any

import numpy as np
import pytest

from weft.domains.pairs.views import Look
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.views.looking import gap_names, symbol_names
from weft.domains.trees.views.tree import TreeView, brackets
from weft.inspect.alignment import Alignment
from weft.inspect.views import LookedAnswer

TREE = read_tree("(S (NP (XX The) (XX cat)) (VP (XX slept)) (XX .))")
SYMBOLS = ["(S", "(NP", "XX", "XX", ")NP", "(VP", "XX", ")VP", "XX", ")S"]
ROWS = ["(S", "(NP", "The", "cat", "NP)", "(VP", "slept", "VP)", ".", "S)"]


def view(**more: Any) -> TreeView:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, len(ROWS))).astype(np.float32)
    reading = Alignment(("The", "cat", "slept", ".", "<end>"), tuple(ROWS), weights)
    return TreeView(TREE, reading, Look(), LookedAnswer(((str(TREE), 0.25),), "tree"), **more)


def test_brackets_stand_above_their_words_the_outer_above_the_inner() -> None:
    found = {one.label: one for one in brackets(TREE)}
    assert (found["NP"].left, found["NP"].right, found["NP"].level, found["NP"].middle) == (0, 1, 1, 0.5)
    assert (found["S"].left, found["S"].right, found["S"].level) == (0, 3, 2)
    assert found["S"].below == ((0.5, 1), (2.0, 1), (3.0, 0))


def test_symbols_and_gaps_are_named_as_people_read_them() -> None:
    spelt = [{"(": "o", ")": "c"}.get(one[0], one[0]) + one[1:] for one in SYMBOLS]
    assert (
        symbol_names(SYMBOLS, ["The", "cat", "slept", "."]) == ROWS == symbol_names(spelt, ["The", "cat", "slept", "."])
    )
    assert gap_names(TREE) == ["(S (NP The", "cat NP)", "(VP slept VP)", ". S)"]


def test_the_picture_has_the_tree_its_probability_and_a_row_for_each_part() -> None:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", view().picture("svg").decode())
    assert "tree (25 %)" in texts and {"S", "NP", "VP"} <= set(texts) and {"(NP", "NP)", "slept"} <= set(texts)
    assert not any("Framed" in text for text in texts)


def test_a_decoder_that_is_given_the_next_word_says_which_at_each_step() -> None:
    shown = view(framed=[0, 0, 0, 1, 2, 2, 2, 3, 3, 4])
    assert any("Framed" in text for text in re.findall(r"<text[^>]*>([^<]*)</text>", shown.picture("svg").decode()))
    assert shown.to_json()["next_words"][4] == "slept" and shown.to_json()["answer"]["said"][0]["probability"] == 0.25
    assert "(NP The cat)" in shown.text() and "tree (25 %)" in shown.text()
    assert b"tree: (S (NP" in shown.page()


@pytest.mark.parametrize("how", [Look(every=True), Look(layer=2, head=1), Look(pieces=True)])
def test_layers_heads_and_pieces_can_be_chosen(how: Look) -> None:
    shown = view()
    shown = TreeView(TREE, shown.reading, how, shown.answer)  # type: ignore[arg-type]
    assert (shown.crown is None) == how.pieces and shown.picture("svg").startswith(b"<?xml")
