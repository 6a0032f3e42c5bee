"""Trees over the words of a sentence. Knows labels, words and how they are written; refuses to know files and models.

Whatever follows the shape of a tree is a loop, never a recursion: how deep a tree goes is up to somebody's file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from weft.errors import harmless

DEEPEST = 500  # nodes above one another
ROOT = "TOP"  # the label that a root without one gets
ROOTS = frozenset(("", "TOP", "ROOT", "S1", "VROOT"))  # labels that say no more than "here is a tree"
TRACE = "-NONE-"
TAG = "XX"  # stands for the part of speech where none is known

ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "\\/": "/", "\\*": "*"}
ESCAPE = re.compile("|".join(map(re.escape, ESCAPES)))
QUOTES = {"``": '"', "''": '"'}  # as whole words only
BARE = re.compile(r"[^-=]+")  # a label up to the first tag of its function; -LRB- has nothing before it, and stays
STEP = 2  # columns
FARTHEST = 40  # columns that a drawing goes to the right


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Tree:
    """A labelled node: over other nodes, or, as a part of speech, over one word."""

    label: str
    children: "tuple[Tree | str, ...]"

    def __post_init__(self) -> None:
        if not self.is_leaf and not (self.children and all(isinstance(child, Tree) for child in self.children)):
            raise ValueError(
                f"expected one word or some trees under {self.label!r}, found {len(self.children)} children"
            )

    @property
    def is_leaf(self) -> bool:
        """Whether this is a part of speech with its word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    @property
    def word(self) -> str:
        """The word of a leaf."""
        assert isinstance(self.children[0], str)
        return self.children[0]

    def __str__(self) -> str:
        """One line of Penn Treebank brackets; brackets in words are escaped, so that it can be read again."""
        parts = {
            "open": lambda node: f" ({node.label}",
            "leaf": lambda node: f" ({node.label} {_escaped(node.word)})",
            "close": lambda node: ")",
        }
        return "".join(parts[event](node) for event, node in walk(self))[1:]

    def __repr__(self) -> str:
        return f"Tree[{self}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and _flat(self) == _flat(other)

    def __hash__(self) -> int:
        return hash(_flat(self))


def walk(tree: Tree) -> Iterator[tuple[Literal["open", "leaf", "close"], Tree]]:
    """All nodes from left to right: a leaf once, any other before and after what is below it."""
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            yield "close", node
        elif node.is_leaf:
            yield "leaf", node
        else:
            yield "open", node
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children) if isinstance(child, Tree))


def leaves(tree: Tree) -> list[Tree]:
    """The parts of speech with their words, from left to right."""
    return [node for event, node in walk(tree) if event == "leaf"]


def words(tree: Tree, *, plain: bool = True) -> list[str]:
    r"""The words of a sentence. `plain` undoes what the Penn Treebank escapes.

    -LRB- is "(", -RRB- is ")", and so on for [ ] { }; \/ is "/", \* is "*"; the words `` and '' are both the plain
    quotation mark.
    """
    found = [leaf.word for leaf in leaves(tree)]
    return [QUOTES.get(word) or ESCAPE.sub(lambda sign: ESCAPES[sign[0]], word) for word in found] if plain else found


def sentence(tree: Tree, *, plain: bool = True) -> str:
    """The words of a tree with a space between them."""
    return " ".join(words(tree, plain=plain))


def normal(tree: Tree) -> Tree | None:
    """The tree as parsers are trained and measured; None where nothing is left of it.

    Traces (-NONE-) go, and with them every node that would be empty. Labels lose the tags of their function and their
    numbers: NP-SBJ-1 and NP=2 are NP; -LRB- and ADVP|PRT stay as they are. A root named TOP, ROOT, S1 or VROOT over a
    single phrase goes; over several phrases, or over a mere word, it stays.
    """
    open_nodes: list[list[Tree]] = [[]]
    for event, node in walk(tree):
        if event == "open":
            open_nodes.append([])
        elif event == "leaf":
            if node.label != TRACE:
                open_nodes[-1].append(Tree(_bare(node.label), node.children))
        elif children := open_nodes.pop():
            open_nodes[-1].append(Tree(_bare(node.label), tuple(children)))
    if not open_nodes[0]:
        return None
    root = open_nodes[0][0]
    while root.label in ROOTS and len(root.children) == 1:
        child = root.children[0]
        if isinstance(child, str) or child.is_leaf:
            break
        root = child
    return root


def draw(tree: Tree, *, width: int = 80) -> str:
    """The tree for a terminal: what fits on a line stands on one, what does not goes on below, further right.

        (S
          (NP (DT The) (NN cat))
          (VP (VBD saw)
            (NP (DT a) (NN bird)))
          (. .))

    Words without a part of speech stand alone. Far to the right lines are indented no further; the brackets still tell.
    """
    lines: list[str] = []
    waiting: list[tuple[Tree | None, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if node is None:
            lines[-1] += ")"
            continue
        indent = " " * min(STEP * depth, FARTHEST)
        whole = _on_a_line(node, width - len(indent))
        if whole is not None:
            lines.append(indent + whole)
            continue
        children = [child for child in node.children if isinstance(child, Tree)]
        first = next((k for k, child in enumerate(children) if not child.is_leaf), len(children))
        start = [f"({node.label}", *map(_leaf, children[:first])]
        lines.append(indent + " ".join(start))
        waiting.append((None, depth))
        waiting.extend((child, depth + 1) for child in reversed(children[first:]))
    return harmless("\n".join(lines))


def _on_a_line(node: Tree, width: int) -> str | None:
    """A leaf, or a node with nothing but leaves, if it is no wider than that; a leaf always is a line."""
    if node.is_leaf:
        return _leaf(node)
    children = [child for child in node.children if isinstance(child, Tree)]
    if not all(child.is_leaf for child in children):
        return None
    whole = f"({' '.join([node.label, *map(_leaf, children)])})"
    return whole if len(whole) <= width else None


def _leaf(leaf: Tree) -> str:
    return leaf.word if leaf.label == TAG else f"({leaf.label} {leaf.word})"


def _bare(label: str) -> str:
    found = BARE.match(label)
    return found.group() if found else label


def _escaped(word: str) -> str:
    """A word that can stand in brackets."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _flat(tree: Tree) -> tuple[tuple[str, str, str], ...]:
    """All that is in a tree, and nothing nested."""
    return tuple((event, node.label, node.word if event == "leaf" else "") for event, node in walk(tree))
