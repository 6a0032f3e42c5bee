"""A recurrent network carries what it read through every later step; attention reads it where it stands.

The first symbol of a line is asked for at its end. Recurrence needs the symbol to survive the whole line, attention
reads it in one step at every length. For the same reason training parallelises: the longest chain of operations that
wait for each other, from the loss back to the first token, is counted in torch's graph of the training step.
"""

from functools import partial

import torch

from weft.config import Config
from weft.core import Attention, Lstm, Rnn
from weft.lab.exercise import NOTHING, accuracy, loss_of, stream, taught
from weft.lab.experiment import Claim, Experiment, SeedOutcome


class DistanceExperiment(Experiment):
    """Information that lies far apart is harder for an RNN, whose training does not parallelise over time."""

    claim = Claim(
        id="D6",
        name="distance",
        says="Information far apart is harder for an RNN; training a transformer parallelises over time, an RNN not.",
        source="lectures 0, 1 and 2",
        compared="an RNN, an LSTM and a transformer of two layers after the same steps, by the length of the line",
        effect="accuracy of the transformer minus that of the better recurrent network, on the longest lines; 0 unless "
        "the chain of operations grows with the length in both recurrent networks, and not in the transformer",
        above=0.2,
        x="length of the line",
        y="accuracy (chance 0.125)",
        seconds=17,
        log=True,
        note="Chains say what several cores could share: on one core a fused LSTM is about as fast as a transformer.",
    )

    class Settings(Config):
        """Sizes of the models; lengths of the lines."""

        symbols: int = 8
        dim: int = 64
        depth: int = 2
        lengths: tuple[int, ...] = (4, 8, 16)
        steps: int = 200
        lr: float = 2e-3

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Accuracy of each model for each length."""
        mixers = {"RNN": Rnn.Config(), "LSTM": Lstm.Config(), "transformer": Attention.Config(heads=4)}
        lines: dict[str, list[tuple[float, float]]] = {name: [] for name in mixers}
        waits: dict[str, list[int]] = {name: [] for name in mixers}
        for length in how.lengths:
            for name, mix in mixers.items():
                torch.manual_seed(seed)
                model = stream(how.symbols, length, dim=how.dim, depth=how.depth, mix=mix, reading="line")
                for _ in taught(model, partial(_line, how, length), steps=how.steps, lr=how.lr, batch=32):
                    pass
                lines[name].append((length, accuracy(model, *_line(how, length, 512))))
                model.double()  # in which torch computes an LSTM by its steps, not as one operation
                waits[name].append(_chain(loss_of(model, *_line(how, length, 2))))
        last = {name: points[-1][1] for name, points in lines.items()}
        parallel = {name: chains[-1] <= chains[0] for name, chains in waits.items()}
        lead = last["transformer"] - max(last["RNN"], last["LSTM"])
        facts = {
            f"operations in a chain, {name}, {length} tokens": float(chains[n])
            for name, chains in waits.items()
            for n, length in ((0, how.lengths[0]), (-1, how.lengths[-1]))
        }
        agrees = parallel == {"RNN": False, "LSTM": False, "transformer": True}
        return SeedOutcome(effect=lead if agrees else 0.0, lines=lines, facts=facts)


def _chain(loss: torch.Tensor) -> int:
    """The longest chain of operations of which each waits for the one before, in torch's graph."""
    assert loss.grad_fn is not None
    level, steps = {loss.grad_fn}, 0
    while level:
        level = {before for one in level for before, _ in one.next_functions if before is not None}
        steps += 1
    return steps


def _line(how: DistanceExperiment.Settings, length: int, lines: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lines, whose last token has the first as its target."""
    ids = torch.randint(how.symbols, (lines, length))
    targets = torch.full_like(ids, NOTHING)
    targets[:, -1] = ids[:, 0]
    return ids, targets
