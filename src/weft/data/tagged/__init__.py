"""Sentences with a tag for each word: readers of CoNLL columns and lines of JSON, entities, and what is held out."""

from weft.data.tagged.reading import read_tagged
from weft.data.tagged.recognising import looks_tagged
from weft.data.tagged.schemes import Entity, as_bio, entities
from weft.data.tagged.sentences import Tagged, TaggedSplit, TaggedTexts, split_tagged

__all__ = [
    "Entity",
    "Tagged",
    "TaggedSplit",
    "TaggedTexts",
    "as_bio",
    "entities",
    "looks_tagged",
    "read_tagged",
    "split_tagged",
]
