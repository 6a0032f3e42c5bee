"""Pairs of texts as ids and as samples. Knows tokenizers, marks and lengths; refuses to know models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import overload

import numpy as np

from weft.amounts import count, counted
from weft.batches.id_rows import ENCODED_AT_ONCE, GrowingIds, IdRows
from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import PaddedIds, Samples
from weft.domains.pairs.codec import TargetCodec
from weft.domains.pairs.dataset import PairData
from weft.domains.pairs.reading.texts import Pair
from weft.domains.texts.codec.text import TextCodec
from weft.errors import DataError, listed
from weft.files.text_rows import TextRows
from weft.storage.prepared import StagedEntry, key_of, store_for, temporary_store
from weft.tasks.codec import Codecs

Ids = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class PairRows:
    """Pairs of ids. A source is read up to the ids `after` it; a target stands between a `start` and the `end`.

    By default the end of a target stands after a source too. Some models have the language of a source there.
    """

    pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    end: int
    start: int
    after: tuple[int, ...] = ()

    def lengths(self) -> np.ndarray:
        """Of source and target, with the end that each is given to read."""
        more = len(self.after) or 1
        if isinstance(self.pairs, IdPairs):
            return self.pairs.lengths() + np.array([more, 1], np.int32)
        return np.array([(len(source) + more, len(target) + 1) for source, target in self.pairs], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, PaddedIds]:
        """Some of the pairs, marks put where they belong."""
        some = [self.pairs[row] for row in rows]
        source = PaddedIds.of([np.append(source, self.after or (self.end,)) for source, _ in some])
        target = PaddedIds.of([np.concatenate(([self.start], target, [self.end])) for _, target in some])
        return Samples(source, target)


@dataclass(frozen=True, eq=False)
class IdPairs(Sequence[Ids]):
    """Pairs of ids, each side in one array."""

    sources: IdRows
    targets: IdRows

    def __len__(self) -> int:
        return len(self.sources)

    @overload
    def __getitem__(self, row: int) -> Ids: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Ids]: ...
    def __getitem__(self, row: int | slice) -> Ids | Sequence[Ids]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return self.sources[row], self.targets[row]

    def lengths(self) -> np.ndarray:
        """Of source and target, a row for each pair."""
        return np.column_stack((self.sources.lengths(), self.targets.lengths()))

    def shorter(self, context: int) -> "IdPairs":
        """Those of which both sides have fewer ids."""
        fits = (self.sources.lengths() < context) & (self.targets.lengths() < context)
        if fits.all():
            return self
        chosen = np.flatnonzero(fits).astype(np.uint32)
        return IdPairs(self.sources.only(chosen), self.targets.only(chosen))


MOST_TOKENS = 512  # the longest side that is trained on unless the user sets a context
CONTEXT_STEP = 64  # contexts are multiples of this


@dataclass(frozen=True)
class PairIds:
    """Pairs as ids, without start and end. `long` pairs were left out: a side does not fit `context` tokens."""

    data: PairData
    given: TextCodec
    codec: TargetCodec
    train: Sequence[Ids]
    held_out: Sequence[Ids]
    context: int
    long: int

    @staticmethod
    def of(data: PairData, codecs: Codecs, context: int | None, spelt: Callable[[str], str]) -> "PairIds":
        """Texts to ids, targets as they are `spelt` for the model."""
        given, codec = codecs["source"], codecs["target"]
        assert isinstance(given, TextCodec) and isinstance(codec, TargetCodec)
        train: Sequence[Ids]
        if isinstance(data.train, TextRows) and isinstance(codec, TextCodec) and spelt is str:
            train = _many_ids(given, codec, data, data.train)
        else:
            train = _ids(given, codec, [(pair.source, spelt(pair.target)) for pair in data.train])
        held = _ids(given, codec, [(one.source, spelt(one.references[0])) for one in data.held_out])
        longest = 1 + _longest(train)
        context = context or max(CONTEXT_STEP, min(MOST_TOKENS, -(-longest // CONTEXT_STEP) * CONTEXT_STEP))
        fitting = train.shorter(context) if isinstance(train, IdPairs) else _shorter(train, context)
        if not fitting:
            problem = f"no pair has fewer than {context} tokens on both sides"
            raise DataError(problem, where=data.described, fix=f"set a longer context, say --set context={longest}")
        held_fitting = _shorter(held, context) or fitting[:1]
        return PairIds(data, given, codec, fitting, held_fitting, context, len(train) - len(fitting))

    @property
    def other_targets(self) -> TargetCodec | None:
        """The codec of the targets where these are no texts."""
        return None if isinstance(self.codec, TextCodec) else self.codec

    @cached_property
    def tokens(self) -> int:
        """Target tokens to train on."""
        if isinstance(self.train, IdPairs):
            return len(self.train) + int(self.train.targets.lengths().sum(dtype=np.int64))
        return sum(len(target) + 1 for _, target in self.train)

    def source(self, tokens: int, seed: int) -> LikeLengthSource[PaddedIds, PaddedIds]:
        """The samples: micro-batches of about `tokens` tokens a side."""
        marks, after = self.codec.marks, self.given.marks.after
        train, held = (PairRows(pairs, marks.end, marks.start, after) for pairs in (self.train, self.held_out))
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
            lines["left out"] = (
                f"{counted(self.long, 'pair')} with a side of {self.context} tokens or more (--set context=…)"
            )
        held = data.rule.partition(" (")[0]
        if data.overlap:
            held += f"; {data.overlap:,} of its sources are also trained on"
        sides = "for both sides" if self.other_targets is None else f"{self.other_targets.in_words()} to write"
        tokens = f"{self.given.in_words()}, {sides}; {count(self.tokens)} target tokens to train on"
        return {**lines, "held out": held, "tokens": tokens}


def length_ratio(pairs: Sequence[Ids]) -> float:
    """1.2 × the 99.9th percentile of target length / source length."""
    if isinstance(pairs, IdPairs):
        ratios = (pairs.targets.lengths() + 1) / (pairs.sources.lengths() + 1)
    else:
        ratios = np.array([(len(target) + 1) / (len(source) + 1) for source, target in pairs])
    return round(1.2 * float(np.quantile(ratios, 0.999, overwrite_input=True)), 3)


def _longest(pairs: Sequence[Ids]) -> int:
    if isinstance(pairs, IdPairs):
        return int(max(pairs.sources.lengths().max(initial=0), pairs.targets.lengths().max(initial=0)))
    return max((max(len(a), len(b)) for a, b in pairs), default=0)


def _shorter(pairs: Sequence[Ids], context: int) -> list[Ids]:
    return [pair for pair in pairs if max(map(len, pair)) < context]


def _many_ids(given: TextCodec, codec: TextCodec, data: PairData, rows: TextRows[Pair]) -> IdPairs:
    """The ids of pairs that are not held in memory: made some thousands at a time into mapped files, and kept."""

    def make(staged: StagedEntry) -> None:
        sides = [
            GrowingIds(staged, name, side.tokenizer.dtype) for name, side in (("source", given), ("target", codec))
        ]
        pairs = iter(rows)
        while some := list(islice(pairs, ENCODED_AT_ONCE)):
            found = _ids(given, codec, [(pair.source, pair.target) for pair in some])
            for side, ids in zip(sides, zip(*found, strict=True), strict=True):
                side.extend(ids)

    marks = [given.marks.before, codec.marks.before[1:]]
    key = key_of("ids of pairs", data.fingerprint, data.rule, given.tokenizer.digest, codec.tokenizer.digest, marks)
    entry = (store_for(rows.bytes) or temporary_store()).entry(key, make, {"kind": "ids of pairs"})
    return IdPairs(IdRows.of(entry, "source"), IdRows.of(entry, "target"))


def _ids(given: TextCodec, codec: TargetCodec, pairs: Sequence[tuple[str, str]]) -> list[Ids]:
    """Sources behind the marks that stand before them, targets behind all marks but the start."""
    sources, targets = given.ids(one for one, _ in pairs), codec.ids(other for _, other in pairs)
    led = (_behind(given.marks.before, sources), _behind(codec.marks.before[1:], targets))
    return list(zip(*led, strict=True))


def _behind(marks: tuple[int, ...], lines: list[np.ndarray]) -> list[np.ndarray]:
    return [np.concatenate((np.array(marks, ids.dtype), ids)) for ids in lines] if marks else lines
