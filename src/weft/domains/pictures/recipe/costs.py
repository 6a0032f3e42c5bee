"""What it costs to learn from a picture, counted on a model whose weights are on no device at all."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from weft.domains.pictures.settings import HidingTraining, PictureTraining, ViewsTraining
from weft.modalities.image import Picture, PictureEmbed
from weft.models.backbone import embed_of
from weft.models.stream import Stream
from weft.models.zoo.vision import autoencoder


def operations(config: Stream.Config, *, training: bool = True, part: float = 1.0) -> float:
    """Floating-point operations to train on one picture of the size that the model is made for, or to name one.

    Backwards is twice forwards; tokens that training leaves out cost nothing there. `part` is a share of the sides.
    """
    with torch.device("meta"):
        model = config.build().train(training)
    return (3 if training else 1) * forward_operations(model.encode, embed_of(config), part=part)


def forward_operations(forward: Callable[[Picture], Any], embed: PictureEmbed.Config, *, part: float = 1.0) -> float:
    """Floating-point operations of a pass over one picture, by a model whose weights are on no device at all."""
    shape = (2, embed.channels, *(max(1, round(part * side)) * embed.stride for side in embed.grid))
    with torch.device("meta"), FlopCounterMode(display=False) as counted, torch.no_grad():
        forward(Picture(torch.empty(shape)))
    return counted.get_total_flops() / shape[0]


def labelled_cost(backbone: Stream.Config, training: PictureTraining) -> float:
    """Of a picture with its label."""
    return operations(backbone)


def hiding_cost(encoder: Stream.Config, training: HidingTraining) -> float:
    """Of a picture of which a share is hidden and filled in: the encoder reads what is shown alone."""
    shown = max(1, round((1 - training.hide) * math.prod(embed_of(encoder).grid)))
    with torch.device("meta"):
        model, places = autoencoder(encoder).build(), torch.empty(2, shown, dtype=torch.long)
    return 3 * forward_operations(lambda picture: model(picture, places), embed_of(encoder))


def views_cost(student: Stream.Config, training: ViewsTraining) -> float:
    """Of two wide views and some near ones; the teacher only goes forwards, which is a third."""
    wide, near = operations(student), operations(student, part=0.5)
    return 2 * wide + 2 * wide / 3 + training.near * near
