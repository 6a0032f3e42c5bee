"""The sizes of a text encoder of BERT's kind, whatever a family calls them, and the rules of its tables."""

from dataclasses import dataclass

from weft.core import Attention, Block, LayerNorm, Mlp, PostNorm, Trunk
from weft.errors import ConfigError
from weft.interop.families.parts import layer_norm
from weft.interop.family import only
from weft.interop.rules import SameTensor, WeightRule
from weft.modalities.text import TextEmbed
from weft.models.stream import Model, Stream
from weft.position import Add, Learned


@dataclass(frozen=True)
class Sizes:
    """A body's sizes, whatever a family calls them; place 0 is row `start` of the table of places."""

    vocab: int
    dim: int
    depth: int
    heads: int
    hidden: int
    places: int
    activation: str
    start: int = 0
    segments: int = 0
    narrow: int | None = None
    passes: int = 1
    eps: float = 1e-12
    dropout: float = 0.1
    std: float = 0.02

    def stream(self) -> Stream.Config:
        """The body, without a head."""
        norm = LayerNorm.Config(eps=self.eps)
        block = Block.Config(
            mix=Attention.Config(heads=self.heads),
            transform=Mlp.Config(activation=self.activation, hidden=self.hidden),  # type: ignore[arg-type]
            norm=norm,
            wiring=PostNorm.Config(),
            dropout=self.dropout,
        )
        embed = TextEmbed.Config(
            vocab=self.vocab,
            context=self.places - self.start,
            reading="free",
            place=Add.Config(code=Learned.Config(size=self.places, start=self.start, std=self.std)),
            segments=self.segments,
            last_norm=norm,
            narrow=self.narrow,
            std=self.std,
            dropout=self.dropout,
        )
        trunk = Trunk.Config(depth=self.depth, block=block, passes=self.passes)
        return Stream.Config(dim=self.dim, embed=embed, trunk=trunk)

    @classmethod
    def of(cls, config: Model.Config) -> "Sizes":
        """The sizes of a model of ours; refuses parts that no family here has."""
        stream = only(config, Stream.Config, "the model")
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
        code = Learned.Config(size=embed.context)  # where places have no vectors
        if embed.place is not None:
            code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Mlp.Config, "transform")
        return cls(
            vocab=embed.vocab,
            dim=stream.dim,
            depth=len(stream.trunk.all_blocks()),
            heads=mix.heads,
            hidden=mlp.hidden or round(mlp.ratio * stream.dim),
            places=code.size,
            activation=mlp.activation,
            start=code.start,
            segments=embed.segments,
            narrow=embed.narrow,
            passes=stream.trunk.passes,
            eps=block.norm.eps,
            dropout=block.dropout,
            std=embed.std,
        )


def first_block(stream: Stream.Config) -> Block.Config:
    """The first block of a model; refuses a trunk without blocks."""
    blocks = stream.trunk.all_blocks()
    if not blocks:
        raise ConfigError("the trunk has no blocks")
    return blocks[0]


def embeddings(stream: Stream.Config) -> list[WeightRule]:
    """The rules of the tables of words, places and segments, and of the norm of their sum."""
    embed = only(stream.embed, TextEmbed.Config, "embed")
    tables = {"word": "table"} | ({"position": "place.code.table"} if embed.place is not None else {})
    tables |= {"token_type": "segments"} if embed.segments else {}
    rules = [
        SameTensor(f"embeddings.{name}_embeddings.weight", f"embed.{ours}.weight") for name, ours in tables.items()
    ]
    return [*rules, *layer_norm("embeddings.LayerNorm", "embed.last_norm")]
