"""What a model has learned from much text need not be learned again from little.

A small language model learns most of a text. Then it goes on with a little of another part, beside a new model that has
that little alone; both are measured on text that neither saw.
"""

import tempfile
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.runs import train


class PretrainingExperiment(Experiment):
    """Pre-training and then fine-tuning beats training from scratch on little data."""

    claim = Claim(
        id="D9",
        name="pretraining",
        says="Pre-training and then fine-tuning beats training from scratch on little data.",
        source="lecture 2",
        compared="a language model that was pre-trained and a new one, after the same steps on a little text",
        effect="loss of the new model minus that of the pre-trained one, with the least text, nats per token",
        above=0.0,
        x="characters to learn from",
        y="loss on other text, nats per token",
        seconds=30,
        log=True,
    )

    class Settings(Config):
        """Steps, and amounts of text; `data` is a text of one's own, by default Python's help texts."""

        data: str = ""
        amounts: tuple[int, ...] = (4000, 16000)
        first_steps: int = 200
        steps: int = 60
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Pre-train on the first four fifths; learn a little of the next part; measure on the last twentieth."""
        text = (
            Path(how.data).read_text(encoding="utf-8")
            if how.data
            else "\n".join(topics[name] for name in sorted(topics))
        )
        common: dict[str, Any] = {"task": "language-model", "quiet": True, "baselines": False, "seed": seed}
        common["precision"] = how.precision
        size: dict[str, Any] = {"model": "gpt", "dim": 64, "depth": 2, "heads": 4, "context": 128, "batch": 16}
        lines: dict[str, list[tuple[float, float]]] = {"from scratch": [], "pre-trained": []}
        with tempfile.TemporaryDirectory() as folder:
            much, held = Path(folder, "much.txt"), Path(folder, "held.txt")
            much.write_text(text[: len(text) * 4 // 5], encoding="utf-8")
            held.write_text(text[len(text) * 19 // 20 :], encoding="utf-8")
            base = Path(folder, "base")
            train(much, steps=how.first_steps, out=base, **size, **common)
            for amount in how.amounts:
                little = Path(folder, f"{amount}.txt")
                little.write_text(text[len(text) * 4 // 5 :][:amount], encoding="utf-8")
                for name, points in lines.items():
                    begin = {"from_": base} if name == "pre-trained" else size
                    out = Path(folder, f"{name}-{amount}")
                    run = train(little, valid=held, steps=how.steps, out=out, **begin, **common)
                    points.append((amount, run.report["metrics"]["loss"]))
        return SeedOutcome(effect=lines["from scratch"][0][1] - lines["pre-trained"][0][1], lines=lines)
