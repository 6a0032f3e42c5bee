"""Distilled: a student learns to answer for a part of a picture as its teacher answers for the whole (DINO).

The teacher is the running average of the student itself (Caron et al., 2021): no labels anywhere.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core import beside
from weft.errors import ConfigError
from weft.modalities.image import Picture, joined
from weft.models.stream import Model, Stream
from weft.tokens import Tokens


class Projector(Part, nn.Module):
    """x -> MLP -> a direction of length 1 -> its cosines with `outputs` prototypes."""

    class Config(BaseConfig):
        """`hidden` is the width of the MLP, `narrow` of the direction."""

        outputs: int = 1024
        hidden: int = 256
        narrow: int = 64

        def check(self) -> None:
            at_least(self, 2, "outputs", "hidden", "narrow")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(dim, config.hidden), nn.GELU(), nn.Linear(config.hidden, config.hidden), nn.GELU(),
            nn.Linear(config.hidden, config.narrow),
        )  # fmt: skip
        self.prototypes = nn.Parameter(F.normalize(torch.randn(config.outputs, config.narrow), dim=-1))

    def forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B V"]:
        return F.normalize(self.mlp(x), dim=-1) @ F.normalize(self.prototypes, dim=-1).T


class Balanced(Part):
    """A batch's answers brought to one spread, then to equal use of all outputs: targets that never become equal.

        z = `sharp` · (logits - their mean over the batch) / their spread
        p = exp z, columns and rows divided by their sums in turn, `rounds` times (Sinkhorn and Knopp, 1967)

    As in SwAV (Caron et al., 2020) and DINOv2. The spread is what makes targets differ from the first step on: a new
    teacher gives nearly one answer to all pictures, and a centre alone leaves nothing to learn for hundreds of steps.
    """

    class Config(BaseConfig):
        """`sharp` is the spread of the logits of which targets are made."""

        sharp: float = 2.0
        rounds: int = 3

        def check(self) -> None:
            at_least(self, 0, "rounds")
            if self.sharp <= 0:
                raise ConfigError(f"must be above 0, found {self.sharp}", where="Balanced.sharp")

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, logits: Float[Tensor, "B V"]) -> Float[Tensor, "B V"]:
        """Probabilities of the outputs."""
        exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
        z = exact - beside.mean(exact)
        z = z * (self.config.sharp / beside.mean(z.square().flatten()).sqrt().clamp(min=1e-12))
        shares = z.softmax(-1)
        for _ in range(self.config.rounds):
            shares = shares / beside.summed(shares.sum(0)).clamp(min=1e-12)
            shares = shares / shares.sum(1, keepdim=True)
        return shares


class Distilled(Model):
    """student(part) learns teacher(whole), centred and sharpened: so answers do not become equal for all pictures."""

    class Config(Model.Config):
        """The teacher keeps `momentum` of itself in each step, rising to all of it at the end of the run.

        `sharp` and `soft` are the temperatures of teacher and student; the centre of the teacher's answers moves by
        `drift` of the way in each step. With `balance` the teacher's answers are balanced over the batch instead.
        """

        student: Stream.Config
        projector: Projector.Config = Projector.Config()
        momentum: float = 0.99
        sharp: float = 0.04
        soft: float = 0.1
        drift: float = 0.1
        balance: Balanced.Config | None = None

        def reader(self) -> Stream.Config:
            return self.student

        def check(self) -> None:
            if self.student.head is not None:
                raise ConfigError("a student has no head of its own", where="Distilled.student.head")
            if not 0 <= self.momentum < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.momentum}", where="momentum")

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.student = config.student.build()
        self.student_says = config.projector.build(dim=config.student.dim)
        self.teacher = copy.deepcopy(self.student)
        self.teacher_says = copy.deepcopy(self.student_says)
        self.centre: Tensor
        self.balance = config.balance.build() if config.balance else None
        if self.balance is None:
            self.register_buffer("centre", torch.zeros(config.projector.outputs))
        self.freeze("teacher", "teacher_says")

    def backbone(self) -> tuple[Stream.Config, str]:
        return self.config.student, "teacher."

    def forward(self, picture: Picture) -> Float[Tensor, "B V"]:
        """The student's log-probabilities of the prototypes."""
        return (self.student_says(summary(self.student.encode(picture))) / self.config.soft).log_softmax(-1)

    def over(
        self, compute: Callable[[Picture], Float[Tensor, "B V"]], views: Sequence[Picture]
    ) -> list[Float[Tensor, "B V"]]:
        """What a function gives for each of several views of one shape.

        Balanced answers are of all views at once; a centre moves from view to view.
        """
        if self.balance is None:
            return [compute(view) for view in views]
        return [*compute(joined(views)).split(len(views[0]))] if views else []

    @torch.no_grad()
    def taught(self, picture: Picture) -> Float[Tensor, "B V"]:
        """The teacher's probabilities of the prototypes; in training its centre is updated."""
        logits = self.teacher_says(summary(self.teacher.encode(picture)))
        if self.balance is not None:
            return self.balance(logits)
        shares = self.alone(logits).softmax(-1)
        if self.training:
            self.centre.lerp_(beside.mean(logits).to(self.centre.dtype), self.config.drift)
        return shares

    def alone(self, logits: Float[Tensor, "B V"]) -> Float[Tensor, "B V"]:
        """The teacher's logits as it answers one picture: centred and sharpened.

        Balanced answers are of a whole batch. One picture has none to balance with: its logits are sharpened as the
        student's are.
        """
        return logits / self.config.soft if self.balance is not None else (logits - self.centre) / self.config.sharp

    @torch.no_grad()
    def follow(self, weights: Mapping[str, Tensor], progress: float) -> bool:
        """The teacher moves towards the student, less and less."""
        keep = 1 - (1 - self.config.momentum) * (1 + math.cos(math.pi * progress)) / 2
        for name, value in weights.items():
            if name.startswith("teacher"):
                value.lerp_(weights[name.replace("teacher", "student", 1)], 1 - keep)
        return True


def summary(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The class token."""
    return tokens.x[:, 0]
