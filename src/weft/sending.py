"""Tensors on their way to a device, so that the host need not wait. Knows torch alone.

What was sent remembers what it was on the host: `on_host` answers there what of the device would have to be waited for,
such as how many tokens are real.
"""

from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def sent(tensor: Tensor, device: torch.device | str) -> Tensor:
    """A tensor on another device; the host does not wait for what goes to a GPU."""
    if tensor.device.type == "cpu" and torch.device(device).type not in ("cpu", "mps", "meta"):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def sent_if_any(tensor: Tensor | None, device: torch.device | str) -> Tensor | None:
    """The same; None stays None."""
    return None if tensor is None else sent(tensor, device)


def with_host(made: T, host: T) -> T:
    """What was sent, which remembers what it was on the host."""
    made.__dict__["host"] = on_host(host)
    return made


def on_host(part: T) -> T:
    """A part of a batch as it was on the host, or as it is."""
    found: T = part.__dict__.get("host", part)
    return found
