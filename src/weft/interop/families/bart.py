"""BART: places begin at row 2, and the embedded text is normed (Lewis et al., 2020). mBART and M2M100 are kin."""

from collections.abc import Collection
from typing import Any, ClassVar, Literal

from weft.core import LayerNorm, PerToken
from weft.interop.families import pairs
from weft.interop.families.parts import layer_norm
from weft.interop.family import Family, only
from weft.interop.rules import SameTensor, Shaped, Tied, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.position import Add, Code, Learned

START = 2  # rows that the tables of places begin with and that no place uses


class Bart(Family):
    """BartForConditionalGeneration and BartModel."""

    name = "bart"
    stem: ClassVar[str] = "Bart"
    normed: ClassVar[Literal["before", "after"]] = "after"  # where norms stand in a block
    norm: ClassVar[LayerNorm.Config | None] = LayerNorm.Config()  # of the embedded text
    start: ClassVar[int] = START
    fixed: ClassVar[tuple[bool, ...]] = ()  # what else "static_position_embeddings" may say
    usual: ClassVar[dict[str, Any]] = {"vocab_size": 50265, "scale_embedding": False, "activation_function": "gelu"}
    harmless = names(pairs.HARMLESS) | names("pooler_dropout extra_pos_embeddings add_bias_logits")

    def __init__(self) -> None:
        tasks = {f"{self.stem}ForConditionalGeneration": "translate", f"{self.stem}Model": None}
        self.tasks = tasks  # type: ignore[misc]

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        dim, vocab = given.whole("d_model", 1024), given.whole("vocab_size", self.usual["vocab_size"])
        std = given.number("init_std", 0.02)
        given.only("tie_word_embeddings", True)
        given.only("normalize_embedding", self.norm is not None)
        factor = pairs.scale(given, dim, usual=self.usual["scale_embedding"])
        code, places = self.code(given, dim), given.whole("max_position_embeddings", 1024)

        def side(name: Literal["source", "target"], head: PerToken.Config | None) -> Stream.Config:
            embed = TextEmbed.Config(
                vocab=vocab,
                context=places,
                reading="free" if name == "source" else "line",
                place=Add.Config(code=code),
                last_norm=self.norm,
                scale=factor,
                std=std,
                dropout=given.number("dropout", 0.1),
            )
            trunk = pairs.trunk(given, name, normed=self.normed, activation=self.usual["activation_function"])
            return Stream.Config(dim=dim, embed=embed, trunk=trunk, head=head)

        head = None if architecture == f"{self.stem}Model" else PerToken.Config(tied=True, offsets=True, std=std)
        return Seq2Seq.Config(source=side("source", None), target=side("target", head), shared=True)

    def code(self, given: TheirConfig, dim: int) -> Code.Config:
        """The codes of places."""
        given.only("static_position_embeddings", False, *self.fixed)
        places = given.whole("max_position_embeddings", 1024)
        return Learned.Config(size=places + self.start, start=self.start, std=given.number("init_std", 0.02))

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files without a bias of logits have none."""
        pair = only(config, Seq2Seq.Config, "the model")
        return pair if "final_logits_bias" in names else pairs.with_head(pair, offsets=False)

    def write(self, config: Model.Config) -> dict[str, Any]:
        pair = only(config, Seq2Seq.Config, "the model")
        embed = only(pair.target.embed, TextEmbed.Config, "target.embed")
        kind = "Model" if pair.target.head is None else "ForConditionalGeneration"
        return {
            "model_type": self.name,
            "architectures": [f"{self.stem}{kind}"],
            "vocab_size": embed.vocab,
            "tie_word_embeddings": True,
            **self.write_places(pair, only(embed.place, Add.Config, "embed.place").code),
            **pairs.written(pair),
        }

    def write_places(self, pair: Seq2Seq.Config, code: Code.Config) -> dict[str, Any]:
        """The keys of the codes of places."""
        return {"max_position_embeddings": only(code, Learned.Config, "embed.place.code").size - self.start}

    def table(self, config: Model.Config) -> WeightTable:
        pair, own = only(config, Seq2Seq.Config, "the model"), "source.embed.table.weight"
        body: list[WeightRule] = [SameTensor("shared.weight", own)]
        for side, theirs in pairs.SIDES.items():
            body += [
                Tied(f"{theirs}.embed_tokens.weight", own),
                *self.place_rules(theirs, side),
                *(layer_norm(f"{theirs}.layernorm_embedding", f"{side}.embed.last_norm") if self.norm else []),
                *pairs.side_rules(pair, side),  # type: ignore[arg-type]
            ]
        if pair.target.head is None:
            return WeightTable(body)
        head: list[WeightRule] = [Tied("lm_head.weight", own)]
        if only(pair.target.head, PerToken.Config, "target.head").offsets:
            head.append(Shaped("final_logits_bias", "target.head.out.bias", (1, -1)))
        return WeightTable(body, head, prefix="model.")

    def place_rules(self, theirs: str, side: str) -> list[WeightRule]:
        """The rules of one side's places."""
        return [SameTensor(f"{theirs}.embed_positions.weight", f"{side}.embed.place.code.table.weight")]


class Pegasus(Bart):
    """PegasusForConditionalGeneration and PegasusModel (Zhang et al., 2020), which sum up texts.

    Norms stand before each branch. Places have sinusoids that are kept in the file: a table like any other.
    """

    name, stem, normed, norm, start, fixed = "pegasus", "Pegasus", "before", None, 0, (True,)
