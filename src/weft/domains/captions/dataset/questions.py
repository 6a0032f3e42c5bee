"""Pictures with questions about them and the answers: to learn from, and held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, final

from weft.domains.captions.reading import questions
from weft.domains.captions.reading.question_tables import Asked
from weft.domains.captions.reading.questions import read_questions
from weft.domains.captions.sample.album import scenes
from weft.domains.pictures.dataset.pictures import (
    SCENES,
    SET_APART,
    UNSEEN,
    LabelledPictures,
    PictureData,
    Pictures,
    held_apart,
    name_of,
)
from weft.domains.pictures.reading.album import Album
from weft.files.dataset import Count, Reader
from weft.files.known_roles import ASKED
from weft.files.survey import Judgement, Survey


class QuestionSettings(Protocol):
    """What may be said of the tables."""

    @property
    def picture_column(self) -> str | None: ...

    @property
    def question_column(self) -> str | None: ...

    @property
    def answer_column(self) -> str | None: ...

    @property
    def kind_column(self) -> str | None: ...

    @property
    def allowed(self) -> int | float | None: ...


@final
class AskedPictures(Reader[PictureData]):
    """Pictures with questions. What is held out may name pictures that stand where those to train on do."""

    sample = "scenes"
    roles = ASKED[:3]
    overrules = (LabelledPictures, Pictures)

    def judge(self, survey: Survey) -> Judgement:
        return questions.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: QuestionSettings, count: Count | None = None
    ) -> PictureData:

        columns, skip = _columns(asked, strict=True), asked.allowed
        found = read_questions(sources, asked=columns, skip=skip, progress=count) if sources else scenes()
        given = None
        if valid is not None:
            given = read_questions([valid], further=sources, asked=columns, skip=skip, progress=count)
        data = held_apart(found, given, name_of(sources, SCENES), valid, apart=SET_APART if sources else UNSEEN)
        return replace(data, still=not sources)


def measured_questions(sources: Sequence[str], asked: QuestionSettings) -> Album:
    """Questions to be measured on; the columns may be named otherwise than those that were learned from."""
    found = read_questions(sources, asked=_columns(asked, strict=False), skip=asked.allowed)
    return found.held_out or found.train


def _columns(asked: QuestionSettings, *, strict: bool) -> Asked:
    return Asked(asked.picture_column, asked.question_column, asked.answer_column, asked.kind_column, strict)
