"""Trees in brackets, as the Penn Treebank writes them. Knows brackets and lines, not what labels mean.

    ( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD slept)) (. .)) )

A tree may stand on one line or on many, several may stand on one. The outermost bracket may lack a label, and is then
TOP. White space parts words. Between trees, lines that begin with *x* (the header of the Penn Treebank), # or < (the
marks of other treebanks) are passed over and counted.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from weft.domains.trees.reading.tree import DEEPEST, ROOT, Tree
from weft.errors import DataError
from weft.files.decoding import shown

TOKEN = re.compile(r"[()\n]|[^\s()]+")
COMMENTS = ("*x*", "#", "<")
LONGEST = 10_000  # characters of a word
EXAMPLE = "as in (S (NP (DT The) (NN cat)) (VP (VBD slept)))"


@dataclass(slots=True)
class _Node:
    """A bracket that is open."""

    line: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def __str__(self) -> str:
        return f"({shown(self.label or '')}"


class BracketReader:
    """The trees of one file or text, which comes in pieces: the open brackets, outermost first, and the line."""

    def __init__(self, name: str, pieces: Iterable[str]):
        self.name, self.pieces = shown(name), pieces
        self.open: list[_Node] = []
        self.line, self.comments = 1, 0

    def error(self, problem: str, fix: str, line: int | None = None) -> DataError:
        return DataError(problem, where=f"{self.name}, line {line or self.line}", fix=fix)

    def trees(self) -> Iterator[Tree]:
        """The trees, one after another, as they are written."""
        fresh, comment = True, False  # whether nothing but white space stands before on the line, or a comment does
        for token in self.tokens():
            if token == "\n":
                self.line, fresh, comment = self.line + 1, True, False
                continue
            if fresh and not self.open and token.startswith(COMMENTS):
                comment = True
                self.comments += 1
            fresh = False
            if comment:
                continue
            if token == "(":
                self.begin()
            elif token != ")":
                self.text(token)
            elif (tree := self.end()) is not None:
                yield tree
        if self.open:
            node, count = self.open[0], len(self.open)
            missing = f"{count} closing bracket{'s are' if count > 1 else ' is'} missing at the end of the file"
            problem = f"the tree that begins here with {node} never ends: {missing}"
            raise self.error(problem, "close its brackets", node.line)

    def tokens(self) -> Iterator[str]:
        """Brackets, words and line ends; a word may go on from one piece to the next."""
        tail = ""
        for piece in self.pieces:
            text = tail + piece
            cut = len(text)
            while cut and not (text[cut - 1].isspace() or text[cut - 1] in "()") and len(text) - cut <= LONGEST:
                cut -= 1
            yield from TOKEN.findall(text[:cut])
            tail = text[cut:]
            if len(tail) > LONGEST:
                raise self.long()
        yield from TOKEN.findall(tail)

    def long(self) -> DataError:
        return self.error(f"a word of more than {LONGEST:,} characters", f"write trees, {EXAMPLE}")

    def began(self) -> str:
        """Where the tree began, if on an earlier line: a bracket may be missing anywhere since."""
        line = self.open[0].line
        return (
            f", in the tree that began in line {line}: is a closing bracket missing there?" if line < self.line else ""
        )

    def begin(self) -> None:
        if len(self.open) == DEEPEST:
            problem = f"a tree deeper than {DEEPEST} brackets; it began in line {self.open[0].line}"
            raise self.error(problem, "close the brackets that are left open, or leave this tree out")
        if self.open:
            above = self.open[-1]
            if above.word is not None:
                raise self.several(above, "a bracket")
            if above.label is None:
                self.unlabelled(above)
        self.open.append(_Node(self.line))

    def unlabelled(self, node: _Node) -> None:
        if len(self.open) > 1:
            fix = f"name the phrase right after its bracket, {EXAMPLE}"
            raise self.error(f"a bracket without a label{self.began()}", fix, node.line)
        node.label = ROOT

    def several(self, node: _Node, what: str) -> DataError:
        problem = f"{node} holds the word {_excerpt(node.word or '')} and also {what}{self.began()}"
        return self.error(problem, f"give every word its own bracket, {EXAMPLE}")

    def text(self, token: str) -> None:
        if not self.open:
            problem = f"text outside of a tree: {_excerpt(token)}"
            raise self.error(problem, f"leave nothing but trees in the file, {EXAMPLE}; comments begin with #")
        node = self.open[-1]
        if len(token) > LONGEST:
            raise self.long()
        if node.label is None:
            node.label = token
        elif node.word is not None:
            raise self.several(node, f"the word {_excerpt(token)}")
        elif node.children:
            problem = f"{node} holds phrases and also the word {_excerpt(token)}{self.began()}"
            raise self.error(problem, f"give every word its own bracket, {EXAMPLE}")
        else:
            node.word = token

    def end(self) -> Tree | None:
        """Close a bracket; the tree, if it was the last one open."""
        if not self.open:
            raise self.error(
                "a closing bracket, but no tree is open", "remove it, or add the opening bracket that it closes"
            )
        node = self.open.pop()
        if node.label is None:
            raise self.error("an empty bracket", f"remove it, or put a word or a phrase into it, {EXAMPLE}", node.line)
        if node.word is None and not node.children:
            problem = f"{node}) holds neither a word nor a phrase"
            raise self.error(problem, f"remove it, or put a word or a phrase into it, {EXAMPLE}", node.line)
        tree = Tree(node.label, (node.word,) if node.word is not None else tuple(node.children))
        if not self.open:
            return tree
        self.open[-1].children.append(tree)
        return None


def read_tree(text: str, *, name: str = "text") -> Tree:
    """The one tree that a text holds, as it is written."""
    trees = list(BracketReader(name, [text]).trees())
    if len(trees) != 1:
        raise DataError(f"expected one tree, found {len(trees)}", where=name, fix=f"write one tree, {EXAMPLE}")
    return trees[0]


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
