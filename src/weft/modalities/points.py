"""Point tokens: a point is a token, and all that is known of it is where it is. A network over it is a field.

A row of a batch is one point, a stream of one token, so that points of any number are computed alike. Places on a
globe, named by the axes lat and lon in degrees, are known as a unit vector too (`DIRECTION`).
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import at_least
from weft.core.cache import Slots
from weft.core.transforms import ACTIVATIONS, Activation
from weft.modalities.embedder import Embedder
from weft.position import Code, direction
from weft.position.codes import some_axes
from weft.sending import sent
from weft.tokens import Tokens


@dataclass(frozen=True)
class Points:
    """A batch of points, one a row: their coordinates along the axes of an embedder."""

    places: Float[Tensor, "B A"]

    def to(self, device: torch.device | str) -> "Points":
        """The same on another device."""
        return Points(sent(self.places, device))

    def raw(self) -> "Points":
        """As an embedder takes it."""
        return self

    def __len__(self) -> int:
        return self.places.shape[0]

    def __getitem__(self, rows: Any) -> "Points":
        return Points(self.places[rows])


class PointEmbed(Embedder):
    """act(omega (W code(place) + b)): a coordinate network's first layer (Tancik et al.; Sitzmann et al., 2020)."""

    class Config(Embedder.Config):
        """`axes` name the coordinates; `width` is the code's. Sines start as in SIREN, others as in He et al., 2015."""

        axes: tuple[str, ...]
        code: Code.Config
        width: int
        activation: Activation = "relu"
        omega: float = 1.0

        def check(self) -> None:
            at_least(self, 1, "width")
            at_least(self, 0, "omega")
            some_axes(self.axes, where="PointEmbed.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.axes, self.omega, self.act = config.axes, config.omega, ACTIVATIONS[config.activation]
        self.code = config.code.build(dim=config.width)
        self.project = nn.Linear(config.width, dim)
        if config.activation == "sine":
            nn.init.uniform_(self.project.weight, -1 / config.width, 1 / config.width)
        else:
            nn.init.normal_(self.project.weight, std=(2 / config.width) ** 0.5)

    def forward(self, raw: Points, *, slots: Slots | None = None) -> Tokens:
        coords = self.coords(raw.places)
        x = self.project(self.code(coords))
        return Tokens.free(self.act(x if self.omega == 1 else self.omega * x), coords=coords)

    def coords(self, places: Float[Tensor, "B A"]) -> dict[str, Tensor]:
        """The coordinates by axis, each (B, 1); on a globe also the unit vector."""
        found = {axis: places[:, i : i + 1] for i, axis in enumerate(self.axes)}
        globe = "lat" in found and "lon" in found
        return {**found, **direction(found["lat"], found["lon"])} if globe else found
