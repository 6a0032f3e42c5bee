"""How good tags of words are, and the entities that they spell out; how good answers are that stand in a text."""

import re
import string
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


def tag_measures(found: Rows, truth: Rows, *, spans: bool) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures of the tags of sentences; with `spans`, of the entities that they spell out too.

    An entity counts as found if its first word, its last and its kind are right, as conlleval counts. Intervals of
    entities are over sentences, those of tags over words.
    """
    right = sum(a == b for one, other in zip(found, truth, strict=True) for a, b in zip(one, other, strict=True))
    words = sum(map(len, truth))
    metrics = {"tag_accuracy": right / max(words, 1)}
    more: dict[str, Any] = {"intervals": {"tag_accuracy": wilson(right, max(words, 1))}}
    sides = [[_spans(tags) if spans else _single(tags) for tags in side] for side in (found, truth)]
    more["f1"] = _by_kind(*sides)
    if spans:
        counts = np.array([(len(set(a) & set(b)), len(a), len(b)) for a, b in zip(*sides, strict=True)])
        metrics |= _measures(counts)
        more["intervals"] |= bootstrap(len(counts), lambda rows: _measures(counts[rows]))
        more["entities"] = int(counts[:, 2].sum())
    return metrics, more


def tag_tally(found: Rows, truth: Rows, *, spans: bool) -> Tally:
    """The F1 of entities, or the accuracy of tags, sentence by sentence."""
    if spans:
        sides = [[set(_spans(tags)) for tags in side] for side in (found, truth)]
        counts = [(2 * len(a & b), len(a) + len(b)) for a, b in zip(*sides, strict=True)]
        return Tally("f1", np.array(counts, float))
    right = [(sum(a == b for a, b in zip(*pair, strict=True)), len(pair[0])) for pair in zip(found, truth, strict=True)]
    return Tally("tag_accuracy", np.array(right, float))


def _spans(tags: Sequence[str]) -> list[Entity]:
    return list(entities(tags))


def _single(tags: Sequence[str]) -> list[Entity]:
    """Every word with its tag, as if it were an entity."""
    return [Entity(place, place + 1, tag) for place, tag in enumerate(tags)]


def _measures(counts: np.ndarray) -> dict[str, float]:
    """From a row for each sentence: how many are right, found and true."""
    values = f1_of(*counts.sum(0)[:, None])
    return {name: float(value[0]) for name, value in zip(("precision", "recall", "f1"), values, strict=True)}


def _by_kind(found: Sequence[Sequence[Entity]], truth: Sequence[Sequence[Entity]]) -> dict[str, float]:
    """F1 of each kind that is there, the commonest first."""
    right, proposed, true = Counter[str](), Counter[str](), Counter[str]()
    for one, other in zip(found, truth, strict=True):
        right.update(span.kind for span in set(one) & set(other))
        proposed.update(span.kind for span in one)
        true.update(span.kind for span in other)
    return {kind: 2 * right[kind] / (proposed[kind] + count) for kind, count in true.most_common()}


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
