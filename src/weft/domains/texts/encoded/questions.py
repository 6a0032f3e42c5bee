"""Questions about passages as ids and as samples: windows of passages, and the tokens of the answers in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from weft.batches.samples import PaddedIds, PaddedPairs, Samples, Spans, padded
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.questions import PassageData
from weft.domains.texts.encoded.whole_texts import WholeTexts
from weft.domains.texts.reading.questions import PassageQuestion
from weft.modalities.passages import PassageWindow, passage_windows
from weft.modalities.text import TextEmbed
from weft.models.stream import Model

OVERLAP = 128  # tokens that neighbouring windows of a passage share, at most


@dataclass(frozen=True)
class QuestionIds:
    """Questions and their passages as ids, and the first and last token of each answer; None without one."""

    questions: Sequence[np.ndarray]
    passages: Sequence[np.ndarray]
    spans: Sequence[tuple[int, int] | None]


@dataclass(frozen=True)
class PassageRows:
    """Windows of passages, with the answer's first and last token in each: those of the first mark without one."""

    windows: Sequence[PassageWindow]
    spans: Sequence[tuple[int, int]]
    segments: bool = True  # whether a model tells the two texts apart

    def lengths(self) -> np.ndarray:
        """A column with the length of each window in ids."""
        return np.array([[len(one.ids)] for one in self.windows], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, Spans]:
        """Some of the windows with their answers."""
        first, last = torch.tensor([self.spans[row] for row in rows]).T
        return Samples[PaddedIds, Spans](self.given(rows), Spans(first, last))

    def given(self, rows: Sequence[int] | np.ndarray) -> PaddedPairs:
        """Some of the windows."""
        some = [self.windows[row] for row in rows]
        ids = PaddedIds.of([one.ids for one in some])
        segments = torch.from_numpy(padded([one.segments for one in some], 0)) if self.segments else None
        return PaddedPairs(ids.ids, ids.lengths, segments)


@dataclass(frozen=True)
class PassageIds(WholeTexts[QuestionIds, Spans]):
    """Questions about passages; `segments` says whether a model tells the two texts of a row apart."""

    segments: bool = True

    @staticmethod
    def of(data: PassageData, text: TextCodec) -> "PassageIds":
        """Texts to ids and answers to tokens."""
        return PassageIds(data, text, question_ids(data.train, text), question_ids(data.held_out, text))

    @cached_property
    def texts(self) -> Sequence[np.ndarray]:
        pairs = zip(self.train.questions, self.train.passages, strict=True)
        return [np.concatenate([question, passage]) for question, passage in pairs]

    def framed(self, side: QuestionIds, context: int) -> PassageRows:
        windows, spans = list[PassageWindow](), list[tuple[int, int]]()
        for question, passage, span in zip(side.questions, side.passages, side.spans, strict=True):
            for one in passage_windows(self.codec.tokenizer.pair_marks, question, passage, context, OVERLAP):
                first, last = (None, None) if span is None else map(one.at, span)
                windows.append(one)
                spans.append((0, 0) if first is None or last is None else (first, last))
        return PassageRows(windows, spans, self.segments)


def question_ids(rows: Sequence[PassageQuestion], text: TextCodec) -> QuestionIds:
    """Questions and passages as ids, and the tokens of the answers."""
    known = {passage: text.tokenizer.encode_places(passage) for passage in dict.fromkeys(row.passage for row in rows)}
    spans = [None if row.span is None else tokens_of(known[row.passage][1], *row.span) for row in rows]
    return QuestionIds(text.ids(row.question for row in rows), [known[row.passage][0] for row in rows], spans)


def tokens_of(places: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that hold characters from `start` on, before `end`; None where none does."""
    inside = np.flatnonzero((places[:, 1] > start) & (places[:, 0] < end) & (places[:, 1] > places[:, 0]))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def knows_segments(model: Model.Config) -> bool:
    """Whether a model tells the two texts of a row apart."""
    embed = model.reader().embed
    return isinstance(embed, TextEmbed.Config) and embed.segments > 1
