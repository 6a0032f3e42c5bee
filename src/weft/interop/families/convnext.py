"""ConvNeXt: a convolutional network with a transformer's blocks; the mean of its features is normed, then judged."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import Head, LayerNorm, Mlp, Pooled, Summary, Trunk
from weft.errors import ConfigError
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.labels import write_labels
from weft.interop.pictures import PictureFamily, as_grid
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.convnet import ConvEmbed
from weft.modalities.convnext import ConvNext
from weft.modalities.image import PictureEmbed
from weft.modalities.preparation import Preparation
from weft.models.stream import Model, Stream

LABELLED = "ConvNextForImageClassification"


class Convnext(PictureFamily):
    """ConvNextForImageClassification and ConvNextModel (Liu et al., 2022)."""

    name = "convnext"
    scale = IMAGENET
    processor = "ConvNextImageProcessor"
    tasks = {LABELLED: "classify-images", "ConvNextModel": None}
    harmless = names("out_features out_indices stage_names drop_path_rate")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        net = _net(given)
        height, width = given.sides("image_size", 224)
        norm = LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-12))
        labelled = architecture == LABELLED
        head: Head.Config = Pooled.Config(norm=norm) if labelled else Summary.Config(norm=norm)
        grid = tuple(-(-side // net.stride) for side in (height, width))
        return Stream.Config(
            dim=net.outside,
            embed=ConvEmbed.Config(grid=grid, net=net, project=False, channels=given.whole("num_channels", 3)),
            trunk=Trunk.Config(depth=0, norm=None),
            head=head,
            outputs=given.labels() if labelled else None,
        )

    def sized(self, embed: PictureEmbed.Config, preparation: Preparation | None) -> PictureEmbed.Config:
        final = preparation and preparation.final
        if not final:
            return embed
        if any(side % embed.stride for side in final):
            problem = f"pictures of {final[1]} x {final[0]} pixels; weft reads whole features of {embed.stride} pixels"
            raise ConfigError(problem, fix=f"prepare them in a size that is a multiple of {embed.stride}")
        return embed.replace(grid=tuple(side // embed.stride for side in final))

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream, embed, net = _parts(config)
        head = stream.head if isinstance(stream.head, Pooled.Config) else only(stream.head, Summary.Config, "head")
        height, width = (side * net.stride for side in embed.grid)
        return {
            "model_type": self.name,
            "architectures": [LABELLED if isinstance(head, Pooled.Config) else "ConvNextModel"],
            "num_channels": embed.channels,
            "patch_size": net.patch,
            "num_stages": len(net.depths),
            "hidden_sizes": list(net.widths),
            "depths": list(net.depths),
            "hidden_act": THEIR_ACTIVATION[only(net.transform, Mlp.Config, "embed.net.transform").activation],
            "layer_norm_eps": only(head.norm, LayerNorm.Config, "head.norm").eps,
            "layer_scale_init_value": net.layer_scale or 0.0,
            "drop_path_rate": 0.0,
            "image_size": height if height == width else [height, width],
            **(write_labels(stream.outputs or 0) if isinstance(head, Pooled.Config) else {}),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream, _, net = _parts(config)
        body = [*linear("embeddings.patch_embeddings", "embed.net.stem")]
        body += layer_norm("embeddings.layernorm", "embed.net.stem_norm")
        for i, depth in enumerate(net.depths):
            theirs, ours = f"encoder.stages.{i}", f"embed.net.stages.{i}"
            if i:
                body += layer_norm(f"{theirs}.downsampling_layer.0", f"{ours}.0.norm")
                body += linear(f"{theirs}.downsampling_layer.1", f"{ours}.0.filters")
            for j in range(depth):
                body += _block(f"{theirs}.layers.{j}", f"{ours}.{j + (i > 0)}", gain=net.layer_scale is not None)
        body += layer_norm("layernorm", "head.norm")
        labelled = isinstance(stream.head, Pooled.Config)
        return WeightTable(body, linear("classifier", "head.out"), "convnext.") if labelled else WeightTable(body)

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        return as_grid(super().values(model, inputs), model, inputs)


def _net(given: TheirConfig) -> ConvNext.Config:
    patch, other = given.sides("patch_size", 4)
    if patch != other:
        raise ConfigError(f"patch_size is {[patch, other]}; weft cuts squares only", where=given.where)
    depths = given.wholes("depths", (3, 3, 9, 3))
    given.only("num_stages", len(depths), default=len(depths))
    return ConvNext.Config(
        depths=depths,
        widths=given.wholes("hidden_sizes", (96, 192, 384, 768)),
        patch=patch,
        transform=Mlp.Config(activation=given.choice("hidden_act", ACTIVATIONS, "gelu")),  # type: ignore[arg-type]
        layer_scale=given.number("layer_scale_init_value", 1e-6) or None,
    )


def _parts(config: Model.Config) -> tuple[Stream.Config, ConvEmbed.Config, ConvNext.Config]:
    """The stream, its embedder and the network in it."""
    stream = only(config, Stream.Config, "the model")
    embed = only(stream.embed, ConvEmbed.Config, "embed")
    return stream, embed, only(embed.net, ConvNext.Config, "embed.net")


def _block(theirs: str, ours: str, *, gain: bool) -> list[WeightRule]:
    return [
        *linear(f"{theirs}.dwconv", f"{ours}.mix"),
        *layer_norm(f"{theirs}.layernorm", f"{ours}.norm"),
        *linear(f"{theirs}.pwconv1", f"{ours}.transform.up"),
        *linear(f"{theirs}.pwconv2", f"{ours}.transform.down"),
        *([SameTensor(f"{theirs}.layer_scale_parameter", f"{ours}.gain")] if gain else []),
    ]
