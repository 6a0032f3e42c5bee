"""DualEncoder: one stream reads pictures, another reads texts, and both give vectors in one space (CLIP)."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.core.heads import Summary
from weft.errors import ConfigError
from weft.modalities.image import Picture, PictureEmbed
from weft.modalities.text import Text
from weft.models.common_space import CommonSpace
from weft.models.stream import Model, Stream


def _vector(stream: Stream.Config, name: str) -> Summary.Config:
    """The head of a stream, which must give vectors of length 1."""
    if not isinstance(stream.head, Summary.Config) or not stream.head.unit:
        problem = "expected a Summary with unit=true: vectors are compared by their cosine"
        raise ConfigError(problem, where=f"DualEncoder.{name}.head")
    return stream.head


class DualEncoder(CommonSpace, Model):
    """picture -> stream -> vector; text -> stream -> vector; logits = cosine / temperature (Radford et al., 2021).

    With an `offset`, logits = cosine / temperature + offset, and each pair fits or not by itself: p = sigmoid(logit)
    (Zhai et al., 2023).

    Neither stream reads the other: pictures and texts meet in the cosine alone, so their vectors can be kept.
    """

    class Config(Model.Config):
        """Both streams have a `Summary` of length 1 and the same width; `temperature` is the one to start with.

        So is `offset`, where there is one.
        """

        picture: Stream.Config
        text: Stream.Config
        temperature: float = 0.07
        offset: float | None = None

        def reader(self) -> Stream.Config:
            return self.picture

        @property
        def width(self) -> int:
            """The number of values of a vector."""
            return _vector(self.picture, "picture").width(self.picture.dim)

        def check(self) -> None:
            other = _vector(self.text, "text").width(self.text.dim)
            if self.width != other:
                problem = f"vectors of {self.width} and {other} values cannot be compared"
                raise ConfigError(problem, where="DualEncoder.text.head", fix="set the width of both in head.dense")
            if not self.temperature > 0:
                raise ConfigError(f"must be above 0, found {self.temperature}", where="DualEncoder.temperature")

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.picture = config.picture.build()
        self.text = config.text.build()
        self.set_temperature(config.temperature)
        self.offset = None if config.offset is None else nn.Parameter(torch.tensor([config.offset]))

    def backbone(self) -> tuple[Stream.Config, str]:
        if not isinstance(self.config.picture.embed, PictureEmbed.Config):
            return super().backbone()
        return self.config.picture, "picture."

    @property
    def text_reader(self) -> Stream.Config:
        return self.config.text

    @property
    def vector_width(self) -> int:
        return self.config.width

    def seen(self, picture: Picture) -> Float[Tensor, "B E"]:
        return self.picture(picture)

    def worded(self, text: Text, ends: Int[Tensor, "R"]) -> Float[Tensor, "R E"]:
        real = torch.arange(text.ids.shape[1], device=ends.device) <= ends[:, None]
        return self.text(Text(text.ids, real, padded_behind=True))

    def forward(self, picture: Any, text: Any) -> Float[Tensor, "B R"]:
        """For each picture, the logits of all texts."""
        logits = self.scale * self.picture(picture) @ self.text(text).T
        return logits if self.offset is None else logits + self.offset

    def chances(self, cosines: Float[Tensor, "B R"]) -> Float[Tensor, "B R"]:
        if self.offset is None:
            return super().chances(cosines)
        return (self.scale.to(cosines.device) * cosines + self.offset.to(cosines.device)).sigmoid()
