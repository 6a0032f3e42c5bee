"""LabelCodec: what a model says of a whole sample, a class or a number. Knows no modality."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.tasks.codec import Codec


class LabelCodec(Codec):
    """Labels as people write them, and the values of a model's head."""

    abstract = True

    class Config(Codec.Config):
        """The kinds of label."""

    @property
    def outputs(self) -> int:
        """Values that a head gives for one sample."""
        raise NotImplementedError

    def encode(self, labels: Sequence[str], where: str = "") -> np.ndarray:
        """What is to be learned: whole numbers for classes, others for numbers."""
        raise NotImplementedError

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The answer for each row of values."""
        raise NotImplementedError


class NamedCodec(LabelCodec):
    """Labels that have names, in the order of their numbers."""

    abstract = True

    class Config(LabelCodec.Config):
        """The names of the labels."""

        names: tuple[str, ...]

    config: Config

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        return self.config.names

    @property
    def outputs(self) -> int:
        return len(self.names)

    def ranked(self, shares: Sequence[float], top: int) -> tuple[list[tuple[str, float]], dict[str, float]]:
        """All labels with their probabilities, the likeliest first, and the `top` that are reported; 0 gives all."""
        ranked = sorted(zip(self.names, shares, strict=True), key=lambda pair: -pair[1])
        return ranked, {label: round(p, 6) for label, p in ranked[: top or None]}
