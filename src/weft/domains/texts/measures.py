"""How good tags of words are, and the entities that they spell out; how good answers are that stand in a text."""

import re
import string
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.domains.texts.reading.schemes import Entity, entities
from weft.objectives.measures.classes import f1_of, wilson
from weft.objectives.measures.resampling import bootstrap
from weft.objectives.measures.tallies import Tally

Rows = Sequence[Sequence[str]]
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


class TagScores:
    """How good the tags of sentences are, counted as they come: five numbers of each sentence are kept.

    With `spans`, of the entities that they spell out too. An entity counts as found if its first word, its last and its
    kind are right, as conlleval counts.
    """

    def __init__(self, *, spans: bool):
        self.spans = spans
        self._rows = array("q")  # of each sentence: right words, words; right, found and true entities
        self._kinds = (Counter[str](), Counter[str](), Counter[str]())  # right, found and true ones of each

    def add(self, found: Rows, truth: Rows) -> None:
        """The tags that were found for further sentences, and the true ones."""
        kinds = _spans if self.spans else _single
        for one, other in zip(found, truth, strict=True):
            right = sum(a == b for a, b in zip(one, other, strict=True))
            sides = set(kinds(one)), set(kinds(other))
            common = sides[0] & sides[1]
            self._rows.extend((right, len(other), len(common), len(sides[0]), len(sides[1])))
            for counter, some in zip(self._kinds, (common, *sides), strict=True):
                counter.update(one.kind for one in some)

    @property
    def rows(self) -> np.ndarray:
        """A row for each sentence."""
        return np.frombuffer(self._rows, np.int64).reshape(-1, 5) if len(self._rows) else np.zeros((0, 5), np.int64)

    def measures(self) -> tuple[dict[str, float], dict[str, Any]]:
        """The measures, and their intervals: those of entities are over sentences, those of tags over words."""
        counts = self.rows
        right, words = counts[:, :2].sum(0).tolist()
        metrics = {"tag_accuracy": right / max(words, 1)}
        more: dict[str, Any] = {"intervals": {"tag_accuracy": wilson(right, max(words, 1))}, "f1": self._by_kind()}
        if self.spans:
            entities = counts[:, 2:]
            metrics |= _measures(entities)
            more["intervals"] |= bootstrap(len(entities), lambda rows: _measures(entities[rows]))
            more["entities"] = int(entities[:, 2].sum())
        return metrics, more

    def tally(self) -> Tally:
        """The F1 of entities, or the accuracy of tags, sentence by sentence."""
        counts = self.rows.astype(float)
        if self.spans:
            return Tally("f1", np.stack([2 * counts[:, 2], counts[:, 3] + counts[:, 4]], 1))
        return Tally("tag_accuracy", counts[:, :2])

    def _by_kind(self) -> dict[str, float]:
        """F1 of each kind that is there, the commonest first."""
        right, found, true = self._kinds
        return {kind: 2 * right[kind] / (found[kind] + count) for kind, count in true.most_common()}


def tag_measures(found: Rows, truth: Rows, *, spans: bool) -> tuple[dict[str, float], dict[str, Any]]:
    """The measures of the tags of some sentences."""
    scores = TagScores(spans=spans)
    scores.add(found, truth)
    return scores.measures()


def tag_tally(found: Rows, truth: Rows, *, spans: bool) -> Tally:
    """The same, sentence by sentence."""
    scores = TagScores(spans=spans)
    scores.add(found, truth)
    return scores.tally()


def _spans(tags: Sequence[str]) -> list[Entity]:
    return list(entities(tags))


def _single(tags: Sequence[str]) -> list[Entity]:
    """Every word with its tag, as if it were an entity."""
    return [Entity(place, place + 1, tag) for place, tag in enumerate(tags)]


def _measures(counts: np.ndarray) -> dict[str, float]:
    """From a row for each sentence: how many are right, found and true."""
    values = f1_of(*counts.sum(0)[:, None])
    return {name: float(value[0]) for name, value in zip(("precision", "recall", "f1"), values, strict=True)}


def answer_scores(found: Sequence[str], truth: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Whether each answer is one of the right ones, and the F1 of its words, the best over the right ones.

    Letter case, punctuation and English articles do not count, as in SQuAD (Rajpurkar et al., 2016). "" is no answer,
    and right where there is none.
    """
    rows = [
        [_overlap(_plain(one), _plain(right)) for right in rights or ("",)]
        for one, rights in zip(found, truth, strict=True)
    ]
    return np.array([max(s[0] for s in row) for row in rows]), np.array([max(s[1] for s in row) for row in rows])


def answer_measures(found: Sequence[str], truth: Sequence[Sequence[str]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Exact match and F1 over questions, with intervals."""
    scores = np.stack(answer_scores(found, truth), 1)

    def means(rows: np.ndarray) -> dict[str, float]:
        return dict(zip(("exact", "f1"), scores[rows].mean(0).tolist(), strict=True))

    every = np.arange(len(scores))
    return means(every), {"intervals": bootstrap(len(scores), means)}


def answer_tally(found: Sequence[str], truth: Sequence[Sequence[str]]) -> Tally:
    """The F1 of answers, question by question."""
    return Tally.means("f1", answer_scores(found, truth)[1])


def _plain(text: str) -> list[str]:
    """The words of an answer as they are compared."""
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def _overlap(one: list[str], other: list[str]) -> tuple[float, float]:
    """Whether two answers have the same words in the same order, and their F1."""
    common = sum((Counter(one) & Counter(other)).values())
    return float(one == other), 2 * common / (len(one) + len(other)) if one and other else float(one == other)
