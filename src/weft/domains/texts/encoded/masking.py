"""Windows of a text with some tokens hidden: the samples of fill-mask. Knows ids and chance; refuses to know models.

A sample is a stretch of running text, whatever documents it touches (the end token stands between them), put between
the marks of a text. So there is no padding, every token is met, and texts in use look as in training. Liu et al.
(2019, RoBERTa) found such windows nearly as good as ones that end with their document, which need padding.
"""

from collections.abc import Iterator

import numpy as np
import torch

from weft.batches.draws import Dice
from weft.batches.order import WindowOrder, key
from weft.batches.samples import AtTokens, EvenIds, Samples
from weft.errors import ConfigError
from weft.modalities.framing import Joins
from weft.modalities.tokenizer import Tokenizer

SHARE = 0.15  # of the tokens are hidden (Devlin et al., 2019)
SHOWN_AS_MASK, SHOWN_AS_OTHER = 0.8, 0.1  # of those; the rest are shown as they are
SCORED = 8192  # tokens in one batch of held-out windows


Masked = Samples[EvenIds, AtTokens]


class TokenMasker:
    """Hides a share of the tokens of a text: four of five become the mask, one in ten another token, one in ten stays.

    Which and how depends on the key and the sample's index alone. Special tokens are never hidden. With `whole_words`,
    all tokens of a word are hidden or none, and no more than the share unless a single word is more.
    """

    def __init__(self, tokenizer: Tokenizer, *, share: float = SHARE, whole_words: bool = False):
        if tokenizer.mask is None:
            raise ConfigError("this tokenizer has no token that stands for a hidden one", where="tokenizer")
        if not 0 < share < 1:
            raise ConfigError(f"must be above 0 and below 1, found {share}", where="share")
        self.mask, self.share = tokenizer.mask, share
        self.plain = np.ones(tokenizer.size, bool)
        self.plain[tokenizer.special] = False
        self.others = np.flatnonzero(self.plain)
        self.joins = Joins.of(tokenizer) if whole_words else None

    def hide(self, ids: np.ndarray, dice: Dice) -> tuple[np.ndarray, np.ndarray]:
        """Rows of ids as they are to be read, and where something is hidden."""
        length = ids.shape[1]
        hidden = self.chosen(ids, dice.unit("which", length).T)
        how, other = dice.unit("how", length).T, dice.unit("other", length).T
        drawn = self.others[(other * len(self.others)).astype(np.int64)]
        read = np.where(hidden & (how < SHOWN_AS_MASK), self.mask, ids)
        return np.where(hidden & (how >= 1 - SHOWN_AS_OTHER), drawn, read), hidden

    def chosen(self, ids: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Which tokens to hide: those with the least chance, the tokens of a word sharing that of its first."""
        free = self.plain[ids]
        if self.joins is not None:
            first = np.maximum.accumulate(np.where(self.joins.starts(ids), np.arange(ids.shape[1]), 0), axis=1)
            chance = np.take_along_axis(chance, first, 1)
        chance = np.where(free, chance, 2.0)
        count = np.maximum(1, np.round(self.share * free.sum(1)).astype(np.int64))[:, None]
        order = np.sort(np.pad(chance, ((0, 0), (0, 1)), constant_values=3.0), axis=1)
        last, after = (np.take_along_axis(order, place, 1) for place in (count - 1, count))
        cut_in_two = (after == last) & (order[:, :1] < last)
        return free & np.where(cut_in_two, chance < last, chance <= last)


class MaskedWindows:
    """A `Source` over two streams of ids, one to train on and one held out, in windows with hidden tokens.

    Every epoch hides other tokens. In held-out windows they are always the same, whatever the seed.
    """

    def __init__(
        self,
        train: np.ndarray,
        valid: np.ndarray,
        tokenizer: Tokenizer,
        masker: TokenMasker,
        *,
        context: int,
        fingerprint: str,
        seed: int,
    ):
        self.train, self.valid, self.masker, self.fingerprint = train, valid, masker, fingerprint
        self.marks = tuple(np.array(ids, np.int64) for ids in tokenizer.marks)
        self.room = context - sum(map(len, self.marks))
        if self.room < 1:
            raise ConfigError(f"{context} tokens leave no room between the marks of a text", where="context")
        self.order = WindowOrder(len(train), self.room, fingerprint, seed)
        self.key = key(fingerprint, seed, "hidden")

    @property
    def per_epoch(self) -> int:
        """Windows in one epoch."""
        return self.order.per_epoch

    def batch(self, indices: np.ndarray) -> Masked:
        """The windows at these global indices, each with tokens hidden that its index alone decides."""
        indices = np.asarray(indices, np.int64)
        return self._windows(self.train, self.order.starts(indices), Dice(self.key, indices))

    @property
    def windows(self) -> int:
        """Windows of the held-out text."""
        return len(self._starts())

    def _starts(self) -> np.ndarray:
        last = max(0, len(self.valid) - self.room)
        return np.append(np.arange(0, last, self.room), last)

    def held_out(self, *, most: int | None = None) -> Iterator[Masked]:
        """The held-out text in windows side by side, spread evenly over it when not all of it is asked for."""
        starts = self._starts()
        places = np.arange(len(starts))
        if most is not None and most < len(starts):
            places = np.linspace(0, len(starts) - 1, most).round().astype(np.int64)
        rows, mark = max(1, SCORED // self.room), key(self.fingerprint, "hidden when held out")
        for i in range(0, len(places), rows):
            some = places[i : i + rows]
            yield self._windows(self.valid, starts[some], Dice(mark, some))

    def _windows(self, stream: np.ndarray, starts: np.ndarray, dice: Dice) -> Masked:
        inner = stream[starts[:, None] + np.arange(min(self.room, len(stream)))].astype(np.int64)
        read, hidden = self.masker.hide(inner, dice)
        none = [np.zeros((len(inner), len(ids)), bool) for ids in self.marks]
        where = torch.from_numpy(np.concatenate([none[0], hidden, none[1]], 1))
        wanted = AtTokens(torch.from_numpy(self._marked(inner)), where)
        return Samples(EvenIds(torch.from_numpy(self._marked(read))), wanted)

    def _marked(self, rows: np.ndarray) -> np.ndarray:
        before, after = (np.broadcast_to(ids, (len(rows), len(ids))) for ids in self.marks)
        return np.concatenate([before, rows, after], 1)
