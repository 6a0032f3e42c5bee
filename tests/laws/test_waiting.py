"""How often the host waits for a GPU in a training step, counted on a device that stands in for one."""

from pathlib import Path
from typing import Any

import pytest
from helpers.standin import standing_in
from helpers.trials import EVERY, train

from weft.training.loop import Fit

MOST = {"language-model": 2, "classify-images": 3}  # the loss, the norm of its gradients, and pictures that are sent


@pytest.mark.parametrize("name", MOST)
def test_the_host_waits_for_little_more_than_the_loss_and_the_norm(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: list[dict[Any, int]] = []
    step = Fit.step
    with standing_in() as device:

        def counted(fit: Fit) -> Any:
            with device.counted() as count:
                line = step(fit)
            found.append(dict(count.waits))
            return line

        monkeypatch.setattr(Fit, "step", counted)
        train(name, EVERY[name].data, out=tmp_path / "run", **EVERY[name].drawn)
    assert len(found) > 1 and sum(found[-1].values()) <= MOST[name], found[-1]
