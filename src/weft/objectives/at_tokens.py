"""Classes of tokens: the next token of a text, a hidden one, a word's tag, a node's label. And numbers of tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.batches.samples import AtTokens, Batch, Samples
from weft.config import at_least
from weft.errors import ConfigError
from weft.objectives.objective import OWN, Loss, Objective, Term, added
from weft.objectives.token_loss import token_loss


class OfTokens(Objective):
    """A loss at tokens. Samples that are computed at once are parts of a batch, and their losses are added."""

    abstract = True

    class Config(Objective.Config):
        """The losses of tokens."""

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[Any, AtTokens]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        raise NotImplementedError


class TokenClass(OfTokens):
    """-sum log p(class | token in its text). Logits are computed only where something is wanted."""

    abstract = True

    class Config(OfTokens.Config):
        """`chunk` is the number of tokens whose logits are computed at once; None for all that the data marks."""

        chunk: int | None = None

        def check(self) -> None:
            at_least(self, 1, "chunk")

    config: Config
    judged_by_errors = False  # whether answers are right or wrong, rather than more or less likely

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        x, targets = part.wanted.picked(model.encode(part.given.raw()).x)
        judged = self.judged_by_errors and not model.training
        found = token_loss(model.head, x, targets.long(), chunk=self.config.chunk, judged=judged)
        return Loss(found.total, targets.numel(), found.wrong)


class NextToken(TokenClass):
    """-sum log p(x_t | x_<t): each token of a text is predicted from those before it."""

    class Config(TokenClass.Config):
        """The chunk of tokens."""

    unit = "tokens"


class MaskedToken(TokenClass):
    """-sum log p(x_t | the text with x_t hidden), over the hidden tokens (Devlin et al., 2019)."""

    class Config(TokenClass.Config):
        """The chunk of tokens."""

    unit = "hidden tokens"


class Tags(TokenClass):
    """-sum log p(tag | word in its sentence), read off the first token of each word."""

    class Config(TokenClass.Config):
        """The chunk of tokens."""

    unit = "words"
    judged_by_errors = True


class SplitTags(OfTokens):
    """-sum log p(tag | word in its sentence) for tags of several parts: a tag is one number in a mixed radix.

    The logits of all parts stand side by side. The parts count as independent: log p(tag) is the sum over its parts.
    In training the truth counts 1 - `smoothing`, and all values of a part share the rest (label smoothing). The parts
    named in `beside` are further terms of the loss: they are learned, and an answer may be right whatever they are.
    """

    class Config(OfTokens.Config):
        """`sizes` are the numbers of ways that each part has; the last one counts single steps.

        `beside` names the last parts, those that are further terms. `smoothing` is label smoothing.
        """

        sizes: tuple[int, ...]
        beside: tuple[str, ...] = ()
        smoothing: float = 0.0

        def check(self) -> None:
            if len(self.beside) >= len(self.sizes):
                raise ConfigError("at least one part is the answer", where="SplitTags.beside")
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")

    unit = "words"
    config: Config

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        x, targets = part.wanted.picked(model.encode(part.given.raw()).x)
        sizes, own = self.config.sizes, len(self.config.sizes) - len(self.config.beside)
        smoothing = self.config.smoothing if model.training else 0.0
        logits, truths = model.head.values(x).split(sizes, -1), split_number(targets.long(), sizes)
        losses = [
            F.cross_entropy(some, truth, reduction="sum", label_smoothing=smoothing)
            for some, truth in zip(logits, truths, strict=True)
        ]
        terms = zip(self.config.beside, losses[own:], strict=True)
        wrong = None
        if not model.training:
            pairs = zip(logits[:own], truths[:own], strict=True)
            wrong = int(torch.stack([some.argmax(-1) != truth for some, truth in pairs]).any(0).sum())
        count = targets.numel()
        return Loss(sum(losses[1:own], losses[0]), count, wrong, tuple(Term(name, one, count) for name, one in terms))

    def counts(self, batch: Batch[Any, AtTokens]) -> Mapping[str, int]:
        """Every part is divided by the number of words."""
        words = sum(int((part.wanted.values >= 0).sum()) for part in batch.each)
        return dict.fromkeys((OWN, *self.config.beside), words) if self.config.beside else {}


def split_number(numbers: Int[Tensor, "T"], sizes: Sequence[int]) -> list[Int[Tensor, "T"]]:
    """The digits of numbers in a mixed radix, the last of which counts single steps."""
    digits: list[Tensor] = []
    for size in reversed(sizes):
        digits.append(numbers % size)
        numbers = numbers // size
    return digits[::-1]


class TokenLabels(TokenClass):
    """-sum log p(label | token among its neighbours), for the tokens that have one."""

    class Config(TokenClass.Config):
        """The chunk of tokens."""

    unit = "labels"
    judged_by_errors = True


class TokenNumbers(OfTokens):
    """sum (y - f(token))^2 for the tokens that have a number y, on the scale of the codec."""

    class Config(OfTokens.Config):
        """Nothing to choose."""

    unit = "labels"

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        x, truth = part.wanted.picked(model.encode(part.given.raw()).x)
        values = model.head.values(x)[:, 0]
        return Loss(((values - truth.to(values.dtype)) ** 2).sum(), truth.numel())
