"""Grounded: a text whose tokens read a picture. Questions about pictures."""

from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureText
from weft.modalities.text import TextEmbed
from weft.models.stream import Model, Stream
from weft.tokens import Tokens


class Grounded(Model):
    """picture -> encoder -> memory; text, memory -> trunk -> the text's tokens, which have read the picture.

    Keys and values of a picture are made once, and all texts about it read them.
    """

    class Config(Model.Config):
        """`picture` is any encoder of pictures; the blocks of `text` read its tokens."""

        picture: Stream.Config
        text: Stream.Config

        def reader(self) -> Stream.Config:
            return self.picture

        def check(self) -> None:
            if not isinstance(self.picture.embed, PictureEmbed.Config) or not isinstance(
                self.text.embed, TextEmbed.Config
            ):
                raise ConfigError("expected an embedder of pictures and one of texts", where="Grounded")
            if self.text.embed.reading != "free":
                problem = "a text about a picture is read in both directions"
                raise ConfigError(problem, where="Grounded.text.embed.reading", fix="set it to free")

        @property
        def dim(self) -> int:
            """The width of the tokens that are given."""
            return self.text.dim

        @property
        def embed(self) -> TextEmbed.Config:
            """The embedder of the tokens that are given."""
            assert isinstance(self.text.embed, TextEmbed.Config)
            return self.text.embed

        @property
        def trunk(self) -> Trunk.Config:
            """The blocks in which the text reads the picture."""
            return self.text.trunk

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.picture = config.picture.build()
        self.text = config.text.replace(memory_dim=config.picture.dim).build()

    @property
    def embed(self) -> TextEmbed:
        """The embedder of texts, whose table a decoder may share."""
        embed = self.text.embed
        assert isinstance(embed, TextEmbed)
        return embed

    def reader(self) -> Stream:
        return self.picture

    def backbone(self) -> tuple[Stream.Config, str]:
        return self.config.picture, "picture."

    def encode(self, raw: PictureText) -> Tokens:
        """The tokens of each text, after they have read its picture."""
        memory, texts = self.picture.encode(raw.picture), self.text.embed(raw.text)
        if raw.owner is None:
            return self.text.trunk(texts, memory)
        place, rows = places_by_owner(raw.owner, memory.shape[0])
        grouped = texts.rows(
            torch.zeros(rows, dtype=torch.long, device=place.device).index_copy(0, place, _count(place))
        )
        filled = torch.zeros(rows, dtype=torch.bool, device=place.device).index_fill(0, place, True)
        grouped = replace(
            grouped, valid=grouped.valid & filled[:, None], unpadded=grouped.unpadded and rows == len(place)
        )
        return texts.with_x(self.text.trunk(grouped, memory).x[place])


def places_by_owner(owner: Int[Tensor, "B"], owners: int) -> tuple[Int[Tensor, "B"], int]:
    """Where each row goes so that every owner has as many places, and the number of places; owners never go back.

    owner  0 0 0 1 2 2   ->   0 1 2 3 . . 6 7 .
    """
    counts = torch.bincount(owner, minlength=owners)
    width, first = max(1, int(counts.max())), counts.cumsum(0) - counts
    return owner * width + _count(owner) - first[owner], owners * width


def _count(rows: Tensor) -> Tensor:
    return torch.arange(len(rows), device=rows.device)
