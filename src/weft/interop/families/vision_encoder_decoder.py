"""VisionEncoderDecoder: a ViT or DeiT looks at a picture; a GPT-2, BERT, RoBERTa or TrOCR that reads it writes."""

from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from weft.core import PerToken, PostNorm
from weft.errors import ConfigError
from weft.interop.families import pairs, patches
from weft.interop.families.bert import Bert
from weft.interop.families.bert_decoder import BERT_WRITER, ROBERTA_WRITER, Writer
from weft.interop.families.deit import Deit
from weft.interop.families.gpt2 import Gpt2, read_stream
from weft.interop.families.sizes import Sizes, first_block
from weft.interop.families.trocr import TrocrWriter
from weft.interop.families.vit import Vit
from weft.interop.family import Family, only
from weft.interop.pictures import PictureFamily, seen
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PictureEmbed
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream

CAPTION_ENCODERS: dict[str, tuple[Family, str]] = {"vit": (Vit(), "ViTModel"), "deit": (Deit(), "DeiTModel")}


class GptWriter:
    """GPT-2 as a decoder that reads a memory."""

    name = Gpt2.name

    def read(self, given: TheirConfig) -> Stream.Config:
        """The decoder that a config.json describes."""
        return read_stream(given, reads=True)

    def write(self, stream: Stream.Config) -> dict[str, Any]:
        """The config.json of a decoder."""
        return {key: value for key, value in Gpt2().write(stream).items() if key != "architectures"}

    def rules(self, stream: Stream.Config) -> list[WeightRule]:
        """The decoder's weights."""
        return Gpt2().table(stream).rules


AnyWriter = GptWriter | Writer | TrocrWriter
ALL_WRITERS: tuple[AnyWriter, ...] = (GptWriter(), BERT_WRITER, ROBERTA_WRITER, TrocrWriter())
WRITERS = {one.name: one for one in ALL_WRITERS}


class VisionEncoderDecoder(PictureFamily):
    """VisionEncoderDecoderModel with a ViT or DeiT and a GPT-2, a BERT, a RoBERTa or a TrOCR.

    Where their widths differ, a linear map brings the encoder's tokens to the decoder's width.
    """

    name = "vision-encoder-decoder"
    ours = "transformer"
    tasks = {"VisionEncoderDecoderModel": "caption"}
    harmless = Vit.harmless | Deit.harmless | Gpt2.harmless | Bert.harmless | names(pairs.HARMLESS)

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        encoder, decoder = given.inner("encoder"), given.inner("decoder")
        if encoder is None or decoder is None:
            raise ConfigError("expected an encoder and a decoder", where=given.where)
        given.only("is_encoder_decoder", True)
        given.only("tie_word_embeddings", False, True)  # the decoder's own word counts
        family, kind = encoder.choice("model_type", CAPTION_ENCODERS)
        source = family.read(encoder, kind)
        writer = decoder.choice("model_type", WRITERS)
        decoder.only("add_cross_attention", True)
        assert isinstance(source, Stream.Config)
        straight = isinstance(writer, TrocrWriter) and decoder.has("cross_attention_hidden_size")
        decoder.only("cross_attention_hidden_size", *([source.dim] if straight else []))
        target = writer.read(decoder)
        mapped = source.dim != target.dim and not straight
        return Seq2Seq.Config(source=source, target=target, bridge=target.dim if mapped else None)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        return patches.pooled(config, f"encoder.{patches.POOLER}" in names)

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        return super().completed(patches.completed(again, config), config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        whole = only(config, Seq2Seq.Config, "the model")
        encoder = _eyes(_source(whole)).write(_source(whole))
        decoder = _writer(whole).write(_target(whole))
        del encoder["architectures"]
        return {
            "model_type": self.name,
            "architectures": ["VisionEncoderDecoderModel"],
            "encoder": encoder,
            "decoder": {**decoder, "add_cross_attention": True, "is_decoder": True},
            "is_encoder_decoder": True,
            "tie_word_embeddings": False,
        }

    def table(self, config: Model.Config) -> WeightTable:
        whole = only(config, Seq2Seq.Config, "the model")
        rules: list[WeightRule] = [
            rule.under("encoder.", "source.") for rule in _eyes(_source(whole)).table(_source(whole)).rules
        ]
        rules += [rule.under("decoder.", "target.") for rule in _writer(whole).rules(_target(whole))]
        if whole.bridge is not None:
            rules += [SameTensor(f"enc_to_dec_proj.{end}", f"bridge.{end}") for end in ("weight", "bias")]
        return WeightTable(rules)

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        return model(seen(model, inputs["pixel_values"]), Text(inputs["decoder_input_ids"]))


def _source(whole: Seq2Seq.Config) -> Stream.Config:
    return only(whole.source, Stream.Config, "the encoder")


def _eyes(source: Stream.Config) -> Family:
    embed = only(source.embed, PictureEmbed.Config, "source.embed")
    return CAPTION_ENCODERS["deit" if embed.class_tokens == 2 else "vit"][0]


def _writer(whole: Seq2Seq.Config) -> AnyWriter:
    """Whose decoder it is: GPT-2 norms ahead, BERT has a layer in its head, RoBERTa's places begin at a later row."""
    if not isinstance(first_block(whole.target).wiring, PostNorm.Config):
        return WRITERS["gpt2"]
    if only(whole.target.head, PerToken.Config, "target.head").dense is None:
        return WRITERS["trocr"]
    return WRITERS["roberta" if Sizes.of(whole.target).start else "bert"]


def _target(whole: Seq2Seq.Config) -> Stream.Config:
    """The decoder as it is built: it knows how wide its memory is."""
    return whole.target.replace(memory_dim=whole.bridge or whole.source.dim)
