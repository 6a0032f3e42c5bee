"""BLIP: a ViT looks at a picture; words in BERT's layers read it and write a caption or an answer (Li et al., 2022)."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import Attention, Block, LayerNorm, Mlp, Trunk
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.bert import bert_keys, bert_sizes
from weft.interop.families.bert_decoder import body_rules, head_rules, reading, with_words
from weft.interop.families.clip_towers import write_trunk
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.sizes import Sizes
from weft.interop.family import ACTIVATIONS, only
from weft.interop.marks import Marks
from weft.interop.picture_rules import Folded, Permuted
from weft.interop.pictures import PictureFamily, seen
from weft.interop.preprocessors import CLIP_SCALE
from weft.interop.rules import SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PatchEmbed
from weft.modalities.picture_text import PictureText
from weft.modalities.text import Text
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.position import Add, Grid

_WORDS = {
    "vocab_size": 30524, "num_attention_heads": 8, "type_vocab_size": 0, "hidden_dropout_prob": 0.0,
}  # fmt: skip
START, END = 30522, 102  # ids that begin and end a text where config.json does not say it


class Blip(PictureFamily):
    """BlipForConditionalGeneration and BlipForQuestionAnswering.

    In the latter the words of a question read the picture, and those of the answer what came of the question.
    """

    name = "blip"
    tasks = {"BlipForConditionalGeneration": "caption", "BlipForQuestionAnswering": "answer"}
    scale = CLIP_SCALE
    processor = "BlipImageProcessor"
    harmless = names(
        """attention_dropout attention_probs_dropout_prob projection_dim encoder_hidden_size label_smoothing
        image_text_hidden_size logit_scale_init_value tie_word_embeddings is_encoder_decoder is_decoder
        add_cross_attention"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        eyes, words = _part(given, "vision"), _part(given, "text")
        words.only("is_decoder", True)
        words.only("tie_word_embeddings", True)
        picture, sizes = _read_pictures(eyes), bert_sizes(words, _WORDS)
        target = with_words(reading(sizes, line=True))
        if architecture == "BlipForConditionalGeneration":
            return Seq2Seq.Config(source=picture, target=target)
        if sizes.dim != picture.dim:
            problem = f"pictures are {picture.dim} wide and questions {sizes.dim}, and their library reads both alike"
            raise ConfigError(problem, where=given.where)
        return Seq2Seq.Config(source=Grounded.Config(picture=picture, text=reading(sizes, line=False)), target=target)

    def marks(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Their library writes from the beginning to the separator, whatever generation_config.json says."""
        words = data.get("text_config")
        known: Mapping[str, Any] = words if isinstance(words, dict) else {}
        start = known.get("bos_token_id", START)
        return {
            "bos_token_id": start,
            "decoder_start_token_id": start,
            "eos_token_id": known.get("sep_token_id", END),
            "pad_token_id": known.get("pad_token_id", 0),
        }

    def with_marks(self, written: Mapping[str, Any], marks: Marks) -> dict[str, Any]:
        ids = {
            "bos_token_id": marks.start if marks.start is not None else marks.bos,
            "sep_token_id": next(iter(marks.eos), None),
            "eos_token_id": next(iter(marks.eos), None),
            "pad_token_id": marks.pad,
        }
        known = {key: id for key, id in ids.items() if id is not None}
        return {**written, "text_config": {**written["text_config"], **known}}

    def write(self, config: Model.Config) -> dict[str, Any]:
        whole = only(config, Seq2Seq.Config, "the model")
        picture, sizes = _picture(whole), Sizes.of(_target(whole))
        asks = isinstance(whole.source, Grounded.Config)
        keys = {key: value for key, value in bert_keys(sizes).items() if key != "type_vocab_size"}
        return {
            "model_type": self.name,
            "architectures": ["BlipForQuestionAnswering" if asks else "BlipForConditionalGeneration"],
            "text_config": {
                "model_type": "blip_text_model",
                **keys,
                "encoder_hidden_size": picture.dim,
                "initializer_range": sizes.std,
                "is_decoder": True,
            },
            "vision_config": {"model_type": "blip_vision_model", **_write_pictures(picture)},
        }

    def table(self, config: Model.Config) -> WeightTable:
        whole = only(config, Seq2Seq.Config, "the model")
        target, asks = _target(whole), isinstance(whole.source, Grounded.Config)
        eyes = _picture_rules(_picture(whole))
        rules = [rule.under("vision_model.", "source.picture." if asks else "source.") for rule in eyes]
        if isinstance(whole.source, Grounded.Config):
            rules += [rule.under("text_encoder.", "source.text.") for rule in body_rules(whole.source.text)]
        rules += [rule.under("text_decoder.bert.", "target.") for rule in body_rules(target)]
        rules += [rule.under("text_decoder.", "target.") for rule in head_rules(target)]
        return WeightTable(rules)

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Without padding, which the decoders of their library read."""
        if isinstance(only(config, Seq2Seq.Config, "the model").source, Grounded.Config):
            return {name: tensor for name, tensor in inputs.items() if name != "attention_mask"}
        return {"pixel_values": inputs["pixel_values"], "input_ids": inputs["decoder_input_ids"]}

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        picture = seen(model, inputs["pixel_values"])
        if "decoder_input_ids" not in inputs:
            return model(picture, Text(inputs["input_ids"]))
        mask = inputs.get("attention_mask")
        question = Text(inputs["input_ids"], None if mask is None else mask.bool())
        return model(PictureText(picture, question), Text(inputs["decoder_input_ids"]))


def _part(given: TheirConfig, side: str) -> TheirConfig:
    return given.inner(f"{side}_config") or TheirConfig({}, given.where)


def _picture(whole: Seq2Seq.Config) -> Stream.Config:
    return whole.reader()


def _target(whole: Seq2Seq.Config) -> Stream.Config:
    if whole.bridge is not None or whole.shared:
        raise ConfigError("BLIP has no map between its parts, and no table that these share")
    return whole.target


def _read_pictures(given: TheirConfig) -> Stream.Config:
    norm = LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-5))
    embed = patches.read_patches(given, size=384)
    rows, columns = embed.grid
    if rows != columns:
        raise ConfigError("image_size is not square; BLIP reads squares only", where=given.where)
    given.only("num_channels", 3)
    transform = Mlp.Config(
        activation=given.choice("hidden_act", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        hidden=given.whole("intermediate_size", 3072),
    )
    mix = Attention.Config(heads=given.whole("num_attention_heads", 12))
    block = Block.Config(mix=mix, transform=transform, norm=norm)
    return Stream.Config(
        dim=given.whole("hidden_size", 768),
        embed=embed.replace(place=Add.Config(code=Grid.Config(rows=rows, columns=columns, mixed="cubic"))),
        trunk=Trunk.Config(depth=given.whole("num_hidden_layers", 12), block=block, norm=norm),
    )


def _write_pictures(stream: Stream.Config) -> dict[str, Any]:
    return {**patches.write_patches(stream), **write_trunk(stream)}


def _picture_rules(stream: Stream.Config) -> list[WeightRule]:
    embed = only(stream.embed, PatchEmbed.Config, "picture.embed")
    shape = (stream.dim, embed.patch, embed.patch, embed.channels)
    theirs, ours = "encoder.layers.{i}.", "trunk.blocks.{i}."
    layer = [
        *layer_norm(f"{theirs}layer_norm1", f"{ours}mix_norm"),
        *linear(f"{theirs}self_attn.qkv", f"{ours}mix.qkv"),
        *linear(f"{theirs}self_attn.projection", f"{ours}mix.out"),
        *layer_norm(f"{theirs}layer_norm2", f"{ours}transform_norm"),
        *linear(f"{theirs}mlp.fc1", f"{ours}transform.up"),
        *linear(f"{theirs}mlp.fc2", f"{ours}transform.down"),
    ]
    return [
        SameTensor("embeddings.class_embedding", "embed.summary"),
        Permuted("embeddings.patch_embedding.weight", "embed.project.weight", shape, (0, 3, 1, 2)),
        SameTensor("embeddings.patch_embedding.bias", "embed.project.bias"),
        Folded("embeddings.position_embedding", "embed.place.code.table.weight", onto="embed.summary"),
        *layers(len(stream.trunk.all_blocks()), layer),
        *layer_norm("post_layernorm", "trunk.norm"),
    ]
