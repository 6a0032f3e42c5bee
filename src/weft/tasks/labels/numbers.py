"""NumberCodec: a number in the user's unit, learned around 0 with a spread of 1."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from torch import Tensor

from weft.errors import ConfigError, DataError
from weft.tasks.labels.label import LabelCodec


class NumberCodec(LabelCodec):
    """(number - mean) / spread, and back."""

    class Config(LabelCodec.Config):
        """Mean and standard deviation of the numbers that are trained on."""

        mean: float = 0.0
        spread: float = 1.0

        def check(self) -> None:
            if not 0 < self.spread < float("inf") or not abs(self.mean) < float("inf"):
                raise ConfigError(f"must be above 0 and finite, found {self.spread}", where="spread")

    config: Config

    @classmethod
    def of(cls, numbers: np.ndarray) -> Self:
        """The codec for numbers like these."""
        config = cls.Config(mean=float(numbers.mean()), spread=float(numbers.std()) or 1.0)
        return cls(config)

    @property
    def outputs(self) -> int:
        return 1

    def encode(self, labels: Sequence[str], where: str = "") -> np.ndarray:
        """Numbers as people write them, on the scale that is learned."""
        return (numbers_of(labels, where) - self.config.mean) / self.config.spread

    def restored(self, values: Tensor) -> Tensor:
        """Values on the learned scale, in the user's unit."""
        return values.cpu().double() * self.config.spread + self.config.mean

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The number that each row stands for."""
        return [{"value": round(value, 6)} for value in self.restored(values[:, 0]).tolist()]


def numbers_of(labels: Sequence[str], where: str = "") -> np.ndarray:
    """Numbers as people write them."""
    try:
        return np.array([float(label) for label in labels], np.float64)
    except ValueError as error:
        raise DataError(f"expected a number, {error}", where=where) from None
