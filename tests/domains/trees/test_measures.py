import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.domains.trees.encoded import linearise, parse_linear
from weft.domains.trees.measures import brackets, labelled_f1, punctuation
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import words
from weft.domains.trees.sample import sample_trees
from weft.errors import DataError

CAT = "(S (NP (DT The) (NN cat)) (, ,) (VP (VBD slept) (PRT (RP in))) (. .))"


def score(gold: str, found: str) -> dict[str, float]:
    return labelled_f1([read_tree(gold)], [read_tree(found)])


def test_brackets_are_labelled_spans_and_neither_roots_nor_parts_of_speech():
    tree = read_tree(f"( {CAT} )")
    assert brackets(tree) == {("S", 0, 6): 1, ("NP", 0, 2): 1, ("VP", 3, 5): 1, ("PRT", 4, 5): 1}
    assert punctuation(tree) == {2, 5}
    found = brackets(tree, without=punctuation(tree), alike={"PRT": "ADVP"})
    assert found == {("S", 0, 4): 1, ("NP", 0, 2): 1, ("VP", 2, 4): 1, ("ADVP", 3, 4): 1}


def test_a_bracket_counts_as_often_as_it_occurs():
    chain = read_tree("(NP (NP (NP (NN a))))")
    assert brackets(chain) == {("NP", 0, 1): 3}
    one = score("(NP (NP (NP (NN a))))", "(NP (NN a))")
    assert (one["matched"], one["precision"], one["recall"], one["f1"]) == (1, 1.0, 1 / 3, 0.5)
    assert score("(NP (NN a))", "(NP (NP (NP (NN a))))")["precision"] == 1 / 3
    assert score("(NP (NP (NP (NN a))))", "(NP (NP (NN a)))")["matched"] == 2


def test_the_numbers_are_those_reckoned_by_hand():
    # gold: S 0-5, NP 0-1, VP 1-5, NP 2-5, NP 2-3, PP 3-5, NP 4-5; found: S, NP 0-1, VP, NP 2-3, PP 3-5, NP 4-5
    gold = "(S (NP (NN he)) (VP (VBD saw) (NP (NP (NN men)) (PP (IN with) (NP (NNS hats))))))"
    found = "(S (NP (NN he)) (VP (VBD saw) (NP (NN men)) (PP (IN with) (NP (NNS hats)))))"
    result = score(gold, found)
    assert (result["matched"], result["gold"], result["found"]) == (6, 7, 6)
    assert result["precision"] == 1.0
    assert result["recall"] == 6 / 7
    assert result["f1"] == pytest.approx(2 * (6 / 7) / (1 + 6 / 7))
    assert result["exact"] == 0.0


def test_where_punctuation_hangs_does_not_matter_by_the_tags_of_the_gold_tree():
    moved = "(S (NP (XX The) (XX cat) (XX ,)) (VP (XX slept) (PRT (XX in)) (XX .)))"
    assert score(CAT, moved)["f1"] == score(CAT, moved)["exact"] == 1.0
    around = CAT.replace("(. .)", "(PRN (. .))")  # a node over punctuation alone is none
    assert score(CAT, around)["exact"] == 1.0
    assert score(CAT.replace("(, ,)", "(NN ,)"), moved)["exact"] == 0.0


def test_particles_are_adverbs_and_other_labels_differ():
    assert score(CAT, CAT.replace("PRT", "ADVP"))["exact"] == 1.0
    assert score(CAT, CAT.replace("NP", "VP"))["matched"] == 3


def test_the_root_does_not_count():
    for root in ("TOP", "ROOT", "S1", ""):
        assert score(CAT, f"({root} {CAT})")["exact"] == 1.0
    nothing = score("(TOP (NN a) (NN b))", "(TOP (NN a) (NN b))")
    assert (nothing["f1"], nothing["exact"], nothing["gold"]) == (0.0, 1.0, 0)
    assert labelled_f1([], [])["f1"] == 0.0


def test_sums_are_divided_once():
    long, short = read_tree(CAT), read_tree("(NP (NN a))")
    result = labelled_f1([long, short], [long, read_tree("(VP (NN a))")], well_formed=[True, False])
    assert result["f1"] == result["precision"] == result["recall"] == 4 / 5
    assert result["exact"] == result["well_formed"] == 0.5
    assert result["sentences"] == 2


def test_what_cannot_be_compared_is_refused():
    one, other = read_tree("(S (NN a))"), read_tree("(S (NN a) (NN b))")
    with pytest.raises(DataError, match="sentence 2: 1 words in the gold tree, 2 in the one found"):
        labelled_f1([one, one], [one, other])
    with pytest.raises(DataError, match="1 gold trees, 2 found"):
        labelled_f1([one], [one, one])
    with pytest.raises(DataError, match="2 marks"):
        labelled_f1([one], [one], well_formed=[True, True])


SYMBOLS = st.lists(st.sampled_from(["XX", "(S", "(NP", "(VP", ")S", ")NP", ")VP"]), max_size=25).map(" ".join)


@given(st.lists(st.tuples(SYMBOLS, SYMBOLS), min_size=1, max_size=4))
def test_exchanging_gold_and_found_exchanges_precision_and_recall(pairs: list[tuple[str, str]]):
    given_words = ["a", "b", "c", "d"]
    gold, found = ([parse_linear(pair[side], given_words).tree for pair in pairs] for side in (0, 1))
    there, back = labelled_f1(gold, found), labelled_f1(found, gold)
    assert (there["precision"], there["recall"], there["f1"]) == (back["recall"], back["precision"], back["f1"])
    assert 0 <= min(there["precision"], there["recall"]) <= there["f1"] <= max(there["precision"], there["recall"]) <= 1
    assert labelled_f1(gold, gold)["exact"] == 1.0


def test_flat_guesses_of_the_sample_that_ships_are_poor():
    trees = sample_trees(200)
    flat = [parse_linear("", words(tree)).tree for tree in trees]
    assert labelled_f1(trees, flat)["f1"] == 0.0
    assert labelled_f1(trees, trees)["f1"] == 1.0


def test_evalb_gives_the_same_numbers():
    """What evalb prints with COLLINS.prm for these trees, all under TOP, with the gold parts of speech in both."""
    trees, found = sample_trees(500), []
    for number, tree in enumerate(trees):
        symbols = linearise(tree).split()
        del symbols[7 * number % len(symbols)]
        found.append(parse_linear(" ".join(symbols), words(tree)).tree)
    result = labelled_f1(trees, found)
    printed = {"recall": 75.12, "precision": 78.68, "f1": 76.86, "exact": 21.20}
    assert {name: round(100 * result[name], 2) for name in printed} == printed
