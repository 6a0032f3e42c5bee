"""The softmax of scores s / T: a low temperature T gives all to the largest score, a high one the same to each.

The same softmax stands in attention and in sampling, where the scores are those of the next token. Queries, keys and
scores of tokens are drawn at random; entropy says how evenly weights, and drawn tokens, are spread.
"""

import math
from itertools import pairwise

import torch

from weft.config import Config
from weft.generate.sampling import Sampling, next_tokens
from weft.lab.experiment import Claim, Experiment, SeedOutcome


class TemperatureExperiment(Experiment):
    """The temperature of a softmax sharpens or flattens it."""

    claim = Claim(
        id="D2",
        name="temperature",
        says="The temperature of a softmax sharpens or flattens it.",
        source="lecture 2",
        compared="attention weights, and tokens drawn from the same scores, at rising temperatures",
        effect="the smallest rise of entropy from one temperature to the next, of weights and of drawn tokens, in nats",
        above=0.0,
        x="temperature",
        y="entropy (nats); largest weight",
        seconds=0.1,
        log=True,
    )

    class Settings(Config):
        """How many keys, how wide, which temperatures; how many queries are drawn from, and how often."""

        keys: int = 16
        dim: int = 64
        queries: int = 256
        temperatures: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 10.0)
        sampled: int = 16
        draws: int = 500

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Entropy and largest weight at each temperature, and the entropy of what is drawn."""
        draw = torch.Generator().manual_seed(seed)
        queries = torch.randn(how.queries, how.dim, generator=draw)
        keys = torch.randn(how.keys, how.dim, generator=draw)
        scores = queries @ keys.T / math.sqrt(how.dim)
        lines: dict[str, list[tuple[float, float]]] = {
            "entropy of attention": [], "entropy of drawn tokens": [], "largest weight": [],
        }  # fmt: skip
        for t in how.temperatures:
            weights = torch.softmax(scores / t, -1)
            found = (_entropy(weights), _entropy(_shares(scores[: how.sampled], t, how.draws, draw)))
            for line, value in zip(lines.values(), (*found, float(weights.amax(-1).mean())), strict=True):
                line.append((t, value))
        rises = [
            after[1] - before[1]
            for name in ("entropy of attention", "entropy of drawn tokens")
            for before, after in pairwise(lines[name])
        ]
        return SeedOutcome(effect=min(rises), lines=lines, facts={"entropy of equal weights": math.log(how.keys)})


def _shares(scores: torch.Tensor, temperature: float, draws: int, draw: torch.Generator) -> torch.Tensor:
    """How often each token is drawn, as weft draws text."""
    rows = scores.repeat_interleave(draws, 0)
    how = Sampling(temperature=temperature, top_p=1.0)
    drawn = next_tokens(rows, torch.empty(len(rows), 0, dtype=torch.long), how, [draw] * len(rows))
    return torch.nn.functional.one_hot(drawn.unflatten(0, (-1, draws)), scores.shape[1]).float().mean(1)


def _entropy(weights: torch.Tensor) -> float:
    """In nats, mean over rows."""
    return float(torch.special.entr(weights).sum(-1).mean())
