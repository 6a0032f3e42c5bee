"""Trees as ids and samples: as sequences of symbols for a model to write, or as tags of the gaps between words.

The sequences are those of Vinyals et al. (2015), Grammar as a Foreign Language: brackets carry their label on both
sides, words and parts of speech are one symbol, XX, since the sentence is known already. They are read however broken.

    (S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))      (S (NP XX XX )NP (VP XX )VP XX )S

A gap has the labels that open before a word and the number of brackets that close after it. Refuses to know models.

    The "S NP" 0   cat "" 1   slept "VP" 1   . "" 1
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.domains.pairs.dataset import PairData
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.whole_texts import TaggedIds, TaggedRows
from weft.domains.trees.codec import GapCodec
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import DEEPEST, ROOT, TAG, Tree, leaves, walk
from weft.errors import DataError
from weft.tasks.codec import Codecs


class Parsed(NamedTuple):
    """A tree over given words, and whether the symbols spelt it without need of repair."""

    tree: Tree
    well_formed: bool


def linearise(tree: Tree) -> str:
    """The symbols of a tree, with a space between them."""
    symbols = {"open": lambda node: f"({node.label}", "leaf": lambda _: TAG, "close": lambda node: f"){node.label}"}
    return " ".join(symbols[event](node) for event, node in walk(tree))


def parse_linear(text: str, words: str | Sequence[str]) -> Parsed:
    """The tree that symbols spell, over exactly these words (a text is split at white space); broken symbols too.

    The k-th XX is the k-th word; its part of speech is XX. Well-formed symbols come back as the tree they were made of;
    closing brackets may then also stand without a label. All else is repaired, always in the same way:

    - a closing bracket closes the nearest open one of its label and all inside it; without one it is dropped
    - what is open at the end is closed
    - an XX beyond the last word, a symbol of no known form, a bracket deeper than 500 and one without words are dropped
    - words that are left over go to the end of the root
    - several trees side by side, or none, come under a root TOP, which no measure counts
    """
    words = words.split() if isinstance(words, str) else words
    if not words:
        raise DataError("a sentence without words has no tree", fix="leave empty sentences out")
    builder = _Builder(words)
    for symbol in text.split():
        builder.take(symbol)
    return builder.parsed()


class _Builder:
    """A tree in the making: the open nodes, outermost first, and how many words are used."""

    def __init__(self, words: Sequence[str]):
        self.words, self.used, self.sound = words, 0, True
        self.open: list[tuple[str, list[Tree]]] = [("", [])]

    def take(self, symbol: str) -> None:
        if symbol == TAG and self.used < len(self.words):
            self.open[-1][1].append(Tree(TAG, (self.words[self.used],)))
            self.used += 1
        elif symbol[0] == "(" and len(symbol) > 1 and len(self.open) < DEEPEST:
            self.open.append((symbol[1:], []))
        elif symbol[0] == ")":
            self.close(symbol[1:])
        else:
            self.sound = False

    def close(self, label: str) -> None:
        """Close the nearest open bracket of that label, or of any where there is none."""
        level = len(self.open) - 1
        while level > 0 and label and self.open[level][0] != label:
            level -= 1
        if level != len(self.open) - 1 or level == 0:
            self.sound = False
        while 0 < level < len(self.open):
            self.fold()

    def fold(self) -> None:
        label, children = self.open.pop()
        if children:
            self.open[-1][1].append(Tree(label, tuple(children)))
        else:
            self.sound = False

    def parsed(self) -> Parsed:
        self.sound &= len(self.open) == 1 and self.used == len(self.words)
        while len(self.open) > 1:
            self.fold()
        pieces = self.open[0][1]
        self.sound &= len(pieces) == 1
        left = [Tree(TAG, (word,)) for word in self.words[self.used :]]
        if len(pieces) == 1 and not pieces[0].is_leaf:
            root = pieces[0]
            return Parsed(Tree(root.label, (*root.children, *left)), self.sound)
        together = [*pieces, *left]
        return Parsed(together[0] if len(together) == 1 else Tree(ROOT, tuple(together)), self.sound)


APART = re.compile(r"([,:;!?()\"]+(?=\s|$)|[.,:;!?()\"]+$)")  # marks that treebanks write as words of their own
ALONE = re.compile(r"(^|\s)[.,:;!?()\"]+(\s|$)")


def to_symbols(tree: str) -> str:
    """A tree in brackets as symbols."""
    symbols = linearise(read_tree(tree)).split(" ")
    return " ".join({"(": "o", ")": "c"}.get(s[0], s[0]) + s[1:] for s in symbols)


def from_symbols(text: str) -> str:
    """Symbols as brackets again."""
    return " ".join({"o": "(", "c": ")"}.get(s[0], s[0]) + s[1:] for s in text.split())


def apart(sentence: str) -> str:
    """A sentence whose marks stand apart from words, as treebanks have them.

    A full stop within a sentence belongs to its word, as in U.S. One in which a mark stands alone is left as it is.
    """
    sentence = sentence.strip()
    return " ".join((sentence if ALONE.search(sentence) else APART.sub(r" \1", sentence)).split())


Gap = tuple[str, int]


def gaps_of(tree: Tree) -> list[Gap]:
    """The gaps of a tree, one for each word."""
    found: list[Gap] = []
    opened: list[str] = []
    for event, node in walk(tree):
        if event == "open":
            opened.append(node.label)
        elif event == "leaf":
            found.append((" ".join(opened), 0))
            opened = []
        else:
            found[-1] = (found[-1][0], found[-1][1] + 1)
    return found


def tree_of(gaps: Sequence[Gap], words: Sequence[str]) -> Tree:
    """The tree that gaps spell, which must have one root and balance."""
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    for (opens, closes), word in zip(gaps, words, strict=True):
        stack.extend((label, []) for label in opens.split())
        stack[-1][1].append(Tree(TAG, (word,)))
        for _ in range(closes):
            label, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    ((_, (root,)),) = stack
    return root


def gap_ids(data: PairData, codecs: Codecs) -> TaggedIds:
    """Sentences as ids, and the number of the gap at each word."""
    text, codec = codecs["text"], codecs["gaps"]
    assert isinstance(text, TextCodec) and isinstance(codec, GapCodec)
    train = gap_rows(text, codec, [(pair.source, pair.target) for pair in data.train])
    if not train.texts:
        raise DataError("there is no tree to learn from", where=data.described)
    held = gap_rows(text, codec, [(one.source, one.references[0]) for one in data.held_out])
    return TaggedIds(data, text, train, held)


def gap_rows(text: TextCodec, codec: GapCodec, pairs: Sequence[tuple[str, str]]) -> TaggedRows:
    """Sentences with their trees. After the last word all brackets close: this is not learned, its tag is none."""
    found = text.tokenizer.encode_words([sentence.split() for sentence, _ in pairs])
    trees = [read_tree(tree) for _, tree in pairs]
    gaps = [gaps_of(tree) for tree in trees]
    tags = [[leaf.label for leaf in leaves(tree)] for tree in trees]
    numbers = codec.encode([[*some[:-1], (some[-1][0], 0)] for some in gaps], tags)
    return TaggedRows([ids for ids, _ in found], [starts for _, starts in found], numbers)
