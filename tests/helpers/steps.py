"""Sessions whose steps are compared: in native code and by the modules."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor

from helpers.tiny import VOCAB
from weft.generate import Session
from weft.models.stream import Stream


def by_modules(model: Stream, **more: Any) -> Session:
    """A session that never steps in native code."""
    session = Session(model, **more)
    session.program = None
    return session


def logits(session: Session, prompts: list[list[int]]) -> list[Tensor]:
    """The logits of steps past a context of 12, with rows that are taken in another order on the way."""
    generator, found = torch.Generator().manual_seed(0), [session.start(prompts)]
    for step in range(11):
        if step == 4:
            session.take(torch.tensor([2, 0, 0, 1]))
        found.append(session.step(torch.randint(0, VOCAB, (len(session.rows),), generator=generator)))
    return found


def alike(a: list[Tensor], b: list[Tensor]) -> bool:
    """Whether all logits are the same up to the rounding of sums."""
    return all(torch.allclose(x, y, rtol=2e-5, atol=2e-5 * float(y.abs().max())) for x, y in zip(a, b, strict=True))


def few_quick(names: Iterable[str], quick: Collection[str]) -> list[object]:
    """The names as parameters of a test: all but a few are slow."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def instruction_sets(widest: int) -> list[object]:
    """The instruction sets of a processor as parameters of a test: all but the one that is used are slow."""
    return [pytest.param(one, marks=pytest.mark.slow if one < widest else ()) for one in range(widest + 1)]
