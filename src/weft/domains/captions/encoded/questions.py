"""Pictures with questions and answers as ids and as samples: a picture is read once for several of its questions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from weft.amounts import count as in_short
from weft.batches.draws import draws
from weft.batches.samples import PaddedIds, Samples
from weft.domains.captions.encoded.captions import CONTEXT_STEP, MOST_TOKENS, PROBED, SCORED, SHOWN
from weft.domains.captions.encoded.question_ids import AskedIds, AskedRows, TextCodecs
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.batches import PictureInputs, PictureSource, augment_key, order_of
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.reading.album import Album
from weft.domains.texts.codec.text import TextMarks
from weft.errors import DataError
from weft.modalities.picture_text import PictureText
from weft.sending import sent

ROWS = 256  # held-out questions that are computed at once


@dataclass(frozen=True)
class QuestionBatch:
    """Questions about pictures of one shape, row by row; `owner` names the picture of each and never goes back."""

    picture: Any  # pictures, or their features
    questions: PaddedIds
    owner: Int[Tensor, "B"]

    def to(self, device: torch.device | str) -> "QuestionBatch":
        """The same on another device."""
        return QuestionBatch(self.picture.to(device), self.questions.to(device), sent(self.owner, device))

    def __len__(self) -> int:
        return len(self.questions)

    def __getitem__(self, rows: Any) -> "QuestionBatch":
        """Some of the questions, with the pictures that they are about."""
        owner = self.owner[rows]
        first, last = (int(owner[0]), int(owner[-1]) + 1) if len(owner) else (0, 0)
        return QuestionBatch(self.picture[first:last], self.questions[rows], owner - first)

    def raw(self) -> PictureText:
        """As an embedder takes it."""
        return PictureText(self.picture.raw(), self.questions.raw(), self.owner)


Answered = Samples[QuestionBatch, PaddedIds]


@dataclass(frozen=True)
class Contexts:
    """The most tokens of a question with its marks, and of an answer that a decoder has room for."""

    question: int
    answer: int

    def fitting(self, questions: AskedRows, marks: TextMarks) -> AskedRows:
        """The questions of each picture that fit, each with the answers that do; `marks` are those of answers."""
        return questions.fitting(self.question, self.answer, marks)


@dataclass(frozen=True)
class SeenQuestions(SeenPictures):
    """Pictures with questions as ids. `long` questions were left out: they or their answers do not fit `contexts`."""

    texts: TextCodecs
    questions: AskedRows  # about the pictures to train on
    held_questions: AskedRows
    contexts: Contexts
    long: int

    @staticmethod
    def asked(
        data: PictureData,
        picture: PictureCodec,
        texts: TextCodecs,
        contexts: tuple[int | None, int | None],
        channels: int | None,
        count: Callable[[int, int], None] | None = None,
    ) -> "SeenQuestions":
        """Pictures at the codec's size with their questions; those without one that fits are left out."""
        sides = ((album.questions, album.fingerprint) for album in (data.train, data.held_out))
        train, held = (texts.kept(*side) for side in sides)
        marks, asked = texts.answer.marks, len(train.asked)
        longest = int(train.question_lengths().max())
        longest_answer = int(train.answer_lengths().max()) + len(marks.before)
        room = Contexts(contexts[0] or _context(longest), contexts[1] or _context(longest_answer))
        train_album, train = _asked_about(data.train, room.fitting(train, marks))
        held_album, held = _asked_about(data.held_out, room.fitting(held, marks))
        if not len(train) or not len(held):
            problem = f"no question fits {room.question} tokens with an answer of {room.answer}"
            fix = f"set longer ones, say --set context={longest} --set answer_context={longest_answer}"
            raise DataError(problem, where=data.described, fix=fix)
        seen = SeenPictures.of(replace(data, train=train_album, held_out=held_album), picture, channels, count)
        long = asked - len(train.asked)
        return SeenQuestions(**vars(seen), texts=texts, questions=train, held_questions=held, contexts=room, long=long)

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json; `longest` is the number of tokens of the longest answer."""
        return {
            **super().amounts,
            "questions": len(self.questions.asked),
            "answers": len(self.questions.given),
            "held_out_questions": len(self.held_questions.asked),
            "longest": int(self.questions.answer_lengths().max()),
            "left_out_long": self.long,
        }

    def lines(self) -> Mapping[str, str]:
        """The pictures and questions in words, for a plan."""
        asked, first = self.questions, self.data.train.questions[0][0]
        shown = f"{first.text} {first.answers[0]}"
        shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
        tokens = int(asked.question_lengths().sum(dtype=np.int64))
        lines = {
            **super().lines(),
            "questions": f"{len(asked.asked):,} to train on, {len(self.held_questions.asked):,} held out; the first: "
            f"{shown}",
            "tokens": f"{self.texts.question.in_words()}; {in_short(tokens)} tokens of questions",
        }
        if self.long:
            lines["left out"] = (
                f"{self.long:,} questions longer than {self.contexts.question} tokens, or with answers longer than "
                f"{self.contexts.answer} (--set context=…, --set answer_context=…)"
            )
        return lines


def _context(longest: int) -> int:
    return min(MOST_TOKENS, -(-longest // CONTEXT_STEP) * CONTEXT_STEP)


def _asked_about(album: Album, asked: AskedRows) -> tuple[Album, AskedRows]:
    """The pictures that have a question left."""
    rows = np.flatnonzero(asked.counts())
    if len(rows) == len(asked):
        return album, asked
    return replace(album.take(rows), more=album.more), asked.of_pictures(rows)


def question_samples(
    picture: Any, asked: Sequence[Sequence[AskedIds]], answers: Sequence[np.ndarray], marks: TextMarks
) -> Answered:
    """Questions about each picture, and an answer to each question, row after row."""
    owner = torch.tensor([row for row, some in enumerate(asked) for _ in some])
    questions = PaddedIds.of([one.question for some in asked for one in some])
    return Samples(QuestionBatch(picture, questions, owner), PaddedIds.of([marks.around(ids) for ids in answers]))


def usual_answer(answers: Sequence[np.ndarray]) -> np.ndarray:
    """The answer that most people gave, the first of several such."""
    return np.array(Counter(tuple(ids.tolist()) for ids in answers).most_common(1)[0][0], np.int64)


def whole_questions(
    pictures: Iterator[tuple[np.ndarray, Any]], asked: Sequence[Sequence[AskedIds]], marks: TextMarks
) -> Iterator[Answered]:
    """Pictures in batches of one shape, by row, with all their questions and the usual answer to each."""
    for rows, picture in pictures:
        some = [asked[int(row)] for row in rows]
        if any(some):
            samples = question_samples(
                picture, some, [usual_answer(one.answers) for all_ in some for one in all_], marks
            )
            for start in range(0, len(samples), ROWS):
                yield samples[start : start + ROWS]


def asked_pictures(seen: SeenQuestions, visit: int, *, how: Augment, stride: int, seed: int) -> PictureSource[Answered]:
    """Pictures with questions. A visit to a picture draws `visit` of its questions, none twice, and an answer to each.

    Where several people answered, an answer is drawn as often as it was given. `stride` is the model's, to which the
    sides of held-out pictures are rounded.
    """
    order, marks = order_of(seen, seed), seen.texts.answer.marks
    mark, widest = augment_key(order), int(seen.questions.counts().max())
    inputs = PictureInputs(seen, how, stride, mark, scored=SCORED, probed=PROBED)

    def make(given: Any, rows: np.ndarray, indices: np.ndarray) -> Answered:
        which, whose = draws(f"{mark} questions", indices, widest), draws(f"{mark} answers", indices, visit)
        asked = [_drawn(seen.questions[int(row)], chance, visit) for row, chance in zip(rows, which, strict=True)]
        answers = [
            one.answers[int(chance * len(one.answers))]
            for some, chances in zip(asked, whose, strict=True)
            for one, chance in zip(some, chances, strict=False)
        ]
        return question_samples(given, asked, answers, marks)

    def of_held(given: Any, rows: np.ndarray) -> Iterator[Answered]:
        return whole_questions(iter([(rows, given)]), seen.held_questions, marks)

    return PictureSource(order, inputs, make, of_held)


def _drawn(asked: Sequence[AskedIds], chance: np.ndarray, visit: int) -> list[AskedIds]:
    """Some of a picture's questions, none twice."""
    return [asked[i] for i in np.argsort(chance[: len(asked)])[:visit]]
