"""ResNet: convolutions alone. In our words a stream whose embedder does all the work, without blocks."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import Pooled, Trunk
from weft.errors import ConfigError
from weft.interop.family import only
from weft.interop.labels import write_labels
from weft.interop.pictures import PictureFamily, as_grid, only_pictures, with_embed
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.convnet import Basic, Bottleneck, ConvEmbed, Residual, ResNet
from weft.modalities.image import PictureEmbed
from weft.modalities.preparation import Preparation
from weft.models.stream import Model, Stream

USUAL_SIZE = (224, 224)  # of pictures, where no preprocessor_config.json says it
NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")


class Resnet(PictureFamily):
    """ResNetForImageClassification and ResNetModel (He et al., 2016)."""

    name = "resnet"
    scale = IMAGENET
    processor = "ConvNextImageProcessor"
    tasks = {"ResNetForImageClassification": "classify-images", "ResNetModel": None}
    harmless = names("out_features out_indices stage_names")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        given.only("hidden_act", "relu")
        block = _block(given)
        sizes, widen = given.wholes("hidden_sizes", (256, 512, 1024, 2048)), block.outside(1)
        if any(size % widen for size in sizes):
            problem = f"hidden_sizes are {list(sizes)}; the blocks need multiples of {widen}"
            raise ConfigError(problem, where=given.where)
        net = ResNet.Config(
            depths=given.wholes("depths", (3, 4, 6, 3)),
            widths=tuple(size // widen for size in sizes),
            block=block,
            first=given.whole("embedding_size", 64),
            halved=given.truth("downsample_in_first_stage", False),
        )
        labelled = architecture == "ResNetForImageClassification"
        return Stream.Config(
            dim=net.outside,
            embed=ConvEmbed.Config(
                grid=(1, 1), net=net, project=False, filled=False, channels=given.whole("num_channels", 3)
            ),
            trunk=Trunk.Config(depth=0, norm=None),
            head=Pooled.Config() if labelled else None,
            outputs=given.labels() if labelled else None,
        )

    def sized(self, embed: PictureEmbed.Config, preparation: Preparation | None) -> PictureEmbed.Config:
        height, width = (preparation and preparation.final) or USUAL_SIZE
        return embed.replace(grid=(-(-height // embed.stride), -(-width // embed.stride)))

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        """Pictures are prepared there to whole strides, which are not filled up here either."""
        filled = only(only_pictures(config), ConvEmbed.Config, "embed").filled
        again = with_embed(again, only_pictures(again).replace(filled=filled))
        return super().completed(again, config)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        net = only(only(stream.embed, ConvEmbed.Config, "embed").net, ResNet.Config, "embed.net")
        if net.stem == "small":
            problem = "its stem is made for small pictures, and theirs halves pictures twice before the first block"
            raise ConfigError(f"{problem}; --preset small, base and large have theirs")
        bottleneck = net.block if isinstance(net.block, Bottleneck.Config) else None
        return {
            "model_type": self.name,
            "architectures": ["ResNetModel" if stream.head is None else "ResNetForImageClassification"],
            "num_channels": only(stream.embed, ConvEmbed.Config, "embed").channels,
            "embedding_size": net.first or net.widths[0],
            "hidden_sizes": [net.block.outside(width) for width in net.widths],
            "depths": list(net.depths),
            "layer_type": "basic" if bottleneck is None else "bottleneck",
            "hidden_act": "relu",
            "downsample_in_first_stage": net.halved,
            "downsample_in_bottleneck": bottleneck is not None and bottleneck.early,
            **({} if stream.head is None else write_labels(stream.outputs or 0)),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        net = only(only(stream.embed, ConvEmbed.Config, "embed").net, ResNet.Config, "embed.net")
        body = _convolution("embedder.embedder", "embed.net.stem.0")
        inside = net.first or net.widths[0]
        for i, (depth, width) in enumerate(zip(net.depths, net.widths, strict=True)):
            for j in range(depth):
                halves = j == 0 and (i > 0 or net.halved)
                changes = halves or inside != net.block.outside(width)
                body += _block_rules(f"encoder.stages.{i}.layers.{j}", f"embed.net.stages.{i}.{j}", net.block, changes)
                inside = net.block.outside(width)
        if stream.head is None:
            return WeightTable(body)
        head = [SameTensor(f"classifier.1.{end}", f"head.out.{end}") for end in ("weight", "bias")]
        return WeightTable(body, head, prefix="resnet.")

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        return as_grid(super().values(model, inputs), model, inputs)


def _block(given: TheirConfig) -> Residual.Config:
    early = given.truth("downsample_in_bottleneck", False)
    kinds: dict[str, Residual.Config] = {"basic": Basic.Config(), "bottleneck": Bottleneck.Config(early=early)}
    return given.choice("layer_type", kinds, "bottleneck")


def _convolution(theirs: str, ours: str) -> list[WeightRule]:
    return [
        SameTensor(f"{theirs}.convolution.weight", f"{ours}.0.weight"),
        *(SameTensor(f"{theirs}.normalization.{end}", f"{ours}.1.{end}") for end in NORM),
    ]


def _block_rules(theirs: str, ours: str, block: Residual.Config, changes: bool) -> list[WeightRule]:
    count = 3 if isinstance(block, Bottleneck.Config) else 2
    rules = [rule for k in range(count) for rule in _convolution(f"{theirs}.layer.{k}", f"{ours}.branch.{2 * k}")]
    return [*rules, *(_convolution(f"{theirs}.shortcut", f"{ours}.skip") if changes else [])]
