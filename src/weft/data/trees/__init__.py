"""Bracketed trees: spelt as sequences for a model to learn, read back, and measured. `data.readers.trees` reads files."""

from weft.data.trees.brackets import labelled_f1
from weft.data.trees.linearised import linearise, parse_linear
from weft.data.trees.tree import Tree, draw, sentence, words

__all__ = ["Tree", "draw", "labelled_f1", "linearise", "parse_linear", "sentence", "words"]
