"""Pictures and texts in one stream: the tokens of a picture and those of a text about it; all read each other."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from weft.core.cache import Slots
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.modalities.image import Picture, PictureEmbed
from weft.modalities.text import Text, TextEmbed
from weft.tokens import Tokens, join


@dataclass(frozen=True)
class PictureText:
    """Texts about pictures, or about tokens that stand for them.

    `owner` names the picture of each text; None: there are as many pictures as texts.
    """

    picture: Picture | Tokens
    text: Text
    owner: Int[Tensor, "B"] | None = None

    @property
    def pixels(self) -> Picture:
        """The pictures themselves, where no tokens stand for them."""
        assert isinstance(self.picture, Picture)
        return self.picture


class PictureTextEmbed(Embedder):
    """x = (picture tokens + a, text tokens + b), with a learned vector for either kind (Kim et al., 2021).

    A picture is embedded once, however many texts are about it.
    """

    class Config(Embedder.Config):
        """The embedders of the two sides, and the one whose tokens stand `first`.

        A head has as many values as that of the text alone.
        """

        picture: PictureEmbed.Config
        text: TextEmbed.Config
        first: Literal["picture", "text"] = "picture"

        def check(self) -> None:
            if self.text.reading != "free":
                problem = "a text that stands beside a picture is read in both directions"
                raise ConfigError(problem, where="PictureTextEmbed.text.reading", fix="set it to free")

        @property
        def size(self) -> int | None:
            return self.text.size

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.config = config
        self.picture = config.picture.build(dim=dim)
        self.text = config.text.build(dim=dim)
        self.kinds = nn.Parameter(torch.randn(2, dim) * 0.02)  # of what stands first, and of what follows

    @property
    def table(self) -> nn.Embedding:
        """The vectors of the text's ids, which a decoder may share."""
        return self.text.table

    def forward(self, raw: PictureText, *, slots: Slots | None = None) -> Tokens:
        picture, text = self.picture(raw.pixels), self.text(raw.text)
        picture = picture if raw.owner is None else picture.rows(raw.owner)
        first, second = (picture, text) if self.config.first == "picture" else (text, picture)
        return join(first.with_x(first.x + self.kinds[0]), second.with_x(second.x + self.kinds[1]))

    def places(self, raw: PictureText) -> tuple[slice, slice]:
        """Where in the stream the picture's grid stands, without class tokens, and where the text does."""
        stride, sides = self.config.picture.stride, raw.pixels.pixels.shape[2:]
        words, marks = raw.text.ids.shape[1], self.config.picture.class_tokens
        patches = -(-sides[0] // stride) * -(-sides[1] // stride)
        before = words if self.config.first == "text" else 0
        start = 0 if self.config.first == "text" else marks + patches
        return slice(before + marks, before + marks + patches), slice(start, start + words)
