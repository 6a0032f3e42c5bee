"""Layer norm takes its mean and spread from one token; batch norm takes them from a batch, and in use from a record.

So the answer for a sample with layer norm depends on the sample alone. With batch norm it depends on who stands beside
it in training, and is another one in use.
"""

import copy
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.modalities.image import Picture
from weft.runs import train


class NormsExperiment(Experiment):
    """Layer norm treats each example alone; batch norm depends on the others in its batch, and differs in use."""

    claim = Claim(
        id="D10",
        name="norms",
        says="Layer norm treats each example alone; batch norm depends on the others in its batch, and differs in use.",
        source="lecture 3",
        compared="the answers of a ViT (layer norm) and of a ResNet (batch norm) in training mode and in use",
        effect="largest change of a logit with batch norm over that with layer norm, as a power of ten",
        above=2.0,
        x="pictures in a batch",
        y="largest change of a logit, power of ten",
        seconds=6,
        log=True,
    )

    class Settings(Config):
        """Steps of training before the question, and sizes of batches."""

        steps: int = 30
        batches: tuple[int, ...] = (2, 8, 64)
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train both a little on digits; then answer in training mode and in use."""
        pictures = torch.from_numpy(load_digits().images[:64] / 16).float()[:, None]
        lines = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, model in (("layer norm", "vit"), ("batch norm", "resnet")):
                run = train(
                    task="classify-images", model=model, preset="tiny", steps=how.steps, seed=seed, drop=0.0,
                    dropout=0.0, out=Path(folder, model), quiet=True, baselines=False,
                    precision=how.precision,
                )  # fmt: skip
                lines[name] = [(size, _change(run.model, pictures, size)) for size in how.batches]
        layer, batch = (max(change for _, change in points) for points in lines.values())
        return SeedOutcome(effect=batch - layer, lines=lines)


@torch.no_grad()
def _change(model: torch.nn.Module, pictures: torch.Tensor, size: int) -> float:
    """The largest difference of a logit between training mode, in batches of this size, and use."""
    used = copy.deepcopy(model).eval()(Picture(pictures))
    trained = copy.deepcopy(model).train()
    found = torch.cat([trained(Picture(some)) for some in pictures.split(size)])
    return float((found - used).abs().max().clamp_min(1e-9).log10())
