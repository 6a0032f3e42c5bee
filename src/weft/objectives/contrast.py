"""Contrast: captions are predicted, and distinguished from those of other pictures in the batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from weft.batches.order import numbers
from weft.batches.samples import Batch, PaddedIds, Samples
from weft.config import at_least
from weft.core.beside import gathered
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.contrastive import Contrastive
from weft.objectives.objective import OWN, Loss, Objective, Term, added
from weft.objectives.token_loss import token_loss
from weft.sending import on_host, sent


class Contrast(Objective):
    """-sum log p(y_t | y_<t, x) / tokens + weight x (text to picture + picture to text) / 2 (Yu et al., 2022).

    Text to picture is -log of the softmax, over the pictures of a batch, of cosine / temperature at the text's own
    picture; picture to text the same over the captions. Pictures with an equal caption, and other captions of the same
    picture, are left out of the softmax: they are no wrong answers. Each process compares with the pictures and
    captions of all. Pieces of a step compare within themselves: more of them make the contrast easier.
    """

    class Config(Objective.Config):
        """`weight` is that of the contrast beside the captions; `smoothing` is label smoothing.

        `chunk` is the number of tokens whose logits are computed at once.
        """

        weight: float = 1.0
        smoothing: float = 0.0
        chunk: int | None = None

        def check(self) -> None:
            at_least(self, 1, "chunk")
            if not self.weight > 0:
                raise ConfigError(f"must be above 0, found {self.weight}", where="weight")
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")

    unit = "tokens"

    def __init__(self, config: Config):
        self.config = config

    def counts(self, batch: Batch[Any, PaddedIds]) -> Mapping[str, int]:
        tokens = sum(int(part.wanted.lengths.sum()) - len(part.wanted) for part in batch.each)
        return {OWN: tokens, "contrast": sum(len(part.wanted) for part in batch.each)}

    def __call__(self, model: Contrastive, batch: Batch[Any, PaddedIds]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: Contrastive, part: Samples[Any, PaddedIds]) -> Loss:
        """The loss of samples that are computed at once."""
        ids, real = part.wanted.ids, part.wanted.following
        memory = model.memorise(part.given.raw())
        owner = torch.arange(len(part.wanted), device=ids.device) if part.owner is None else part.owner
        # The text is not masked: what stands behind a token is never read by it, padding included.
        last, texts = model.read(Text(ids), part.wanted.lengths - 1, memory.rows(owner))
        targets = ids[:, 1:].flatten().index_select(0, real)
        smoothing = self.config.smoothing if model.training else 0.0
        x, head, chunk = last.x[:, :-1].flatten(0, 1).index_select(0, real), model.target.head, self.config.chunk
        total = token_loss(head, x, targets, smoothing=smoothing, chunk=chunk).total
        pictures = model.pictured(memory)
        compared = compared_with_all(model.scale, pictures, texts, owner, marks(part.wanted))
        return Loss(total, targets.numel(), terms=(Term("contrast", compared, len(texts), self.config.weight),))


def compared_with_all(
    scale: Tensor, pictures: Float[Tensor, "B E"], texts: Float[Tensor, "R E"], owner: Int[Tensor, "R"],
    marks: Int[Tensor, "R"],
) -> Float[Tensor, ""]:  # fmt: skip
    """The contrast of these captions and their pictures with those of all processes, added up."""
    pictures, before = gathered(pictures)
    owner, _ = gathered(owner + before)
    count = len(texts)
    texts, start = gathered(texts)
    also = with_caption(gathered(marks)[0], owner, len(pictures))
    return contrast(scale * texts @ pictures.T, owner, also, slice(start, start + count))


def marks(captions: PaddedIds) -> Int[Tensor, "R"]:
    """A number of 64 bits for each caption: equal ones have the same."""
    there = on_host(captions)
    factors = torch.from_numpy(numbers("marks of captions", there.ids.shape[1]).view(np.int64)).to(there.ids.device)
    return sent(((there.ids + 1) * factors).masked_fill(~there.real, 0).sum(1), captions.ids.device)


def with_caption(marks: Int[Tensor, "R"], owner: Int[Tensor, "R"], pictures: int) -> Bool[Tensor, "R B"]:
    """For each caption, the pictures that have an equal one."""
    equal = marks[:, None] == marks
    return (equal.float() @ F.one_hot(owner, pictures).float()) > 0


def contrast(
    logits: Float[Tensor, "R B"], owner: Int[Tensor, "R"], also: Bool[Tensor, "R B"], own: slice = slice(None)
) -> Float[Tensor, ""]:
    """The sum over own captions of both ways' mean -log p; `also` marks all pictures that a caption belongs to."""
    rows = torch.arange(len(owner), device=owner.device)
    others = also & (torch.arange(logits.shape[1], device=owner.device) != owner[:, None])
    to_picture = F.cross_entropy(logits.masked_fill(others, -torch.inf)[own], owner[own], reduction="sum")
    beside = also[:, owner].T & (rows[:, None] != rows)  # (caption, other caption of its picture, or equal to one)
    to_text = F.cross_entropy(logits[:, owner].T.masked_fill(beside, -torch.inf)[own], rows[own], reduction="sum")
    return (to_picture + to_text) / 2
