"""How often the host waits for a GPU in a training step, counted on a device that stands in for one."""

from pathlib import Path
from typing import Any

import pytest
from helpers.standin import standing_in
from helpers.steps import few_quick
from helpers.trials import EVERY, train

from weft.training.loop import Fit

LEAST = 2  # the loss, and the norm of its gradients
MORE = {"embed-words": 4, "caption, coca": 3}  # whether rows are in order, in two tables; whether a scale was limited
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in EVERY},
    "translate, lstm-attention": ("translate", {"model": "lstm-attention"}),
    "caption, coca": ("caption", {"model": "coca"}),
}


@pytest.mark.parametrize("tried", few_quick(MODELS, ("language-model", "classify-images", "translate")))
def test_the_host_waits_for_little_more_than_the_loss_and_the_norm(
    tried: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: list[dict[Any, int]] = []
    step, (name, more) = Fit.step, MODELS[tried]
    with standing_in() as device:

        def counted(fit: Fit) -> Any:
            with device.counted() as count:
                line = step(fit)
            found.append(dict(count.waits))
            return line

        monkeypatch.setattr(Fit, "step", counted)
        train(name, EVERY[name].data, out=tmp_path / "run", **EVERY[name].drawn, **more)
    assert len(found) > 1 and sum(found[-1].values()) <= MORE.get(tried, LEAST), found[-1]
