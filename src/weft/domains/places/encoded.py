"""Places and their values as numbers and as samples. Knows coordinates and labels; refuses to know models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from weft.batches.order import key, permuted
from weft.batches.samples import Classes, Numbers, Samples, wanted
from weft.domains.places.codec import PlaceCodec
from weft.domains.places.dataset import THINGS, PlaceData
from weft.domains.places.reading.rows import PlaceRows
from weft.modalities.points import Points
from weft.tasks.labels.label import LabelCodec

HANDFUL = 64  # places that are one sample of a source: a single one says too little to be looked at or counted
AT_ONCE = 4096  # held-out places computed at once
LEAST_MINUTES, MOST_MINUTES = 0.5, 5.0
PLACES_PER_MINUTE = 65_536  # where the user does not say how long: a picture of 256 x 256 pixels trains for a minute

PlaceSamples = Samples[Points, Classes | Numbers]


@dataclass(frozen=True)
class PlaceNumbers:
    """Places as a model takes them, and a target for each: whole numbers are classes, others numbers."""

    where: np.ndarray
    targets: np.ndarray

    @staticmethod
    def of(rows: PlaceRows, place: PlaceCodec, label: LabelCodec) -> "PlaceNumbers":
        """Rows through the codecs of both ends."""
        targets = label.encode(rows.values if rows.values.dtype.kind != "U" else rows.values.tolist())  # type: ignore[arg-type]
        return PlaceNumbers(
            place.encode(rows.where), targets if targets.dtype.kind == "i" else targets.astype(np.float32)
        )

    def __len__(self) -> int:
        return len(self.where)

    def take(self, rows: np.ndarray) -> PlaceSamples:
        """Some of the places with their targets."""
        return Samples(Points(torch.from_numpy(self.where[rows])), wanted(self.targets[rows]))


@dataclass(frozen=True)
class PlaceSource:
    """Handfuls of places: every epoch is a new order of all of them."""

    train: PlaceNumbers
    held: PlaceNumbers
    fingerprint: str
    seed: int

    @property
    def per_epoch(self) -> int:
        """Handfuls in one epoch."""
        return -(-len(self.train) // HANDFUL)

    def batch(self, indices: np.ndarray) -> PlaceSamples:
        """The places of these handfuls."""
        count = len(self.train)
        places = (np.asarray(indices, np.int64)[:, None] * HANDFUL + np.arange(HANDFUL)).ravel()
        epochs, within = np.divmod(places, count)
        rows = np.empty_like(within)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            rows[chosen] = permuted(within[chosen], count, key(self.fingerprint, self.seed, int(epoch)))
        return self.train.take(rows)

    def held_out(self, *, most: int | None = None) -> Iterator[PlaceSamples]:
        """All held-out places, or `most` handfuls of them, spread evenly."""
        count = len(self.held) if most is None else min(len(self.held), most * HANDFUL)
        chosen = np.linspace(0, len(self.held) - 1, count).round().astype(np.int64)
        for start in range(0, count, AT_ONCE):
            yield self.held.take(chosen[start : start + AT_ONCE])


@dataclass(frozen=True)
class EncodedPlaces:
    """All places of a run as numbers."""

    data: PlaceData
    place: PlaceCodec
    label: LabelCodec
    train: PlaceNumbers
    held_out: PlaceNumbers

    @staticmethod
    def of(data: PlaceData, place: PlaceCodec, label: LabelCodec) -> "EncodedPlaces":
        """The data through the codecs of both ends."""
        train, held_out = (PlaceNumbers.of(rows, place, label) for rows in (data.train, data.held_out))
        return EncodedPlaces(data, place, label, train, held_out)

    def source(self, seed: int) -> PlaceSource:
        """The samples."""
        return PlaceSource(self.train, self.held_out, self.data.fingerprint, seed)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(MOST_MINUTES, max(LEAST_MINUTES, len(self.train) / PLACES_PER_MINUTE))

    @property
    def amounts(self) -> Mapping[str, int]:
        """Counts for config.json."""
        return {}

    def lines(self) -> Mapping[str, str]:
        """The data in words, for a plan."""
        found, things = self.data.found, THINGS[self.data.kind]
        return {
            "data": "; ".join(self.data.notes),
            "learn": f"{found.value} from {', '.join(found.axes)}; {len(self.train):,} {things} to train on, "
            f"{self.data.rule}",
        }
