"""Score biases: a number added to each score from the places of query and key. Knows no modality."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part


class Bias(Part, nn.Module):
    """A number for each head, query and key."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of bias."""

    def forward(self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor]) -> Float[Tensor, "B H Q K"]:
        raise NotImplementedError


class Alibi(Bias):
    """-slope * |distance|, a fixed slope for each head from 2^(-8/H) down to 2^-8 (Press et al., 2022)."""

    class Config(Bias.Config):
        """Distance along `axis`."""

        axis: str = "position"

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.axis = config.axis
        self.slopes: Tensor
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes, persistent=False)

    def forward(self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor]) -> Float[Tensor, "B H Q K"]:
        distance = (queries[self.axis][:, :, None] - keys[self.axis][:, None, :]).abs()
        return -self.slopes[:, None, None] * distance[:, None]
