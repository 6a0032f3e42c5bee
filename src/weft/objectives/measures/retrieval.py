"""Retrieval: how often the right one is among the first k by similarity, from texts to pictures and back. Knows vectors alone."""

from collections.abc import Callable, Sequence

import numpy as np

FIRST = (1, 5, 10)  # the k of recall@k
TO_TEXT = "to_text_"  # before the names of measures from pictures to texts
AT_ONCE = 256  # queries compared at once


def retrieval_measures(
    pictures: np.ndarray, texts: np.ndarray, captions: Sequence[str], owner: Sequence[int]
) -> dict[str, float]:
    """Recall at 1, 5 and 10 from texts to pictures, and (`to_text_...`) from pictures to texts.

    `pictures` (B, E) and `texts` (R, E) have length 1; caption r belongs to picture `owner[r]`. A text is answered by every
    picture that has an equal caption; a picture by each of its captions, and by captions equal to one of them.
    Pictures without a caption are candidates, and no queries.
    """
    names: dict[str, int] = {}
    kind = np.array([names.setdefault(" ".join(one.lower().split()), len(names)) for one in captions])
    has = np.zeros((len(pictures), len(names)), bool)  # which captions, by number, a picture has
    has[np.asarray(owner), kind] = True
    to_picture = _ranks(texts, pictures, lambda rows: has.T[kind[rows]])
    asked = np.flatnonzero(has.any(1))
    to_text = _ranks(pictures[asked], texts, lambda rows: has[asked[rows]][:, kind])
    found = {f"recall_at_{k}": float((to_picture < k).mean()) for k in FIRST}
    return found | {f"{TO_TEXT}recall_at_{k}": float((to_text < k).mean()) for k in FIRST}


def _ranks(queries: np.ndarray, candidates: np.ndarray, right: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """For each query, how many candidates come before the best right one; among equals, wrong ones come first."""
    ranks = []
    for rows in np.array_split(np.arange(len(queries)), -(-len(queries) // AT_ONCE)):
        similar, answers = queries[rows] @ candidates.T, right(rows)
        best = np.where(answers, similar, -np.inf).max(1, keepdims=True)
        ranks.append(((similar >= best) & ~answers).sum(1))
    return np.concatenate(ranks)
