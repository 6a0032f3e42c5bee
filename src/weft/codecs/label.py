"""LabelCodec: what a model says of a whole sample, a class or a number. Knows no modality."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.codecs.codec import Codec


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
