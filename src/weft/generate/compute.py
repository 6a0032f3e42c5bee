"""How a trained model computes when it is used: exact, rounded, or with its weights in eight bits."""

import copy
from collections.abc import Mapping
from typing import ClassVar, Literal
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config
from weft.core.adapters import fold
from weft.modalities.embedder import Embedder

INT8_KERNEL_WIDTH = 32  # weights that torch's kernel reads at a time, also beyond the end of a shorter row
MAX_INT8_ROWS = 16  # with at most this many rows a product is bound by reading the weights, and eight bits pay


class Compute(Config):
    """fp32 is exact and the default; int8 keeps the weights in eight bits, which decodes large models faster.

    int8 changes logits by about one percent; bf16 pays on GPUs and on CPUs that have it in hardware.
    """

    precision: Literal["fp32", "bf16", "int8"] = "fp32"

    about: ClassVar[Mapping[str, str]] = {"precision": "fp32, bf16 or int8"}


class Int8Linear(nn.Module):
    """y = (W8 x) * scale + b: weights rounded to eight bits with a scale for each output."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.weight: Tensor
        self.scale: Tensor
        weight = layer.weight.detach().float()
        scale = weight.abs().amax(1).clamp(min=1e-12) / 127
        self.missing = -weight.shape[1] % INT8_KERNEL_WIDTH
        small = F.pad((weight / scale[:, None]).round().to(torch.int8), (0, self.missing))
        self.register_buffer("weight", small, persistent=False)
        self.register_buffer("scale", scale, persistent=False)
        self.register_buffer("scale16", scale.to(torch.bfloat16), persistent=False)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float(), persistent=False)

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        rows = x.reshape(-1, x.shape[-1])
        rows = F.pad(rows, (0, self.missing)) if self.missing else rows
        if len(rows) <= MAX_INT8_ROWS:
            y = torch.ops.aten._weight_int8pack_mm(rows.to(torch.bfloat16), self.weight, self.scale16).to(x.dtype)
        else:
            y = F.linear(rows, self.weight.to(x.dtype) * self.scale[:, None].to(x.dtype))
        y = y if self.bias is None else y + self.bias.to(x.dtype)
        return y.reshape(*x.shape[:-1], y.shape[-1])


_prepared: "WeakKeyDictionary[nn.Module, dict[str, nn.Module]]" = WeakKeyDictionary()


def prepared(model: nn.Module, precision: str) -> nn.Module:
    """The model in the given precision: the model itself, or a copy made once and kept as long as the model lives."""
    if precision == "fp32":
        return model
    kept = _prepared.setdefault(model, {})
    if precision not in kept:
        kept[precision] = _rounded(model) if precision == "bf16" else _eight_bits(model)
    return kept[precision]


def _rounded(model: nn.Module) -> nn.Module:
    twin = fold(copy.deepcopy(model))
    exact = {id(p) for m in twin.modules() if isinstance(m, Embedder) for p in m.parameters()}
    for p in twin.parameters():  # not buffers: angles and slopes of positions stay exact
        if id(p) not in exact:
            p.data = p.data.to(torch.bfloat16)
    return twin.eval()


def _eight_bits(model: nn.Module) -> nn.Module:
    twin = fold(copy.deepcopy(model))
    for module in list(twin.modules()):
        if isinstance(module, Embedder):
            continue
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))
    return twin.eval()
