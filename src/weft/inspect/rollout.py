"""Attention rollout: how much of each input token ended in each output token of a trunk.

Knows weights only, not what the tokens are.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from weft.errors import ConfigError, DataError


def rollout(layers: Sequence[Float[Tensor, "B H N N"]], *, skip: float = 0.5) -> Float[Tensor, "B N N"]:
    """R = A(L) … A(2) A(1), A = skip I + (1 - skip) mean over heads, rows adding up to 1 (Abnar and Zuidema, 2020).

    Row i says how much of each input token ended in output token i; `skip` is the share that the residual line carries
    past the attention. A token that reads nothing, such as padding, keeps what it has.
    """
    if not layers:
        raise DataError("there is no layer whose attention could be followed", where="rollout")
    if not 0 <= skip <= 1:
        raise ConfigError(f"expected a share from 0 to 1, found {skip}", where="skip")
    shapes = {tuple(layer.shape) for layer in layers}
    if len({(shape[0], *shape[2:]) for shape in shapes}) > 1:
        raise DataError(
            f"the layers have attention of different shapes: {', '.join(map(str, sorted(shapes)))}", where="rollout"
        )
    first = layers[0]
    exact = torch.promote_types(first.dtype, torch.float32)  # products of many layers need fp32 at least
    own = torch.eye(first.shape[-1], device=first.device, dtype=exact)
    followed = own.expand(first.shape[0], -1, -1)
    for weights in layers:
        mixed = skip * own + (1 - skip) * weights.mean(1, dtype=exact)
        total = mixed.sum(-1, keepdim=True)
        followed = torch.where(total > 0, mixed / total.clamp_min(1e-30), own) @ followed
    return followed
