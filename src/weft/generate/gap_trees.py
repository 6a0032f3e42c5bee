"""The best tree by the scores of its gaps: brackets balance and there is one root. Knows scores and depths; no model, no labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_OPEN = 100  # brackets that are open at once


class BestGaps(NamedTuple):
    """For each word the number of what opens before it and of the brackets that close after it; the sum of their scores."""

    opens: list[int]
    closes: list[int]
    score: float


def best_gaps(opening: np.ndarray, closing: np.ndarray, labels: Sequence[int]) -> BestGaps:
    """The gaps of the highest score that spell one tree, by dynamic programming over the number of open brackets.

    `opening` has for each word the scores of all ways to open, of `labels` brackets each; `closing` those of closing 0, 1,
    2 … brackets. After the last word everything closes, whatever that scores.
    """
    words, sizes = len(opening), np.asarray(labels)
    if words == 1:
        first = int(opening[0].argmax())
        return BestGaps([first], [int(sizes[first])], float(opening[0][first]))
    most = min(MOST_OPEN, int(sizes.max()) * words)
    ways = [np.flatnonzero(sizes == size) for size in range(int(sizes.max()) + 1)]
    score = np.full(most + 1, -np.inf)  # by the number of open brackets: the best score of the words so far
    score[0] = 0.0
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for word in range(words):
        opened, came, way = _opened(score, opening[word], ways)
        if word == words - 1:
            break
        score, before = _closed(opened, closing[word])
        steps.append((came, way, before))
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


def _opened(
    score: np.ndarray, opening: np.ndarray, ways: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best scores after the brackets before a word were opened; how many were open before, and which way was taken."""
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


def _closed(opened: np.ndarray, closing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best scores after brackets were closed, of which at least one stays open; and how many were open before."""
    depths = np.arange(len(opened))
    many = depths[None, :] - depths[:, None]  # how many close from the column's depth to the row's
    allowed = (many >= 0) & (many < len(closing)) & (depths[:, None] >= 1)
    scores = np.where(allowed, opened[None, :] + closing[np.clip(many, 0, len(closing) - 1)], -np.inf)
    return scores.max(1), scores.argmax(1)
