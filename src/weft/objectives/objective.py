"""Objective: a model and a raw batch become a loss: a sum and a count, divided once by whoever adds them up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.errors import ConfigError

OWN = "loss"  # the name of a loss itself, beside the names of its further terms
NOTED = (OWN, "step", "norm", "lr", "count", "seconds", "samples", "held_out", "diverged")  # in the same lines as terms


@dataclass(frozen=True)
class Term:
    """A further term of a loss: `weight` times the mean of `count` numbers, whose sum is `total`."""

    name: str
    total: Float[Tensor, ""]
    count: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.name in NOTED:
            problem = (
                f"a term of a loss cannot be named {self.name!r}: each line of metrics.jsonl has that name already"
            )
            raise ConfigError(problem, where="objective", fix="give the term another name")


@dataclass(frozen=True)
class Loss:
    """The sum of the losses of `count` things predicted. An empty batch is a sum of zero over zero things.

    `wrong` is the number of wrong answers. It is None in training, and where answers are not simply right or wrong.
    What is minimised is total / count plus all `terms`, each divided by its count.
    """

    total: Float[Tensor, ""]
    count: int
    wrong: int | None = None
    terms: tuple[Term, ...] = ()

    def times(self, share: int) -> "Loss":
        """The loss where it counts `share` times."""
        if share == 1:
            return self
        terms = tuple(replace(one, total=one.total * share, count=one.count * share) for one in self.terms)
        return replace(self, total=self.total * share, count=self.count * share, terms=terms)


def added(losses: Sequence[Loss]) -> Loss:
    """Several losses as one, with the same terms."""
    wrong = [loss.wrong for loss in losses if loss.wrong is not None]
    total = torch.stack([loss.total for loss in losses]).sum()
    terms = tuple(_added(same) for same in zip(*(loss.terms for loss in losses), strict=True))
    return Loss(total, sum(loss.count for loss in losses), sum(wrong) if len(wrong) == len(losses) else None, terms)


def _added(terms: Sequence[Term]) -> Term:
    """Terms of one name as one."""
    total, count = torch.stack([term.total for term in terms]).sum(), sum(term.count for term in terms)
    return replace(terms[0], total=total, count=count)


def misses(logits: Float[Tensor, "B C"], targets: Int[Tensor, "B"]) -> int:
    """The number of samples whose likeliest class is not the true one."""
    return int((logits.detach().argmax(-1) != targets).sum())


class Objective(Part):
    """Hides or shifts targets, runs the model, compares."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of objective."""

    unit = "things"  # what is counted: tokens, pixels ...
    comparable = True  # whether a lower held-out loss means better weights; not where the target itself moves

    def __call__(self, model: Any, batch: Any) -> Loss:
        raise NotImplementedError

    def counts(self, batch: Any) -> Mapping[str, int]:
        """The count of the loss (as `OWN`) and of each further term, for a whole batch; empty without further terms.

        The batch is counted before the model runs: a step may be computed in pieces and in several processes, and each
        piece's gradient is made of terms that are divided by different counts.
        """
        return {}

    def calibrate(self, model: Any, held_out: Iterable[Any]) -> None:
        """Correct a trained model's confidence on held-out data; most objectives do nothing here."""
