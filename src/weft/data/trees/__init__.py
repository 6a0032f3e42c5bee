"""Bracketed trees: read, spelt as sequences for a model to learn, read back, and measured."""

from weft.data.trees.brackets import labelled_f1
from weft.data.trees.files import Trees, read_trees
from weft.data.trees.linearised import linearise, parse_linear
from weft.data.trees.tree import Tree, draw, sentence, words

__all__ = ["Tree", "Trees", "draw", "labelled_f1", "linearise", "parse_linear", "read_trees", "sentence", "words"]
