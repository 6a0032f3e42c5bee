"""A model that learned with tokens hidden takes a missing value for what it is: another hidden token.

Lines repeat a pattern of some period. Two models name the period: one has learned from complete lines, one from lines
with a random share hidden. Both then read lines with gaps, marked by the same token.
"""

import torch
from torch.nn import functional as F

from weft.config import Config
from weft.core import Attention, Block, Mlp, Pooled, Trunk
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.modalities.text import Text, TextEmbed
from weft.models import Stream
from weft.position import Add, Sinusoidal


class MissingExperiment(Experiment):
    """Masked models handle missing values."""

    claim = Claim(
        id="D14",
        name="missing",
        says="Masked models handle missing values.",
        source="lecture 0",
        compared="a model trained on complete lines and one trained with hidden tokens, on lines with gaps",
        effect="accuracy of the second minus that of the first where half of the values are missing",
        above=0.0,
        x="share of values missing",
        y="accuracy",
        seconds=15,
        seeds=5,
        first=100,
        note="Five seeds were chosen after seeds 0 to 2 had been seen: these are other seeds, from 100 on.",
    )

    class Settings(Config):
        """Sizes of the exercise."""

        symbols: int = 8
        length: int = 24
        periods: tuple[int, ...] = (3, 4, 5, 7)
        dim: int = 64
        steps: int = 400
        lr: float = 2e-3
        shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Accuracy of both by the share that is missing."""
        lines = {}
        for name, hides in (("trained on complete lines", False), ("trained with hidden tokens", True)):
            torch.manual_seed(seed)
            embed = TextEmbed.Config(
                vocab=how.symbols + 1,
                context=how.length,
                place=Add.Config(code=Sinusoidal.Config()),
                reading="free",
                std=1.0,
            )
            block = Block.Config(mix=Attention.Config(heads=4), transform=Mlp.Config())
            model = Stream.Config(
                dim=how.dim, embed=embed, trunk=Trunk.Config(depth=2, block=block), head=Pooled.Config(),
                outputs=len(how.periods),
            ).build()  # fmt: skip
            optimizer = torch.optim.AdamW(model.parameters(), lr=how.lr)
            for _ in range(how.steps):
                ids, periods = _lines(how, 32, torch.rand(32, 1) * 0.8 if hides else torch.zeros(32, 1))
                loss = F.cross_entropy(model(Text(ids)), periods)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            lines[name] = [(share, _accuracy(model, how, share)) for share in how.shares]
        complete, hidden = (dict(points) for points in lines.values())
        half = min(how.shares, key=lambda share: abs(share - 0.5))
        return SeedOutcome(effect=hidden[half] - complete[half], lines=lines)


@torch.inference_mode()
def _accuracy(model: Stream, how: MissingExperiment.Settings, share: float) -> float:
    ids, periods = _lines(how, 512, torch.full((512, 1), share))
    return float((model.eval()(Text(ids)).argmax(-1) == periods).float().mean())


def _lines(how: MissingExperiment.Settings, lines: int, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Lines that repeat a random pattern, with a share of the tokens replaced by the token for "missing"."""
    which = torch.randint(len(how.periods), (lines,))
    period = torch.tensor(how.periods)[which][:, None]
    pattern = torch.randint(how.symbols, (lines, max(how.periods)))
    ids = pattern.gather(1, torch.arange(how.length)[None] % period)
    return torch.where(torch.rand(lines, how.length) < share, how.symbols, ids), which
