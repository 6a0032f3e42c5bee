"""SigLIP: pictures and texts as vectors in one space, each pair judged by itself (Zhai et al., 2023).

Its towers are CLIP's, with other ends: a learned query reads the patches; all tokens of a text read each other, texts
are filled up to their full length, and their last token is mapped to the vector. SigLIP 2 of fixed sizes is the same;
its other models take pictures of any aspect, cut into patches beforehand (NaFlex; Tschannen et al., 2025).
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from weft.core import AttendedPool, Attention, Dense, Mlp, Summary
from weft.errors import ConfigError
from weft.interop.families import clip_towers as towers
from weft.interop.families import patches
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import only
from weft.interop.picture_rules import Permuted
from weft.interop.pictures import PictureFamily, only_pictures, seen
from weft.interop.rules import Ignored, SameTensor, Stacked, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PatchEmbed, cut, paste
from weft.modalities.text import Text, TextEmbed
from weft.models.dual_encoder import DualEncoder
from weft.models.stream import Model, Stream
from weft.position import Add, Grid, Learned

HARMLESS = names(
    """attention_dropout text_config vision_config initializer_factor tie_word_embeddings bos_token_id eos_token_id
    pad_token_id projection_size vision_use_head"""
)
USUAL: dict[str, Any] = {"heads": 12, "hidden": 3072, "eps": 1e-6, "activation": "gelu_pytorch_tanh"}
PLACES = 64  # tokens of a text
FILLER = 1


class Siglip(PictureFamily):
    """SiglipModel, and SigLIP 2 where pictures have one size."""

    name = "siglip"
    tasks = {"SiglipModel": "caption"}
    harmless = HARMLESS
    processor = "SiglipImageProcessor"
    tower_names: ClassVar[tuple[str, str]] = ("siglip_text_model", "siglip_vision_model")

    def read(self, given: TheirConfig, architecture: str) -> DualEncoder.Config:
        picture, text = (given.inner(f"{side}_config") or TheirConfig({}, given.where) for side in ("vision", "text"))
        picture.only("vision_use_head", True)
        return DualEncoder.Config(picture=self.pictures(picture), text=read_texts(text), temperature=1.0, offset=0.0)

    def pictures(self, given: TheirConfig) -> Stream.Config:
        """The tower of pictures."""
        return read_pictures(given, unit=True)

    def picture_keys(self, stream: Stream.Config) -> dict[str, Any]:
        """The keys of the tower of pictures."""
        return write_pictures(stream)

    def patch_rule(self, stream: Stream.Config) -> WeightRule:
        """The weights by which a patch becomes a vector."""
        return patch_filters(stream)

    def worded(self, config: Model.Config, filler: int | None) -> Model.Config:
        both = only(config, DualEncoder.Config, "the model")
        if filler is None:
            return config
        return both.replace(text=both.text.replace(embed=both.text.embed.replace(filler=filler)))

    def write(self, config: Model.Config) -> dict[str, Any]:
        both = only(config, DualEncoder.Config, "the model")
        if both.offset is None:
            raise ConfigError("logits have no offset, which SigLIP has")
        return {
            "model_type": self.name,
            "architectures": [next(iter(self.tasks))],
            "text_config": {"model_type": self.tower_names[0], **write_texts(both.text)},
            "vision_config": {"model_type": self.tower_names[1], **self.picture_keys(both.picture)},
        }

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        """With the temperature and offset to start with, which the weights know better."""
        known = only(config, DualEncoder.Config, "the model")
        return super().completed(again.replace(temperature=known.temperature, offset=known.offset), config)

    def table(self, config: Model.Config) -> WeightTable:
        both = only(config, DualEncoder.Config, "the model")
        found = picture_rules(both.picture, self.patch_rule(both.picture))
        rules = [rule.under("vision_model.", "picture.") for rule in found]
        rules += [rule.under("text_model.", "text.") for rule in text_rules(both.text)]
        return WeightTable([*rules, SameTensor("logit_scale", "log_scale"), SameTensor("logit_bias", "offset")])

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        mask = inputs.get("attention_mask")
        text = Text(inputs["input_ids"], None if mask is None else mask.bool())
        return model(seen(model, inputs["pixel_values"]), text)

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Texts of the full length: theirs fills them up in the processor, ours in the model."""
        embed = only(only(config, DualEncoder.Config, "the model").text.embed, TextEmbed.Config, "text.embed")
        ids = inputs["input_ids"]
        filled = ids.new_full((len(ids), embed.context), embed.filler or 0)
        filled[:, : ids.shape[1]] = ids
        return {**inputs, "input_ids": filled}


class Siglip2(Siglip):
    """Siglip2Model, whose pictures keep their aspect. Theirs takes patches, ours the pictures themselves."""

    name = "siglip2"
    tasks = {"Siglip2Model": "caption"}
    processor = "Siglip2ImageProcessor"
    tower_names = ("siglip2_text_model", "siglip2_vision_model")

    def pictures(self, given: TheirConfig) -> Stream.Config:
        side, patch = math.isqrt(given.whole("num_patches", 256)), given.whole("patch_size", 16)
        if side**2 != given.whole("num_patches", 256):
            raise ConfigError("num_patches: weft reads models whose places are a square", where=given.where)
        channels, code = given.whole("num_channels", 3), Grid.Config(rows=side, columns=side, mixed="smoothed linear")
        place = Add.Config(code=code)
        embed = PatchEmbed.Config(grid=(side, side), patch=patch, channels=channels, place=place)
        return read_pictures(given, unit=True, embed=embed)

    def picture_keys(self, stream: Stream.Config) -> dict[str, Any]:
        embed = only(stream.embed, PatchEmbed.Config, "picture.embed")
        known = {"hidden_size": stream.dim, "patch_size": embed.patch, "num_channels": embed.channels}
        return {**known, "num_patches": embed.grid[0] * embed.grid[1], **towers.write_trunk(stream)}

    def patch_rule(self, stream: Stream.Config) -> WeightRule:
        return SameTensor("embeddings.patch_embedding.weight", "embed.project.weight")

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        patch = only(only_pictures(model.config), PatchEmbed.Config, "embed").patch
        rows, columns = inputs["spatial_shapes"][0].tolist()
        pixels = paste(inputs["pixel_values"][:, : rows * columns], rows * patch, columns * patch, patch)
        return super().values(model, {"input_ids": inputs["input_ids"], "pixel_values": pixels})

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        pixels, patch = inputs["pixel_values"], only(only_pictures(config), PatchEmbed.Config, "embed").patch
        patches = cut(pixels, patch)
        shape = torch.tensor([[side // patch for side in pixels.shape[2:]]] * len(pixels))
        known = {"pixel_attention_mask": torch.ones(patches.shape[:2], dtype=torch.long), "spatial_shapes": shape}
        return {**super().trial(config, inputs), "pixel_values": patches, **known}


class SiglipVision(PictureFamily):
    """SiglipVisionModel: the tower of pictures alone."""

    name = "siglip_vision_model"
    tasks = {"SiglipVisionModel": None}
    harmless = HARMLESS
    processor = "SiglipImageProcessor"

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        given.only("vision_use_head", True)
        return read_pictures(given, unit=False)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        return {"model_type": self.name, "architectures": ["SiglipVisionModel"], **write_pictures(stream)}

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        return WeightTable(picture_rules(stream, patch_filters(stream)), [], prefix="vision_model.")


def read_pictures(given: TheirConfig, *, unit: bool, embed: PatchEmbed.Config | None = None) -> Stream.Config:
    """The tower of pictures, with what a learned query reads as its vector."""
    trunk, norm = towers.read_trunk(given, **USUAL)
    embed = patches.read_patches(given, class_tokens=0) if embed is None else embed
    if embed.grid[0] != embed.grid[1]:
        raise ConfigError(f"image_size is {given.data['image_size']}; SigLIP reads squares only", where=given.where)
    block = trunk.all_blocks()[0]
    mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Mlp.Config, "transform")
    pool = AttendedPool.Config(read=Attention.Config(heads=mix.heads), transform=mlp, norm=norm)
    dim = given.whole("hidden_size", 768)
    return Stream.Config(
        dim=dim, embed=embed, trunk=trunk.replace(norm=norm), head=Summary.Config(pool=pool, unit=unit)
    )


def read_texts(given: TheirConfig) -> Stream.Config:
    """The tower of texts, with a map of the last token as its vector."""
    trunk, norm = towers.read_trunk(given, **USUAL)
    dim, places = given.whole("hidden_size", 768), given.whole("max_position_embeddings", PLACES)
    embed = TextEmbed.Config(
        vocab=given.whole("vocab_size", 32000),
        context=places,
        reading="free",
        place=Add.Config(code=Learned.Config(size=places)),
        filler=given.whole("pad_token_id", FILLER, least=0),
    )
    dense = Dense.Config(activation=None, width=given.whole("projection_size", dim))
    head = Summary.Config(last=True, dense=dense, unit=True)
    return Stream.Config(dim=dim, embed=embed, trunk=trunk.replace(norm=norm), head=head)


def write_pictures(stream: Stream.Config) -> dict[str, Any]:
    """The keys of the tower of pictures."""
    only(only(stream.head, Summary.Config, "head").pool, AttendedPool.Config, "head.pool")
    return {**patches.write_patches(stream), **towers.write_trunk(stream)}


def write_texts(stream: Stream.Config) -> dict[str, Any]:
    """The keys of the tower of texts."""
    embed = only(stream.embed, TextEmbed.Config, "text.embed")
    place = only(embed.place, Add.Config, "text.embed.place")
    return {
        **towers.write_trunk(stream),
        "hidden_size": stream.dim,
        "vocab_size": embed.vocab,
        "max_position_embeddings": only(place.code, Learned.Config, "text.embed.place.code").size,
        "projection_size": towers.vector_width(stream),
        "pad_token_id": embed.filler,
        "bos_token_id": None,  # no part of the model: the tokenizer says what begins and ends a text
        "eos_token_id": None,
    }


def patch_filters(stream: Stream.Config) -> WeightRule:
    """The filters by which a patch becomes a vector."""
    embed = only(stream.embed, PatchEmbed.Config, "picture.embed")
    shape = (stream.dim, embed.patch, embed.patch, embed.channels)
    return Permuted("embeddings.patch_embedding.weight", "embed.project.weight", shape, (0, 3, 1, 2))


def picture_rules(stream: Stream.Config, patch: WeightRule) -> list[WeightRule]:
    """The weights of the tower of pictures; `patch` is the rule of the map of patches."""
    embed = only(stream.embed, PatchEmbed.Config, "picture.embed")
    only(only(embed.place, Add.Config, "picture.embed.place").code, Grid.Config, "picture.embed.place.code")
    ends = (("weight", "in_proj_weight"), ("bias", "in_proj_bias"))
    pool: list[WeightRule] = [
        SameTensor("head.probe", "head.pool.query"),
        *(
            Stacked(f"head.attention.{theirs}", (f"head.pool.read.q.{ours}", f"head.pool.read.kv.{ours}"))
            for ours, theirs in ends
        ),
        *linear("head.attention.out_proj", "head.pool.read.out"),
        *layer_norm("head.layernorm", "head.pool.norm"),
        *linear("head.mlp.fc1", "head.pool.transform.up"),
        *linear("head.mlp.fc2", "head.pool.transform.down"),
    ]
    return [
        patch,
        SameTensor("embeddings.patch_embedding.bias", "embed.project.bias"),
        SameTensor("embeddings.position_embedding.weight", "embed.place.code.table.weight"),
        Ignored("*position_ids"),
        *towers.tower_layers(stream.trunk),
        *layer_norm("post_layernorm", "trunk.norm"),
        *pool,
    ]


def text_rules(stream: Stream.Config) -> list[WeightRule]:
    """The weights of the tower of texts."""
    return [*towers.text_rules(stream), *linear("head", "head.dense.linear")]
