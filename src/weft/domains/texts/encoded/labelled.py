"""Labelled texts as ids and as samples. Knows tokenizers and labels; refuses to know models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import Classes, Numbers, PaddedIds
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.whole_texts import TextAmount
from weft.domains.texts.reading.labelled_texts import Example
from weft.files.labelled import LabelledData
from weft.modalities.framing import frame_ids
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.rows import LabelledRows


@dataclass(frozen=True)
class LabelledIds:
    """Texts as ids, without marks and uncut, with their targets: they are framed when a model's context is known."""

    data: LabelledData[Example]
    codec: TextCodec
    train: LabelledRows[PaddedIds]
    held_out: LabelledRows[PaddedIds]

    @staticmethod
    def of(data: LabelledData[Example], text: TextCodec, label: LabelCodec) -> "LabelledIds":
        """Texts to ids and labels to targets."""
        train, held_out = (_encoded(rows, text, label) for rows in (data.train, data.held_out))
        return LabelledIds(data, text, train, held_out)

    def source(
        self, context: int, *, tokens: int, rows: int, seed: int
    ) -> LikeLengthSource[PaddedIds, Classes | Numbers]:
        """The samples of a model with this context: micro-batches of at most `tokens` tokens and `rows` texts."""
        train, held_out = (self._framed(side, context) for side in (self.train, self.held_out))
        fingerprint = self.data.fingerprint
        return LikeLengthSource(train, held_out, tokens=tokens, rows=rows, fingerprint=fingerprint, seed=seed)

    def _framed(self, side: LabelledRows[PaddedIds], context: int) -> LabelledRows[PaddedIds]:
        return LabelledRows(frame_ids(self.codec.tokenizer, side.rows, context).rows, side.targets, PaddedIds.of)

    @cached_property
    def amount(self) -> TextAmount:
        """How much there is to train on."""
        return TextAmount.of(self.train.rows, self.codec)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return self.amount.minutes

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"train_tokens": self.amount.tokens}

    def lines(self) -> Mapping[str, str]:
        """The texts in words, for a plan."""
        return self.amount.lines(self.data, self.codec)


def _encoded(rows: Sequence[Example], text: TextCodec, label: LabelCodec) -> LabelledRows[PaddedIds]:
    return LabelledRows(text.ids(row.text for row in rows), label.encode([row.label for row in rows]), PaddedIds.of)
