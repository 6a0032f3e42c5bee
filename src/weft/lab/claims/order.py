"""Self-attention compares all tokens with all others: without positions it cannot know which stands where.

Tokens are permuted, and outputs are compared with the permuted outputs of the tokens as they were.
"""

import torch

from weft.config import Config
from weft.core import Attention
from weft.lab.exercise import stream
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.modalities.text import Text
from weft.position import Sinusoidal


class OrderExperiment(Experiment):
    """Self-attention without positions is permutation-equivariant; with positions it is not."""

    claim = Claim(
        id="D3",
        name="order",
        says="Self-attention without positions is permutation-equivariant; with positions it is not.",
        source="lectures 2 and 4",
        compared="two layers with and without sines and cosines added, on permuted tokens",
        effect="largest change of an output with positions over that without, as a power of ten",
        above=3.0,
        x="line",
        y="largest change of an output, power of ten",
        seconds=0.1,
        note="Without positions what is left is rounding.",
    )

    class Settings(Config):
        """Sizes of the model, and how many lines are permuted."""

        symbols: int = 50
        length: int = 24
        dim: int = 64
        depth: int = 2
        lines: int = 8

    @torch.inference_mode()
    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """The largest change for each line."""
        changes = {}
        for name, code in (("without positions", None), ("with positions", Sinusoidal.Config())):
            torch.manual_seed(seed)
            model = stream(
                how.symbols, how.length, dim=how.dim, depth=how.depth, mix=Attention.Config(heads=4), code=code
            ).eval()
            torch.manual_seed(seed)
            ids, mixed = torch.randint(how.symbols, (how.lines, how.length)), torch.randperm(how.length)
            change = (model(Text(ids))[:, mixed] - model(Text(ids[:, mixed]))).abs().amax((1, 2))
            changes[name] = change.clamp_min(1e-12).log10()
        lines = {name: [(n + 1, float(value)) for n, value in enumerate(each)] for name, each in changes.items()}
        effect = float(changes["with positions"].max() - changes["without positions"].max())
        return SeedOutcome(effect=effect, lines=lines)
