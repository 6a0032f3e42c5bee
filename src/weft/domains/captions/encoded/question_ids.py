"""Questions and answers as ids, picture by picture: few of them in memory, many in mapped files that are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from weft.batches.id_rows import IdRows, id_rows
from weft.domains.texts.codec.text import TextCodec, TextMarks
from weft.files.pictures.regions import Question
from weft.storage.prepared import StagedEntry, key_of, store_for

ByPicture = Sequence[Sequence[Question]]


@dataclass(frozen=True)
class AskedIds:
    """A question as ids between its marks, and its answers as ids without marks, as often as they were given."""

    question: np.ndarray
    answers: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class AskedRows(Sequence[Sequence[AskedIds]]):
    """The questions of each picture.

    `pictures` says where the questions of each end. `questions` and `answers` are different texts; `asked` has the
    number of each question's text, `given` those of its answers, which end where `answered` says.
    """

    questions: IdRows
    answers: IdRows
    asked: np.ndarray
    given: np.ndarray
    answered: np.ndarray
    pictures: np.ndarray

    def __len__(self) -> int:
        return len(self.pictures)

    @overload
    def __getitem__(self, picture: int) -> Sequence[AskedIds]: ...
    @overload
    def __getitem__(self, picture: slice) -> Sequence[Sequence[AskedIds]]: ...
    def __getitem__(self, picture: int | slice) -> Sequence[AskedIds] | Sequence[Sequence[AskedIds]]:
        if isinstance(picture, slice):
            return [self[i] for i in range(*picture.indices(len(self)))]
        if not 0 <= picture < len(self):
            raise IndexError(f"picture {picture} of {len(self)}")
        first = int(self.pictures[picture - 1]) if picture else 0
        return [self.question(number) for number in range(first, int(self.pictures[picture]))]

    def question(self, number: int) -> AskedIds:
        """The question of this number among those of all pictures."""
        first = int(self.answered[number - 1]) if number else 0
        given = self.given[first : int(self.answered[number])].tolist()
        return AskedIds(self.questions[int(self.asked[number])], tuple(self.answers[one] for one in given))

    def counts(self) -> np.ndarray:
        """The number of questions about each picture."""
        return np.diff(self.pictures.astype(np.int64), prepend=0)

    def question_lengths(self) -> np.ndarray:
        """The tokens of each question, marks included."""
        found: np.ndarray = self.questions.lengths()[self.asked]
        return found

    def answer_lengths(self) -> np.ndarray:
        """The tokens of each answer, as often as it was given."""
        found: np.ndarray = self.answers.lengths()[self.given]
        return found

    def fitting(self, question: int, answer: int, marks: TextMarks) -> "AskedRows":
        """The questions of at most `question` tokens, each with the answers that a decoder has room for."""
        short = len(marks.before) + self.answer_lengths() <= answer
        before = np.concatenate(([0], np.cumsum(short)))
        ends = self.answered.astype(np.int64)
        left = np.diff(before[ends], prepend=0)  # answers of each question
        kept = (self.question_lengths() <= question) & (left > 0)
        if short.all() and kept.all():
            return self
        counted = np.concatenate(([0], np.cumsum(kept)))
        return replace(
            self,
            asked=self.asked[kept],
            given=self.given[short & np.repeat(kept, np.diff(ends, prepend=0))],
            answered=np.cumsum(left[kept]),
            pictures=counted[self.pictures.astype(np.int64)],
        )

    def of_pictures(self, pictures: np.ndarray) -> "AskedRows":
        """Those about some pictures; about the others nothing is asked."""
        return replace(self, pictures=self.pictures[pictures])


@dataclass(frozen=True)
class TextCodecs:
    """How questions and answers become ids; both have one tokenizer."""

    question: TextCodec
    answer: TextCodec

    def asked(self, questions: ByPicture) -> AskedRows:
        """The questions of each picture, in memory; a text that stands there often is encoded once."""
        numbers = _Numbers()
        asked, given, answered, pictures = (list[int]() for _ in range(4))
        for some in questions:
            for one in some:
                asked.append(numbers.question(one.text))
                given.extend(map(numbers.answer, one.answers))
                answered.append(len(given))
            pictures.append(len(asked))
        arrays = (np.array(one, np.int64) for one in (asked, given, answered, pictures))
        rows = (IdRows.together(self._question_ids([*numbers.questions])),
                IdRows.together(self._answer_ids([*numbers.answers])))  # fmt: skip
        return AskedRows(*rows, *arrays)

    def kept(self, questions: ByPicture, fingerprint: str) -> AskedRows:
        """The same; of many they stand in mapped files, which the next start finds by the fingerprint of the data."""
        store = store_for(sum(len(one.text) + sum(map(len, one.answers)) for some in questions for one in some))
        if store is None:
            return self.asked(questions)

        def make(staged: StagedEntry) -> None:
            numbers = _Numbers()
            growing = {name: staged.array(name, np.uint64) for name in ("asked", "given", "answered", "pictures")}
            for some in questions:
                for one in some:
                    growing["asked"].append(np.array([numbers.question(one.text)], np.uint64))
                    growing["given"].append(np.array(list(map(numbers.answer, one.answers)), np.uint64))
                    growing["answered"].append(np.array([growing["given"].rows], np.uint64))
                growing["pictures"].append(np.array([growing["asked"].rows], np.uint64))
            dtype = self.question.tokenizer.dtype
            id_rows(staged, "questions", dtype, numbers.questions, self._question_ids)
            id_rows(staged, "answers", dtype, numbers.answers, self._answer_ids)

        marks = [self.question.marks.before, self.question.marks.after]
        key = key_of("ids of questions", fingerprint, self.question.tokenizer.digest, marks)
        entry = store.entry(key, make, {"kind": "ids of questions"})
        arrays = (entry.arrays[name] for name in ("asked", "given", "answered", "pictures"))
        return AskedRows(IdRows.of(entry, "questions"), IdRows.of(entry, "answers"), *arrays)

    def _question_ids(self, texts: list[str]) -> list[np.ndarray]:
        marks = self.question.marks
        return [marks.around(ids) for ids in self.question.ids(text.strip() for text in texts)]

    def _answer_ids(self, texts: list[str]) -> list[np.ndarray]:
        return self.answer.ids(text.strip() for text in texts)


class _Numbers:
    """Different questions and answers, numbered as they come."""

    def __init__(self) -> None:
        self.questions, self.answers = dict[str, int](), dict[str, int]()

    def question(self, text: str) -> int:
        return self.questions.setdefault(text, len(self.questions))

    def answer(self, text: str) -> int:
        return self.answers.setdefault(text, len(self.answers))
