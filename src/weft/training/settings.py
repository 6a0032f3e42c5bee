"""Settings of a training run that people may change with `--set name=value`. Numbers and their limits, nothing else."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.config import Config
from weft.errors import ConfigError

HOW = ("parallel", "replicas")  # how processes compute a run together: another way goes on with the same run


class Training(Config):
    """How a model is trained. A setting of None is chosen by the plan and written into the run.

    `lr` is the peak rate of AdamW (embeddings, heads, vectors); with optimizer=muon the hidden matrices are updated
    by Muon at `matrix_lr` times `lr`. Parts that another run has `learned` have `learned_lr` times the rate. The rate
    warms up for `warmup` steps and then falls as `schedule` says. `compile=auto` compiles the blocks of long runs.
    """

    lr: float = 6e-3
    matrix_lr: float = 3.3
    head_lr: float | None = None
    learned_lr: float | None = None
    learned: tuple[str, ...] = ()
    optimizer: Literal["muon", "adamw"] = "muon"
    weight_decay: float = 0.1
    table_decay: float = 0.0
    clip: float = 1.0
    warmup: int = 30
    schedule: Literal["linear", "inverse-sqrt"] = "linear"
    average: int = 0
    batch: int = 16
    micro: int | None = None
    seed: int = 0
    as_one: bool = True
    recompute: bool | None = None
    loss_chunk: int | None = None
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    compile: Literal["auto", "never", "always"] = "auto"
    parallel: Literal["replicate", "shard"] = "replicate"
    replicas: int = 1
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    patience: int | None = None
    most_epochs: float | None = None
    record_samples: bool = False
    tensorboard: bool = False

    about: ClassVar[Mapping[str, str]] = {
        "lr": "peak learning rate; lower it if training diverges",
        "matrix_lr": "learning rate of the matrices inside the model under muon, as a multiple of lr",
        "head_lr": "learning rate of the output layer (head), as a multiple of lr; by default 0.5 under muon and 1 "
        "under adamw",
        "learned_lr": "fine-tuning: learning rate of pretrained parts, as a multiple of that of the new parts",
        "learned": "fine-tuning: names of the pretrained parts, where other parts are new; found by the plan",
        "optimizer": "optimizer: muon or adamw",
        "weight_decay": "weight decay of the matrices inside the model",
        "table_decay": "weight decay of embedding tables; helps against overfitting on rare words",
        "clip": "gradient clipping: gradients with a larger norm are scaled down to it; 0 turns it off",
        "warmup": "warm-up: steps in which the learning rate rises to its peak",
        "schedule": "learning rate after the warm-up: linear (falls to zero at the end) or inverse-sqrt (falls as 1 / "
        "the square root of the step)",
        "average": "weight averaging: the number of snapshots from the last tenth of the run that are averaged; 0 "
        "turns it off",
        "batch": "batch size: samples in a training step",
        "micro": "micro-batch (gradient accumulation): samples computed at once, where a whole batch needs too much "
        "memory",
        "recompute": "activation checkpointing (gradient checkpointing): blocks are computed again on the way back, to "
        "the same bits; takes a third more time and much less memory; by default where memory would not suffice",
        "loss_chunk": "tokens whose logits are computed at once, where a large vocabulary needs too much memory; the "
        "loss is the same; by default where there are many",
        "seed": "random seed; the same seed gives the same run",
        "as_one": "the same run in any number of processes: dropout is drawn by sample, what looks at a whole batch "
        "looks at those of all processes; off in runs that were begun before this setting",
        "precision": "number format (mixed precision): fp32, bf16, fp16 (for GPUs without fast bf16) or auto, which "
        "takes the fastest on this machine",
        "compile": "torch.compile: always, never or auto, which compiles runs of half an hour and more where native "
        "code does not compute their steps",
        "parallel": "several processes (torchrun): replicate, where each holds all weights, or shard, where they share "
        "them (FSDP); one process holds all",
        "replicas": "groups of processes that each share a copy of the weights, under parallel=shard (HSDP)",
        "evaluate_every": "steps between evaluations on held-out data (validation); by default ten evaluations in a "
        "run, which take at most a tenth of the time of --minutes",
        "checkpoint_every": "steps between checkpoints; by default one checkpoint each minute",
        "patience": "early stopping: evaluations without a better held-out loss after which training ends; the "
        "learning rate then falls to zero over a quarter more steps",
        "most_epochs": "under --minutes: passes over the data after which training ends at the latest; more would be "
        "learned by heart",
        "record_samples": "write into metrics.jsonl which samples each step used",
        "tensorboard": "write files for TensorBoard too",
    }

    def check(self) -> None:
        for name in ("lr", "matrix_lr", "head_lr", "learned_lr"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"must be above 0, found {value}", where=name)
        for name in ("weight_decay", "table_decay", "clip", "warmup", "average"):
            if getattr(self, name) < 0:
                raise ConfigError(f"must not be negative, found {getattr(self, name)}", where=name)
        for name in ("batch", "micro", "loss_chunk", "replicas", "evaluate_every", "checkpoint_every", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"must be at least 1, found {value}", where=name)
        if self.most_epochs is not None and not self.most_epochs > 0:
            raise ConfigError(f"must be above 0, found {self.most_epochs}", where="most_epochs")
        if self.replicas > 1 and self.parallel != "shard":
            problem = "replicas of shared weights are asked for, and weights are not shared"
            raise ConfigError(problem, where="replicas", fix="add --set parallel=shard")
        for name, most in (("batch", 2**20), ("seed", 2**63 - 1)):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"expected from 0 to {most}, found {getattr(self, name)}", where=name)
