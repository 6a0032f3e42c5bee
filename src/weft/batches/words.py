"""What batches of words hold: rows of a table, each named once, and which of them stand where. Knows tensors alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from weft.batches.samples import Samples
from weft.sending import sent, with_host

BLOCK = 32  # words among which neighbours are looked for


@dataclass(frozen=True)
class TableRows:
    """Different rows of a table in rising order, and for each place of each sample which of them stands there."""

    rows: Int[Tensor, "U"]
    places: Int[Tensor, "B ..."]

    @staticmethod
    def of(ids: np.ndarray) -> "TableRows":
        """The rows that these ids name."""
        rows, places = np.unique(ids, return_inverse=True)
        return TableRows(torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(places.reshape(ids.shape)))

    def to(self, device: torch.device | str) -> "TableRows":
        """The same on another device."""
        return TableRows(sent(self.rows, device), sent(self.places, device))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, samples: Any) -> "TableRows":
        return TableRows(self.rows, self.places[samples])

    def raw(self) -> Int[Tensor, "B ..."]:
        """The row at each place, by its number in the table."""
        return self.rows[self.places]


@dataclass(frozen=True)
class WordNeighbours:
    """What is wanted of words in lines of C: to tell their neighbours from K words that were drawn.

    `rows` are those of the words and then of the drawn ones, (B, C + K). Words are neighbours that stand in one
    `sentence` within the `reach` of the first.
    """

    rows: TableRows
    sentence: Int[Tensor, "B C"]
    reach: Int[Tensor, "B C"]

    def to(self, device: torch.device | str) -> "WordNeighbours":
        """The same on another device."""
        made = WordNeighbours(self.rows.to(device), sent(self.sentence, device), sent(self.reach, device))
        return with_host(made, self)

    def __len__(self) -> int:
        return len(self.sentence)

    def __getitem__(self, lines: Any) -> "WordNeighbours":
        return WordNeighbours(self.rows[lines], self.sentence[lines], self.reach[lines])

    def near(self, width: int) -> Bool[Tensor, "R W W"]:
        """Which words are neighbours, in stretches of `width` words: the lines cut into R shorter ones."""
        sentence, reach = self.sentence.reshape(-1, width), self.reach.reshape(-1, width)
        place = torch.arange(width, device=sentence.device)
        apart = (place[:, None] - place).abs().to(reach.dtype)
        apart.fill_diagonal_(torch.iinfo(reach.dtype).max)  # no word is its own neighbour
        return (apart <= reach[:, :, None]) & (sentence[:, :, None] == sentence[:, None, :])


@dataclass(frozen=True)
class PairCounts:
    """Pairs of words that stand near each other: the second words, the log of each pair's count, and its weight."""

    rows: TableRows
    logs: Float[Tensor, "B"]
    weights: Float[Tensor, "B"]

    def to(self, device: torch.device | str) -> "PairCounts":
        """The same on another device."""
        return PairCounts(self.rows.to(device), sent(self.logs, device), sent(self.weights, device))

    def __len__(self) -> int:
        return len(self.logs)

    def __getitem__(self, pairs: Any) -> "PairCounts":
        return PairCounts(self.rows[pairs], self.logs[pairs], self.weights[pairs])


WordLines = Samples[TableRows, WordNeighbours]
WordPairs = Samples[TableRows, PairCounts]
