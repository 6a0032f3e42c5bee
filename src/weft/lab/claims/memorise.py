"""A language model can say sentences of its training text by heart, the private ones too.

Numbers of invented people are planted in a text, some once, some many times. The trained model is asked for each
number: the share that it says rightly is what could be extracted. Exposure is finer: the true number is ranked among
127 others by its probability, log2(128 / rank) bits (Carlini et al., 2019): 7 if it comes first, 1.4 by chance.
"""

import math
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from pydoc_data.topics import topics

from weft.config import Config
from weft.domains.texts.exposure import RareString, exposures
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
        effect="mean exposure of the numbers that stood most often minus that of those that stood once, bits",
        above=1.0,
        x="times in the text",
        y="exposure, bits; share said rightly",
        seconds=20,
        log=True,
        note="Fewer repetitions lower it: remove duplicates from a text before training.",
    )

    class Settings(Config):
        """How often numbers stand in the text, and the sizes of the model; `data` is a text of one's own."""

        data: str = ""
        copies: tuple[int, ...] = (1, 4, 16, 64)
        people: int = 3
        letters: int = 60000
        dropout: float = 0.0
        steps: int = 300
        dim: int = 64
        digits: int = 6
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Plant, train, ask."""
        draw = random.Random(seed)
        text = (
            Path(how.data).read_text(encoding="utf-8")
            if how.data
            else "\n".join(topics[name] for name in sorted(topics))
        )
        rows = text[: how.letters].split("\n")
        planted = {
            (copies, n): (_name(draw), "".join(draw.choices("0123456789", k=how.digits)))
            for copies in how.copies
            for n in range(how.people)
        }
        for (copies, _), (name, number) in planted.items():
            for _ in range(copies):
                rows.insert(draw.randrange(len(rows) + 1), f"The number of {name} is {number}.")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "planted.txt")
            file.write_text("\n".join(rows), encoding="utf-8")
            run = train(
                file, task="language-model", model="gpt", steps=how.steps, out=Path(folder, "run"), quiet=True,
                seed=seed, dim=how.dim, depth=2, heads=4, context=128, batch=16, dropout=how.dropout,
                baselines=False, precision=how.precision,
            )  # fmt: skip
            asked = [RareString(number, f"The number of {name} is ", n) for (n, _), (name, number) in planted.items()]
            said = [one["text"] for one in run.predict([one.before for one in asked], temperature=0, max_tokens=12)]
            codec: Any = run.loaded.codecs["text"]
            ranks = exposures(run.model, codec.tokenizer, 128, asked, lambda _: None)
            bits = [math.log2(among / rank) for _, rank, among in ranks]
        lines = {
            "exposure": _by_copies(asked, bits),
            "said rightly": _by_copies(asked, [one.words in text for one, text in zip(asked, said, strict=True)]),
        }
        facts = {f"said rightly, {copies} times in the text": share for copies, share in lines["said rightly"]}
        return SeedOutcome(effect=lines["exposure"][-1][1] - lines["exposure"][0][1], lines=lines, facts=facts)


def _by_copies(asked: list[RareString], values: Sequence[float]) -> list[tuple[float, float]]:
    """The mean of what was found, by how often a number stood in the text."""
    found: dict[int, list[float]] = {}
    for one, value in zip(asked, values, strict=True):
        found.setdefault(one.times, []).append(value)
    return [(copies, sum(some) / len(some)) for copies, some in found.items()]


def _name(draw: random.Random) -> str:
    """A name that stands in no text."""
    return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)).capitalize()
