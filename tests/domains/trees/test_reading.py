import gzip
import hashlib
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.domains.trees.encoded import linearise, parse_linear
from weft.domains.trees.measures import brackets
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import DEEPEST, Tree, draw, leaves, normal, sentence, walk, words
from weft.domains.trees.reading.treebanks import read_trees
from weft.domains.trees.sample import PHRASES, WORDS, _text, sample_trees
from weft.errors import DataError
from weft.files import decoding

CAT = "(S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))"
DOG = "(S (NP (DT A) (NN dog)) (VP (VBD saw) (NP (PRP it))) (. .))"
DEEP = 10**5


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# Reading


def test_trees_are_read_from_one_line_or_many_with_or_without_an_outer_bracket(tmp_path: Path):
    spread = CAT.replace(" (", "\n\t (").replace(")", " ) ")
    path = write(tmp_path / "a.mrg", f"( {CAT} )\n\n{DOG}({CAT}){DOG}\n(\n{spread}\n)")
    assert [str(tree) for tree in read_trees(path)] == [CAT, DOG, CAT, DOG, CAT]


def test_byte_order_marks_newlines_gzip_comments_and_names_do_not_change_the_fingerprint(tmp_path: Path):
    plain = read_trees([str(write(tmp_path / "a.mrg", f"{CAT}\n{DOG}\n"))])
    packed = b"\xef\xbb\xbf*x* Copyright (C) 1992 *x*\r\n" + f"( {CAT})\r\n<S ID=1>\r\n# (no\r\n( {DOG})\r\n".encode()
    other = read_trees(write(tmp_path / "b.ptb.GZ", gzip.compress(packed)))
    apart = read_trees([write(tmp_path / "c" / "1.tree", CAT), write(tmp_path / "c" / "2.parse", DOG)])
    assert plain.trees == other.trees == apart.trees
    assert plain.fingerprint == other.fingerprint == apart.fingerprint
    assert [file.rows for file in apart.files] == [1, 1]
    assert other.notes == (f"{tmp_path / 'b.ptb.GZ'}: 3 lines of comments skipped",)
    changed = read_trees(write(tmp_path / "d.mrg", f"{CAT}\n{DOG.replace('dog', 'fox')}"))
    swapped = read_trees(write(tmp_path / "e.mrg", f"{DOG}\n{CAT}"))
    assert len({plain.fingerprint, changed.fingerprint, swapped.fingerprint}) == 3


def test_a_folder_gives_its_trees_and_lists_what_is_none(tmp_path: Path):
    write(tmp_path / "b.trees", DOG)
    write(tmp_path / "a" / "wsj.txt", CAT)
    write(tmp_path / "README.txt", "What is in here (trees).")
    write(tmp_path / "notes.md", "no")
    write(tmp_path / "empty.mrg", " \n")
    trees = read_trees(tmp_path)
    assert [str(tree) for tree in trees] == [CAT, DOG]
    why = {Path(name).name: reason for name, reason in trees.skipped}
    assert why["README.txt"] == "text that does not begin with a bracket"
    assert why["empty.mrg"] == "no trees in it"
    assert why["notes.md"].startswith("not .mrg")


def test_words_are_whole_wherever_the_file_is_cut_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(tmp_path / "a.mrg", f"( {CAT} )\n{DOG.replace('dog', 'Dögchen')}\n" * 3)
    whole = read_trees(path)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(decoding, "CHUNK", size)
        assert read_trees(path).trees == whole.trees


FAULTS = {
    f"{CAT}\n\n(S (NP (DT A)\n (NN dog))\n": (3, "the tree that begins here with (S never ends: 1 closing bracket is"),
    f"({CAT}\n({DOG})\n": (2, "a bracket without a label, in the tree that began in line 1: is a closing bracket"),
    f"{CAT})\n": (1, "a closing bracket, but no tree is open"),
    f"{CAT}\nHello (S (NN you))": (2, "text outside of a tree: 'Hello'"),
    f"{CAT} # after a tree": (1, "text outside of a tree: '#'"),
    "(S (NP\n (DT The)) (VP))": (2, "(VP) holds neither a word nor a phrase"),
    "(S\n( (NN cat)))": (2, "a bracket without a label"),
    "(S (NN cat) ())": (1, "an empty bracket"),
    "( )": (1, "an empty bracket"),
    "(S (NP the cat))": (1, "(NP holds the word 'the' and also the word 'cat'"),
    "(S (NP the (NN cat)))": (1, "(NP holds the word 'the' and also a bracket"),
    "(S (NP (DT the) cat))": (1, "(NP holds phrases and also the word 'cat'"),
    "\n" + "(S " * DEEP + "(NN a)" + ")" * DEEP: (2, "a tree deeper than 500 brackets; it began in line 2"),
    "(S (NN " + "a" * 10_001 + "))": (1, "a word of more than 10,000 characters"),
    "(NN " + "a" * 3_000_000: (1, "a word of more than 10,000 characters"),
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda t: repr(t[:30]))
def test_a_fault_is_told_with_its_file_and_line_and_what_to_do(tmp_path: Path, text: str):
    line, problem = FAULTS[text]
    path = write(tmp_path / "bad.mrg", text)
    with pytest.raises(DataError) as caught:
        read_trees(path)
    assert caught.value.where == f"{path}, line {line}"
    assert problem in caught.value.problem
    assert caught.value.fix


def test_a_file_without_trees_and_one_in_another_encoding_are_refused(tmp_path: Path):
    for text in ("", " \n", "# nothing\n", "( (NP (-NONE- *)) )"):
        with pytest.raises(DataError, match="0 trees in"):
            read_trees(write(tmp_path / "a.mrg", text))
    with pytest.raises(DataError, match="line 2: byte 0xF6 .* is not UTF-8; it looks like Latin-1"):
        read_trees(write(tmp_path / "b.mrg", f"{CAT}\n(S (NN Vögel))".encode("latin-1")))
    with pytest.raises(DataError, match="this is gzip"):
        read_trees(write(tmp_path / "c.mrg", gzip.compress(CAT.encode())))
    with pytest.raises(DataError, match="a PDF document"):
        read_trees(write(tmp_path / "c.pdf", CAT))
    with pytest.raises(DataError, match="no such file"):
        read_trees(tmp_path / "gone.mrg")


def test_the_deepest_tree_that_is_read_can_be_compared_shown_and_inverted():
    text = "(S " * (DEEPEST - 1) + "(NN a)" + ")" * (DEEPEST - 1)
    tree, again = read_tree(text), read_tree(text)
    assert tree == again and hash(tree) == hash(again) and str(tree) == text and text in repr(tree)
    assert normal(tree) == tree
    assert draw(tree).count("(") == DEEPEST
    found, well_formed = parse_linear(linearise(tree), words(tree))
    assert well_formed and brackets(found) == brackets(tree) == {("S", 0, 1): DEEPEST - 1}
    with pytest.raises(DataError, match="deeper than 500"):
        read_tree(f"(S {text})")


def test_a_tree_of_any_depth_made_by_hand_needs_no_recursion():
    tree = Tree("NN", ("a",))
    for _ in range(sys.getrecursionlimit() * 3):
        tree = Tree("S", (tree,))
    assert tree == normal(tree) and sentence(tree) == "a" and len(linearise(tree).split()) == 6001
    assert len(draw(tree)) > 6000


def test_a_node_holds_one_word_or_some_trees():
    for children in ((), ("a", "b"), ("a", Tree("NN", ("b",)))):
        with pytest.raises(ValueError, match="expected one word or some trees under 'S'"):
            Tree("S", children)


def test_reports_count_trees_words_and_labels(tmp_path: Path):
    trees = read_trees(write(tmp_path / "a.mrg", f"{CAT}\n{CAT}\n{DOG}"))
    assert trees.labels() == Counter(NP=4, S=3, VP=3)
    assert trees.report() == [
        "3 trees, 13 words: 4.3 a tree, at most 5",
        "3 labels of phrases, the commonest: NP, S, VP",
        "sentences equal to an earlier one: 1; they are kept",
    ]


# Normal form and text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            "( (S (NP-SBJ-1 (DT The) (NN cat)) (VP=2 (VBD ate) (NP (-NONE- *-1)))))",
            "(S (NP (DT The) (NN cat)) (VP (VBD ate)))",
        ),
        ("(VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1))))", "(VP (VBD said))"),
        ("(ROOT (S (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))", "(S (-LRB- -LRB-) (NN a) (-RRB- -RRB-))"),
        ("(TOP (S1 (ADVP|PRT-DIR (RP up))))", "(ADVP|PRT (RP up))"),
        ("( (NP (NN a)) (. .) )", "(TOP (NP (NN a)) (. .))"),
        ("( (NN a) )", "(TOP (NN a))"),
        ("(S (: -) (= =) (PRP$ my))", "(S (: -) (= =) (PRP$ my))"),
    ],
)
def test_traces_functions_and_empty_roots_go(raw: str, expected: str):
    tree = normal(read_tree(raw))
    assert str(tree) == expected
    assert normal(tree) == tree


def test_without_normalising_trees_stay_as_written_and_traces_alone_are_listed(tmp_path: Path):
    path = write(tmp_path / "a.mrg", f"( (S (NP-SBJ (-NONE- *)) (VP (VB Go))))\n( (S (-NONE- *)))\n{CAT}")
    raw, trees = read_trees(path, normalise=False), read_trees(path)
    assert str(raw.trees[0]) == "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Go))))"
    assert [str(tree) for tree in trees] == ["(S (VP (VB Go)))", CAT]
    assert trees.skipped == ((str(path), "1 of its trees hold nothing but traces"),)
    assert len(raw) == 3 and raw.fingerprint != trees.fingerprint


def test_sentences_are_plain_text_unless_asked_otherwise():
    tree = read_tree(r"(S (`` ``) (-LRB- -LRB-) (CD 1\/2) (SYM \*) (-RCB- -RCB-) (-RRB- -RRB-) ('' '') (POS 's))")
    assert sentence(tree) == '" ( 1/2 * } ) " \'s'
    assert sentence(tree, plain=False) == r"`` -LRB- 1\/2 \* -RCB- -RRB- '' 's"


def test_a_tree_is_written_so_that_it_can_be_read_again():
    tree = Tree("S", (Tree("-LRB-", ("(",)), Tree("NN", (":)",))))
    assert str(tree) == "(S (-LRB- -LRB-) (NN :-RRB-))"
    assert sentence(read_tree(str(tree))) == sentence(tree) == "( :)"


def test_drawings_hold_every_word_and_keep_to_the_width():
    tree = read_tree(f"(S {CAT} (CC and) (NP (NN one) (NN two) (NN three) (NN four)))")
    assert draw(tree, width=20).splitlines() == [
        "(S",
        "  (S",
        "    (NP (DT The) (NN cat))",
        "    (VP (VBD slept))",
        "    (. .))",
        "  (CC and)",
        "  (NP (NN one) (NN two) (NN three) (NN four)))",
    ]
    assert draw(read_tree("(NP (XX the) (XX cat))")) == "(NP the cat)"
    assert "\x1b" not in draw(Tree("S", (Tree("NN", ("\x1b[2J",)),)))


# Symbols


def test_trees_are_linearised_in_the_manner_of_the_paper():
    assert linearise(read_tree(CAT)) == "(S (NP XX XX )NP (VP XX )VP XX )S"
    assert linearise(read_tree("(NN a)")) == "XX"


@pytest.mark.parametrize(
    ("symbols", "expected", "well_formed"),
    [
        ("(S (NP XX XX )NP (VP XX )VP )S", "(S (NP a b) (VP c))", True),
        ("(S (NP XX XX ) (VP XX ) )", "(S (NP a b) (VP c))", True),
        ("(S (NP XX XX )NP (VP XX", "(S (NP a b) (VP c))", False),  # cut short
        ("(S (NP XX XX (VP XX )VP )S", "(S (NP a b (VP c)))", False),  # one left open
        ("(S (NP XX XX )NP )VP (VP XX )VP )S )S", "(S (NP a b) (VP c))", False),  # surplus ones
        ("(S (NP XX XX )NP (VP XX XX XX )VP (NP XX )NP )S", "(S (NP a b) (VP c))", False),  # too many words
        ("(S (NP XX )NP )S", "(S (NP a) b c)", False),  # too few
        ("(S (NP )NP (NP XX XX )NP (VP XX )VP )S", "(S (NP a b) (VP c))", False),  # a phrase of nothing
        ("(S the (NP XX ( XX )NP (VP XX )VP )S", "(S (NP a b) (VP c))", False),  # no symbols
        ("(NP XX XX )NP (VP XX )VP", "(TOP (NP a b) (VP c))", False),
        ("XX XX XX", "(TOP a b c)", False),
        (") ) )NP (S", "(TOP a b c)", False),
        ("", "(TOP a b c)", False),
    ],
)
def test_broken_symbols_are_repaired_in_one_way(symbols: str, expected: str, well_formed: bool):
    found = parse_linear(symbols, "a b c")
    assert draw(found.tree).replace("\n", " ").split() == expected.split()
    assert found.well_formed is well_formed


def test_brackets_without_end_make_no_tree_too_deep():
    found, well_formed = parse_linear("(S " * DEEP + "XX " + ")S " * DEEP, ["a"])
    assert brackets(found) == {("S", 0, 1): DEEPEST - 1} and not well_formed
    assert not parse_linear(")S " * DEEP, ["a"]).well_formed


def test_a_sentence_without_words_has_no_tree():
    for nothing in ([], "", " "):
        with pytest.raises(DataError, match="without words"):
            parse_linear("(S XX )S", nothing)


LABELS = st.sampled_from(["S", "NP", "VP", "PRT", "ADVP|PRT", "TOP", "XX", "-LRB-", "Ü"])
WORD = st.sampled_from(["a", "b", "(", ")", "XX", "(S", "'s", "ü"])
LEAVES = st.builds(lambda label, word: Tree(label, (word,)), st.sampled_from(["NN", ".", ",", "DT"]), WORD)
TREES = st.recursive(
    LEAVES, lambda below: st.builds(lambda la, c: Tree(la, tuple(c)), LABELS, st.lists(below, min_size=1, max_size=4))
)


@given(TREES)
@example(Tree("S", (Tree("S", (Tree("S", (Tree("NN", ("a",)),)),)),)))
def test_reading_the_symbols_of_a_tree_gives_its_brackets_back(tree: Tree):
    found, well_formed = parse_linear(linearise(tree), words(tree))
    assert well_formed
    assert brackets(found) == brackets(tree)
    assert linearise(found) == linearise(tree)
    assert words(found) == words(tree)


@given(st.lists(st.sampled_from(["XX", "(S", "(NP", ")S", ")NP", ")", "(", "the"]), max_size=30), st.integers(1, 6))
def test_any_symbols_give_a_tree_over_all_words_and_its_own_symbols_give_it_again(symbols: list[str], count: int):
    given_words = [f"w{k}" for k in range(count)]
    found, well_formed = parse_linear(" ".join(symbols), given_words)
    assert words(found) == given_words
    again = parse_linear(linearise(found), given_words)
    assert again == (found, True)
    if well_formed:
        bare = [symbol[0] if symbol[0] == ")" else symbol for symbol in symbols]
        assert bare == [symbol[0] if symbol[0] == ")" else symbol for symbol in linearise(found).split()]


@given(TREES)
def test_written_trees_are_read_back(tree: Tree):
    again = read_tree(str(tree))
    assert str(again) == str(tree)
    assert words(again) == words(tree)
    assert brackets(again) == brackets(tree)


# Data


def test_the_sample_of_the_penn_treebank_is_read_whole_and_inverted(shared_data: Path):
    path = shared_data / "parsing" / "ptb-sample-0001-0170.mrg.gz"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    trees = read_trees([str(path)])
    assert len(trees) == 3509 and not trees.skipped and not trees.notes
    assert len(trees.labels()) == 27 and not any("-" in label or "=" in label for label in trees.labels())
    for tree in trees:
        found, well_formed = parse_linear(linearise(tree), words(tree))
        assert well_formed and brackets(found) == brackets(tree) and found.label == tree.label
        assert sentence(tree).split() == words(tree)


def test_the_sample_that_ships_is_the_same_in_every_python():
    trees = sample_trees()
    assert trees[:100] == sample_trees(100)
    digest = hashlib.sha256("\n".join(map(str, trees)).encode()).hexdigest()
    assert digest[:16] == "3ebed422031bbaf9"
    assert len({sentence(tree) for tree in trees}) == len(trees) == 3000
    assert {len(leaves(tree)) for tree in trees} == set(range(4, 16))
    for tree in trees:
        assert normal(tree) == tree
        assert parse_linear(linearise(tree), words(tree)).well_formed


def test_no_sentence_of_the_sample_grammar_has_two_trees():
    chance, seen = random.Random(1), {}
    for _ in range(5000):
        tree = read_tree(_text(chance))
        assert seen.setdefault(sentence(tree), tree) == tree


def test_the_sample_that_ships_uses_all_of_its_grammar():
    seen = {word.lower() for tree in sample_trees() for word in words(tree)}
    known = {form.lower() for _, listed in WORDS.values() for word in listed.split() for form in word.split("/")}
    assert not known - seen
    labels = {node.label for tree in sample_trees() for event, node in walk(tree) if event == "open"}
    assert labels == {"S", "SQ", "SBARQ", "SBAR", "NP", "VP", "PP", "ADVP", "ADJP", "PRT", "WHNP", "WHADVP"}
    used = " ".join(template for templates in PHRASES.values() for template in templates)
    assert all(f"{{{name}}}" in used or f"{{{name}:" in used for name in [*PHRASES, *WORDS] if name != "start")


def test_in_the_sample_that_ships_the_verb_decides_what_a_place_belongs_to():
    """The same parts of speech with different trees: more cannot be told from the order of words alone."""
    shapes: dict[tuple[str, ...], set[str]] = {}
    for tree in sample_trees():
        shapes.setdefault(tuple(leaf.label for leaf in leaves(tree)), set()).add(linearise(tree))
    assert sum(len(trees) > 1 for trees in shapes.values()) > 50
