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
        effect="steps to a loss of 1 nat with plain scores over those with scaled ones; never reached counts as all",
        above=1.0,
        x="step",
        y="loss, nats per token",
        seconds=19,
        note="Weights of weft's own models start smaller (0.02), and plain scores with them.",
    )

    class Settings(Config):
        """Sizes of the exercise."""

        symbols: int = 16
        length: int = 32
        dim: int = 256
        steps: int = 120
        lr: float = 1e-3
        loss: float = 1.0

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train both on the same lines."""
        lines, facts, reached = {}, {}, {}
        for name, scaled in (("scaled", True), ("plain", False)):
            torch.manual_seed(seed)
            mix = Attention.Config(heads=1, score=Dot.Config(scaled=scaled))
            model = stream(how.symbols, how.length, dim=how.dim, mix=mix)
            torch.nn.init.normal_(model.trunk.blocks[0].mix.qkv.weight, std=how.dim**-0.5)
            ids = torch.randint(how.symbols, (64, how.length))
            with record(model) as looked, torch.inference_mode():
                model(Text(ids))
            weights = looked.readings["trunk.blocks.0.mix"][0].weights()
            facts[f"largest weight at the start, {name}"] = float(weights.amax(-1).mean())
            line = list(taught(model, lambda n: _line(how, n), steps=how.steps, lr=how.lr, batch=32))
            lines[name] = [point for point in line if point[0] % max(1, how.steps // 30) == 0]
            reached[name] = next((step for step, loss in line if loss < how.loss), how.steps)
            facts[f"steps to {how.loss:g} nats, {name}"] = reached[name]
        return SeedOutcome(effect=reached["plain"] / reached["scaled"], lines=lines, facts=facts)


def _line(how: ScaleExperiment.Settings, lines: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(how.symbols, (lines, how.length))
    return ids, back(ids, 3)
