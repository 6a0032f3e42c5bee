"""Classes of tokens: the next token of a text, a hidden one, the tag of a word, the label of a node. And numbers of tokens."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from weft.data.batch import AtTokens, Batch, Samples
from weft.objectives.objective import Loss, Objective, added, misses


class OfTokens(Objective):
    """A loss of what is wanted at tokens. Samples that are computed at once are parts of a batch, and their losses are added."""

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
        """Nothing to choose: which tokens count is the data's affair."""

    judged_by_errors = False  # whether answers are right or wrong, rather than more or less likely

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        x, targets = part.wanted.picked(model.encode(part.given.raw()).x)
        logits = model.head.values(x)
        wrong = misses(logits, targets) if self.judged_by_errors and not model.training else None
        return Loss(F.cross_entropy(logits, targets.long(), reduction="sum"), targets.numel(), wrong)


class NextToken(TokenClass):
    """-sum log p(x_t | x_<t): each token of a text is predicted from those before it."""

    class Config(TokenClass.Config):
        """Nothing to choose."""

    unit = "tokens"


class MaskedToken(TokenClass):
    """-sum log p(x_t | the text with x_t hidden), over the hidden tokens (Devlin et al., 2019)."""

    class Config(TokenClass.Config):
        """Nothing to choose."""

    unit = "hidden tokens"


class Tags(TokenClass):
    """-sum log p(tag | word in its sentence), read off the first token of each word."""

    class Config(TokenClass.Config):
        """Nothing to choose."""

    unit = "words"
    judged_by_errors = True


class SplitTags(OfTokens):
    """-sum log p(tag | word in its sentence) for tags of several parts: a tag is one number in a mixed radix.

    The logits of all parts stand side by side, and the parts count as independent: log p(tag) is the sum over its parts.
    """

    class Config(OfTokens.Config):
        """`sizes` are the numbers of ways that each part has; the last one counts single steps."""

        sizes: tuple[int, ...]

    unit = "words"
    config: Config

    def one(self, model: Any, part: Samples[Any, AtTokens]) -> Loss:
        """The loss of samples that are computed at once."""
        x, targets = part.wanted.picked(model.encode(part.given.raw()).x)
        logits, rest, total = model.head.values(x), targets.long(), x.new_zeros(())
        wrong = torch.zeros_like(targets, dtype=torch.bool)
        for size, some in zip(reversed(self.config.sizes), reversed(logits.split(self.config.sizes, -1)), strict=True):
            truth, rest = rest % size, rest // size
            total = total + F.cross_entropy(some, truth, reduction="sum")
            wrong |= some.detach().argmax(-1) != truth
        return Loss(total, targets.numel(), None if model.training else int(wrong.sum()))


class TokenLabels(TokenClass):
    """-sum log p(label | token among its neighbours), for the tokens that have one."""

    class Config(TokenClass.Config):
        """Nothing to choose."""

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
