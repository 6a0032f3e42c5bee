"""A recurrent network carries what it read through every later step; attention reads it where it stands.

The first symbol of a line is asked for at its end. Recurrence needs the symbol to survive the whole line, attention
reads it in one step at every length.
"""

from functools import partial

import torch

from weft.config import Config
from weft.core import Attention, Lstm, Rnn
from weft.lab.exercise import NOTHING, accuracy, stream, taught
from weft.lab.experiment import Claim, Experiment, SeedOutcome


class DistanceExperiment(Experiment):
    """Information that lies far apart is harder for an RNN; a transformer reads it directly."""

    claim = Claim(
        id="D6",
        name="distance",
        says="Information that lies far apart is harder for an RNN; a transformer reads it directly.",
        source="lectures 0, 1 and 2",
        compared="an RNN, an LSTM and a transformer of two layers after the same steps, by the length of the line",
        effect="accuracy of the transformer minus that of the better recurrent network, on the longest lines",
        above=0.2,
        x="length of the line",
        y="accuracy (chance 0.125)",
        seconds=80,
        log=True,
        note="A recurrent network takes its steps one after the other, a transformer reads a line at once. On one core "
        "a fused LSTM is about as fast all the same; with more cores, or a GPU, the transformer is faster.",
    )

    class Settings(Config):
        """Sizes of the models; lengths of the lines."""

        symbols: int = 8
        dim: int = 64
        depth: int = 2
        lengths: tuple[int, ...] = (4, 8, 16, 32)
        steps: int = 250
        lr: float = 2e-3

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Accuracy of each model for each length."""
        mixers = {"RNN": Rnn.Config(), "LSTM": Lstm.Config(), "transformer": Attention.Config(heads=4)}
        lines: dict[str, list[tuple[float, float]]] = {name: [] for name in mixers}
        for length in how.lengths:
            for name, mix in mixers.items():
                torch.manual_seed(seed)
                model = stream(how.symbols, length, dim=how.dim, depth=how.depth, mix=mix, reading="line")
                for _ in taught(model, partial(_line, how, length), steps=how.steps, lr=how.lr, batch=32):
                    pass
                lines[name].append((length, accuracy(model, *_line(how, length, 512))))
        last = {name: points[-1][1] for name, points in lines.items()}
        return SeedOutcome(effect=last["transformer"] - max(last["RNN"], last["LSTM"]), lines=lines)


def _line(how: DistanceExperiment.Settings, length: int, lines: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lines, whose last token has the first as its target."""
    ids = torch.randint(how.symbols, (lines, length))
    targets = torch.full_like(ids, NOTHING)
    targets[:, -1] = ids[:, 0]
    return ids, targets
