"""Retrieval: how often the right one is among the first k, from texts to pictures and back. Knows vectors alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

FIRST = (1, 5, 10)  # the k of recall@k
TO_TEXT = "to_text_"  # before the names of measures from pictures to texts
AT_ONCE = 256  # queries compared at once


@dataclass(frozen=True)
class Retrieved:
    """How many wrong candidates come before the first right one: of each text among pictures, and back.

    Of `candidates` pictures, `right` (R,) answer each text.
    """

    to_picture: np.ndarray
    to_text: np.ndarray
    right: np.ndarray
    candidates: int

    def measures(self) -> dict[str, float]:
        """Recall at 1, 5 and 10 from texts to pictures, and (`to_text_...`) from pictures to texts."""
        found = {f"recall_at_{k}": float((self.to_picture < k).mean()) for k in FIRST}
        return found | {f"{TO_TEXT}recall_at_{k}": float((self.to_text < k).mean()) for k in FIRST}

    def chance(self) -> np.ndarray:
        """(R,) the chance that a random picture answers each text: recall at 1 of a random order."""
        return self.right / self.candidates


def retrieved(pictures: np.ndarray, texts: np.ndarray, captions: Sequence[str], owner: Sequence[int]) -> Retrieved:
    """What texts and pictures find by their vectors.

    `pictures` (B, E) and `texts` (R, E) have length 1; caption r belongs to picture `owner[r]`. A text is answered by
    every picture that has an equal caption; a picture by each of its captions, and by captions equal to one of them.
    Pictures without a caption are candidates, and no queries.
    """
    names: dict[str, int] = {}
    kind = np.array([names.setdefault(" ".join(one.lower().split()), len(names)) for one in captions])
    own = np.asarray(owner)
    with_kind, kinds_of, texts_of = _members(kind, own), _members(own, kind), _members(kind, np.arange(len(kind)))
    asked = np.unique(own)
    to_picture = _ranks(texts, pictures, lambda row: with_kind[kind[row]])
    to_text = _ranks(pictures[asked], texts, lambda row: np.concatenate([texts_of[k] for k in kinds_of[asked[row]]]))
    right = np.array([len(with_kind[one]) for one in kind.tolist()])
    return Retrieved(to_picture, to_text, right, len(pictures))


def _members(groups: np.ndarray, values: np.ndarray) -> dict[int, np.ndarray]:
    """The different values of each group."""
    order = np.argsort(groups, kind="stable")
    names, starts = np.unique(groups[order], return_index=True)
    parts = np.split(values[order], starts[1:])
    return {int(name): np.unique(part) for name, part in zip(names, parts, strict=True)}


def _ranks(queries: np.ndarray, candidates: np.ndarray, right: Callable[[int], np.ndarray]) -> np.ndarray:
    """For each query, how many candidates come before the best right one; among equals, wrong ones come first.

    `right` gives the candidates that answer a query.
    """
    ranks = []
    for start in range(0, len(queries), AT_ONCE):
        similar = queries[start : start + AT_ONCE] @ candidates.T
        answers = np.zeros(similar.shape, bool)
        for row, found in enumerate(answers):
            found[right(start + row)] = True
        best = np.where(answers, similar, -np.inf).max(1, keepdims=True)
        ranks.append(((similar >= best) & ~answers).sum(1))
    return np.concatenate(ranks)
