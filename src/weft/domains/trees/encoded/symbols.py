"""Trees as the symbols that a model learns to write: oNP and cNP for the brackets of a noun phrase, each one word."""

import re

from weft.domains.trees.encoded.linearised import linearise
from weft.domains.trees.reading.notation import read_tree

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
