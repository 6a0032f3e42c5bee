"""Whether the numbers in tensors can be computed with: finite, and not so small that processors are slow with them."""

from collections.abc import Mapping

import torch
from torch import Tensor

LOOKED_AT = 2**14  # numbers of a tensor, spread over it: tiny ones do no harm where they are few


def finite(tensor: Tensor) -> bool:
    """Whether all numbers are finite. A sum tells it fastest; where that overflows, each number is asked."""
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


def denormal(tensor: Tensor) -> bool:
    """Whether numbers that are not zero lie below the smallest that has all its digits."""
    if not tensor.is_floating_point() or not tensor.ndim:
        return False
    size = tensor[:: max(1, tensor.numel() // LOOKED_AT)].abs()
    return bool(((size > 0) & (size < torch.finfo(size.dtype).tiny)).any())


def broken_tensors(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of tensors with NaN or infinity."""
    return [name for name, tensor in tensors.items() if not finite(tensor)]
