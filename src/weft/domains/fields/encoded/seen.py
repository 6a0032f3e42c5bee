"""Fields as a model works with them: anomalies in windows. Knows amounts; refuses to know models."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.dataset import FieldData


@dataclass(frozen=True)
class SeenFields:
    """Fields to train on and held out, and the codec that turns them into anomalies."""

    data: FieldData
    codec: FieldCodec

    @property
    def values(self) -> float:
        """Values to train on, missing ones not counted."""
        return float(len(self.data.train) * self.codec.climate.known.sum())

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(20.0, max(2.0, self.values / 5e5))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"values": self.values}

    def lines(self) -> Mapping[str, str]:
        """The fields in words, for a plan."""
        config = self.codec.config
        waves = {1: "the mean of each cell", 5: "two waves of the year", 9: "two waves of the year and of the day"}
        usual = waves.get(len(self.codec.climate.columns), "waves of the day")
        if config.half_life is not None:
            usual += f", the last years counting most: half as much {config.half_life:g} years before"
        return {
            "data": "; ".join(self.data.notes),
            "windows": f"{config.history} fields known, {config.ahead} ahead; anomalies from {usual}",
            "held out": self.data.rule,
        }


def tokens_of(codec: FieldCodec, patch: int, span: int) -> int:
    """Tokens of a window."""
    config = codec.config
    rows, columns = (int(np.ceil(len(axis) / patch)) for axis in (config.y, config.x))
    return len(config.layers) * -(-config.times // span) * rows * columns


def tokens_apart(codec: FieldCodec, patch: int) -> float:
    """The usual distance from one token to the next, in the units of the codec's places."""
    place = codec.place.numpy()[:, ::patch, ::patch]
    steps = [np.sqrt((np.diff(place, axis=axis) ** 2).sum(0)).ravel() for axis in (1, 2)]
    known = np.concatenate(steps)
    return float(np.median(known)) if known.size else 1.0
