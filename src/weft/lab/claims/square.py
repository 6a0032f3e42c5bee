"""Every token compared with every other: the cost grows with the square of the length; in a window, with the length.

Forward and backward passes of one attention over lines of rising length, timed in turn so that both meet the same
machine; the exponent is the slope of the logarithms.
"""

import math
import time

import torch

from weft.config import Config
from weft.core import Attention, Block, Mlp, Trunk, Window
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.tokens import Tokens


class SquareExperiment(Experiment):
    """Attention costs grow with the square of the length; sparse attention grows linearly."""

    claim = Claim(
        id="D5",
        name="square",
        says="Attention costs grow with the square of the length; sparse attention grows linearly.",
        source="lectures 0 and 1",
        compared="one layer of attention over whole lines, and within a window",
        effect="exponent of the cost of full attention minus that of the window, over the three longest lines",
        above=0.3,
        x="tokens",
        y="seconds, forward and backward",
        seconds=25,
        log=True,
        note="The linear maps of a layer cost the same for each token: at short lengths they hide the square.",
    )

    class Settings(Config):
        """Sizes of the layer; lengths of the lines; the radius of the window."""

        dim: int = 64
        heads: int = 4
        lengths: tuple[int, ...] = (512, 1024, 2048, 4096, 8192)
        radius: int = 128
        rounds: int = 2

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """The best of some rounds for each kind and length."""
        torch.manual_seed(seed)
        rules = {"full": (), "window": (Window(radius=how.radius),)}
        best: dict[tuple[str, int], float] = {}
        trunks = {
            name: Trunk.Config(
                depth=1, block=Block.Config(mix=Attention.Config(heads=how.heads, rules=some), transform=Mlp.Config())
            ).build(dim=how.dim)
            for name, some in rules.items()
        }
        for length in how.lengths:
            x = torch.randn(1, length, how.dim)
            for _ in range(how.rounds + 1):  # the first warms up
                for name, trunk in trunks.items():
                    began = time.perf_counter()
                    trunk(Tokens.line(x)).x.square().mean().backward()
                    taken = time.perf_counter() - began
                    best[name, length] = min(taken, best.get((name, length), taken))
        lines = {name: [(n, best[name, n]) for n in how.lengths] for name in rules}
        slopes = {name: _slope(points[-3:]) for name, points in lines.items()}
        facts = {f"exponent, {name}": slope for name, slope in slopes.items()}
        return SeedOutcome(effect=slopes["full"] - slopes["window"], lines=lines, facts=facts)


def _slope(points: list[tuple[int, float]]) -> float:
    """Of the straight line through the logarithms of the first and the last point."""
    (n, cost), (m, more) = points[0], points[-1]
    return math.log(more / cost) / math.log(m / n)
