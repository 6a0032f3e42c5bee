"""Pictures with sentences about them, and with questions and answers: to learn from, and held out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

from weft.domains.captions.reading import captions, questions
from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.reading.question_tables import QuestionColumns
from weft.domains.captions.reading.questions import read_questions
from weft.domains.captions.sample.album import scenes
from weft.domains.captions.settings import AnswerTraining, CaptionTraining
from weft.domains.pictures.dataset import (
    SCENES,
    SET_APART,
    UNSEEN,
    LabelledPictures,
    PictureData,
    Pictures,
    held_apart,
    name_of,
)
from weft.domains.pictures.reading.album import Album, FoundPictures
from weft.files.dataset import Count, Reader
from weft.files.known_roles import ASKED, CAPTIONED
from weft.files.survey import Judgement, Survey


@final
class CaptionedPictures(Reader[PictureData]):
    """Pictures with captions. What is held out may name pictures that stand where those to train on do."""

    sample = "scenes"
    roles = CAPTIONED
    overrules = (LabelledPictures, Pictures)

    def judge(self, survey: Survey) -> Judgement:
        return captions.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: CaptionTraining, count: Count | None = None
    ) -> PictureData:
        how = partial(read_captions, **columns_of(asked), skip=asked.allowed, progress=count)
        return divided_pictures(how, sources, valid)


def divided_pictures(read: Callable[..., FoundPictures], sources: Sequence[str], valid: str | None) -> PictureData:
    """Pictures to train on and held out, of sources or of the sample; `read` finds what rows say about pictures."""
    found = read(sources) if sources else scenes()
    given = None if valid is None else read([valid], further=sources)
    data = held_apart(found, given, name_of(sources, SCENES), valid, apart=SET_APART if sources else UNSEEN)
    return replace(data, still=not sources)


def columns_of(asked: CaptionTraining) -> dict[str, Any]:
    """The columns of tables that are asked for."""
    return {"picture": asked.picture_column, "caption": asked.caption_column}


@final
class AskedPictures(Reader[PictureData]):
    """Pictures with questions. What is held out may name pictures that stand where those to train on do."""

    sample = "scenes"
    roles = ASKED[:3]
    overrules = (LabelledPictures, Pictures)

    def judge(self, survey: Survey) -> Judgement:
        return questions.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: AnswerTraining, count: Count | None = None
    ) -> PictureData:
        how = partial(read_questions, asked=_columns(asked), skip=asked.allowed, progress=count)
        return divided_pictures(how, sources, valid)


def measured_questions(sources: Sequence[str], asked: AnswerTraining) -> Album:
    """Questions to be measured on."""
    found = read_questions(sources, asked=_columns(asked), skip=asked.allowed)
    return found.held_out or found.train


def _columns(asked: AnswerTraining) -> QuestionColumns:
    return QuestionColumns(asked.picture_column, asked.question_column, asked.answer_column, asked.kind_column)
