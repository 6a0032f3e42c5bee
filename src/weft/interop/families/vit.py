"""ViT: patches with learned places behind a class token. DINO's encoders are ViTs too."""

from collections.abc import Collection
from typing import Any

from weft.core import Pooled
from weft.interop.families import patches
from weft.interop.family import only
from weft.interop.pictures import PictureFamily
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.models.stream import Model, Stream


class Vit(PictureFamily):
    """ViTModel and ViTForImageClassification (Dosovitskiy et al., 2021).

    A ViTModel may have a layer on its class token, the pooler, or not; only its weights tell.
    """

    name = "vit"
    tasks = {"ViTForImageClassification": "classify-images", "ViTModel": None}
    harmless = names("attention_probs_dropout_prob encoder_stride pooler_act pooler_output_size")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        dim, labelled = given.whole("hidden_size", 768), architecture == "ViTForImageClassification"
        return Stream.Config(
            dim=dim,
            embed=patches.read_patches(given),
            trunk=patches.read_trunk(given),
            head=Pooled.Config(first=True) if labelled else patches.read_pooler(given, dim),
            outputs=given.labels() if labelled else None,
        )

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        return patches.pooled(config, patches.POOLER in names)

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        return super().completed(patches.completed(again, config), config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        labelled = isinstance(stream.head, Pooled.Config)
        return {
            "model_type": self.name,
            "architectures": ["ViTForImageClassification" if labelled else "ViTModel"],
            **patches.write_patches(stream),
            **patches.write_trunk(stream.trunk, stream.dim),
            **patches.write_head(stream),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        return patches.table(stream, ["cls_token"], prefix="vit.")
