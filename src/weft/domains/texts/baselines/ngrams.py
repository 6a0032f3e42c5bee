"""N-grams of tokens: how likely a text is by counts alone, with absolute discounting (Ney et al., 1994)."""

from collections.abc import Iterator

import numpy as np

from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.reading.corpus import Corpus
from weft.modalities.encoding import encode_pieces
from weft.modalities.tokenizer import Tokenizer

DISCOUNT = 0.75
MOST_BYTES = 2_000_000  # of text that n-grams are counted in
FACTOR = np.uint64(0x9E3779B97F4A7C15)
LONGEST = 6  # order of n-grams


class Ngrams:
    """The n-grams of a text up to an order, by number; an order gives way to the one below by what it discounts."""

    def __init__(self, ids: np.ndarray, vocabulary: int, order: int):
        self.order = order
        self.single = (np.bincount(ids, minlength=vocabulary) + 1.0) / (len(ids) + vocabulary)
        self.tables = [_Table(_contexts(ids, before), ids) for before in range(1, order)]

    def chances(self, ids: np.ndarray) -> np.ndarray:
        """The probability of each token after those before it in the same stream."""
        return self.after([_contexts(ids, before) for before in range(1, self.order)], ids)

    def after(self, contexts: list[np.ndarray], ids: np.ndarray) -> np.ndarray:
        """The probability of tokens by the hashes of what stands before them, the shortest first."""
        found = self.single[ids]
        for table, context in zip(self.tables, contexts, strict=True):
            seen, after, different = table.counts(context, ids)
            kept = np.maximum(seen - DISCOUNT, 0) + DISCOUNT * different * found
            found = np.where(after > 0, kept / np.maximum(after, 1), found)
        return found


class _Table:
    def __init__(self, contexts: np.ndarray, ids: np.ndarray):
        self.pairs, self.seen = np.unique(_joined(contexts, ids), return_counts=True)
        self.contexts, self.after = np.unique(contexts, return_counts=True)
        _, first = np.unique(_joined(contexts, ids), return_index=True)
        self.different = np.bincount(np.searchsorted(self.contexts, contexts[first]), minlength=len(self.contexts))

    def counts(self, contexts: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How often each token follows its context, how often the context stands, with how many different tokens."""
        return (
            _looked_up(self.pairs, self.seen, _joined(contexts, ids)),
            _looked_up(self.contexts, self.after, contexts),
            _looked_up(self.contexts, self.different, contexts),
        )


def _contexts(ids: np.ndarray, before: int) -> np.ndarray:
    """A hash of the tokens before each token."""
    found = np.full(len(ids), before, np.uint64)
    for back in range(before, 0, -1):
        shifted = np.zeros(len(ids), np.uint64)
        shifted[back:] = ids[:-back].astype(np.uint64) + np.uint64(1)
        found = _joined(found, shifted)
    return found


def one_before(ids: np.ndarray) -> np.ndarray:
    """The hash of one token that stands before another, as `Ngrams.after` takes it."""
    return _joined(np.full(len(ids), 1, np.uint64), ids.astype(np.uint64) + np.uint64(1))


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    mixed = (one ^ (one >> np.uint64(29))) * FACTOR + other.astype(np.uint64) + np.uint64(1)
    return (mixed ^ (mixed >> np.uint64(32))) * FACTOR


def _looked_up(known: np.ndarray, values: np.ndarray, asked: np.ndarray) -> np.ndarray:
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[at] == asked, values[at], 0)


def training_ids(tokenizer: Tokenizer, text: Corpus | CorpusPart) -> np.ndarray:
    """The ids of a text to train on; of a long one, of parts that are spread evenly over it."""
    every = max(1, round(text.bytes / MOST_BYTES))

    def some() -> Iterator[str | None]:
        for number, piece in enumerate(text.pieces()):
            if piece is None or every == 1:
                yield piece
            elif number % every == 0:
                yield piece[:MOST_BYTES]

    return encode_pieces(tokenizer, some()).astype(np.int64)


def order_for(ids: np.ndarray, vocabulary: int) -> int:
    """The order of n-grams that tells the last tenth of the training text best, counted in what stands before it."""
    known, asked = np.split(ids, [len(ids) * 9 // 10])
    if not len(known) or not len(asked):
        return 2
    costs = [-np.log(Ngrams(known, vocabulary, order).chances(asked)).sum() for order in range(2, LONGEST + 1)]
    return 2 + int(np.argmin(costs))
