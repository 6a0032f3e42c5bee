"""Words in BERT's layers that read a memory: a line that writes, or a text that is read in both directions.

BLIP, GIT and the writers of VisionEncoderDecoder have such layers; they differ in the names and parts of the head.
"""

from dataclasses import dataclass, replace
from typing import Any

from weft.core import Dense, Mlp, PerToken, Trunk
from weft.core.memories import Prefix
from weft.interop.families.bert import bert_keys, bert_layer, bert_sizes
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings, first_block
from weft.interop.family import only
from weft.interop.rules import Ignored, SameTensor, Tied, WeightRule, layers
from weft.interop.their_config import TheirConfig
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


def with_words(stream: Stream.Config, *, activation: str | None = None) -> Stream.Config:
    """The stream with BERT's head for words: a layer, its norm and the table."""
    embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
    act = activation or only(block.transform, Mlp.Config, "transform").activation
    dense = Dense.Config(activation=act, norm=block.norm, std=embed.std)  # type: ignore[arg-type]
    return stream.replace(head=PerToken.Config(tied=True, offsets=True, dense=dense, std=embed.std))


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
    only(only(stream.head, PerToken.Config, "head").dense, Dense.Config, "head.dense")
    return [
        *linear(names.dense, "head.dense.linear"),
        *layer_norm(names.norm, "head.dense.norm"),
        SameTensor(names.bias, "head.out.bias"),
        Tied(f"{names.out}.weight", "embed.table.weight"),
        Tied(f"{names.out}.bias", "head.out.bias"),
    ]


_CROSS, _OURS = "encoder.layer.{i}.crossattention.", "trunk.blocks.{i}."
_READING: list[WeightRule] = [
    *linear(f"{_CROSS}self.query", f"{_OURS}read.q"),
    *joined((f"{_CROSS}self.key", f"{_CROSS}self.value"), f"{_OURS}read.kv"),
    *linear(f"{_CROSS}output.dense", f"{_OURS}read.out"),
    *layer_norm(f"{_CROSS}output.LayerNorm", f"{_OURS}read_norm"),
]


class Writer:
    """BERT or RoBERTa as a decoder that reads a memory: BertLMHeadModel, RobertaForCausalLM.

    The latter counts places from the id that fills texts on, and has names of its own.
    """

    def __init__(self, name: str, vocab: int, head: WordHead, activation: str | None = None, *, filled: bool = False):
        self.name, self.vocab, self.head, self.activation, self.filled = name, vocab, head, activation, filled

    def read(self, given: TheirConfig) -> Stream.Config:
        """The decoder that a config.json describes."""
        given.only("is_decoder", True)
        sizes = bert_sizes(given, {"vocab_size": self.vocab})
        if self.filled:
            sizes = replace(sizes, start=given.whole("pad_token_id", 1, least=0) + 1)
        given.only("tie_word_embeddings", True)
        return with_words(reading(sizes, line=True), activation=self.activation)

    def write(self, stream: Stream.Config) -> dict[str, Any]:
        """The config.json of a decoder."""
        sizes = Sizes.of(stream)
        filled = {"pad_token_id": max(0, sizes.start - 1)} if self.filled else {}
        more = {"initializer_range": sizes.std, "tie_word_embeddings": True, **filled}
        return {"model_type": self.name, **bert_keys(sizes), **more}

    def rules(self, stream: Stream.Config) -> list[WeightRule]:
        """The decoder's weights."""
        body = [rule.under(f"{self.name}.") for rule in body_rules(stream)]
        return [*body, Ignored(f"{self.name}.embeddings.token_type_ids"), *head_rules(stream, self.head)]


BERT_WRITER = Writer("bert", 30522, WordHead())
ROBERTA_WRITER = Writer(
    "roberta",
    50265,
    WordHead("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"),
    "gelu",
    filled=True,
)
