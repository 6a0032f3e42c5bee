"""Settings of a training run that people may change with `--set name=value`. Numbers and their limits, nothing else."""

from typing import Literal

from weft.config import Config
from weft.errors import ConfigError


class Training(Config):
    """How a model is trained. What is none is chosen by the plan and written into the run.

    `lr` is the peak rate of AdamW (embeddings, heads, vectors); with optimizer=muon the hidden matrices are updated
    by Muon at `matrix_lr` times that. The rate warms up for `warmup` steps and then falls in a line to zero.
    `compile=auto` compiles the blocks in runs long enough to pay for it.
    """

    lr: float = 6e-3
    matrix_lr: float = 3.3
    optimizer: Literal["muon", "adamw"] = "muon"
    weight_decay: float = 0.1
    clip: float = 1.0
    warmup: int = 30
    batch: int = 16
    micro: int | None = None
    seed: int = 0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    compile: Literal["auto", "never", "always"] = "auto"
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    patience: int | None = None
    record_samples: bool = False
    tensorboard: bool = False

    def check(self) -> None:
        for name in ("lr", "matrix_lr"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"must be above 0, found {getattr(self, name)}", where=name)
        for name in ("weight_decay", "clip", "warmup"):
            if getattr(self, name) < 0:
                raise ConfigError(f"must not be negative, found {getattr(self, name)}", where=name)
        for name in ("batch", "micro", "evaluate_every", "checkpoint_every", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"must be at least 1, found {value}", where=name)
