"""Ports: what goes into a model and out of it as plain tensors, and inputs to try it on. Knows no modality."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from weft.core import FirstAndMean, PerClassToken, Pooled, Summary
from weft.models.stream import Model, Stream
from weft.tokens import Tokens

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
    """`forward` takes the tensors of `inputs` in their order and gives those of `outputs`: one tensor, or a tuple.

    `note` is what else users must know.
    """

    inputs: dict[str, Port]
    outputs: dict[str, Port]
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

    def counted(self, port: Port, inputs: Inputs) -> Tensor | None:
        """True where a value of this output stands for a real token; None where all values count."""
        return None

    def values(self, inputs: Inputs) -> dict[str, Tensor]:
        """The outputs by name."""
        given = self(**inputs)
        return dict(zip(self.outputs, given if isinstance(given, tuple) else (given,), strict=True))


def written(ports: Mapping[str, Port]) -> dict[str, Any]:
    """Tensors as JSON says them."""
    return {name: {**dataclasses.asdict(port), "shape": list(port.shape)} for name, port in ports.items()}


VectorOf = Callable[[Tokens], Tensor]


def is_encoder(model: Stream) -> bool:
    """Whether a model gives vectors rather than answers: it has no head, or one that sums its tokens up."""
    return isinstance(model.head, Summary | None)


def values_of(model: nn.Module, raw: Any, vector: VectorOf | None = None) -> Tensor | tuple[Tensor, ...]:
    """What a model gives for an input: its head's values; of an encoder what `outputs_of` names, by `vector`."""
    assert isinstance(model, Stream)
    if vector is None or not is_encoder(model):
        return model(raw) if model.head is not None else model.encode(raw).x
    tokens = model.encode(raw)
    found = (tokens.x, vector(tokens))
    return found if model.head is None else (*found, model.head(tokens))


def outputs_of(model: Stream, each: tuple[str | int, ...], vector: str = "") -> dict[str, Port]:
    """A model's outputs, by name; `each` are the axes of its tokens, `vector` says how an encoder's is made."""
    size, dim = model.config.outputs or model.config.embed.size, model.config.dim
    if is_encoder(model):
        found = {"last_hidden_state": Port("float32", ("batch", *each, dim), "a vector for each token")}
        if vector:
            found["vector"] = Port("float32", ("batch", dim), f"the vector of weft embed: {vector}")
        if isinstance(model.head, Summary):
            width = dim if model.head.dense is None else model.head.dense.width
            found["pooler_output"] = Port("float32", ("batch", width), "one vector by the model's own last layer")
        return found
    assert size is not None
    if isinstance(model.head, Pooled | PerClassToken | FirstAndMean):
        meaning = "scores of the whole input, before a softmax" if size > 1 else "one number for the whole input"
        return {"logits": Port("float32", ("batch", size), meaning)}
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
