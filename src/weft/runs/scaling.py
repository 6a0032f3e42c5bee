"""`weft plan`: what a training on these files takes of one device or of many. Trains nothing.

The plan is that of `weft check`; beside it stand parameters, memory of a device, bytes on the network and minutes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.amounts import count, duration
from weft.domains.registry import card_named
from weft.errors import ConfigError, DataError
from weft.files.remote import fetched
from weft.runs.checking import check
from weft.runs.start import Asked
from weft.runs.training import planned
from weft.tasks.planning import Plan
from weft.training.devices import device_memory, pick_device
from weft.training.footprint import Footprint, footprint
from weft.training.precision import name_of, pick_precision, product_rate
from weft.training.progress import Progress, read_counter
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.training.work import Work

GB = 1e9
SPEED, NETWORK = 400.0, 400.0  # of a device where many are planned for: TFLOP/s in training, and Gb/s between machines
WORDS = ("devices", "memory", "network", "speed")


@dataclass(frozen=True)
class Devices:
    """The machines that a plan is for: how many devices, and of each its bytes, operations and sent bytes a second."""

    devices: int
    memory: float
    speed: float
    network: float

    @staticmethod
    def taken(settings: dict[str, Any], dtype: torch.dtype, efficiency: float) -> "Devices":
        """Those that settings describe, which are taken out; otherwise this machine."""
        given = {name: _number(name, settings.pop(name)) for name in WORDS if name in settings}
        here = pick_device()
        speed, many = given.get("speed", SPEED) * 1e12, int(given.get("devices", 1))
        if many == 1 and "speed" not in given:
            speed = efficiency * product_rate(here, dtype)
        memory = given["memory"] * GB if "memory" in given else device_memory(here)
        return Devices(many, memory, speed, given.get("network", NETWORK) / 8 * 1e9)


@dataclass(frozen=True)
class Planned:
    """A plan for some devices: its lines for people, and its numbers."""

    lines: dict[str, str]
    numbers: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**self.numbers, "plan": self.lines}


def plan(
    data: str | Path | Sequence[str | Path],
    *,
    task: str | None = None,
    model: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    quiet: bool = True,
    **settings: Any,
) -> Planned:
    """What a training takes. `settings` are those of `weft train`, and devices, memory (GB), network (Gb/s), speed.

    `devices` compute together as `parallel` and `replicas` say (`speed` is in TFLOP/s of one). Data that `weft train`
    would refuse is refused with the same words.
    """
    sources = tuple(str(one) for one in ([data] if isinstance(data, str | Path) else data))
    own = {name: value for name, value in settings.items() if name not in WORDS}
    sources = fetched(sources, read_counter(Progress(quiet=quiet), "MB fetched"))
    found = check(sources, task=task, plan=False, quiet=quiet, **own)
    if found.refused or found.task is None or found.data is None:
        why = found.refused or {"problem": "it is not clear what to learn from this data", "where": "", "fix": ""}
        raise DataError(why["problem"], where=why["where"], fix=why["fix"] or "weft check says more; --task names one")
    asked = Asked(
        sources, found.task, model, preset, Budget(minutes=minutes, steps=steps, epochs=epochs), None, None, own
    )
    card, device = card_named(found.task), pick_device()
    dtype = pick_precision(str(own.get("precision", "auto")), device)
    machines = Devices.taken(dict(settings), dtype, card.task.recipe.efficiency)
    with asked.reading():
        made = planned(asked, card, found.data, Progress(quiet=quiet), room=math.inf)  # what does not fit is said
    return _said(made, machines, dtype)


def _said(made: Plan, machines: Devices, dtype: torch.dtype) -> Planned:
    """The plan with what it takes."""
    work, samples = _for_each(made.work, machines)
    batch = work.source.batch(np.arange(samples))
    piece = batch[: work.training.micro] if work.training.micro else batch
    found = footprint(work, piece, devices=machines.devices, dtype=dtype)
    if found.memory > machines.memory and work.training.recompute is None:
        work = replace(work, training=work.training.replace(recompute=True))
        found = footprint(work, piece, devices=machines.devices, dtype=dtype)
    pieces = len(batch) / max(1, len(piece))
    sending = found.network / machines.network
    computing = None if found.operations is None else pieces * found.operations / machines.speed
    step = None if computing is None else max(computing, sending)
    horizon = work.budget.horizon(work.source, work.training, lambda: step or 1.0).end
    numbers = {
        "task": made.work.record["task"],
        "parameters": found.parameters,
        "devices": machines.devices,
        "memory": found.memory,
        "memory_of": {name: getattr(found, name) for name in
                      ("weights", "gradients", "optimizer", "gathered", "activations", "loss")},
        "room": machines.memory,
        "fits": found.memory <= machines.memory,
        "network_bytes": found.network,
        "network_seconds": sending,
        "computing_seconds": computing,
        "steps": horizon,
        "minutes": None if step is None else horizon * step / 60,
        "parallel": work.training.parallel,
        "replicas": work.training.replicas,
        "recompute": bool(work.training.recompute),
        "loss_chunk": getattr(work.objective, "chunk", None),
        "precision": name_of(dtype),
    }  # fmt: skip
    return Planned({**made.lines, **_words(found, machines, numbers, work.training)}, numbers)


def _for_each(work: Work, machines: Devices) -> tuple[Work, int]:
    """The work, and the samples of a step that one device computes: at least one."""
    if machines.devices > work.training.batch:
        work = replace(work, training=work.training.replace(batch=machines.devices))
    return work, -(-work.training.batch // machines.devices)


def _words(found: Footprint, machines: Devices, numbers: dict[str, Any], training: Training) -> dict[str, str]:
    """The same for people."""
    shares = {"weights": found.weights, "optimizer": found.optimizer, "gradients": found.gradients,
              "gathered weights": found.gathered if machines.devices > 1 else 0.0,
              "activations": found.activations or 0.0, "loss": found.loss}  # fmt: skip
    parts = ", ".join(f"{name} {size / GB:.2f}" for name, size in shares.items() if size >= 0.005 * GB)
    fits = "fits" if numbers["fits"] else "does NOT fit"
    more = "" if found.activations is not None else "; activations depend on the data and are not counted"
    again = "; with --set recompute=true (activation checkpointing)" if numbers["recompute"] else ""
    lines = {"memory": f"{found.memory / GB:.2f} GB of {machines.memory / GB:.1f} GB a device: {fits}{again}{more}"}
    lines["of these"] = f"{parts} GB" if parts else "less than 0.01 GB"
    if not numbers["fits"]:
        apart = machines.devices > 1 and training.parallel == "replicate"
        share = "--set parallel=shard (the devices share the weights), " if apart else ""
        lines["advice"] = f"{share}a smaller --set micro=, --set recompute=true, a smaller model, or more devices"
    if machines.devices > 1:
        copies = f", {training.replicas} copies (replicas)" if training.replicas > 1 else ""
        lines["parallel"] = f"{training.parallel}{copies} on {machines.devices:,} devices"
        lines["network"] = f"{count(found.network)}B a step and device: {numbers['network_seconds']:.2g} s"
    computing, sending = numbers["computing_seconds"], numbers["network_seconds"]
    if computing is not None:
        speed = f"at {count(machines.speed)}FLOP/s a device"
        lines["step"] = f"{computing:.2g} s of computing {speed}; {numbers['steps']:,} steps take " + duration(
            60 * numbers["minutes"]
        )
        if machines.devices > 1 and sending > computing:
            shared = training.parallel == "shard"
            hsdp = "HSDP (--set replicas=: weights shared within a machine) or " if shared else ""
            lines["bound"] = f"network-bound: {hsdp}more tokens a rank (--set batch=)"
    return lines


def _number(name: str, value: Any) -> float:
    """A number above zero that a user gave."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < 1e9 or (name == "devices" and number != int(number)):
        kind = "a whole number above 0" if name == "devices" else "a number above 0"
        raise ConfigError(f"expected {kind}, found {value!r:.100}", where=f"--set {name}")
    return number
