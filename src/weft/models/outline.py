"""Models without content: to know names and shapes before memory is taken, or to be filled from a file."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from weft.errors import ConfigError
from weft.models.stream import Model


def outline(config: Model.Config) -> Model:
    """The model that a config describes, names and shapes alone: it takes no memory, whatever its size."""
    with _Outlined():
        return built(config)


def unfilled(config: Model.Config) -> Model:
    """The model with memory for its weights, whose values are not set yet."""
    with _Unfilled():
        return built(config)


def built(config: Model.Config) -> Model:
    """The model that a config describes; numbers that no part can be made with are refused."""
    try:
        model: Model = config.build()
    except (RuntimeError, ArithmeticError, TypeError, ValueError, IndexError, MemoryError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(f"a model of these sizes cannot be built: {why}") from None
    for name, weight in model.named_parameters():
        if 0 in weight.shape:
            problem = f"{name} would be {' x '.join(map(str, weight.shape))} numbers, which are none"
            raise ConfigError(problem, where="model", fix="every width and number of parts must be at least 1")
    return model


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model file: every weight once, by its first name, and its buffers."""
    shared = dict(model.named_parameters(remove_duplicate=False))
    first = dict(model.named_parameters())
    return {name: t for name, t in model.state_dict().items() if name in first or name not in shared}


LONGEST_ROW = 2**24
_WEIGHTS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)
_DRAWING = ("normal_", "uniform_", "kaiming_uniform_", "kaiming_normal_")


class _Unfilled(TorchFunctionMode):
    """Weights without content need no first values; to draw them would load all of torch's compiler."""

    def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if call is Tensor.normal_:  # trunc_normal_ calls it, and would draw for ever from numbers that stay outside
            return args[0].zero_()
        if getattr(call, "__name__", "") in _DRAWING:
            return given["tensor"] if "tensor" in given else args[0]
        return call(*args, **given)


class _Outlined(_Unfilled):
    """Weights without memory. Rows of position numbers have content: torch computes meta tensors only by compiling."""

    def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        if call in _WEIGHTS and given.get("device") is None:
            given["device"] = "meta"
        elif call is torch.arange and max(args) > LONGEST_ROW:
            raise ConfigError(f"a row of {max(args):,} numbers is too long")
        return super().__torch_function__(call, types, args, given)
