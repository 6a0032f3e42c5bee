"""VisionEncoderDecoder: a ViT or DeiT looks at a picture, and a GPT-2 that reads it writes about it."""

from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.deit import Deit
from weft.interop.families.gpt2 import Gpt2, read_stream
from weft.interop.families.vit import Vit
from weft.interop.family import Family, only
from weft.interop.pictures import PictureFamily, seen
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PictureEmbed
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream

CAPTION_ENCODERS: dict[str, tuple[Family, str]] = {"vit": (Vit(), "ViTModel"), "deit": (Deit(), "DeiTModel")}
WRITER = Gpt2()


class VisionEncoderDecoder(PictureFamily):
    """VisionEncoderDecoderModel with a ViT or DeiT and a GPT-2.

    Where their widths differ, a linear map brings the encoder's tokens to the decoder's width.
    """

    name = "vision-encoder-decoder"
    ours = "transformer"
    tasks = {"VisionEncoderDecoderModel": "caption"}
    harmless = Vit.harmless | Deit.harmless | Gpt2.harmless

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        encoder, decoder = given.inner("encoder"), given.inner("decoder")
        if encoder is None or decoder is None:
            raise ConfigError("expected an encoder and a decoder", where=given.where)
        given.only("is_encoder_decoder", True)
        given.only("tie_word_embeddings", False, True)  # the decoder's own word counts
        family, kind = encoder.choice("model_type", CAPTION_ENCODERS)
        source = family.read(encoder, kind)
        decoder.choice("model_type", {WRITER.name: None})
        decoder.only("add_cross_attention", True)
        decoder.only("cross_attention_hidden_size")
        target = read_stream(decoder, reads=True)
        assert isinstance(source, Stream.Config)
        return Seq2Seq.Config(source=source, target=target, bridge=None if source.dim == target.dim else target.dim)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        return patches.pooled(config, f"encoder.{patches.POOLER}" in names)

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        return super().completed(patches.completed(again, config), config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        whole = only(config, Seq2Seq.Config, "the model")
        encoder, decoder = _eyes(_source(whole)).write(_source(whole)), WRITER.write(_target(whole))
        for part in (encoder, decoder):
            del part["architectures"]
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
        rules += [rule.under("decoder.", "target.") for rule in WRITER.table(_target(whole)).rules]
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


def _target(whole: Seq2Seq.Config) -> Stream.Config:
    """The decoder as it is built: it knows how wide its memory is."""
    return whole.target.replace(memory_dim=whole.bridge or whole.source.dim)
