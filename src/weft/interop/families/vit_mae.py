"""ViT-MAE: a ViT that sees some patches, and a small decoder that says what the others were.

Their places are fixed sines and cosines, stored as tables with the weights. They are read as tables, so that every
number stays as it is. The encoder alone computes what a ViT does, and is written as a ViT where it was none of these.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from weft.interop.families import patches
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import only
from weft.interop.pictures import PictureFamily, only_pictures, seen
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.models.autoencoder import Autoencoder
from weft.models.stream import Model, Stream

HIDDEN = 0.75  # the share of patches that their models hide (mask_ratio), if nothing else is said
DECODER = (8, 16, 2048)


class VitMae(PictureFamily):
    """ViTMAEForPreTraining and ViTMAEModel (He et al., 2022)."""

    name = "vit_mae"
    scale = IMAGENET
    tasks = {"ViTMAEForPreTraining": "reconstruct-images", "ViTMAEModel": None}
    settings = {"mask_ratio": "hide", "norm_pix_loss": "even"}
    harmless = names(
        """attention_probs_dropout_prob decoder_hidden_size decoder_intermediate_size decoder_num_attention_heads
        decoder_num_hidden_layers"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Model.Config:
        embed = patches.read_patches(given).replace(dropout=0.0)
        encoder = Stream.Config(dim=given.whole("hidden_size", 768), embed=embed, trunk=patches.read_trunk(given))
        if architecture == "ViTMAEModel":
            return encoder
        return Autoencoder.Config(
            encoder=encoder,
            decoder=patches.read_trunk(given, prefix="decoder_", defaults=DECODER),
            dim=given.whole("decoder_hidden_size", 512),
            place=embed.place,
            summarised=True,
        )

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        place = config.place if isinstance(config, Autoencoder.Config) else None
        again = again.replace(place=place) if patches.computed(place) else again
        return super().completed(patches.completed(again, config), config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        hidden = {"mask_ratio": HIDDEN, "norm_pix_loss": False}
        if isinstance(config, Stream.Config) and config.head is None:
            body = {**patches.write_patches(config), **patches.write_trunk(config.trunk, config.dim), **hidden}
            return {"model_type": self.name, "architectures": ["ViTMAEModel"], **body}
        whole = only(config, Autoencoder.Config, "the model")
        return {
            "model_type": self.name,
            "architectures": ["ViTMAEForPreTraining"],
            "decoder_hidden_size": whole.dim,
            **patches.write_patches(whole.encoder),
            **patches.write_trunk(whole.decoder, whole.dim, prefix="decoder_"),
            **patches.write_trunk(whole.encoder.trunk, whole.encoder.dim),
            **hidden,
        }

    def table(self, config: Model.Config) -> WeightTable:
        if isinstance(config, Stream.Config):
            return patches.table(config, ["cls_token"], prefix="vit.")
        whole = only(config, Autoencoder.Config, "the model")
        body = [rule.under("", "encoder.") for rule in patches.table(whole.encoder, ["cls_token"], prefix="").body]
        return WeightTable(body, _decoder(whole), "vit.", [("decoder_layers.", "decoder_encoder.layer.")])

    def __init__(self, hidden: float = HIDDEN):
        self.hidden = hidden

    def as_written(self, written: Mapping[str, Any]) -> "VitMae":
        return VitMae(written["mask_ratio"])

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        shape = len(inputs["pixel_values"]), math.prod(only_pictures(config).grid)
        return {"noise": torch.rand(shape, generator=torch.Generator().manual_seed(0)), **inputs}

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        """`noise` says which patches are seen: those with the least."""
        picture, noise = seen(model, inputs["pixel_values"]), inputs["noise"]
        shown = noise.argsort(1)[:, : int(noise.shape[1] * (1 - self.hidden))]
        if isinstance(model, Autoencoder):
            return model(picture, shown)
        assert isinstance(model, Stream)
        embed = model.embed
        return model.trunk(embed.summarised(embed.patches(picture).take(shown))).x


def _decoder(config: Autoencoder.Config) -> list[WeightRule]:
    grid = only_pictures(config).grid
    return [
        *linear("decoder.decoder_embed", "narrow"),
        SameTensor("decoder.mask_token", "hidden"),
        patches.place_rule("decoder.decoder_pos_embed", config.place, "", grid, config.dim, class_tokens=1),
        *patches.block_rules(config.decoder, "decoder.decoder_layers.", "decoder.blocks."),
        *layer_norm("decoder.decoder_norm", "decoder.norm"),
        *linear("decoder.decoder_pred", "out"),
    ]
