"""Work: what is to be trained, as the plan says it, and the model with its first weights. Trains nothing."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from weft.batches.source import Source
from weft.models.outline import built
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.training.precision import Weights, name_of, pick_precision
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.version import VERSION

SINGLE_THREAD_WEIGHTS = 200_000  # weights in matrices, below which a training step is fastest on one thread


@dataclass(frozen=True)
class Work:
    """What is to be trained. `record` and `files` go into the run folder as they are."""

    model: Model.Config
    objective: Objective.Config
    source: Source
    training: Training
    budget: Budget
    record: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    start: Mapping[str, Tensor] | None = (
        None  # weights to begin with, instead of fresh ones, for all of the model or parts
    )
    frozen: tuple[str, ...] = ()  # parts of the model that learn nothing
    versions: int = 0  # of each sample, that a frozen encoder reads once, before the first step; 0: in every step
    illustrate: Callable[[Any], Mapping[str, bytes]] | None = None  # pictures drawn of the model now and then

    def config(self) -> dict[str, Any]:
        """All of it as config.json has it."""
        parts = {"model": self.model, "objective": self.objective, "training": self.training}
        plain = {name: part.to_json() for name, part in parts.items()}
        return {**self.record, **plain, "budget": vars(self.budget), "fingerprint": self.source.fingerprint}

    def identity(self) -> dict[str, str]:
        """What must be the same in all processes, in few letters."""
        parts = {"weft": VERSION, "torch": torch.__version__, "data": self.source.fingerprint}
        config = _same_numbers(self.config()).items()
        plain = {name: json.dumps(value, sort_keys=True, default=str) for name, value in config}
        names = ("model", "objective", "training", "budget")
        return parts | {name: hashlib.sha256(plain[name].encode()).hexdigest() for name in names}

    def decided(self, device: torch.device) -> "Work":
        """With the precision that `auto` means here and now, so that a resumed run computes as it began."""
        dtype = pick_precision(self.training.precision, device)
        return replace(self, training=self.training.replace(precision=name_of(dtype)))


def _same_numbers(value: Any) -> Any:
    """A config in which 2 and 2.0 are one number: what is read from config.json has the type of its field."""
    if isinstance(value, Mapping):
        return {name: _same_numbers(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_same_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def build(
    config: Model.Config, seed: int, start: Mapping[str, Tensor] | None = None, frozen: Sequence[str] = ()
) -> Model:
    """The model with its first weights: drawn from the seed, or those that are given."""
    torch.manual_seed(seed)
    model = built(config)
    if start is not None:
        weights = Weights(model, torch.float32)
        weights.load({**weights.tensors(), **start})
    return model.freeze(*frozen)
