"""A network of raw coordinates learns what changes slowly first, and fine detail late or never (spectral bias).

Sines and cosines of the coordinates at random frequencies give it the detail at once. Both learn the same picture and
are asked for pixels that were held out.
"""

import tempfile
from pathlib import Path

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.runs import train


class FourierExperiment(Experiment):
    """Fourier features beat raw coordinates."""

    claim = Claim(
        id="D7",
        name="fourier",
        says="Fourier features beat raw coordinates.",
        source="lecture 3",
        compared="a network of raw coordinates and one of Fourier features, on one picture after the same steps",
        effect="dB on held-out pixels with Fourier features minus dB with raw coordinates",
        above=0.0,
        x="step",
        y="peak signal-to-noise ratio, dB",
        seconds=60,
    )

    class Settings(Config):
        """Steps of training, and the size of the network; `data` is a picture of one's own."""

        data: str = ""
        steps: tuple[int, ...] = (50, 100, 200)
        preset: str = "tiny"
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train both for rising numbers of steps."""
        lines: dict[str, list[tuple[float, float]]] = {"raw": [], "fourier": []}
        with tempfile.TemporaryDirectory() as folder:
            for name, points in lines.items():
                for steps in how.steps:
                    out = Path(folder, f"{name}-{steps}")
                    run = train(
                        how.data or (), task="fit-field", code=name, steps=steps, seed=seed, out=out, quiet=True,
                        preset=how.preset, baselines=False, precision=how.precision,
                    )  # fmt: skip
                    points.append((steps, run.report["metrics"]["psnr"]))
        return SeedOutcome(effect=lines["fourier"][-1][1] - lines["raw"][-1][1], lines=lines)
