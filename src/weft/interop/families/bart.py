"""BART: learned places that begin at row 2, and a norm of the embedded text (Lewis et al., 2020)."""

from collections.abc import Collection
from typing import Any, Literal

from weft.core import LayerNorm, PerToken
from weft.errors import ConfigError
from weft.interop.families import pairs
from weft.interop.families.parts import layer_norm
from weft.interop.family import Family, only
from weft.interop.rules import SameTensor, Shaped, Tied, WeightRule
from weft.interop.tables import Table
from weft.interop.their_config import TheirConfig, names
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.position import Add, Learned

START = 2  # rows that the tables of places begin with and that no place uses


class Bart(Family):
    """BartForConditionalGeneration and BartModel."""

    name = "bart"
    tasks = {"BartForConditionalGeneration": "translate", "BartModel": None}
    harmless = names(pairs.HARMLESS) | names("pooler_dropout extra_pos_embeddings")

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        dim, vocab, std = given.whole("d_model", 1024), given.whole("vocab_size", 50265), given.number("init_std", 0.02)
        given.only("tie_word_embeddings", True)
        given.only("normalize_embedding", True)
        given.only("static_position_embeddings", False)
        factor, places = pairs.scale(given, dim), given.whole("max_position_embeddings", 1024)

        def side(name: Literal["source", "target"], head: PerToken.Config | None) -> Stream.Config:
            embed = TextEmbed.Config(
                vocab=vocab,
                context=places,
                reading="free" if name == "source" else "line",
                place=Add.Config(code=Learned.Config(size=places + START, start=START, std=std)),
                last_norm=LayerNorm.Config(),
                scale=factor,
                std=std,
                dropout=given.number("dropout", 0.1),
            )
            return Stream.Config(dim=dim, embed=embed, trunk=pairs.trunk(given, name), head=head)

        head = PerToken.Config(tied=True, offsets=True, std=std) if architecture != "BartModel" else None
        return Seq2Seq.Config(source=side("source", None), target=side("target", head), shared=True)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files without a bias of logits have none."""
        pair = only(config, Seq2Seq.Config, "the model")
        return pair if "final_logits_bias" in names else pairs.with_head(pair, offsets=False)

    def write(self, config: Model.Config) -> dict[str, Any]:
        pair = only(config, Seq2Seq.Config, "the model")
        embed = only(pair.target.embed, TextEmbed.Config, "target.embed")
        code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        if embed.scale not in (1.0, pair.target.dim**0.5):
            raise ConfigError(f"embed.scale is {embed.scale}, expected 1 or the root of the width")
        return {
            "model_type": self.name,
            "architectures": ["BartModel" if pair.target.head is None else "BartForConditionalGeneration"],
            "vocab_size": embed.vocab,
            "tie_word_embeddings": True,
            "max_position_embeddings": code.size - START,
            "scale_embedding": embed.scale != 1.0,
            **pairs.written(pair),
        }

    def table(self, config: Model.Config) -> Table:
        pair, own = only(config, Seq2Seq.Config, "the model"), "source.embed.table.weight"
        body: list[WeightRule] = [SameTensor("shared.weight", own)]
        for side, theirs in pairs.SIDES.items():
            body += [
                Tied(f"{theirs}.embed_tokens.weight", own),
                SameTensor(f"{theirs}.embed_positions.weight", f"{side}.embed.place.code.table.weight"),
                *layer_norm(f"{theirs}.layernorm_embedding", f"{side}.embed.last_norm"),
                *pairs.side_rules(pair, side),  # type: ignore[arg-type]
            ]
        if pair.target.head is None:
            return Table(body)
        head: list[WeightRule] = [Tied("lm_head.weight", own)]
        if only(pair.target.head, PerToken.Config, "target.head").offsets:
            head.append(Shaped("final_logits_bias", "target.head.out.bias", (1, -1)))
        return Table(body, head, prefix="model.")
