"""Pictures with questions about them and the answers: to learn from, and held out."""

from collections.abc import Sequence
from functools import partial
from typing import final

from weft.domains.captions.dataset.captions import divided_pictures
from weft.domains.captions.reading import questions
from weft.domains.captions.reading.question_tables import Asked
from weft.domains.captions.reading.questions import read_questions
from weft.domains.captions.settings import AnswerTraining
from weft.domains.pictures.dataset.pictures import LabelledPictures, PictureData, Pictures
from weft.domains.pictures.reading.album import Album
from weft.files.dataset import Count, Reader
from weft.files.known_roles import ASKED
from weft.files.survey import Judgement, Survey


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
        how = partial(read_questions, asked=_columns(asked, strict=True), skip=asked.allowed, progress=count)
        return divided_pictures(how, sources, valid)


def measured_questions(sources: Sequence[str], asked: AnswerTraining) -> Album:
    """Questions to be measured on; the columns may be named otherwise than those that were learned from."""
    found = read_questions(sources, asked=_columns(asked, strict=False), skip=asked.allowed)
    return found.held_out or found.train


def _columns(asked: AnswerTraining, *, strict: bool) -> Asked:
    return Asked(asked.picture_column, asked.question_column, asked.answer_column, asked.kind_column, strict)
