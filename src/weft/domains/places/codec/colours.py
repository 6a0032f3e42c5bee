"""ColourCodec: the colour of a place, learned from -1 (black) to 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.errors import ConfigError
from weft.tasks.labels.label import LabelCodec

HALF = 127.5  # of a byte


class ColourCodec(LabelCodec):
    """Bytes of red, green and blue, or of grey."""

    class Config(LabelCodec.Config):
        """`channels` is 3 for colour and 1 for grey."""

        channels: int = 3

        def check(self) -> None:
            if self.channels not in (1, 3):
                raise ConfigError(f"expected 1 or 3, found {self.channels}", where="ColourCodec.channels")

    config: Config

    @property
    def outputs(self) -> int:
        return self.config.channels

    def encode(self, labels: Sequence[Any] | np.ndarray, where: str = "") -> np.ndarray:
        """(N, C) bytes on the scale that is learned."""
        return np.asarray(labels, np.float64).reshape(-1, self.outputs) / HALF - 1

    def restored(self, values: Tensor) -> np.ndarray:
        """(N, C) bytes of values on the learned scale."""
        return ((values.float() + 1) * HALF).round().clamp(0, 255).byte().numpy()

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The colour that each row stands for."""
        return [{"colour": colour} for colour in self.restored(values).tolist()]
