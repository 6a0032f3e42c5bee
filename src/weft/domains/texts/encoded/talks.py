"""Talks as ids of which the answers count: to train on, held out, and measured. Refuses to know models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.amounts import count
from weft.batches.order import key, permuted
from weft.batches.packed import PackedRows, PackedWindows, ScoredIds
from weft.domains.texts.codec.templates import Refused
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.codec.turns import TurnCodec
from weft.domains.texts.dataset.talks import TalkData
from weft.domains.texts.reading.talks import Talk
from weft.errors import DataError

LONG_SHARE = 0.98  # of the talks are no longer than a long one


@dataclass(frozen=True)
class TalkRows:
    """Talks as rows of ids, and why some are left out: a template may refuse them."""

    rows: Sequence[ScoredIds]
    refused: Sequence[str]

    @staticmethod
    def of(talks: Sequence[Talk], text: TextCodec, turns: TurnCodec) -> "TalkRows":
        """The rows of talks; refused where none is left."""
        rows, refused = list[ScoredIds](), list[str]()
        for talk in talks:
            try:
                rows += turns.rows(text, talk)
            except Refused as error:
                refused.append(f"{talk.where}: {error}")
        if not rows:
            problem = f"the chat template takes none of {len(talks):,} talks"
            raise DataError(
                problem, where=refused[0] if refused else "", fix="give talks of users and assistants in turns"
            )
        return TalkRows(rows, refused)

    @property
    def tokens(self) -> int:
        """All ids."""
        return sum(map(len, self.rows))

    @property
    def answered(self) -> int:
        """Ids that count."""
        return sum(int(row.counts.sum()) for row in self.rows)

    def packed(self, context: int, *, filler: int) -> PackedRows:
        """The rows in windows of a model's context."""
        return PackedRows.of(self.rows, context, filler=filler)


@dataclass(frozen=True)
class TalkIds:
    """Talks to train on and talks held out, as ids."""

    data: TalkData
    codec: TextCodec
    train: TalkRows
    held_out: TalkRows

    @staticmethod
    def of(data: TalkData, text: TextCodec, turns: TurnCodec) -> "TalkIds":
        """The ids of talks; those to train on in an order that their content decides."""
        order = permuted(np.arange(len(data.train)), len(data.train), key(data.fingerprint, "talks"))
        mixed = [data.train[i] for i in order]
        return TalkIds(data, text, TalkRows.of(mixed, text, turns), TalkRows.of(data.held_out, text, turns))

    @property
    def tokens(self) -> int:
        """Ids to train on."""
        return self.train.tokens

    @property
    def longest(self) -> int:
        """Tokens of a long talk, which should be read at once."""
        return int(np.quantile([len(row) for row in self.train.rows], LONG_SHARE))

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(10.0, max(1.0, self.data.amounts["bytes"] / 2e5))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"train_tokens": self.train.tokens, "held_out_tokens": self.held_out.tokens, **self._answers}

    @cached_property
    def _answers(self) -> dict[str, int]:
        return {"answer_tokens": self.train.answered}

    def source(self, context: int, seed: int) -> PackedWindows:
        """The samples of a model with this context."""
        filler = self.codec.tokenizer.end
        train, held_out = (side.packed(context, filler=filler) for side in (self.train, self.held_out))
        return PackedWindows(train, held_out, fingerprint=self.data.fingerprint, seed=seed)

    def lines(self) -> Mapping[str, str]:
        """The talks in words, for a plan."""
        refused = (*self.train.refused, *self.held_out.refused)
        left = f"; left out by the chat template: {len(refused):,} (first: {refused[0]})" if refused else ""
        tokens = f"{count(self.train.tokens)} to train on, of which {count(self.train.answered)} are answers"
        return {
            "data": "; ".join(self.data.notes) + left,
            "tokens": f"{self.codec.in_words()}; {tokens}",
            "held out": f"{self.data.rule.partition(':')[0]} ({count(self.held_out.answered)} tokens of answers)",
        }
