"""Fitting into memory: how a step is computed where memory would not suffice. Decides, and computes nothing.

A loss in chunks of tokens where there are many logits (`objectives/token_loss`).
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from weft.amounts import count
from weft.batches.samples import AtTokens, PaddedIds
from weft.batches.source import Source
from weft.config import field_types
from weft.core.heads import PerToken
from weft.models.outline import outline
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.objectives.token_loss import MANY_LOGITS, chunk_for, chunkable
from weft.training.settings import Training
from weft.training.work import Work

MOST_TOKENS = 2**20  # that a step computes at once: vocabularies with few logits even then need no look at the data


def in_chunks(objective: Objective.Config, model: Model.Config, training: Training, source: Source) -> Any:
    """The objective with the chunk of tokens that the user gives, or that suits its vocabulary and a batch."""
    if "chunk" not in field_types(type(objective)):
        return objective
    if training.loss_chunk is not None:
        return objective.replace(chunk=training.loss_chunk)
    vocabulary = _vocabulary(outline(model))
    if vocabulary * MOST_TOKENS < MANY_LOGITS:
        return objective
    batch = source.batch(np.arange(training.batch))
    piece = batch[: training.micro] if training.micro else batch
    return objective.replace(chunk=chunk_for(vocabulary, max(map(tokens_of, piece.each), default=0)))


def chunk_in_words(work: Work) -> str:
    """How the loss is computed, where it is in chunks."""
    chunk = getattr(work.objective, "chunk", None)
    vocabulary = _vocabulary(outline(work.model)) if chunk else 0
    return f"in chunks of {chunk:,} tokens, for {count(vocabulary)} classes a token" if vocabulary else ""


def _vocabulary(model: nn.Module) -> int:
    """The number of classes of a token, where a loss can be computed in chunks; 0 elsewhere."""
    heads = (part for part in model.modules() if isinstance(part, PerToken) and chunkable(part))
    return max((head.out.out_features for head in heads), default=0)


def tokens_of(part: Any) -> int:
    """The number of tokens of samples whose logits are computed."""
    wanted = part.wanted
    if isinstance(wanted, PaddedIds):
        return int(wanted.lengths.sum()) - len(wanted)
    if not isinstance(wanted, AtTokens):
        return 0
    if wanted.where is None:
        return wanted.values.numel()
    return int((wanted.where if wanted.where.dtype is torch.bool else wanted.values >= 0).sum())
