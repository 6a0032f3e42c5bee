"""Distil: the student's answer to each view of a picture, against the teacher's answers to the whole."""

from collections.abc import Sequence

import torch
from torch import Tensor

from weft.batches.views import Views
from weft.modalities.image import Picture
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
        rows = len(batch)
        taught = model.taught(joined(batch.wide)).split(rows)
        answers = [*model(joined(batch.wide)).split(rows)]
        if batch.near:
            answers += model(joined(batch.near)).split(rows)
        pairs: list[Tensor] = [-(t * s).sum(-1) for i, t in enumerate(taught) for j, s in enumerate(answers) if i != j]
        return Loss(torch.stack(pairs).sum(), len(pairs) * rows)


def joined(views: Sequence[Picture]) -> Picture:
    """Views of one shape as one batch: a pass over all costs less than one over each."""
    pixels = torch.cat([view.pixels for view in views])
    missing = [torch.zeros_like(v.pixels[:, :1], dtype=torch.bool) if v.missing is None else v.missing for v in views]
    known = all(view.missing is None for view in views)
    metres = None if views[0].metres is None else torch.cat([view.metres for view in views if view.metres is not None])
    return Picture(pixels, None if known else torch.cat(missing), metres)
