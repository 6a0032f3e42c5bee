"""The best tree by the scores of its gaps: balanced, with one root. Knows scores and depths; no model, no labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_OPEN = 100  # brackets that are open at once


class GapScores(NamedTuple):
    """The scores of all that may stand in the gaps of a sentence, a row for each word.

    `opening` has those of all ways to open before the word, of `labels` brackets each; `closing` those of closing 0, 1,
    2 … brackets after it; `depths`, where there are any, those of 0, 1, 2 … brackets that then stay open, the last of
    them for all that are deeper. After the last word everything closes, whatever that scores.
    """

    opening: np.ndarray
    closing: np.ndarray
    labels: Sequence[int]
    depths: np.ndarray | None = None

    @property
    def most(self) -> int:
        """How many brackets may be open at once."""
        return min(MOST_OPEN, max(self.labels) * len(self.opening))

    def staying(self, word: int) -> np.ndarray | float:
        """The scores of 0, 1, … brackets that stay open behind a word."""
        if self.depths is None:
            return 0.0
        return self.depths[word, np.minimum(np.arange(self.most + 1), self.depths.shape[1] - 1)]


class BestGaps(NamedTuple):
    """For each word the number of what opens before it and of brackets that close after it; the sum of their scores."""

    opens: list[int]
    closes: list[int]
    score: float


def best_gaps(scores: GapScores) -> BestGaps:
    """The gaps of the highest score that spell one tree, by dynamic programming over the number of open brackets."""
    words, sizes = len(scores.opening), np.asarray(scores.labels)
    if words == 1:
        first = int(scores.opening[0].argmax())
        return BestGaps([first], [int(sizes[first])], float(scores.opening[0][first]))
    ways = [np.flatnonzero(sizes == size) for size in range(int(sizes.max()) + 1)]
    score = _nothing_open(scores.most)  # by the number of open brackets: the best score of the words so far
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for word in range(words):
        opened, came, way = _opened(score, scores.opening[word], ways)
        if word == words - 1:
            break
        closed = _closed(opened, scores.closing[word])
        score = closed.max(1) + scores.staying(word)
        steps.append((came, way, closed.argmax(1)))
    opened[0] = -np.inf
    depth = int(opened.argmax())
    best, opens, closes = float(opened[depth]), [int(way[depth])], [depth]
    depth = int(came[depth])
    for came, way, before in reversed(steps):
        closes.append(int(before[depth]) - depth)
        depth = int(before[depth])
        opens.append(int(way[depth]))
        depth = int(came[depth])
    return BestGaps(opens[::-1], closes[::-1], best)


def log_total(scores: GapScores) -> float:
    """The log of the sum of exp(score) over all gaps that spell one tree. score - this = log-probability of a tree."""
    words, sizes = len(scores.opening), np.asarray(scores.labels)
    if words == 1:
        return float(np.logaddexp.reduce(scores.opening[0]))
    score = _nothing_open(scores.most)
    for word in range(words):
        opened = np.full_like(score, -np.inf)
        for size in np.unique(sizes[sizes <= scores.most]):
            ways = np.logaddexp.reduce(scores.opening[word][sizes == size])
            opened[size:] = np.logaddexp(opened[size:], score[: len(score) - size] + ways)
        if word < words - 1:
            score = np.logaddexp.reduce(_closed(opened, scores.closing[word]), 1) + scores.staying(word)
    return float(np.logaddexp.reduce(opened[1:]))


def _nothing_open(most: int) -> np.ndarray:
    """The scores before the first word, by the number of open brackets."""
    score = np.full(most + 1, -np.inf)
    score[0] = 0.0
    return score


def _opened(
    score: np.ndarray, opening: np.ndarray, ways: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best scores after the brackets before a word opened; how many were open before, and what was opened."""
    result = np.full_like(score, -np.inf)
    came, way = np.zeros(len(score), np.int64), np.zeros(len(score), np.int64)
    for size, some in enumerate(ways):
        if not len(some) or size >= len(score):
            continue
        one = int(some[opening[some].argmax()])
        reached = np.full_like(score, -np.inf)
        reached[size:] = score[: len(score) - size] + opening[one]
        better = reached > result
        result[better], way[better] = reached[better], one
        came[better] = np.flatnonzero(better) - size
    return result, came, way


def _closed(opened: np.ndarray, closing: np.ndarray) -> np.ndarray:
    """The scores of closing brackets from the number of a column to that of a row, of which at least one stays open."""
    depths = np.arange(len(opened))
    many = depths[None, :] - depths[:, None]  # how many close
    allowed = (many >= 0) & (many < len(closing)) & (depths[:, None] >= 1)
    return np.where(allowed, opened[None, :] + closing[np.clip(many, 0, len(closing) - 1)], -np.inf)
