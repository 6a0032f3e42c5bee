"""Near: what is near in space is read first. Knows coordinates by name only."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from weft.errors import ConfigError
from weft.position.biases import NO_PAIRS, Bias
from weft.position.codes import some_axes


class Near(Bias):
    """-|p - q|^2 / (2 width^2), with a fixed width for each head from `nearest` to `farthest`; none for the last head.

    A Gaussian neighbourhood multiplies the weights, as ALiBi (Press et al., 2022) does along a line: heads begin local.
    """

    class Config(Bias.Config):
        """Distances are Euclidean over `axes`; widths are in their units and grow by a constant factor head by head."""

        axes: tuple[str, ...]
        nearest: float
        farthest: float

        def check(self) -> None:
            some_axes(self.axes, where="Near.axes")
            if not 0 < self.nearest <= self.farthest:
                problem = f"expected 0 < nearest <= farthest, found {self.nearest} and {self.farthest}"
                raise ConfigError(problem, where="Near.nearest")

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.axes = config.axes
        self.scales: Tensor
        share = torch.arange(heads) / max(1, heads - 2)
        widths = config.nearest * (config.farthest / config.nearest) ** share
        scales = 0.5 / widths**2
        if heads > 1:
            scales[-1] = 0.0
        self.register_buffer("scales", scales, persistent=False)

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        p, q = (torch.stack([side[axis] for axis in self.axes], -1).float() for side in (queries, keys))
        apart = torch.cdist(p, q, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        return -self.scales[:, None, None] * apart[:, None]
