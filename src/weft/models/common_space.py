"""CommonSpace: what models share whose pictures and texts have vectors in one space."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.stream import Stream

MAX_SCALE = 100.0  # the largest factor on cosines; above it single pairs decide the loss (Radford et al., 2021)


class CommonSpace(nn.Module):
    """Vectors of length 1, compared by their cosine; cosines are divided by a learned temperature."""

    log_scale: nn.Parameter

    def set_temperature(self, temperature: float) -> None:
        """Begin with this temperature."""
        self.log_scale = nn.Parameter(torch.tensor([-math.log(temperature)]))

    @property
    def scale(self) -> Float[Tensor, "1"]:
        """What cosines are multiplied by: 1 / temperature."""
        return self.log_scale.float().exp()

    def chances(self, cosines: Float[Tensor, "B R"]) -> Float[Tensor, "B R"]:
        """How likely each text is for a picture, by their cosines: one of them is right."""
        return (self.scale.to(cosines.device) * cosines).softmax(-1)

    @torch.no_grad()
    def follow(self, weights: Mapping[str, Tensor], progress: float) -> bool:
        """Keep the scale at most MAX_SCALE: limited here and not in `scale`, where it would lose its gradient."""
        scale = weights["log_scale"]
        limited = scale.clamp(max=math.log(MAX_SCALE))
        changed = not torch.equal(limited, scale)
        scale.copy_(limited)
        return changed

    def seen(self, picture: Picture) -> Float[Tensor, "B E"]:
        """The vectors of pictures."""
        raise NotImplementedError

    def worded(self, text: Text, ends: Int[Tensor, "R"]) -> Float[Tensor, "R E"]:
        """The vectors of texts; `ends` are the places of their end marks."""
        raise NotImplementedError

    @property
    def text_reader(self) -> Stream.Config:
        """The stream that reads texts."""
        raise NotImplementedError

    @property
    def vector_width(self) -> int:
        """The number of values of a vector."""
        raise NotImplementedError
