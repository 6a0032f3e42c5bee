"""Files of bracketed trees, and folders of them (`notation` reads the brackets)."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from weft.domains.trees.reading.notation import COMMENTS, EXAMPLE, BracketReader
from weft.domains.trees.reading.tree import Tree, leaves, normal, sentence, walk
from weft.errors import DataError
from weft.files import foreign
from weft.files.bad_rows import reasons
from weft.files.decoding import read_text, shown
from weft.files.endings import TREES
from weft.files.finding import ending, find
from weft.files.foreign_text import is_newick
from weft.files.gather import ReadFile
from weft.files.survey import NO, Judgement, Survey, Surveyed

ENDINGS = (*TREES, ".txt")
FIRST = 3  # trees that are read to tell them from other text


@dataclass(frozen=True)
class Treebank:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over the trees in order, as they are here: names, gzip, white space, comments and the
    way trees are spread over files do not change it. `skipped` lists what was left out, with the reason.
    """

    trees: list[Tree] = field(repr=False)
    files: tuple[ReadFile, ...]
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
            f"{len(self.trees):,} trees, {sum(sizes):,} words: {sum(sizes) / len(sizes):.1f} a tree, at most "
            f"{max(sizes)}",
            f"{len(labels):,} labels of phrases, the commonest: {common}",
            *([f"sentences equal to an earlier one: {again:,}; they are kept"] if again else []),
            *self.notes,
        ]


def read_trees(sources: str | Path | Sequence[str | Path], *, normalise: bool = True) -> Treebank:
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
        reader, before, empty = BracketReader(str(path), read_text(path)), len(trees), 0
        for tree in reader.trees():
            kept = normal(tree) if normalise else tree
            if kept is None:
                empty += 1
            else:
                trees.append(kept)
                digest.update(f"{kept}\n".encode())
        files.append(ReadFile(path, len(trees) - before))
        if empty:
            skipped.append((shown(path), f"{empty} of its trees hold nothing but traces"))
        elif len(trees) == before:
            skipped.append((shown(path), "no trees in it"))
        if reader.comments:
            notes.append(f"{shown(path)}: {reader.comments:,} lines of comments skipped")
    if not trees:
        where = ", ".join(map(shown, found.paths[:3])) + (", …" if len(found.paths) > 3 else "")
        raise DataError(f"0 trees in {where}{reasons(skipped)}", fix=f"name files that hold trees, {EXAMPLE}")
    return Treebank(trees, tuple(files), tuple(skipped), tuple(notes), digest.hexdigest())


def judge(survey: Survey) -> Judgement:
    """Whether these are files of trees, by their endings; a .txt file is one by what it holds."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind == "file" and isinstance(source.start, str):
        if is_newick(source.start):
            return NO
        if ending(source.path, (".txt",)) and is_bracketed(source.start):
            return Judgement("sure", "bracketed trees, by what it holds")
    own = source.kind != "archive" and source.share(TREES) > 0.5
    return Judgement("sure", "bracketed trees, by the ending") if own else NO


def refusal(source: Surveyed) -> DataError | None:
    """The error for trees in a file without the ending of such a file; None for any other file."""
    known = ending(source.path, ENDINGS) is not None
    if source.kind != "file" or known or not isinstance(source.start, str) or not is_bracketed(source.start):
        return None
    return foreign.refusal(foreign.formats()["bracketed"], source.path, shown(source.path))


def is_bracketed(start: str) -> bool:
    """Whether a text begins with trees of sentences: the first few can be read, and each has several words."""
    if not start.lstrip().startswith(("(", *COMMENTS)):
        return False
    try:
        first = list(islice(BracketReader("text", [start]).trees(), FIRST))
    except DataError:
        return False
    return bool(first) and all(len(leaves(tree)) > 1 for tree in first)


def _begins_as_trees(path: Path) -> bool:
    start = next((text for piece in read_text(path) if (text := piece.lstrip())), "(")
    return start.startswith(("(", *COMMENTS))
