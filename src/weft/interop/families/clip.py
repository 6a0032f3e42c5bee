"""CLIP: pictures and texts as vectors in one space; both towers, or one of them alone."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import Summary
from weft.interop.families import clip_towers as towers
from weft.interop.family import Family, only
from weft.interop.pictures import PictureFamily, seen
from weft.interop.preprocessors import CLIP_SCALE
from weft.interop.rules import SameTensor, Shaped
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PictureEmbed
from weft.modalities.text import Text, TextEmbed
from weft.models.dual_encoder import DualEncoder
from weft.models.stream import Model, Stream

HARMLESS = names(
    "attention_dropout projection_dim logit_scale_init_value text_config vision_config tie_word_embeddings"
)
PICTURES, TEXTS = "visual_projection.weight", "text_projection.weight"


class Clip(PictureFamily):
    """CLIPModel (Radford et al., 2021)."""

    name = "clip"
    tasks = {"CLIPModel": "caption"}
    harmless = HARMLESS
    scale = CLIP_SCALE
    processor = "CLIPImageProcessor"

    def read(self, given: TheirConfig, architecture: str) -> DualEncoder.Config:
        width = given.whole("projection_dim", 512)
        picture, text = towers.read_pictures(_part(given, "vision")), towers.read_texts(_part(given, "text"))
        return DualEncoder.Config(
            picture=towers.projected(picture, width, unit=True), text=towers.projected(text, width, unit=True)
        )

    def write(self, config: Model.Config) -> dict[str, Any]:
        both = only(config, DualEncoder.Config, "the model")
        return {
            "model_type": self.name,
            "architectures": ["CLIPModel"],
            "text_config": {"model_type": ClipText.name, **towers.write_texts(both.text)},
            "vision_config": {"model_type": ClipVision.name, **towers.write_pictures(both.picture)},
            "projection_dim": both.width,
        }

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        """With the temperature to start with, which the weights know better."""
        known = only(config, DualEncoder.Config, "the model").temperature
        return super().completed(again.replace(temperature=known), config)

    def table(self, config: Model.Config) -> WeightTable:
        both = only(config, DualEncoder.Config, "the model")
        rules = [rule.under("vision_model.", "picture.") for rule in towers.picture_rules(both.picture)]
        rules += [rule.under("text_model.", "text.") for rule in towers.text_rules(both.text)]
        rules += [SameTensor(PICTURES, "picture.head.dense.linear.weight")]
        rules += [SameTensor(TEXTS, "text.head.dense.linear.weight"), Shaped("logit_scale", "log_scale", ())]
        return WeightTable(rules)

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        mask = inputs.get("attention_mask")
        text = Text(inputs["input_ids"], None if mask is None else mask.bool())
        return model(seen(model, inputs["pixel_values"]), text)


class ClipVision(PictureFamily):
    """CLIPVisionModel and CLIPVisionModelWithProjection: the tower of pictures alone."""

    name = "clip_vision_model"
    tasks = {"CLIPVisionModel": None, "CLIPVisionModelWithProjection": None}
    harmless = HARMLESS
    scale = CLIP_SCALE
    processor = "CLIPImageProcessor"

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        return _tower(towers.read_pictures(given), given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = _alone(config)
        only(stream.embed, PictureEmbed.Config, "embed")
        return {**_named(self, stream), **towers.write_pictures(stream)}

    def table(self, config: Model.Config) -> WeightTable:
        stream = _alone(config)
        return WeightTable(towers.picture_rules(stream), _projection(stream, PICTURES), prefix="vision_model.")


class ClipText(Family):
    """CLIPTextModel and CLIPTextModelWithProjection: the tower of texts alone."""

    name = "clip_text_model"
    tasks = {"CLIPTextModel": None, "CLIPTextModelWithProjection": None}
    harmless = HARMLESS

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        return _tower(towers.read_texts(given), given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = _alone(config)
        only(stream.embed, TextEmbed.Config, "embed")
        return {**_named(self, stream), **towers.write_texts(stream)}

    def table(self, config: Model.Config) -> WeightTable:
        stream = _alone(config)
        return WeightTable(towers.text_rules(stream), _projection(stream, TEXTS), prefix="text_model.")


def _part(given: TheirConfig, side: str) -> TheirConfig:
    """The keys of a tower; an older copy of them counts where it is there, as in their library."""
    found = given.inner(f"{side}_config_dict") or given.inner(f"{side}_config")
    return found or TheirConfig({}, given.where)


def _tower(stream: Stream.Config, given: TheirConfig, architecture: str) -> Stream.Config:
    if not architecture.endswith("WithProjection"):
        return stream
    return towers.projected(stream, given.whole("projection_dim", 512), unit=False)


def _alone(config: Model.Config) -> Stream.Config:
    stream = only(config, Stream.Config, "the model")
    only(stream.head, Summary.Config, "head")
    return stream


def _named(family: Family, stream: Stream.Config) -> dict[str, Any]:
    plain, with_projection = family.tasks
    mapped = only(stream.head, Summary.Config, "head").dense is not None
    return {"model_type": family.name, "architectures": [with_projection if mapped else plain]}


def _projection(stream: Stream.Config, theirs: str) -> list[SameTensor]:
    mapped = only(stream.head, Summary.Config, "head").dense is not None
    return [SameTensor(theirs, "head.dense.linear.weight")] if mapped else []
