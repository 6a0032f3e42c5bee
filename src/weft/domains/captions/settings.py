"""Settings of trainings on pictures with texts: captions, questions and answers."""

from collections.abc import Mapping
from typing import ClassVar

from weft.domains.pictures.settings import PictureTraining
from weft.domains.texts.settings import OF_TEXT
from weft.errors import ConfigError
from weft.tasks.settings.limits import within
from weft.tasks.settings.sized import LAYERS_OF_BOTH, SMOOTHING

WITH_TEXT: Mapping[str, str] = {
    **{name: text for name, text in PictureTraining.about.items() if name != "summary"},
    **OF_TEXT,
    "depth": LAYERS_OF_BOTH,
    "smoothing": SMOOTHING.format("tokens"),
    "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
}


class CaptionTraining(PictureTraining):
    """Settings of a training on pictures with captions."""

    visit: int = 2
    coverage: float = 0.0
    contrast: float | None = None
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    symbols: tuple[str, ...] = ()
    picture_column: str | None = None
    caption_column: str | None = None
    decoder: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **WITH_TEXT,
        "visit": "captions of a picture that are used each time the picture is read",
        "coverage": "attention penalty (doubly stochastic attention): above 0, all parts of the picture are to get "
        "equal attention over a whole caption; 1 in Show, Attend and Tell",
        "contrast": "model coca: weight of the contrastive loss (match pictures and captions) beside the caption loss",
        "context": "context length: the most tokens of a caption",
        "caption_column": "the column of the captions; by default all columns that look like captions",
        "decoder": "a language-model run: the decoder starts from its tokenizer, embedding and layers (pretrained)",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("visit", 1000), ("context", 2**20)):
            within(self, name, 1, most)
        within(self, "coverage", 0, 1000)
        if self.contrast is not None and not 0 < self.contrast <= 1000:
            raise ConfigError(f"expected a value above 0, up to 1000, found {self.contrast}", where="contrast")
        if self.coverage and self.contrast is not None:
            raise ConfigError("model coca has no penalty on attention", where="coverage", fix="leave it out")
        _unblended(self, "caption")


class AnswerTraining(PictureTraining):
    """Settings of a training on questions about pictures."""

    batch: int = 32
    visit: int = 5
    context: int | None = None
    answer_context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    symbols: tuple[str, ...] = ()
    picture_column: str | None = None
    question_column: str | None = None
    answer_column: str | None = None
    kind_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **WITH_TEXT,
        "visit": "questions about a picture that are used each time the picture is read",
        "context": "context length: the most tokens of a question",
        "answer_context": "the most tokens of an answer",
        "question_column": "the column of the questions",
        "answer_column": "the column of the answers; by default all columns that look like answers",
        "kind_column": "the column with the kind of each question; accuracy is then measured for each kind too",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("visit", 1000), ("context", 2**20), ("answer_context", 2**20)):
            within(self, name, 1, most)
        _unblended(self, "answers")


def _unblended(settings: PictureTraining, text: str) -> None:
    """Refuse augmentation that makes one picture of two, each of which has a text."""
    for name in ("mixup", "cutmix"):
        if getattr(settings.augment, name):
            problem = f"{name} blends two pictures, and the blend has no {text}"
            raise ConfigError(problem, where=f"augment.{name}", fix="leave it out")
