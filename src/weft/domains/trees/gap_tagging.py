"""Trees found by tagging the gaps between words: the best that balances, by a run's encoder. Knows no files.

The search knows scores and depths alone: brackets balance and there is one root.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.batches.like_lengths import scored as micro_batches
from weft.batches.like_lengths import together
from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.writing import AnsweredSources, WrittenText
from weft.domains.texts.encoded.whole_texts import TaggedRows, framed
from weft.domains.texts.views.streams import text_of
from weft.domains.trees.codec import GapCodec
from weft.domains.trees.encoded import gap_rows, gaps_of, linearise, tree_of
from weft.domains.trees.reading.tree import Tree
from weft.errors import DataError, WeftError
from weft.generate.beam import Hypothesis
from weft.inspect.alignment import text_labels
from weft.inspect.study import Study, stream_study
from weft.modalities.text import Text
from weft.models.backbone import context_of
from weft.objectives import SplitTags
from weft.objectives.scoring import scored
from weft.tasks.request import Loaded
from weft.training.progress import Progress, counter

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


class GapTagger:
    """Parses sentences, by the encoder and codecs of a run."""

    def __init__(self, run: Loaded):
        self.model, self.text, self.codec = run.stream.eval(), text_of(run.codecs), run.codec("gaps", GapCodec)
        self.labels = [len(opens.split()) for opens in self.codec.config.opens]

    def write(self, texts: Sequence[str], progress: Progress | None = None) -> list[list[WrittenText]]:
        """The tree of each sentence as symbols, with its log-probability. A blank text has an empty answer.

        Words have white space between them.
        """
        sentences = [text.split() for text in texts]
        rows, room = self._framed([" ".join(words) for words in sentences]), context_of(self.model.config)
        for words, places in zip(sentences, rows.places, strict=True):
            if len(places) < len(words):
                problem = f"a sentence of {len(words)} words is longer than the model's context of {room} tokens"
                fix = "give it in shorter parts, or train with a longer context (--set context=…)"
                raise WeftError(problem, where=repr(" ".join(words)[:60]), fix=fix)
        done = None if progress is None else counter(progress, len(texts), "answered")
        found, answered = [[_EMPTY] for _ in texts], 0
        for alike in together([len(ids) for ids in rows.texts]):
            some = [i for i in alike.tolist() if sentences[i]]
            for i, values in zip(some, self._values(rows, some), strict=True):
                found[i] = [self._tree(sentences[i], values)]
            answered += len(alike)
            if done is not None:
                done(answered)
        if progress is not None:
            progress.stop()
        return found

    def answers(self, held: Sequence[Held], progress: Progress) -> AnsweredSources:
        """Trees of held-out sentences; without those that the model has no room for."""
        places = self._framed([one.source for one in held]).places
        fitting = [one for one, some in zip(held, places, strict=True) if len(some) == len(one.source.split())]
        if not fitting:
            raise DataError("no sentence fits the model's context", fix="train with a longer context")
        rows = gap_rows(self.text, self.codec, [(one.source, one.references[0]) for one in fitting])
        objective = SplitTags.Config(sizes=self.codec.sizes, beside=self.codec.beside)
        batches = micro_batches(framed(rows, self.text, context_of(self.model.config)))
        total, words = scored(objective, self.model, batches)
        answers = [best[0][0] for best in self.write([one.source for one in fitting], progress)]
        return AnsweredSources(fitting, answers, total / max(1, words), words, len(held) - len(fitting))

    def framed(self, sentence: str) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a sentence between its marks, and the place of each word's first id."""
        rows = self._framed([sentence])
        return rows.texts[0], rows.places[0]

    def study(self, sentence: str) -> Study:
        """The study of what opens before the first word; `study.at(place)` goes on to the tokens of other words."""
        (ids, places), opens = self.framed(sentence), self.codec.config.opens
        raw = Text(torch.from_numpy(ids)[None].to(next(self.model.parameters()).device))
        return stream_study(
            self.model,
            raw,
            names=text_labels(self.text.tokenizer, ids),
            label=lambda n: " ".join(f"({name}" for name in opens[n].split()) or "nothing opens",
            place=int(places[0]) + 1,
            size=len(opens),
        )

    def score(self, sentence: str, tree: Tree) -> float:
        """The log-probability of a tree among all trees; minus infinity for one with gaps that were never learned."""
        (values,) = self._values(self._framed([sentence]), [0])
        scores = self._scores(values)
        gaps = gaps_of(tree)
        opening, *behind = self.codec.parts([*gaps[:-1], (gaps[-1][0], 0)])
        if min(part.min() for part in (opening, *behind)) < 0:
            return -math.inf
        rows, parts = np.arange(len(gaps)), [scores.closing, *(() if scores.depths is None else (scores.depths,))]
        found = scores.opening[rows, opening].sum()
        for part, numbers in zip(parts, behind, strict=True):
            found += part[rows, numbers][:-1].sum()  # after the last word everything closes
        return float(found) - log_total(scores)

    def _framed(self, sentences: Sequence[str]) -> TaggedRows:
        found = self.text.tokenizer.encode_words([text.split() for text in sentences])
        rows = TaggedRows([ids for ids, _ in found], [starts for _, starts in found], [starts for _, starts in found])
        return framed(rows, self.text, context_of(self.model.config))

    @torch.inference_mode()
    def _values(self, rows: TaggedRows, some: list[int]) -> list[Tensor]:
        """The values of each word, sentence by sentence."""
        if not some:
            return []
        part = rows.take(some).to(next(self.model.parameters()).device)
        at_words, _ = part.wanted.picked(self.model.encode(part.given.raw()).x)
        assert self.model.head is not None
        values = self.model.head.values(at_words).float().cpu()
        return list(values.split([len(rows.places[i]) for i in some]))

    def _tree(self, words: list[str], values: Tensor) -> WrittenText:
        scores = self._scores(values)
        best = best_gaps(scores)
        chance = best.score - log_total(scores)
        opens = [self.codec.config.opens[i] for i in best.opens]
        tree = tree_of(list(zip(opens, best.closes, strict=True)), words)
        return linearise(tree), Hypothesis((), chance, chance, True)

    def _scores(self, values: Tensor) -> GapScores:
        """The scores of all that may stand in the gaps of a sentence."""
        opening, closing, *more = (one.log_softmax(-1).double().numpy() for one in values.split(self.codec.sizes, -1))
        return GapScores(opening, closing, self.labels, more[0] if self.codec.config.depths else None)


_EMPTY: WrittenText = "", Hypothesis((), 0.0, 0.0, True)
