"""Tagged sentences as samples: the tag of each word stands at its first token. Knows ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weft.data.batch import AtTokens, PaddedIds, Samples, padded


@dataclass(frozen=True)
class TaggedRows:
    """Sentences as ids, marks included; the place of each word's first id; the number of its tag."""

    texts: Sequence[np.ndarray]
    places: Sequence[np.ndarray]
    tags: Sequence[np.ndarray]

    def lengths(self) -> np.ndarray:
        """A column with the length of each sentence in ids."""
        return np.array([[len(text)] for text in self.texts], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, AtTokens]:
        """Some of the sentences with their tags. Words that were cut off have a tag but no place."""
        places = [self.places[row] for row in rows]
        tags = [self.tags[row][: len(self.places[row])] for row in rows]
        where, values = (torch.from_numpy(padded(part, filler)) for part, filler in ((places, 0), (tags, -1)))
        return Samples(PaddedIds.of([self.texts[row] for row in rows]), AtTokens(values, where))
