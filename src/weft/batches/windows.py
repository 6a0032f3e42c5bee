"""Windows of a text: the samples of a language model. Knows ids and where to cut; refuses to know what they mean."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from weft.batches.order import WindowOrder
from weft.batches.samples import AtTokens, EvenIds, Samples

SCORE_TOKENS = 8192  # tokens scored in one batch of held-out windows


Windows = Samples[EvenIds, AtTokens]


def windows(ids: Int[Tensor, "B M"], scored: Bool[Tensor, "B N"] | None = None) -> Windows:
    """Windows for next-token prediction; `scored` marks the tokens that count in the loss."""
    return Samples(EvenIds(ids[:, :-1]), AtTokens(ids[:, 1:], scored))


class TextWindows:
    """A `Source` over two streams of ids: one to train on, one held out."""

    def __init__(self, train: np.ndarray, valid: np.ndarray, *, context: int, fingerprint: str, seed: int):
        self.train, self.valid, self.context, self.fingerprint = train, valid, context, fingerprint
        self.order = WindowOrder(len(train), context, fingerprint, seed)

    @property
    def per_epoch(self) -> int:
        """Windows in one epoch."""
        return self.order.per_epoch

    def batch(self, indices: np.ndarray) -> Windows:
        """The windows at these global indices."""
        starts = self.order.starts(indices)
        length = min(self.context + 1, len(self.train))
        return windows(torch.from_numpy(self.train[starts[:, None] + np.arange(length)].astype(np.int64)))

    def held_out(self, *, most: int | None = None) -> Iterator[Windows]:
        """The held-out text, spread evenly over it when not all of it is asked for."""
        return score_windows(self.valid, self.context, most=most)


def count_windows(tokens: int, context: int) -> int:
    """The number of windows in which a text is scored."""
    return len(_starts(tokens, context))


def _starts(tokens: int, context: int) -> list[int]:
    """Where the windows begin in which a text is scored."""
    length = min(context, tokens - 1)
    last = tokens - 1 - length
    return [*range(0, last, max(1, length - length // 2)), last]


def _chosen(tokens: int, context: int, most: int | None) -> tuple[int, list[int], list[int]]:
    """The length of windows, where they begin, and how many tokens of each are only read."""
    length, starts = min(context, tokens - 1), _starts(tokens, context)
    skips = [0] + [before + length - start for before, start in pairwise(starts)]
    if most is not None and len(starts) > most:
        chosen = np.linspace(0, len(starts) - 1, most).round().astype(int)
        starts, skips = [starts[i] for i in chosen], [skips[i] for i in chosen]
    return length, starts, skips


def scored_spans(tokens: int, context: int, most: int | None = None) -> list[tuple[int, int]]:
    """The tokens that each window of `score_windows` scores: the first, and the one after the last."""
    length, starts, skips = _chosen(tokens, context, most)
    return [(start + 1 + skip, start + 1 + length) for start, skip in zip(starts, skips, strict=True)]


def score_windows(ids: np.ndarray, context: int, *, most: int | None = None) -> Iterator[Windows]:
    """Windows in which every token but the first is scored once, after at least half a context where the text allows.

    |-- scored --------------|
                |- read -----|- scored --|
                             |- read ----|- scored --|
    """
    length, starts, skips = _chosen(len(ids), context, most)
    rows = max(1, SCORE_TOKENS // length)
    for i in range(0, len(starts), rows):
        first, skip = np.array(starts[i : i + rows]), np.array(skips[i : i + rows])
        stretch = ids[first[:, None] + np.arange(length + 1)].astype(np.int64)
        yield windows(torch.from_numpy(stretch), torch.from_numpy(np.arange(length) >= skip[:, None]))
