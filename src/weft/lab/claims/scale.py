"""Scores q . k of wide vectors are large, and their softmax is nearly all on one token: it has no slope to learn from.

Two models name the token three places back. Both start alike, with maps of N(0, 1 / D), as the lecture assumes; one
divides its scores by sqrt(d), the other does not.
"""

import torch

from weft.config import Config
from weft.core import Attention, Dot, record
from weft.lab.exercise import back, stream, taught
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.modalities.text import Text


class ScaleExperiment(Experiment):
    """Without 1/sqrt(d) attention is peaked at the start, and training is slower."""

    claim = Claim(
        id="D1",
        name="scale",
        says="Without 1/sqrt(d) attention is peaked at the start, and training is slower.",
        source="lectures 1 and 2",
        compared="one head that names the token three places back, with scaled and with plain scores",
        effect="loss of the model with plain scores minus that of the scaled one, mean of the last tenth of the steps",
        above=0.0,
        x="step",
        y="loss, nats per token",
        seconds=30,
    )

    class Settings(Config):
        """Sizes of the exercise."""

        symbols: int = 16
        length: int = 32
        dim: int = 256
        steps: int = 300
        lr: float = 1e-3

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train both on the same lines."""
        lines, peak, last = {}, {}, {}
        for name, scaled in (("scaled", True), ("plain", False)):
            torch.manual_seed(seed)
            mix = Attention.Config(heads=1, score=Dot.Config(scaled=scaled))
            model = stream(how.symbols, how.length, dim=how.dim, mix=mix)
            torch.nn.init.normal_(model.trunk.blocks[0].mix.qkv.weight, std=how.dim**-0.5)
            ids = torch.randint(how.symbols, (64, how.length))
            with record(model) as looked, torch.inference_mode():
                model(Text(ids))
            peak[name] = float(looked.readings["trunk.blocks.0.mix"][0].weights().amax(-1).mean())
            line = list(taught(model, lambda n: _line(how, n), steps=how.steps, lr=how.lr))
            lines[name] = [point for point in line if point[0] % max(1, how.steps // 30) == 0]
            tail = [loss for step, loss in line if step > 0.9 * how.steps]
            last[name] = sum(tail) / len(tail)
        facts = {f"largest weight at the start, {name}": value for name, value in peak.items()}
        return SeedOutcome(effect=last["plain"] - last["scaled"], lines=lines, facts=facts)


def _line(how: ScaleExperiment.Settings, lines: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(how.symbols, (lines, how.length))
    return ids, back(ids, 3)
