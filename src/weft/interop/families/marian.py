"""Marian: the Transformer of Vaswani et al. (2017), as most published translation models are (Tiedemann, 2020)."""

from collections.abc import Collection
from typing import Any, Literal

from weft.core import PerToken
from weft.interop.families import pairs
from weft.interop.family import Family, only
from weft.interop.rules import Ignored, SameTensor, Shaped, Tied, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.position import Add, Sinusoidal


class Marian(Family):
    """MarianMTModel: sinusoids, scaled embeddings, one table for both sides or one for each."""

    name = "marian"
    ours = "transformer"
    tasks = {"MarianMTModel": "translate"}
    harmless = names(pairs.HARMLESS)

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        dim, vocab, std = given.whole("d_model", 1024), given.whole("vocab_size", 58101), given.number("init_std", 0.02)
        shared = given.truth("share_encoder_decoder_embeddings", True)
        given.only("tie_word_embeddings", True)
        given.only("static_position_embeddings", True, False)
        factor, context = pairs.scale(given, dim), given.whole("max_position_embeddings", 1024)
        vocabs = {"source": vocab, "target": vocab if shared else given.whole("decoder_vocab_size", vocab)}

        def side(name: Literal["source", "target"], head: PerToken.Config | None) -> Stream.Config:
            embed = TextEmbed.Config(
                vocab=vocabs[name],
                context=context,
                reading="free" if name == "source" else "line",
                place=Add.Config(code=Sinusoidal.Config()),
                scale=factor,
                std=std,
                dropout=given.number("dropout", 0.1),
            )
            return Stream.Config(dim=dim, embed=embed, trunk=pairs.trunk(given, name), head=head)

        head = PerToken.Config(tied=True, offsets=True, std=std)
        return Seq2Seq.Config(source=side("source", None), target=side("target", head), shared=shared)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files without a bias of logits have none."""
        pair = only(config, Seq2Seq.Config, "the model")
        return pair if "final_logits_bias" in names else pairs.with_head(pair, offsets=False)

    def write(self, config: Model.Config) -> dict[str, Any]:
        pair = only(config, Seq2Seq.Config, "the model")
        source, target = (only(side.embed, TextEmbed.Config, "embed") for side in (pair.source, pair.target))
        only(only(target.place, Add.Config, "embed.place").code, Sinusoidal.Config, "embed.place.code")
        return {
            "model_type": self.name,
            "architectures": ["MarianMTModel"],
            "vocab_size": source.vocab,
            "decoder_vocab_size": target.vocab,
            "share_encoder_decoder_embeddings": pair.shared,
            "tie_word_embeddings": True,
            "max_position_embeddings": max(source.context, target.context),
            **pairs.written(pair),
        }

    def table(self, config: Model.Config) -> WeightTable:
        pair = only(config, Seq2Seq.Config, "the model")
        own = "source.embed.table.weight" if pair.shared else "target.embed.table.weight"
        tables: list[WeightRule] = (
            [
                SameTensor("shared.weight", own),
                Tied("encoder.embed_tokens.weight", own),
                Tied("decoder.embed_tokens.weight", own),
            ]
            if pair.shared
            else [
                SameTensor("encoder.embed_tokens.weight", "source.embed.table.weight"),
                SameTensor("decoder.embed_tokens.weight", own),
            ]
        )
        ignored = [Ignored(f"{side}.embed_positions.weight") for side in pairs.SIDES.values()]
        head: list[WeightRule] = [Tied("lm_head.weight", own)]
        if only(pair.target.head, PerToken.Config, "target.head").offsets:
            head.append(Shaped("final_logits_bias", "target.head.out.bias", (1, -1)))
        body = [*tables, *pairs.side_rules(pair, "source"), *pairs.side_rules(pair, "target"), *ignored]
        return WeightTable(body, head, prefix="model.")
