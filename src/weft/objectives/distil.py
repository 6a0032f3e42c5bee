"""Distil: the student's answer to each view of a picture, against the teacher's answers to the whole."""

import torch
from jaxtyping import Float
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
        found = self.pairs(model, batch)
        return Loss(found.sum(), found.numel())

    def pairs(self, model: Distilled, batch: Views) -> Float[Tensor, "P B"]:
        """The loss of each of P pairs of views, for each picture."""
        taught = model.over(model.taught, batch.wide)
        answers = [*model.over(model, batch.wide), *model.over(model, batch.near)]
        return torch.stack([-(t * s).sum(-1) for i, t in enumerate(taught) for j, s in enumerate(answers) if i != j])
