"""How a trained model computes when it is used: exact, rounded, or with its weights in eight bits."""

import copy
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config
from weft.core import changes, recording
from weft.core.adapters import fold
from weft.core.attention import Attention
from weft.core.int8 import int8_linear, rounded_weight
from weft.core.linear import RowwiseLinear
from weft.core.recurrent import Recurrent
from weft.core.transforms import same_at_every_place
from weft.modalities.embedder import Embedder


class Compute(Config):
    """fp32 is exact and the default; int8 keeps the weights in eight bits, which decodes large models faster.

    int8 changes logits by about one percent. It saves time where the processor multiplies eight bits (x86), elsewhere
    perhaps memory alone; bf16 pays on GPUs and on CPUs that have it in hardware.
    """

    precision: Literal["fp32", "bf16", "int8"] = "fp32"

    about: ClassVar[Mapping[str, str]] = {
        "precision": "number format: fp32, bf16 or int8 (quantised), which always saves memory, and time on x86 "
        "processors"
    }


class Int8Linear(nn.Module):
    """A linear map with its weights in eight bits: see `core.int8`."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.weight = rounded_weight(layer.weight.detach().float())
        self.bias: Tensor | None
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float(), persistent=False)

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        return int8_linear(x, self.weight, self.bias)


_prepared: "WeakKeyDictionary[nn.Module, dict[str, nn.Module]]" = WeakKeyDictionary()


def prepared(model: nn.Module, precision: str) -> nn.Module:
    """The model in the given precision: the model itself, or a copy made once and kept as long as the model lives."""
    if precision == "fp32":
        return model
    kept = _prepared.setdefault(model, {})
    if precision not in kept:
        kept[precision] = _rounded(model) if precision == "bf16" else _eight_bits(model)
    for watcher in (recording.active(), changes.active()):
        if watcher is not None:
            watcher.follow(model, kept[precision])
    return kept[precision]


def _rounded(model: nn.Module) -> nn.Module:
    twin = fold(copy.deepcopy(model))
    # Training also rounds the convolutions of embedders, which take most of its time (`training.precision`). A model
    # that answers keeps embedders whole as they are: what they read is rounded once, where it enters the trunk.
    exact = {id(p) for m in twin.modules() if isinstance(m, Embedder) for p in m.parameters()}
    for p in twin.parameters():  # not buffers: angles and slopes of positions stay exact
        if id(p) not in exact:
            p.data = p.data.to(torch.bfloat16)
    return _row_by_row(_with_linear(twin, RowwiseLinear))


def _eight_bits(model: nn.Module) -> nn.Module:
    return _row_by_row(_with_linear(fold(copy.deepcopy(model)), Int8Linear))


def _with_linear(twin: nn.Module, kind: Callable[[nn.Linear], nn.Module]) -> nn.Module:
    """The copy with other linear maps in trunk and head."""
    for module in list(twin.modules()):
        if isinstance(module, Embedder):
            continue
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, kind(child))
    return twin


def _row_by_row(twin: nn.Module) -> nn.Module:
    """The copy, with every sum and function in an order that does not depend on the other rows of a batch.

    Rounding makes a difference in the last digit as large as a step of bf16 or of eight bits.
    """
    for module in twin.modules():
        if isinstance(module, Attention | Recurrent):
            module.rows_apart = True
        if callable(act := getattr(module, "act", None)):
            module.act = same_at_every_place(act)  # type: ignore[assignment]
    return twin.eval()
