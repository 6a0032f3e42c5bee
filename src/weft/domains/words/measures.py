"""Measures of vectors of words: analogies and the correlation with people's sense of likeness. Knows numbers alone."""

import numpy as np

from weft.objectives.measures.numbers import correlation, ranks

AT_ONCE = 64  # questions answered together
RESTRICTED = 300_000  # most frequent words among which answers are looked for


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Vectors brought to length 1; those of length 0 stay."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def mean_cosine(unit: np.ndarray) -> float:
    """The mean cosine of two words, over all pairs of different ones; `unit` are vectors of length 1."""
    count = len(unit)
    total = float(np.square(unit.sum(0, dtype=np.float64)).sum())
    return (total - count) / max(1, count * (count - 1))


def analogy_answers(unit: np.ndarray, questions: np.ndarray, *, offset: bool = True) -> np.ndarray:
    """The d of questions (a, b, c): the word nearest to b - a + c, none of the three (3CosAdd; Mikolov et al., 2013).

    `unit` are vectors of length 1, the most frequent words first. Without `offset` it is the word nearest to c, which
    shows how much of the answers the offset is not needed for (Linzen, 2016).
    """
    space = unit[:RESTRICTED]
    answers = np.empty(len(questions), np.int64)
    for start in range(0, len(questions), AT_ONCE):
        some = questions[start : start + AT_ONCE]
        a, b, c = (unit[some[:, i]] for i in range(3))
        cosine = (b - a + c if offset else c) @ space.T
        for column in range(3):
            rows = np.flatnonzero(some[:, column] < len(space))
            cosine[rows, some[rows, column]] = -np.inf
        answers[start : start + AT_ONCE] = cosine.argmax(1)
    return answers


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's correlation; 0 where one side does not vary."""
    found = correlation(ranks(one), ranks(other))
    return 0.0 if np.isnan(found) else found


def spelling_likeness(one: str, other: str) -> float:
    """The share of their groups of three letters that two words have in common: what is known without any text."""
    groups = [{f"  {word.lower()} "[i : i + 3] for i in range(len(word) + 1)} for word in (one, other)]
    return len(groups[0] & groups[1]) / max(1, len(groups[0] | groups[1]))
