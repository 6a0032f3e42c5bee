"""Plain methods for pairs: the source as it is, and a table with one word for each word."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.domains.pairs.reading.texts import Held, Pair
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline

COUNTED = 200_000  # pairs that the table of words is made from, spread evenly over all
LONGEST = 40  # words of a pair that is counted
ORDERS, RECALL = 6, 4.0  # n-grams of chrF; beta squared, by which recall counts more


def pair_baselines(train: Sequence[Pair], held_out: Sequence[Held]) -> Iterator[Baseline]:
    """The source copied; each word replaced by the word that it stands with most."""
    sources = [one.source for one in held_out]
    yield Baseline("copy", "the source copied", chrf_tally(sources, held_out))
    table = _word_table(train)
    words = [" ".join(table.get(word, word) for word in _words(source)) for source in sources]
    yield Baseline("word-table", "a table of words", chrf_tally(words, held_out))


def chrf_tally(found: Sequence[str], held: Sequence[Held]) -> Tally:
    """chrF, sentence by sentence, from the counts that sacrebleu makes."""
    from sacrebleu.metrics import CHRF

    most = max(len(one.references) for one in held)
    references = [[one.references[k] if k < len(one.references) else None for one in held] for k in range(most)]
    metric: Any = CHRF()
    counts = metric._extract_corpus_statistics(list(found), references)
    return Tally("chrf", np.array(counts, float), _chrf)


def _chrf(sums: np.ndarray) -> np.ndarray:
    """The score of counts (…, 3 x orders): n-grams found, wanted and common to both, of each order."""
    found, wanted, common = np.moveaxis(sums.reshape(*sums.shape[:-1], ORDERS, 3), -1, 0)
    counted = (found > 0) & (wanted > 0)
    many = np.maximum(counted.sum(-1), 1)
    precision, recall = (
        (np.where(counted, common / np.maximum(side, 1), 0)).sum(-1) / many for side in (found, wanted)
    )
    return 100 * (1 + RECALL) * precision * recall / np.maximum(RECALL * precision + recall, 1e-16)


def _words(text: str) -> list[str]:
    return text.split()[:LONGEST]


def _word_table(pairs: Sequence[Pair]) -> dict[str, str]:
    """For each word of sources the word of targets with the highest Dice coefficient."""
    together: defaultdict[str, Counter[str]] = defaultdict(Counter)
    left, right = Counter[str](), Counter[str]()
    few = np.linspace(0, len(pairs) - 1, min(len(pairs), COUNTED)).round().astype(np.int64)
    for pair in (pairs[number] for number in few.tolist()) if len(pairs) > COUNTED else pairs:
        source, target = set(_words(pair.source)), set(_words(pair.target))
        left.update(source)
        right.update(target)
        for word in source:
            together[word].update(target)
    return {
        word: max(sorted(some), key=lambda other: some[other] / (left[word] + right[other]))
        for word, some in together.items()
        if some
    }
