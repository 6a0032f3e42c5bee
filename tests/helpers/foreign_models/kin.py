"""The kin of Llama and of Gemma as the other library makes them, with random weights, by the name of a case."""

from typing import Any

import torch

from helpers.foreign import library, randomised
from helpers.foreign_models import gemma_kin, llama_kin

CASES = {**llama_kin.CASES, **gemma_kin.CASES}
FIRST = [name for name in CASES if "," not in name]


def made(architecture: str, keys: dict[str, Any]) -> Any:
    """Their model of an architecture, by the keys of its config."""
    kind = getattr(library(), architecture)
    torch.manual_seed(1)
    return randomised(kind(kind.config_class(**keys)))


def theirs(name: str, **others: Any) -> Any:
    """Their model of a case, some keys of whose config may be others."""
    architecture, keys = CASES[name]
    return made(architecture, {**keys, **others})


def ids(*shape: int) -> torch.Tensor:
    """The same ids every time, none of them 0."""
    return torch.randint(1, 61, shape, generator=torch.Generator().manual_seed(3))
