"""Questions about pictures in VQA v2's two files: one of questions, one of answers. Refuses to look for pictures.

    {"questions": [{"question_id": 42000, "image_id": 42, "question": "What is this?"}]}
    {"annotations": [{"question_id": 42000, "image_id": 42, "answer_type": "other", "answers": [{"answer": "dog"}]}]}

Pictures are those whose names end in the number: COCO_val2014_000000000042.jpg.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from weft.domains.captions.reading.about import AboutPicture, text_fault, tidy
from weft.domains.captions.reading.coco import key_of
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.gather import tried
from weft.files.json_lines import read_string
from weft.files.json_values import has_keys, objects_in, read_json
from weft.files.pictures.regions import Question

QUESTION_FORM = 'write {"questions": [{"question_id": 42000, "image_id": 42, "question": "…"}]}'
ANSWER_FORM = 'write {"annotations": [{"question_id": 42000, "image_id": 42, "answers": [{"answer": "…"}]}]}'
Key = int | str


def is_questions(path: Path) -> bool:
    """Whether a file holds questions in the form of VQA v2, by the keys that stand in it."""
    return has_keys(path, ("questions", "question_id", "image_id", "question"))


def is_answers(path: Path) -> bool:
    """Whether a file holds answers in the form of VQA v2."""
    needed = ("annotations", "question_id", "image_id")
    return any(has_keys(path, (*needed, key)) for key in ("answers", "multiple_choice_answer"))


@dataclass(frozen=True)
class Answered:
    """The answers to one question, and where they stand."""

    where: str
    image: Key
    answers: tuple[str, ...]
    kind: str | None


class Answers:
    """The answers in some files by their questions, and what is wrong with those that cannot be used."""

    def __init__(self, files: Sequence[Path]):
        self.known: dict[Key, Answered] = {}
        self.faults: list[DataError] = []
        self.faulty: set[Key] = set()  # questions whose answers cannot be read
        self.used: set[Key] = set()
        for file in files:
            self.faults += tried(
                objects_in(read_json(file), "annotations", file, ANSWER_FORM), partial(self._add, shown(file))
            )

    def _add(self, file: str, one: tuple[str, dict[str, Any]]) -> None:
        where, found = f"{file}, {one[0]}", one[1]
        number, kind = key_of(found, "question_id", where, ANSWER_FORM), found.get("answer_type")
        if number in self.known:
            problem = f"the question {number} has answers twice, first in {self.known[number].where}"
            raise DataError(problem, where=where, fix="delete one of the two")
        self.faulty.add(number)
        image, texts = key_of(found, "image_id", where, ANSWER_FORM), _texts(found, where)
        self.known[number] = Answered(where, image, texts, kind if isinstance(kind, str) else None)
        self.faulty.discard(number)

    def to(self, number: Key, image: Key, where: str) -> Answered:
        """The answers to a question about an image."""
        if number not in self.known:
            fix = "name the file with its answers too, or delete the question"
            raise DataError(f"a question without answers: {number}", where=where, fix=fix)
        found = self.known[number]
        self.used.add(number)
        if found.image != image:
            problem = (
                f"the question {number} is about the image {image}, its answers in {found.where} about {found.image}"
            )
            raise DataError(problem, where=where, fix="give both the same image_id")
        if (fault := text_fault(found.answers, "answer")) is not None:
            raise DataError(fault, where=found.where, fix="correct or delete it")
        return found

    def left(self) -> Iterator[DataError]:
        """What is wrong with answers: that they cannot be read, or answer no question."""
        yield from self.faults
        for number, found in self.known.items():
            if number not in self.used:
                fix = "name the file with the question too, or delete them"
                yield DataError(f"answers to the question {number}, which is in no file", where=found.where, fix=fix)


def question_rows(path: Path, answers: Answers) -> Iterator[AboutPicture | DataError]:
    """The questions of a file with their answers, or what is wrong with one."""
    seen: dict[Key, str] = {}

    def read(one: tuple[str, dict[str, Any]]) -> AboutPicture | None:
        (at, found), where = one, f"{shown(path)}, {one[0]}"
        number, image = (key_of(found, name, where, QUESTION_FORM) for name in ("question_id", "image_id"))
        if seen.setdefault(number, at) != at:
            problem = f"a second question {number}, after {seen[number]}"
            raise DataError(problem, where=where, fix="give it another question_id")
        if number in answers.faulty:
            return None  # what is wrong is said of its answers
        answered = answers.to(number, image, where)
        text = tidy([read_string(found, "question", where=where, fix=QUESTION_FORM)])
        if (fault := text_fault(text, "question")) is not None:
            raise DataError(fault, where=where, fix="correct or delete it")
        return AboutPicture(at, image, question=Question(text[0], answered.answers, answered.kind))

    return tried(objects_in(read_json(path), "questions", path, QUESTION_FORM), read)


def _texts(found: dict[str, Any], where: str) -> tuple[str, ...]:
    """The answers of all people, else the one that most of them gave."""
    many = found.get("answers")
    if not isinstance(many, list) or not many:
        return tidy([read_string(found, "multiple_choice_answer", where=where, fix=ANSWER_FORM)])
    objects = [one if isinstance(one, dict) else {} for one in many]
    return tidy(read_string(one, "answer", where=where, fix=ANSWER_FORM) for one in objects)
