"""Trees as sequences of symbols, for a model to write. Knows how to read them however broken; refuses to know models.

The form is that of Vinyals et al. (2015), Grammar as a Foreign Language: brackets carry their label on both sides,
words and parts of speech are one symbol, XX, since the sentence is known already.

    (S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))      (S (NP XX XX )NP (VP XX )VP XX )S
"""

from collections.abc import Sequence
from typing import NamedTuple

from weft.domains.trees.reading.tree import DEEPEST, ROOT, TAG, Tree, walk
from weft.errors import DataError


class Parsed(NamedTuple):
    """A tree over given words, and whether the symbols spelt it without need of repair."""

    tree: Tree
    well_formed: bool


def linearise(tree: Tree) -> str:
    """The symbols of a tree, with a space between them."""
    symbols = {"open": lambda node: f"({node.label}", "leaf": lambda _: TAG, "close": lambda node: f"){node.label}"}
    return " ".join(symbols[event](node) for event, node in walk(tree))


def parse_linear(text: str, words: str | Sequence[str]) -> Parsed:
    """The tree that symbols spell, over exactly these words (a text is split at white space), whatever the symbols are.

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
