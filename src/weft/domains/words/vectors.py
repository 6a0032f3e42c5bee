"""What is done with vectors of words: their samples, the space they lie in, and how they are measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from weft.batches.source import Source
from weft.domains.words.codec import WordCodec
from weft.domains.words.dataset import HeldOutWords
from weft.domains.words.encoded.counts import CountedPairs, count_pairs
from weft.domains.words.encoded.lines import NeighbourLines, Thinning
from weft.domains.words.measures import analogy_answers, rank_correlation, spelling_likeness, unit_vectors
from weft.domains.words.reading import Analogies, Likeness
from weft.domains.words.settings import WordTraining
from weft.errors import ConfigError, DataError
from weft.inspect.nearest import SPACED_TERM, WordSpace
from weft.models.word_vectors import WordVectors
from weft.objectives import NegativeSampling, PairCount
from weft.objectives.measures.tallies import Tally
from weft.objectives.objective import Objective
from weft.objectives.scoring import scored
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.request import Loaded, Measured

STRETCH = 512  # words in a sample


def words_of(codecs: Codecs) -> WordCodec:
    """The codec of the words."""
    codec = codecs["word"]
    assert isinstance(codec, WordCodec)
    return codec


def vectors_of(run: Loaded) -> WordVectors:
    """The run's model, which must have a vector for each word of its codec."""
    assert isinstance(run.model, WordVectors)
    words, rows = len(words_of(run.codecs).words), run.model.config.words
    if words != rows:
        problem = f"there are {words} words and {rows} vectors: they are of different runs"
        raise ConfigError(problem, where=str(run.folder.path), fix="put the run's own words.json back")
    return run.model


def space_of(run: Loaded) -> WordSpace:
    """The space of the run's vectors."""
    codec, model = words_of(run.codecs), vectors_of(run)
    words = codec.words

    def numbers(word: str) -> list[int]:
        found = codec.find(word)
        return [] if found is None else [found]

    return WordSpace(unit_vectors(model.vectors().float().cpu().numpy()), words.__getitem__, numbers, SPACED_TERM)


def objective_of(training: WordTraining) -> Objective.Config:
    """What is learned."""
    if training.contexts == "counts":
        return PairCount.Config()
    return NegativeSampling.Config(contexts=training.contexts, negatives=training.negatives)


def source_of(streams: tuple[np.ndarray, np.ndarray], codec: WordCodec, training: WordTraining, mark: str) -> Source:
    """Samples of a text to train on and one held out; `mark` is the fingerprint of the data."""
    window, seed, counts = training.window, training.seed, codec.counts
    assert window is not None
    if training.contexts == "counts":
        train, held = (count_pairs(ids, len(counts), window) for ids in streams)
        held = held.scaled(float(counts.sum()) / max(1, int((streams[1] != len(counts)).sum())))
        return CountedPairs(train, held, most=training.most, fingerprint=mark, seed=seed)
    span = min(STRETCH, max(8, len(streams[0]) // training.batch))
    how = Thinning(window, training.sample)
    return NeighbourLines(*streams, counts, how, span=span, fingerprint=mark, seed=seed)


def measured(run: Loaded, held_out: HeldOutWords, training: WordTraining) -> Measured:
    """Loss on text, analogies and correlation, each beside what is reached without vectors."""
    metrics: dict[str, float] = {}
    losses: list[Baseline] = []
    more: dict[str, Any] = {}
    examples = 0
    if held_out.text is not None and vectors_of(run).config.kind != "vectors":
        ids, many = words_of(run.codecs).ids(held_out.text.pieces())
        losses = _losses(run, ids, training, held_out.text)
        metrics |= {"loss": losses[0].tally.value, "frequency_loss": losses[1].tally.value}
        examples += many
    for questions in held_out.questions:
        ask = _analogies if isinstance(questions, Analogies) else _likeness
        found, said, asked = ask(run, questions)  # type: ignore[arg-type]
        metrics, more, examples = {**metrics, **found}, {**more, **said}, examples + asked
    if not metrics:
        problem = "nothing to measure: none of the words asked for has a vector" if held_out.questions else (
            "vectors without the model that learned them are measured by questions, not by text")  # fmt: skip
        raise DataError(
            problem, where=str(run.folder.path), fix="name a file of analogies, or of word pairs with a similarity"
        )
    return Measured(examples, metrics, more, tally=losses[0].tally if losses else None, baselines=tuple(losses[1:]))


def _losses(run: Loaded, ids: np.ndarray, training: WordTraining, text: Any) -> list[Baseline]:
    """The loss of the run on a text, and that of a model that knows how often each word occurs and nothing else."""
    codec, model = words_of(run.codecs), vectors_of(run)
    mark = str(getattr(text, "corpus", text).fingerprint)
    source = source_of((ids, ids), codec, training, mark)
    objective = objective_of(training)
    found = list[Baseline]()
    for name, one in (("model", model), ("frequency", _by_frequency(codec.counts, model.config.kind, training))):
        rows = [scored(objective, one, [batch]) for batch in source.held_out()]
        found.append(Baseline(name, "how often each word occurs", Tally("loss", np.array(rows, float), lower=True)))
    return found


def _by_frequency(counts: np.ndarray, kind: str, training: WordTraining) -> WordVectors:
    """The best model without vectors: its scores depend on how often a word occurs alone."""
    model = WordVectors.Config(words=len(counts), dim=1, kind="glove" if kind == "glove" else "word2vec").build()
    with torch.no_grad():
        model.word.weight.fill_(0.0 if kind == "glove" else 1.0)
        model.neighbour.weight.zero_()
        if kind == "glove":
            window = training.window or 1
            together = 2 * sum(1 / distance for distance in range(1, window + 1))
            logs = torch.from_numpy(np.log(counts) + 0.5 * np.log(together / counts.sum())).float()[:, None]
            model.word_bias.weight.copy_(logs)
            model.neighbour_bias.weight.copy_(logs)
        else:
            how = Thinning(training.window or 1, training.sample)
            seen, drawn = how.kept(counts) * counts, counts**0.75
            odds = seen / seen.sum() / (training.negatives * drawn / drawn.sum())
            model.neighbour.weight.copy_(torch.from_numpy(np.log(odds)).float()[:, None])
    return model


def _analogies(run: Loaded, questions: Analogies) -> tuple[dict[str, float], dict[str, Any], int]:
    codec, unit = words_of(run.codecs), space_of(run).unit
    sections: dict[str, dict[str, float]] = {}
    right = plain = asked = known = 0
    for name, rows in questions.sections.items():
        numbers = [[codec.find(word) for word in row] for row in rows]
        found = np.array([row for row in numbers if None not in row], np.int64).reshape(-1, 4)
        hits = int((analogy_answers(unit, found) == found[:, 3]).sum())
        plain += int((analogy_answers(unit, found, offset=False) == found[:, 3]).sum())
        right, asked, known = right + hits, asked + len(rows), known + len(found)
        sections[name] = {"right": hits, "known": len(found), "questions": len(rows)}
    metrics = {"analogies": right / known, "nearest_analogies": plain / known} if known else {}
    return metrics, {"sections": sections, "analogies_known": known, "analogies_asked": asked}, known


def _likeness(run: Loaded, questions: Likeness) -> tuple[dict[str, float], dict[str, Any], int]:
    codec, unit = words_of(run.codecs), space_of(run).unit
    numbers = [(codec.find(one), codec.find(other)) for one, other in questions.pairs]
    known = [i for i, pair in enumerate(numbers) if None not in pair]
    said: Mapping[str, int] = {"pairs_known": len(known), "pairs_asked": len(numbers)}
    if len(known) < 2:
        return {}, dict(said), 0
    rows = np.array([numbers[i] for i in known], np.int64)
    truth = questions.values[known]
    spelling = np.array([spelling_likeness(*questions.pairs[i]) for i in known])
    cosine = (unit[rows[:, 0]] * unit[rows[:, 1]]).sum(1)
    metrics = {
        "correlation": rank_correlation(cosine, truth),
        "spelling_correlation": rank_correlation(spelling, truth),
    }
    return metrics, dict(said), len(known)
