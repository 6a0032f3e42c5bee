"""Ports: what goes into a model and out of it as plain tensors, and inputs to try it on. Knows no modality."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from weft.core import FirstAndMean, PerClassToken, Pooled, Summary
from weft.models.stream import Model, Stream

TRACED_SIZE = (3, 7)  # rows and length of the inputs that a graph is made with
TRIED_SIZES = ((1, 1), (2, 4), (4, 12), (1, 140))  # the last is longer than two of the blocks that windows are cut into

Inputs = dict[str, Tensor]


@dataclasses.dataclass(frozen=True)
class Port:
    """A tensor that goes in or out: the type of its numbers, the name or size of each axis, and what it means."""

    type: str
    shape: tuple[str | int, ...]
    meaning: str


class Signature(nn.Module):
    """`forward` takes the tensors of `inputs` in their order and gives `output`; `note` is what else users must know."""

    inputs: dict[str, Port]
    output: dict[str, Port]  # one, by its name
    axes: dict[str, int]  # free axes, each a multiple of a number
    note: dict[str, Any]
    vocab: int | None = None  # ids that may go in, where ids go in

    def __init__(self, model: Model):
        super().__init__()
        self.model = model

    def sample(self) -> Inputs:
        """What a graph is traced with."""
        raise NotImplementedError

    def trials(self) -> list[Inputs]:
        """Inputs for which graph and model must give the same values."""
        raise NotImplementedError

    def counted(self, inputs: Inputs) -> Tensor | None:
        """True where a value stands for a real token; None where all values count."""
        return None


def written(ports: Mapping[str, Port]) -> dict[str, Any]:
    """Tensors as JSON says them."""
    return {name: {**dataclasses.asdict(port), "shape": list(port.shape)} for name, port in ports.items()}


def values_of(model: nn.Module, raw: Any) -> Tensor:
    """What a model gives for an input: its head's values, or without a head a vector for each token."""
    assert isinstance(model, Stream)
    return model(raw) if model.head is not None else model.encode(raw).x


def output_of(model: Stream, each: tuple[str, ...]) -> dict[str, Port]:
    """The tensor that a model gives, by its name; `each` are the axes of its tokens."""
    size = model.config.outputs or model.config.embed.size
    if isinstance(model.head, Pooled | PerClassToken | FirstAndMean):
        assert size is not None
        meaning = "scores of the whole input, before a softmax" if size > 1 else "one number for the whole input"
        return {"logits": Port("float32", ("batch", size), meaning)}
    if isinstance(model.head, Summary):
        width = model.config.dim if model.head.dense is None else model.head.dense.width
        return {"vector": Port("float32", ("batch", width), "one vector for the whole input")}
    if model.head is None:
        return {"last_hidden_state": Port("float32", ("batch", *each, model.config.dim), "a vector for each token")}
    assert size is not None
    return {"logits": Port("float32", ("batch", *each, size), "scores for each token, before a softmax")}


def drawn_ids(rows: int, length: int, vocab: int) -> Tensor:
    """Ids to try a model on."""
    return torch.randint(vocab, (rows, length), generator=torch.Generator().manual_seed(length))


def drawn_mask(rows: int, length: int) -> Tensor:
    """The first row is whole, the second padded behind, the third in front, the fourth nothing but padding."""
    mask, part = torch.ones(rows, length, dtype=torch.long), length // 3
    mask[1:2, length - part :] = 0
    mask[2:3, :part] = 0
    mask[3:] = 0
    return mask
