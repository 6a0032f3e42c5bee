"""Sums: what a loss and its further terms add up to, over pieces, batches and processes. Knows no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.objectives.objective import OWN, Loss, Objective
from weft.training.world import World


@dataclass
class TermSum:
    """A further term, added up."""

    weight: float
    total: float = 0.0
    count: float = 0

    @property
    def mean(self) -> float:
        """The term without its weight."""
        return self.total / max(self.count, 1)


@dataclass
class Sums:
    """The sum of losses, the number of things predicted, and the further terms by name.

    Losses stay where they were computed until one is asked for: the host waits for a device once, however many pieces
    there were.
    """

    total: float = 0.0
    count: float = 0
    terms: dict[str, TermSum] = field(default_factory=dict)
    unread: "list[tuple[Sums | TermSum, Tensor]]" = field(default_factory=list)

    def add(self, loss: Loss) -> None:
        """Add the loss of one piece or batch."""
        self.unread.append((self, loss.total.detach()))
        self.count += loss.count
        for term in loss.terms:
            known = self.terms.setdefault(term.name, TermSum(term.weight))
            self.unread.append((known, term.total.detach()))
            known.count += term.count

    def read(self) -> "Sums":
        """The same with all losses read."""
        for (known, _), number in zip(self.unread, numbers_of([t for _, t in self.unread]), strict=True):
            known.total += number
        self.unread = []
        return self

    def over(self, world: World, *more: float) -> "tuple[Sums, list[float]]":
        """The same, added up over all processes, with further numbers that are sent together with it."""
        self.read()
        numbers = [self.total, self.count, *(n for term in self.terms.values() for n in (term.total, term.count))]
        found = world.add(*more, *numbers)
        total, count, *rest = found[len(more) :]
        pairs = zip(self.terms.items(), rest[::2], rest[1::2], strict=True)
        terms = {name: TermSum(term.weight, t, c) for (name, term), t, c in pairs}
        return Sums(total, count, terms), found[: len(more)]

    @property
    def loss(self) -> float:
        """What is minimised: the mean loss, plus each term's mean by its weight."""
        self.read()
        return self.total / max(self.count, 1) + sum(term.weight * term.mean for term in self.terms.values())

    @property
    def means(self) -> dict[str, float]:
        """The mean of each further term, by name."""
        self.read()
        return {name: term.mean for name, term in self.terms.items()}


def numbers_of(each: Sequence[Tensor]) -> list[float]:
    """The numbers of several tensors that hold one each, read at once."""
    return torch.stack([t.to(each[0].dtype) for t in each]).tolist() if each else []


def counted(objective: Objective, batch: Any, world: World) -> Mapping[str, float]:
    """The counts of a loss and its further terms, over the batches of all processes; empty without further terms."""
    counts = objective.counts(batch)
    return dict(zip(counts, world.add(*counts.values()), strict=True)) if counts else {}


def to_differentiate(loss: Loss, counts: Mapping[str, float]) -> Tensor:
    """The sum whose gradient, divided by the count of the loss, is that of the loss and its terms.

    `counts` are those of the whole step.
    """
    whole = loss.total
    for term in loss.terms:
        if OWN not in counts or term.name not in counts:
            problem = f"the loss has a term {term.name!r} that its counts do not name"
            raise ConfigError(problem, where="objective", fix="let counts(batch) of the objective give it")
        whole = whole + term.total * (term.weight * counts[OWN] / max(counts[term.name], 1))
    return whole
