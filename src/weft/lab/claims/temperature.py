"""The softmax of scores s / T: a low temperature T gives all to the largest score, a high one the same to each.

A query and some keys are drawn at random; entropy says how evenly the weights are spread.
"""

import math
from itertools import pairwise

import torch

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome


class TemperatureExperiment(Experiment):
    """The temperature of a softmax sharpens or flattens it."""

    claim = Claim(
        id="D2",
        name="temperature",
        says="The temperature of a softmax sharpens or flattens it.",
        source="lecture 2",
        compared="the weights of one query over the same keys, at rising temperatures",
        effect="the smallest rise of entropy from one temperature to the next, mean over queries, in nats",
        above=0.0,
        x="temperature",
        y="entropy (nats); largest weight",
        seconds=0.1,
        log=True,
    )

    class Settings(Config):
        """How many keys, how wide, and which temperatures."""

        keys: int = 16
        dim: int = 64
        queries: int = 256
        temperatures: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 10.0)

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Entropy and largest weight at each temperature."""
        draw = torch.Generator().manual_seed(seed)
        queries = torch.randn(how.queries, how.dim, generator=draw)
        keys = torch.randn(how.keys, how.dim, generator=draw)
        scores = queries @ keys.T / math.sqrt(how.dim)
        entropy, largest = [], []
        for t in how.temperatures:
            weights = torch.softmax(scores / t, -1)
            entropy.append((t, float(torch.special.entr(weights).sum(-1).mean())))
            largest.append((t, float(weights.amax(-1).mean())))
        rises = [after[1] - before[1] for before, after in pairwise(entropy)]
        return SeedOutcome(
            effect=min(rises),
            lines={"entropy": entropy, "largest weight": largest},
            facts={"entropy of equal weights": math.log(how.keys)},
        )
