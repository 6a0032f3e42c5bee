"""Texts with a label each: readers of tables, lines of JSON and folders of classes, and what is held out of them."""

from weft.data.labelled.reading import read_labelled
from weft.data.labelled.recognising import looks_labelled
from weft.data.labelled.split import LabelledSplit, split_labelled
from weft.data.labelled.texts import Example, LabelledTexts, overlap, targets

__all__ = [
    "Example",
    "LabelledSplit",
    "LabelledTexts",
    "looks_labelled",
    "overlap",
    "read_labelled",
    "split_labelled",
    "targets",
]
