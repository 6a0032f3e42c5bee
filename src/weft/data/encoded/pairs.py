"""Pairs of texts as ids and as samples. Knows tokenizers, marks and lengths; refuses to know models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.amounts import count
from weft.codecs import Codecs, SymbolCodec, TextCodec
from weft.data.batch import PaddedIds, Samples
from weft.data.datasets.pairs import PairData
from weft.data.like_lengths import LikeLengthSource
from weft.errors import DataError, listed


@dataclass(frozen=True)
class PairRows:
    """Pairs of ids. A source is read up to its end; a target stands between a `start` and the `end`.

    The end of a source is that of a target unless `source_end` names another.
    """

    pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    end: int
    start: int
    source_end: int | None = None

    def lengths(self) -> np.ndarray:
        """Of source and target, with the end that each is given to read."""
        return np.array([(len(source) + 1, len(target) + 1) for source, target in self.pairs], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, PaddedIds]:
        """Some of the pairs, marks put where they belong."""
        some = [self.pairs[row] for row in rows]
        source_end = self.end if self.source_end is None else self.source_end
        source = PaddedIds.of([np.append(source, source_end) for source, _ in some])
        target = PaddedIds.of([np.concatenate(([self.start], target, [self.end])) for _, target in some])
        return Samples(source, target)


Ids = tuple[np.ndarray, np.ndarray]
MOST_TOKENS = 512  # the longest side that is trained on unless the user sets a context
CONTEXT_STEP = 64  # contexts are multiples of this


@dataclass(frozen=True)
class PairIds:
    """Pairs as ids, without marks. `long` pairs were left out because a side does not fit into `context` tokens.

    `codec` is that of the sources, and of the targets too unless these are `symbols`.
    """

    data: PairData
    codec: TextCodec
    train: Sequence[Ids]
    held_out: Sequence[Ids]
    context: int
    long: int
    symbols: SymbolCodec | None = None

    @staticmethod
    def of(data: PairData, codecs: Codecs, context: int | None, spelt: Callable[[str], str]) -> "PairIds":
        """Texts to ids, targets as they are `spelt` for the model."""
        codec, target = codecs["source"], codecs["target"]
        assert isinstance(codec, TextCodec) and isinstance(target, TextCodec | SymbolCodec)
        train = _ids(codec, target, [(pair.source, spelt(pair.target)) for pair in data.train])
        held = _ids(codec, target, [(one.source, spelt(one.references[0])) for one in data.held_out])
        longest = max((max(len(a), len(b)) + 1 for a, b in train), default=1)
        context = context or max(CONTEXT_STEP, min(MOST_TOKENS, -(-longest // CONTEXT_STEP) * CONTEXT_STEP))
        fitting = [pair for pair in train if max(map(len, pair)) < context]
        if not fitting:
            problem = f"no pair has fewer than {context} tokens on both sides"
            raise DataError(problem, where=data.described, fix=f"set a longer context, say --set context={longest}")
        held_fitting = [pair for pair in held if max(map(len, pair)) < context] or fitting[:1]
        symbols = target if isinstance(target, SymbolCodec) else None
        return PairIds(data, codec, fitting, held_fitting, context, len(train) - len(fitting), symbols)

    @property
    def tokens(self) -> int:
        """Target tokens to train on."""
        return sum(len(target) + 1 for _, target in self.train)

    def source(self, tokens: int, seed: int) -> LikeLengthSource[PaddedIds, PaddedIds]:
        """The samples: micro-batches of about `tokens` tokens a side."""
        source_end = self.codec.tokenizer.end
        end = source_end if self.symbols is None else self.symbols.marks.end
        train, held = (PairRows(pairs, end, end, source_end) for pairs in (self.train, self.held_out))
        return LikeLengthSource(train, held, tokens=tokens, fingerprint=self.data.fingerprint, seed=seed)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(20.0, max(1.0, self.data.characters / 5e5))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"left_out_long": self.long, "train_tokens": self.tokens, "ratio": length_ratio(self.train)}

    def lines(self) -> Mapping[str, str]:
        """The pairs for people: how many, which way, what was left out and what is odd about them."""
        data = self.data
        first = data.notes[0] if data.notes else f"{len(data.train):,} pairs"
        lines = {"data": f"{data.described}: {first}"}
        for number, note in enumerate(data.notes[1:]):
            lines[" " * (number + 1)] = note
        if data.skipped:
            lines["skipped"] = listed([f"{name} ({reason})" for name, reason in data.skipped])
        if self.long:
            lines["left out"] = f"{self.long:,} pairs with a side of {self.context} tokens or more (--set context=…)"
        held = data.rule.partition(" (")[0]
        if data.overlap:
            held += f"; {data.overlap:,} of its sources are also trained on"
        sides = "for both sides" if self.symbols is None else f"{self.symbols.in_words()} to write"
        tokens = f"{self.codec.in_words()}, {sides}; {count(self.tokens)} target tokens to train on"
        return {**lines, "held out": held, "tokens": tokens}


def length_ratio(pairs: Sequence[Ids]) -> float:
    """How much longer than its source a target may be expected to be: more than all but a few are."""
    ratios = [(len(target) + 1) / (len(source) + 1) for source, target in pairs]
    return round(1.2 * float(np.quantile(ratios, 0.999)), 3)


def _ids(source: TextCodec, target: TextCodec | SymbolCodec, pairs: Sequence[tuple[str, str]]) -> list[Ids]:
    sides = source.ids(one for one, _ in pairs), target.ids(other for _, other in pairs)
    return list(zip(*sides, strict=True))
