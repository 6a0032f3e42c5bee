"""Distil: the student's answer to each view of a picture, against the teacher's answers to the whole."""

import torch
from torch import Tensor

from weft.batches.views import Views
from weft.models.distilled import Distilled
from weft.objectives.objective import Loss, Objective


class Distil(Objective):
    """-sum teacher(view a) . log student(view b), over all wide views a and all views b other than a."""

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "views"
    comparable = False

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Distilled, batch: Views) -> Loss:
        taught = model.over(model.taught, batch.wide)
        answers = [*model.over(model, batch.wide), *model.over(model, batch.near)]
        pairs: list[Tensor] = [-(t * s).sum(-1) for i, t in enumerate(taught) for j, s in enumerate(answers) if i != j]
        return Loss(torch.stack(pairs).sum(), len(pairs) * len(batch))
