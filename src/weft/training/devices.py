"""Devices: where to compute. Knows which there are and what they are called, and no model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import torch
from torch import nn

from weft.errors import ConfigError, nearest
from weft.machine import memory

Device = Literal["auto", "cpu", "cuda", "mps"]  # what a user can say


def accelerators() -> list[torch.device]:
    """The kinds of GPU that this machine has, the one to use first."""
    found = [("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available())]
    return [torch.device(kind) for kind, there in found if there]


def pick_device(wanted: str = "auto", where: str = "device") -> torch.device:
    """The device of a name; `auto` is a GPU where there is one, else the CPU. One that is absent is refused."""
    there = accelerators()
    if wanted == "auto":
        return there[0] if there else torch.device("cpu")
    if wanted == "cpu":
        return torch.device("cpu")
    for device in there:
        if device.type == wanted:
            return device
    if wanted not in get_args(Device):
        expected = ", ".join(get_args(Device))
        raise ConfigError(
            f"expected one of {expected}, found {wanted!r:.100}", where=where, fix=nearest(wanted, get_args(Device))
        )
    has = ", ".join(["cpu", *(device.type for device in there)])
    problem = f"torch finds no {wanted} device on this machine, which has: {has}"
    raise ConfigError(problem, where=where, fix="leave it out, or see docs/gpus.md: the wheel of torch decides")


def device_name(device: torch.device) -> str:
    """What a device is called: the kind, and of NVIDIA's and AMD's the model too."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type


def device_memory(device: torch.device) -> float:
    """Bytes that a device has for a training: a GPU's own, and of a CPU those that this process may use."""
    if device.type == "cuda":
        return float(torch.cuda.get_device_properties(device).total_memory)
    if device.type == "mps":
        return float(torch.mps.recommended_max_memory())
    return memory()


@contextmanager
def on_cpu(model: nn.Module) -> Iterator[None]:
    """While this block runs, a model is on the CPU: files for other tools are written from there."""
    place = next(model.parameters()).device
    model.cpu()
    try:
        yield
    finally:
        model.to(place)
