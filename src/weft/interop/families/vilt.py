"""ViLT: a question and a picture in one stream, and an answer that is one of many labels (Kim et al., 2021)."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import Dense, LayerNorm, Pooled
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import only
from weft.interop.labels import write_labels
from weft.interop.pictures import PictureFamily, seen
from weft.interop.rules import Ignored, SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureText, PictureTextEmbed
from weft.modalities.preparation import Preparation
from weft.modalities.text import Text, TextEmbed
from weft.models.stream import Model, Stream
from weft.position import Add, Learned

HEAD_EPS = 1e-5  # of the norm in the classifier, which no key names


class Vilt(PictureFamily):
    """ViltForQuestionAnswering."""

    name = "vilt"
    processor = "ViltImageProcessor"
    tasks = {"ViltForQuestionAnswering": "answer"}
    harmless = names("attention_probs_dropout_prob num_images tie_word_embeddings")

    def labelled(self, architecture: str) -> bool:
        return True

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        given.only("modality_type_vocab_size", 2)
        given.only("max_image_length", -1)  # others draw patches at random
        dim = given.whole("hidden_size", 768)
        picture = patches.read_patches(given, size=384, patch=32)
        if picture.grid[0] != picture.grid[1]:
            raise ConfigError("image_size is not square; ViLT has places for squares only", where=given.where)
        hidden = Dense.Config(width=2 * dim, norm=LayerNorm.Config(eps=HEAD_EPS), normed="before")
        return Stream.Config(
            dim=dim,
            embed=PictureTextEmbed.Config(
                picture=picture.replace(stretched="middles"), text=_read_text(given), first="text"
            ),
            trunk=patches.read_trunk(given),
            head=Pooled.Config(first=True, dense=Dense.Config(activation="tanh"), hidden=hidden),
            outputs=given.labels(),
        )

    def sized(self, embed: PictureEmbed.Config, preparation: Preparation | None) -> PictureEmbed.Config:
        """Pictures of all sizes are read, but no parts of patches."""
        known = None if preparation is None else preparation.final
        sides = known if preparation is None or preparation.multiple is None else (preparation.multiple,)
        if preparation is not None and (sides is None or any(side % embed.stride for side in sides)):
            raise ConfigError(f"pictures get sizes that are no multiples of patch_size {embed.stride}")
        return embed

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        text = only(only(stream.embed, PictureTextEmbed.Config, "embed").text, TextEmbed.Config, "embed.text")
        code = only(only(text.place, Add.Config, "embed.text.place").code, Learned.Config, "embed.text.place.code")
        return {
            "model_type": self.name,
            "architectures": ["ViltForQuestionAnswering"],
            **patches.write_patches(stream),
            **patches.write_trunk(stream.trunk, stream.dim),
            "vocab_size": text.vocab,
            "max_position_embeddings": code.size,
            "type_vocab_size": text.segments,
            "initializer_range": text.std,
            "modality_type_vocab_size": 2,
            "max_image_length": -1,
            **write_labels(stream.outputs or 0),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        words, ours = "embeddings.text_embeddings.", "embed.text."
        body: list[WeightRule] = [
            SameTensor(f"{words}word_embeddings.weight", f"{ours}table.weight"),
            SameTensor(f"{words}position_embeddings.weight", f"{ours}place.code.table.weight"),
            SameTensor(f"{words}token_type_embeddings.weight", f"{ours}segments.weight"),
            *layer_norm(f"{words}LayerNorm", f"{ours}last_norm"),
            Ignored(f"{words}position_ids"),
            Ignored(f"{words}token_type_ids"),
            SameTensor("embeddings.token_type_embeddings.weight", "embed.kinds"),
            *patches.patch_rules(stream, "cls_token"),
            *patches.block_rules(stream.trunk),
            *layer_norm("layernorm", "trunk.norm"),
            *linear("pooler.dense", "head.dense.linear"),
        ]
        head = [
            *linear("classifier.0", "head.hidden.linear"),
            *layer_norm("classifier.1", "head.hidden.norm"),
            *linear("classifier.3", "head.out"),
        ]
        return WeightTable(body, head, prefix="vilt.")

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        mask = inputs.get("attention_mask")
        text = Text(inputs["input_ids"], None if mask is None else mask.bool(), segments=inputs.get("token_type_ids"))
        return model(PictureText(seen(model, inputs["pixel_values"]), text))


def _read_text(given: TheirConfig) -> TextEmbed.Config:
    places, std = given.whole("max_position_embeddings", 40), given.number("initializer_range", 0.02)
    return TextEmbed.Config(
        vocab=given.whole("vocab_size", 30522),
        context=places,
        reading="free",
        place=Add.Config(code=Learned.Config(size=places, std=std)),
        segments=given.whole("type_vocab_size", 2),
        last_norm=LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-12)),
        std=std,
        dropout=given.number("hidden_dropout_prob", 0.0),
    )
