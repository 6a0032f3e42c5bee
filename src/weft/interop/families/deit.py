"""DeiT: a ViT with a second class token, which learned what a teacher says of the picture."""

from collections.abc import Collection
from typing import Any

from weft.core import Head, PerClassToken, Pooled
from weft.interop.families import patches
from weft.interop.family import only
from weft.interop.pictures import PictureFamily
from weft.interop.preprocessors import IMAGENET
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.models.stream import Model, Stream


class Deit(PictureFamily):
    """DeiTForImageClassification, the same with its teacher's token, and DeiTModel (Touvron et al., 2021)."""

    name = "deit"
    scale = IMAGENET
    processor = "DeiTImageProcessor"
    tasks = {
        "DeiTForImageClassification": "classify-images",
        "DeiTForImageClassificationWithTeacher": "classify-images",
        "DeiTModel": None,
    }
    harmless = names("attention_probs_dropout_prob encoder_stride pooler_act pooler_output_size")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        dim = given.whole("hidden_size", 768)
        heads: dict[str, Head.Config] = {
            "DeiTForImageClassification": Pooled.Config(first=True),
            "DeiTForImageClassificationWithTeacher": PerClassToken.Config(tokens=2),
            "DeiTModel": patches.read_pooler(given, dim),
        }
        return Stream.Config(
            dim=dim,
            embed=patches.read_patches(given, class_tokens=2),
            trunk=patches.read_trunk(given),
            head=heads[architecture],
            outputs=None if architecture == "DeiTModel" else given.labels(),
        )

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        return patches.pooled(config, patches.POOLER in names)

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        return super().completed(patches.completed(again, config), config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        labelled = "DeiTForImageClassification" if isinstance(stream.head, Pooled.Config) else "DeiTModel"
        taught = "DeiTForImageClassificationWithTeacher"
        return {
            "model_type": self.name,
            "architectures": [taught if isinstance(stream.head, PerClassToken.Config) else labelled],
            **patches.write_patches(stream),
            **patches.write_trunk(stream.trunk, stream.dim),
            **patches.write_head(stream),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        return patches.table(stream, ["cls_token", "distillation_token"], prefix="deit.")
