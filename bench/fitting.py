"""One step of weft's own training loop as a call to be timed."""

from typing import Any

import torch
from torch import nn

from weft.batches.source import Source
from weft.objectives import Objective
from weft.training.loop import Fit, Job, State
from weft.training.progress import Progress
from weft.training.schedule import Horizon
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.world import World


def fit_step(model: nn.Module, objective: Objective, source: Source, training: Training) -> Any:
    """`Fit.step` of a run that never ends and writes nothing."""
    job = Job(
        model=model,
        objective=objective,
        source=source,
        training=training,
        device=torch.device("cpu"),
        seconds=None,
        note=lambda line: None,
        save=lambda *arguments: None,
        show=lambda model: None,
        progress=Progress(quiet=True),
        stop=StopRequest(),
        world=World(),
    )
    return Fit(job, State(horizon=Horizon(end=10**9))).step
