"""The stream inside a model that reads pictures: its config and its weights, for tasks that go on with it."""

import torch
from torch import Tensor

from weft.models.stream import Model, Stream
from weft.training.precision import Weights


def backbone_config(model: Model.Config) -> Stream.Config:
    """The stream inside a model's config that reads pictures."""
    for name in ("encoder", "student", "source"):
        if hasattr(model, name):
            return getattr(model, name)
    assert isinstance(model, Stream.Config)
    return model


@torch.no_grad()
def backbone_weights(model: Model) -> dict[str, Tensor]:
    """The weights of the stream that reads pictures, under its own names."""
    _, prefix = model.backbone()
    tensors = Weights(model, torch.float32).tensors()
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
