"""Files of bracketed trees, as the Penn Treebank has them. Knows brackets and lines; refuses to know what labels mean.

    ( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD slept)) (. .)) )

A tree may stand on one line or on many, several may stand on one. The outermost bracket may lack a label, and is then
TOP. White space parts words. Between trees, lines that begin with *x* (the header of the Penn Treebank), # or < (the
marks of other treebanks) are passed over and counted.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from weft.data.bad_rows import reasons
from weft.data.decoding import read_text, shown
from weft.data.files import ending, find
from weft.data.foreign_text import is_newick
from weft.data.survey import NO, Judgement, Survey, Surveyed
from weft.data.trees.tree import DEEPEST, ROOT, Tree, leaves, normal, sentence, walk
from weft.errors import DataError

OWN = (".mrg", ".parse", ".ptb", ".trees", ".tree")  # endings that hold nothing else
ENDINGS = (*OWN, ".txt")
TOKEN = re.compile(r"[()\n]|[^\s()]+")
COMMENTS = ("*x*", "#", "<")
FIRST = 3  # trees that are read to tell them from other text
LONGEST = 10_000  # characters of a word
EXAMPLE = "as in (S (NP (DT The) (NN cat)) (VP (VBD slept)))"


class TreeFile(NamedTuple):
    """A file that was read, and how many trees it gave."""

    path: Path
    trees: int


@dataclass(frozen=True)
class Trees:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over the trees in order, as they are here: names, gzip, white space, comments and the way
    trees are spread over files do not change it. `skipped` lists what was left out, with the reason.
    """

    trees: list[Tree] = field(repr=False)
    files: tuple[TreeFile, ...]
    skipped: tuple[tuple[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    fingerprint: str

    def __len__(self) -> int:
        return len(self.trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    def labels(self) -> Counter[str]:
        """How often each label of a phrase occurs; parts of speech are not among them."""
        return Counter(node.label for tree in self.trees for event, node in walk(tree) if event == "open")

    def report(self) -> list[str]:
        """What people should know before they train on this, a sentence a line."""
        sizes, labels = [len(leaves(tree)) for tree in self.trees], self.labels()
        again = len(self.trees) - len(set(map(sentence, self.trees)))
        common = ", ".join(label for label, _ in labels.most_common(8))
        return [
            f"{len(self.trees):,} trees, {sum(sizes):,} words: {sum(sizes) / len(sizes):.1f} a tree, at most {max(sizes)}",
            f"{len(labels):,} labels of phrases, the commonest: {common}",
            *([f"sentences equal to an earlier one: {again:,}; they are kept"] if again else []),
            *self.notes,
        ]


def read_trees(sources: str | Path | Sequence[str | Path], *, normalise: bool = True) -> Trees:
    """Read files of trees, or folders of them: .mrg, .parse, .ptb, .tree, .trees and .txt, each also with .gz.

    With `normalise`, trees come as they are trained and measured: without traces and the tags of functions (see
    `trees.normal`). In a folder, a .txt file that does not begin as trees do is left out and listed.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    found = find(named, ENDINGS)
    by_hand = {os.path.realpath(name) for name in named}
    trees: list[Tree] = []
    files, skipped, notes, digest = [], list(found.skipped), [], hashlib.sha256()
    for path in found.paths:
        if ending(path, ENDINGS) == ".txt" and os.path.realpath(path) not in by_hand and not _begins_as_trees(path):
            skipped.append((shown(path), "text that does not begin with a bracket"))
            continue
        reader, before, empty = _Reader(path), len(trees), 0
        for tree in reader.trees():
            kept = normal(tree) if normalise else tree
            if kept is None:
                empty += 1
            else:
                trees.append(kept)
                digest.update(f"{kept}\n".encode())
        files.append(TreeFile(path, len(trees) - before))
        if empty:
            skipped.append((shown(path), f"{empty} of its trees hold nothing but traces"))
        elif len(trees) == before:
            skipped.append((shown(path), "no trees in it"))
        if reader.comments:
            notes.append(f"{shown(path)}: {reader.comments:,} lines of comments skipped")
    if not trees:
        where = ", ".join(map(shown, found.paths[:3])) + (", …" if len(found.paths) > 3 else "")
        raise DataError(f"0 trees in {where}{reasons(skipped)}", fix=f"name files that hold trees, {EXAMPLE}")
    return Trees(trees, tuple(files), tuple(skipped), tuple(notes), digest.hexdigest())


def read_tree(text: str, *, name: str = "text") -> Tree:
    """The one tree that a text holds, as it is written."""
    trees = list(_Reader(name, [text]).trees())
    if len(trees) != 1:
        raise DataError(f"expected one tree, found {len(trees)}", where=name, fix=f"write one tree, {EXAMPLE}")
    return trees[0]


def judge(survey: Survey) -> Judgement:
    """Whether these are files of trees, by their endings; a .txt file is one by what it holds."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind == "file" and isinstance(source.start, str):
        if is_newick(source.start):
            return NO
        if ending(source.path, (".txt",)) and is_bracketed(source.start):
            return Judgement("sure", "bracketed trees, by what it holds")
    own = source.kind != "archive" and source.share(OWN) > 0.5
    return Judgement("sure", "bracketed trees, by the ending") if own else NO


def is_bracketed(start: str) -> bool:
    """Whether a text begins with trees of sentences: the first few can be read, and each has several words."""
    if not start.lstrip().startswith(("(", *COMMENTS)):
        return False
    try:
        first = list(islice(_Reader("text", [start]).trees(), FIRST))
    except DataError:
        return False
    return bool(first) and all(len(leaves(tree)) > 1 for tree in first)


def _begins_as_trees(path: Path) -> bool:
    start = next((text for piece in read_text(path) if (text := piece.lstrip())), "(")
    return start.startswith(("(", *COMMENTS))


@dataclass(slots=True)
class _Node:
    """A bracket that is open."""

    line: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def __str__(self) -> str:
        return f"({shown(self.label or '')}"


class _Reader:
    """The trees of one file or text, one after another: the open brackets, outermost first, and the line."""

    def __init__(self, path: Path | str, pieces: Sequence[str] | None = None):
        self.name, self.pieces = shown(path), read_text(path) if pieces is None else pieces
        self.open: list[_Node] = []
        self.line, self.comments = 1, 0

    def error(self, problem: str, fix: str, line: int | None = None) -> DataError:
        return DataError(problem, where=f"{self.name}, line {line or self.line}", fix=fix)

    def trees(self) -> Iterator[Tree]:
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


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
