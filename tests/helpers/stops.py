"""Runs that are stopped at a given step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from weft.training.loop import Fit


@contextmanager
def stopped_in(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run is asked to stop while it makes a step."""
    whole = Fit.step

    def asking(fit: Fit) -> dict[str, Any]:
        if fit.state.step == step:
            fit.job.stop.asked = "SIGTERM"
        return whole(fit)

    with monkeypatch.context() as patch:
        patch.setattr(Fit, "step", asking)
        yield
