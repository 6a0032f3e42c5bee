"""A model that is trained on lines with their own rules learns to learn: it reads examples and applies them.

Each line has its own map of letters to digits, shown as pairs. To name the digit of a letter, the model has to find the
letter earlier in the same line: no weight can hold the answer. The ability comes suddenly.
"""

import torch

from weft.config import Config
from weft.core import Attention, Block, Mlp, PerToken, TokenShift, Trunk
from weft.lab.exercise import NOTHING, taught
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.modalities.text import Text, TextEmbed
from weft.models import Stream
from weft.position import Rotary


class ShotsExperiment(Experiment):
    """In-context (few-shot) learning emerges in a trained model."""

    claim = Claim(
        id="D13",
        name="shots",
        says="In-context (few-shot) learning emerges in a trained model.",
        source="lecture 1",
        compared="accuracy on a letter by how many pairs the line has shown before, during training",
        effect="accuracy after the last pair minus accuracy after the first, at the end of training",
        above=0.3,
        x="step",
        y="accuracy on letters shown before",
        seconds=20,
        note="One layer whose tokens also see the one before (`shift=TokenShift`) learns it in seconds; without it a "
        "model needs two layers and far more steps.",
    )

    class Settings(Config):
        """Letters and digits, pairs in a line, and the sizes of the model."""

        letters: int = 6
        pairs: int = 16
        dim: int = 64
        steps: int = 500
        lr: float = 3e-3

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train with and without the shift; accuracy by step, and by pairs at the end."""
        lines, ends = {}, {}
        for name, shift in (("with token shift", TokenShift.Config()), ("plain", None)):
            torch.manual_seed(seed)
            mix = Attention.Config(heads=4, turn=Rotary.Config())
            block = Block.Config(mix=mix, transform=Mlp.Config(), shift=shift)
            embed = TextEmbed.Config(vocab=2 * how.letters, context=2 * how.pairs, std=1.0)
            trunk = Trunk.Config(depth=1, block=block)
            model = Stream.Config(dim=how.dim, embed=embed, trunk=trunk, head=PerToken.Config()).build()
            points = [(0.0, _right(model, how)[1])]
            for step, _ in taught(model, lambda n: _line(how, n)[:2], steps=how.steps, lr=how.lr, batch=48):
                if step % 50 == 0:
                    points.append((step, _right(model, how)[1]))
            lines[name], ends[name] = points, _right(model, how)[0]
        by_pairs = ends["with token shift"]
        facts = {f"accuracy after {n} pairs": by_pairs[n] for n in (0, 1, 2, 4, 8, how.pairs - 1) if n < how.pairs}
        return SeedOutcome(effect=by_pairs[-1] - by_pairs[0], lines=lines, facts=facts)


def _line(how: ShotsExperiment.Settings, lines: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Letter, digit, letter, digit …; each letter's target is its digit; and whether the letter was shown before."""
    digits = torch.randint(how.letters, (lines, how.letters))
    letters = torch.randint(how.letters, (lines, how.pairs))
    answers = how.letters + digits.gather(1, letters)
    ids = torch.stack([letters, answers], -1).flatten(1)
    targets = torch.stack([answers, torch.full_like(answers, NOTHING)], -1).flatten(1)
    seen = (letters[:, :, None] == letters[:, None, :]).tril(-1).any(-1)
    return ids, targets, seen


@torch.inference_mode()
def _right(model: Stream, how: ShotsExperiment.Settings) -> tuple[list[float], float]:
    """Accuracy by the number of pairs before, and over all letters shown before."""
    ids, targets, seen = _line(how, 512)
    right = (model.eval()(Text(ids)).argmax(-1) == targets)[:, ::2].float()
    return right.mean(0).tolist(), float(right[seen].mean())
