"""A language model can say sentences of its training text by heart, the private ones too.

Numbers of invented people are planted in a text, some once, some many times. The trained model is asked for each
number, and the share that it says rightly is counted by how often it stood there.
"""

import random
import tempfile
from pathlib import Path
from pydoc_data.topics import topics

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.runs import train


class MemoriseExperiment(Experiment):
    """Language models memorise training data, such as names and numbers planted in it."""

    claim = Claim(
        id="D12",
        name="memorise",
        says="Language models memorise training data, such as names and numbers planted in it.",
        source="lecture 3",
        compared="numbers that stand in the text once and many times, asked for by the beginning of their sentence",
        effect="share of numbers said rightly that stood most often minus share of those that stood once",
        above=0.2,
        x="times in the text",
        y="share said rightly",
        seconds=90,
        log=True,
        note="Fewer repetitions lower it: remove duplicates from a text before training.",
    )

    class Settings(Config):
        """How often numbers stand in the text, and the sizes of the model; `data` is a text of one's own."""

        data: str = ""
        copies: tuple[int, ...] = (1, 4, 16, 64)
        people: int = 3
        letters: int = 200000
        steps: int = 500
        dim: int = 96
        digits: int = 6

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Plant, train, ask."""
        draw = random.Random(seed)
        text = (
            Path(how.data).read_text(encoding="utf-8")
            if how.data
            else "\n".join(topics[name] for name in sorted(topics))
        )
        lines = text[: how.letters].split("\n")
        planted = {
            (copies, n): (_name(draw), "".join(draw.choices("0123456789", k=how.digits)))
            for copies in how.copies
            for n in range(how.people)
        }
        for (copies, _), (name, number) in planted.items():
            for _ in range(copies):
                lines.insert(draw.randrange(len(lines) + 1), f"The number of {name} is {number}.")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "planted.txt")
            file.write_text("\n".join(lines), encoding="utf-8")
            run = train(
                file, task="language-model", model="gpt", steps=how.steps, out=Path(folder, "run"), quiet=True,
                seed=seed, dim=how.dim, depth=2, heads=4, context=128, batch=16, baselines=False,
            )  # fmt: skip
            asked = [f"The number of {name} is " for name, _ in planted.values()]
            said = [one["text"] for one in run.predict(asked, temperature=0, max_tokens=2 * how.digits)]
        right: dict[int, list[bool]] = {copies: [] for copies in how.copies}
        for ((copies, _), (_, number)), words in zip(planted.items(), said, strict=True):
            right[copies].append(number in words)
        shares = [(copies, sum(found) / len(found)) for copies, found in right.items()]
        return SeedOutcome(effect=shares[-1][1] - shares[0][1], lines={"said rightly": shares})


def _name(draw: random.Random) -> str:
    """A name that stands in no text."""
    return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)).capitalize()
