"""Target token: each token of a target is predicted from the source and the true tokens before it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weft.batches.samples import Batch, PaddedIds, Samples
from weft.config import at_least
from weft.core.recording import record
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq, memory_weights
from weft.objectives.objective import OWN, Loss, Objective, Term, added
from weft.objectives.token_loss import token_loss
from weft.tokens import Tokens


class TargetClass(Objective):
    """-sum log p(y_t | y_<t, x), teacher forcing: the decoder reads the true target, not its own predictions.

    In training the truth is softened: it counts 1 - `smoothing`, and all tokens alike share the rest (Szegedy et al.,
    2016; Vaswani et al., 2017). With `coverage` lambda each target adds lambda sum_i (1 - sum_t a_ti)^2 in training,
    where a_ti is the attention of its token t to token i of the memory, the mean of all layers and heads: over the
    whole target every part of the source shall be read alike (the doubly stochastic attention of Xu et al., 2015). A
    model that is being evaluated is scored by the truth alone.
    """

    abstract = True

    class Config(Objective.Config):
        """`smoothing` is label smoothing, spread evenly over all tokens; `coverage` weighs the penalty, 0 for none.

        `chunk` is the number of tokens whose logits are computed at once.
        """

        smoothing: float = 0.0
        coverage: float = 0.0
        chunk: int | None = None

        def check(self) -> None:
            at_least(self, 0, "coverage")
            at_least(self, 1, "chunk")
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")

    unit = "tokens"
    judged_by_errors = False  # whether weights are chosen by the share of wrong tokens, rather than by the loss

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Seq2Seq, batch: Batch[Any, PaddedIds]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: Seq2Seq, part: Samples[Any, PaddedIds]) -> Loss:
        """The loss of samples that are computed at once. Logits are computed at real tokens only."""
        memory = memory_of(model, part)
        if not (self.config.coverage and model.training):
            return self._compared(model, part, memory)
        with record(model) as recorded:
            loss = self._compared(model, part, memory)
        penalty = coverage(memory_weights(model, recorded, memory), memory, part.wanted.real[:, 1:])
        return replace(loss, terms=(Term("coverage", penalty, loss.count, self.config.coverage),))

    def _compared(self, model: Seq2Seq, part: Samples[Any, PaddedIds], memory: Tokens) -> Loss:
        x, targets = read(model, part, memory)
        smoothing = self.config.smoothing if model.training else 0.0
        judged = self.judged_by_errors and not model.training
        head, chunk = model.target.head, self.config.chunk
        found = token_loss(head, x, targets, smoothing=smoothing, chunk=chunk, judged=judged)
        return Loss(found.total, targets.numel(), found.wrong)

    def counts(self, batch: Batch[Any, PaddedIds]) -> Mapping[str, int]:
        """The number of target tokens, by which the penalty is divided too: it stands beside the sum over tokens."""
        if not self.config.coverage:
            return {}
        tokens = sum(int(part.wanted.real[:, 1:].sum()) for part in batch.each)
        return {OWN: tokens, "coverage": tokens}


class TargetToken(TargetClass):
    """-sum log p(y_t | y_<t, x) of the tokens of a text. Several texts may be right: weights are chosen by the loss."""

    class Config(TargetClass.Config):
        """Smoothing and coverage."""


class TargetAnswer(TargetClass):
    """-sum log p(y_t | y_<t, x) of an answer. One answer is right: weights are chosen by wrong tokens.

    A model that goes on learning which answers are right becomes too sure of the others, and its loss rises.
    """

    class Config(TargetClass.Config):
        """Smoothing and coverage."""

    judged_by_errors = True


class TargetSymbol(TargetClass):
    """-sum log p(y_t | y_<t, x) of the symbols of a tree. One tree is right: weights are chosen by wrong symbols."""

    class Config(TargetClass.Config):
        """Smoothing and coverage."""

    judged_by_errors = True


def memory_of(model: Seq2Seq, part: Samples[Any, PaddedIds]) -> Tokens:
    """The memory that each target reads."""
    memory = model.memorise(part.given.raw())
    return memory if part.owner is None else memory.rows(part.owner)


def read(model: Seq2Seq, part: Samples[Any, PaddedIds], memory: Tokens) -> tuple[Tensor, Tensor]:
    """The content of all real target tokens, row after row, and the tokens that are true there."""
    ids, real = part.wanted.ids, part.wanted.following
    # The target is not masked: what stands behind a token is never read by it, padding included.
    x = model.target.encode(Text(ids[:, :-1]), memory=memory).x
    return x.flatten(0, 1).index_select(0, real), ids[:, 1:].flatten().index_select(0, real)


def coverage(
    layers: Sequence[Float[Tensor, "B H N K"]], memory: Tokens, real: Bool[Tensor, "B N"]
) -> Float[Tensor, ""]:
    """sum_i (1 - sum_t a_ti)^2 over the real tokens i of each memory and the real tokens t of its target, added up."""
    if not layers:
        problem = "the decoder has no attention to the source, and coverage is about what it attends to"
        raise ConfigError(problem, where="coverage", fix="--set coverage=0, or take a model with attention")
    attention = torch.stack([layer.mean(1) for layer in layers]).mean(0)
    attention = attention.to(torch.promote_types(attention.dtype, torch.float32))
    read = (attention * real[..., None]).sum(1)
    return (1 - read).square().masked_fill(~memory.valid, 0.0).sum()
