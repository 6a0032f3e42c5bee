"""Sines and cosines are defined at every place; a learned table ends where training ended.

A model learns to name the token three places back in lines of one length, and is asked on longer lines. A table has no
vector for the new places: weft refuses such lines, which counts as nothing right.
"""

import torch

from weft.config import Config
from weft.errors import ConfigError
from weft.lab.exercise import accuracy, back, stream, taught
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.position import Learned, Sinusoidal


class LongerExperiment(Experiment):
    """Sines and cosines extend to inputs longer than those trained on; a learned table cannot."""

    claim = Claim(
        id="D11",
        name="longer",
        says="Sines and cosines extend to inputs longer than those trained on; a learned table cannot.",
        source="lecture 2",
        compared="sines and cosines beside a learned table, on lines longer than in training",
        effect="accuracy of sines minus that of the table, mean over the longer lines, above what guessing reaches",
        above=0.1,
        x="length of the line",
        y="accuracy",
        seconds=17,
        log=True,
        note="To be defined is not to be right: accuracy falls with the length, since the model never saw these sums.",
    )

    class Settings(Config):
        """Sizes of the exercise: the first length is trained on, the others are asked."""

        symbols: int = 16
        dim: int = 64
        depth: int = 2
        lengths: tuple[int, ...] = (16, 20, 24, 32)
        steps: int = 400
        lr: float = 2e-3
        batch: int = 64

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Accuracy of both codes at each length."""
        known, *longer = how.lengths
        lines = {}
        for name, code in (("sines and cosines", Sinusoidal.Config()), ("learned table", Learned.Config(size=known))):
            torch.manual_seed(seed)
            limit = code.limit() or max(how.lengths)
            model = stream(how.symbols, limit, dim=how.dim, depth=how.depth, code=code)
            for _ in taught(model, lambda n: _line(how, n, known), steps=how.steps, lr=how.lr, batch=how.batch):
                pass
            lines[name] = [(length, _asked(model, how, length)) for length in how.lengths]
        chance = 1 / how.symbols
        sines, table = ([max(right, chance) for length, right in lines[name] if length in longer] for name in lines)
        return SeedOutcome(effect=sum(sines) / len(sines) - sum(table) / len(table), lines=lines)


def _asked(model: torch.nn.Module, how: LongerExperiment.Settings, length: int) -> float:
    """Accuracy, 0 where the model refuses lines of this length."""
    try:
        return accuracy(model, *_line(how, 256, length))  # type: ignore[arg-type]
    except ConfigError:
        return 0.0


def _line(how: LongerExperiment.Settings, lines: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(how.symbols, (lines, length))
    return ids, back(ids, 3)
