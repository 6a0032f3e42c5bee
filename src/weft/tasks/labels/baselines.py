"""Plain methods for labels: the commonest class or the mean, and models of scikit-learn on some features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.objectives.measures.classes import confusion_counts, f1_of
from weft.objectives.measures.several import macro_f1, several_tally
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec, NamedCodec
from weft.tasks.labels.numbers import numbers_of
from weft.tasks.labels.several import SeveralCodec

EXACT_WORK = 100_000  # rows x classes up to which a logistic regression is fitted to its end; beyond it, in passes
PASSES = 20
INVERSE_PENALTY = 10.0  # C of a logistic regression
RIDGE_PENALTY = 1.0
TREES = 100


def linear_classes(work: int, rows: int) -> Any:
    """Logistic regression; `work` is rows x classes, by which it is fitted to its end or in some passes."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    if work <= EXACT_WORK:
        return LogisticRegression(C=INVERSE_PENALTY, max_iter=200)
    penalty = 1 / (INVERSE_PENALTY * rows)
    return SGDClassifier(loss="log_loss", alpha=penalty, average=True, max_iter=PASSES, tol=None, random_state=0)


class LabelTarget:
    """The labels to learn and the labels held out, as plain methods take them."""

    def __init__(self, codec: LabelCodec, known: Sequence[str], truth: Sequence[str]):
        self.codec, self.classes = codec, isinstance(codec, ClassCodec)
        self.several, named = isinstance(codec, SeveralCodec), isinstance(codec, NamedCodec)
        self.known, self.truth = (codec.encode(some) if named else numbers_of(some) for some in (known, truth))

    @property
    def varied(self) -> bool:
        """Whether there is anything to tell apart among the rows to train on."""
        return bool((self.known != self.known[0]).any())

    def scored(self, name: str, words: str, answers: np.ndarray) -> Baseline:
        """A method by its answers: numbers of classes, 0 and 1 for each of several labels, or numbers themselves."""
        if self.several:
            given, truth = answers > 0.5, self.truth > 0.5
            return Baseline(name, words, several_tally(given, truth), {"macro_f1": macro_f1(given, truth)})
        if not self.classes:
            errors = answers - self.truth
            return Baseline(name, words, Tally.errors("rmse", errors), {"mae": float(np.abs(errors).mean())})
        counts = confusion_counts(answers, self.truth, self.codec.outputs)
        found, true = counts.sum(0), counts.sum(1)
        f1 = f1_of(np.diagonal(counts), found, true)[2][(found + true) > 0]
        return Baseline(name, words, Tally.shares("accuracy", answers == self.truth), {"macro_f1": float(f1.mean())})

    def usual(self) -> Baseline:
        """Always the commonest class, the labels that most have, or the mean."""
        if self.several:
            shares = self.known.mean(0)
            always = (shares > 0.5) | (shares == shares.max())
            return self.scored("majority", "always the commonest labels", np.tile(always, (len(self.truth), 1)))
        if not self.classes:
            return self.scored("mean", "the mean of all", np.full(len(self.truth), self.known.mean()))
        commonest = np.bincount(self.known, minlength=self.codec.outputs).argmax()
        return self.scored("majority", "always the commonest class", np.full(len(self.truth), commonest))

    def usual_label(self) -> str:
        """The commonest class, or the mean, as a label is written."""
        if not isinstance(self.codec, ClassCodec):
            return repr(float(self.known.mean()))
        return self.codec.names[int(np.bincount(self.known).argmax())]

    def fitted(self, name: str, words: str, model: Any, train: Any, held_out: Any) -> Baseline:
        """A model of scikit-learn on features of the rows, of those to train on and of those held out."""
        return self.scored(name, words, model.fit(train, self.known).predict(held_out))

    def linear(self) -> Any:
        """Logistic regression for classes, ridge regression for numbers."""
        from sklearn.linear_model import Ridge

        if self.several:
            from sklearn.multiclass import OneVsRestClassifier

            return OneVsRestClassifier(linear_classes(self.known.size, len(self.known)))
        work = len(self.known) * len(np.unique(self.known))
        return linear_classes(work, len(self.known)) if self.classes else Ridge(RIDGE_PENALTY, random_state=0)

    @property
    def regression(self) -> str:
        """The name of that model."""
        return "logistic regression" if self.classes or self.several else "ridge regression"

    def forest(self) -> Any:
        """A forest of trees (Breiman, 2001)."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return (RandomForestClassifier if self.classes or self.several else RandomForestRegressor)(
            TREES, random_state=0
        )
