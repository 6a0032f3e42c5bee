"""A token of a series is some values in a row: how they become numbers, a batch of them, and their embedding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.batches.samples import RowTensors
from weft.config import at_least
from weft.core.cache import Slots
from weft.modalities.embedder import Embedder
from weft.tasks.codec import Codec
from weft.tokens import Tokens


class SeriesCodec(Codec):
    """(value - mean) / spread: series in the user's unit are learned around 0 with a spread of 1."""

    class Config(Codec.Config):
        """Mean and standard deviation of all values that are trained on."""

        mean: float
        spread: float

    @staticmethod
    def of(series: Iterable[np.ndarray]) -> "SeriesCodec":
        values = np.concatenate(list(series))
        return SeriesCodec(SeriesCodec.Config(mean=float(values.mean()), spread=float(values.std()) or 1.0))

    def encode(self, series: Iterable[np.ndarray]) -> list[np.ndarray]:
        return [((one - self.config.mean) / self.config.spread).astype(np.float32) for one in series]


@dataclass(frozen=True)
class SeriesBatch(RowTensors):
    """Series of different lengths, padded behind."""

    values: Float[Tensor, "B T"]
    lengths: Int[Tensor, "B"]

    @staticmethod
    def of(series: Sequence[np.ndarray]) -> "SeriesBatch":
        values = nn.utils.rnn.pad_sequence([torch.from_numpy(one) for one in series], batch_first=True)
        return SeriesBatch(values, torch.tensor([len(one) for one in series]))


class SeriesEmbed(Embedder):
    """W (values of a patch) + b, as in PatchTST (Nie et al., 2023). All patches of a series may read each other."""

    class Config(Embedder.Config):
        patch: int = 4  # values in a token

        def check(self) -> None:
            at_least(self, 1, "patch")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.patch, self.project = config.patch, nn.Linear(config.patch, dim)

    def forward(self, raw: SeriesBatch, *, slots: Slots | None = None) -> Tokens:
        values = nn.functional.pad(raw.values, (0, -raw.values.shape[1] % self.patch))
        x = self.project(values.unflatten(1, (-1, self.patch)))
        position = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        real = position * self.patch < raw.lengths[:, None]
        return Tokens.free(x, valid=real, coords={"position": position}, padded_behind=True, line_axis="position")
