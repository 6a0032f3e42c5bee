"""Words in BERT's layers that read a memory: a line that writes, or a text that is read in both directions.

BLIP, GIT and the writers of VisionEncoderDecoder have such layers; they differ in the names and parts of the head.
"""

from dataclasses import dataclass

from weft.core import Dense, Mlp, PerToken, Trunk
from weft.core.memories import Prefix
from weft.interop.families.bert import bert_layer
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings, first_block
from weft.interop.family import only
from weft.interop.rules import Ignored, SameTensor, Tied, WeightRule, layers
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream


def reading(sizes: Sizes, *, line: bool) -> Stream.Config:
    """Layers that read a memory between words and MLP, without a head; in a `line` words are blind to later ones."""
    stream = sizes.stream()
    embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
    trunk = stream.trunk.replace(block=block.replace(read=block.mix))
    return stream.replace(embed=embed.replace(reading="line" if line else "free"), trunk=trunk)


def behind_memory(sizes: Sizes) -> Stream.Config:
    """A line of words behind a memory that stands in front of it, without a head."""
    stream = sizes.stream()
    embed = only(stream.embed, TextEmbed.Config, "embed").replace(reading="line")
    trunk: Trunk.Config = stream.trunk.replace(memory=Prefix.Config())
    return stream.replace(embed=embed, trunk=trunk)


def with_words(stream: Stream.Config, *, activation: str | None = None, tied: bool = True) -> Stream.Config:
    """The stream with BERT's head for words: a layer, its norm and the table."""
    embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
    act = activation or only(block.transform, Mlp.Config, "transform").activation
    dense = Dense.Config(activation=act, norm=block.norm, std=embed.std)  # type: ignore[arg-type]
    return stream.replace(head=PerToken.Config(tied=tied, offsets=True, dense=dense, std=embed.std))


@dataclass(frozen=True)
class WordHead:
    """What a family calls the parts of a head for words."""

    dense: str = "cls.predictions.transform.dense"
    norm: str = "cls.predictions.transform.LayerNorm"
    out: str = "cls.predictions.decoder"
    bias: str = "cls.predictions.bias"


def body_rules(stream: Stream.Config) -> list[WeightRule]:
    """The weights of words and layers."""
    blocks = stream.trunk.all_blocks()
    reads = blocks[0].read is not None
    return [
        *embeddings(stream),
        Ignored("embeddings.position_ids"),
        *layers(len(blocks), [*bert_layer(), *(_READING if reads else [])]),
    ]


def head_rules(stream: Stream.Config, names: WordHead = WordHead()) -> list[WeightRule]:
    """The weights of a head for words."""
    head = only(stream.head, PerToken.Config, "head")
    only(head.dense, Dense.Config, "head.dense")
    ours = "embed.table.weight" if head.tied else "head.out.weight"
    return [
        *linear(names.dense, "head.dense.linear"),
        *layer_norm(names.norm, "head.dense.norm"),
        SameTensor(names.bias, "head.out.bias"),
        (Tied if head.tied else SameTensor)(f"{names.out}.weight", ours),
        Tied(f"{names.out}.bias", "head.out.bias"),
    ]


_CROSS, _OURS = "encoder.layer.{i}.crossattention.", "trunk.blocks.{i}."
_READING: list[WeightRule] = [
    *linear(f"{_CROSS}self.query", f"{_OURS}read.q"),
    *joined((f"{_CROSS}self.key", f"{_CROSS}self.value"), f"{_OURS}read.kv"),
    *linear(f"{_CROSS}output.dense", f"{_OURS}read.out"),
    *layer_norm(f"{_CROSS}output.LayerNorm", f"{_OURS}read_norm"),
]
