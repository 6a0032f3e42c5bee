"""Words of texts as numbers: a stream to train on and one held out. Knows a vocabulary, no vectors."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weft.amounts import count
from weft.domains.words.codec import WordCodec, count_words
from weft.domains.words.dataset import WordData
from weft.errors import DataError
from weft.modalities.words import Breaks

USUAL_FEWEST, SMALL_FEWEST = 5, 2  # times that a word must be seen to be learned; in texts of fewer than SMALL words
SMALL = 100_000
PACE = 400_000  # words a second that a usual processor learns from
DEFAULT_EPOCHS = 10.0


def learn_words(data: WordData, *, fewest: int | None, most: int | None, lower: bool, breaks: Breaks) -> WordCodec:
    """The words of a text that are seen often enough, the most frequent first."""
    counts = count_words(data.train.pieces(), lower=lower, breaks=breaks)
    total = counts.total()
    least = fewest or (USUAL_FEWEST if total >= SMALL else SMALL_FEWEST)
    ranked = sorted(((n, word) for word, n in counts.items() if n >= least), key=lambda one: (-one[0], one[1]))[:most]
    if len(ranked) < 2:
        problem = f"{len(ranked)} of {len(counts):,} different words are seen {least} times or more"
        raise DataError(problem, where=data.described, fix="add more text, or --set fewest=1")
    return WordCodec.of([word for _, word in ranked], [n for n, _ in ranked], lower=lower, breaks=breaks)


@dataclass(frozen=True)
class WordIds:
    """A text to train on and one that is held out, as numbers of words; `words` were read in all."""

    data: WordData
    codec: WordCodec
    train: np.ndarray
    held_out: np.ndarray
    words: int

    @staticmethod
    def of(data: WordData, codec: WordCodec) -> "WordIds":
        """The numbers of words; too little text is refused."""
        train, words = codec.ids(data.train.pieces())
        held, _ = codec.ids(data.held_out.text.pieces()) if data.held_out.text is not None else (train[:0], 0)
        end = len(codec.numbers)
        known, known_held = int((train != end).sum()), int((held != end).sum())
        if known < 8 or known_held < 2:
            problem = f"{known} known words to train on and {known_held} held out are too few"
            raise DataError(problem, where=data.described, fix="add more text")
        return WordIds(data, codec, train, held, words)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(10.0, max(0.5, DEFAULT_EPOCHS * self.words / PACE / 60))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"words": self.words, "known_words": len(self.codec.words), "train_tokens": len(self.train)}

    def lines(self) -> Mapping[str, str]:
        """The text in words, for a plan."""
        return {
            "data": "; ".join(self.data.notes),
            "words": f"{count(self.words)} to train on, {len(self.codec.words):,} different ones",
            "held out": self.data.rule.partition(":")[0],
        }
