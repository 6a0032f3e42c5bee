"""Settings of trainings on texts, of language models and of encoders; and the sizes of models that have a name."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.errors import ConfigError
from weft.tasks.preset import Preset
from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import SMOOTHING, RowTraining

LANGUAGE = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=64, note=": trains in seconds"),
    "mini": Preset(dim=256, depth=4, heads=8, context=256),
    "small": Preset(dim=384, depth=6, heads=6, context=256),
    "base": Preset(dim=768, depth=12, heads=12, context=1024, note=" (GPT-2)"),
    "large": Preset(dim=1024, depth=24, heads=16, context=1024, note=" (GPT-2 medium)"),
}
ENCODER = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=128, note=": trains in seconds"),
    "mini": Preset(dim=256, depth=4, heads=4, context=256),
    "small": Preset(dim=512, depth=4, heads=8, context=512),
    "base": Preset(dim=768, depth=12, heads=12, context=512, note=" (BERT with --model bert)"),
    "large": Preset(dim=1024, depth=24, heads=16, context=512),
}
HELD_OUT_BYTES = 1_000_000  # more would take long to score and tell little more
HIDDEN_SHARE = 0.15  # of the tokens of a text are hidden (Devlin et al., 2019)
OF_TEXT: Mapping[str, str] = {
    "context": "context length: tokens that the model reads at once",
    "tokenizer": "bytes, characters, bpe or the path of a tokenizer.json",
    "vocab": "vocabulary size of a bpe tokenizer",
    "symbols": "special symbols: texts that are one token each, separated by commas, such as <User:>,<Bot:>",
}
HELD_OUT = "the most bytes of held-out text; a tenth of the text is held out, up to this"


class TextTraining(RowTraining):
    """Settings of a language model's training."""

    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    symbols: tuple[str, ...] = ()
    held_out: int | None = HELD_OUT_BYTES

    about: ClassVar[Mapping[str, str]] = {**RowTraining.about, **OF_TEXT, "held_out": HELD_OUT}

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)
        within(self, "held_out", 1, 2**40)


class EncoderTraining(RowTraining):
    """Settings of the training of a model that reads whole texts."""

    batch: int = 1
    micro: int | None = 1
    patience: int | None = 4
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    symbols: tuple[str, ...] = ()
    tokens: int | None = None
    rows: int = 32
    summary: Literal["class", "mean"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        **OF_TEXT,
        "batch": "batch size: micro-batches in a training step, each of up to `tokens` tokens and `rows` texts",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most tokens in a micro-batch of texts of similar length, padding included",
        "rows": "the most texts in a micro-batch",
        "summary": "pooling: class (the first token stands for the text) or mean (the average of all tokens)",
    }

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)
        within(self, "tokens", 1, 2**24)
        within(self, "rows", 1, 2**16)


class LabelTraining(EncoderTraining):
    """Settings of a training on labelled texts."""

    text_column: str | None = None
    label_column: str | None = None
    labels: Literal["classes", "numbers", "several"] | None = None
    fewest: int = 1
    balance: bool = False
    smoothing: float = 0.0

    about: ClassVar[Mapping[str, str]] = {
        **EncoderTraining.about,
        "text_column": "the column or field of the texts: its name, or its number from 1",
        "label_column": "the column or field of the labels; several columns of 0 and 1 with commas between them",
        "labels": "classes, numbers (regression) or several (any number of labels a text, multi-label); by default "
        "recognised from the labels",
        "fewest": "leave out classes with fewer texts than this",
        "balance": "class weights: every class counts equally in training, however rare it is",
        "smoothing": SMOOTHING.format("classes"),
    }

    def check(self) -> None:
        super().check()
        share(self, "smoothing")


class TagTraining(EncoderTraining):
    """Settings of a training on tagged sentences."""

    word_column: int | None = None
    tag_column: int | None = None

    about: ClassVar[Mapping[str, str]] = {
        **EncoderTraining.about,
        "word_column": "the column of the words, from 1; by default the first",
        "tag_column": "the column of the tags, from 1, or from the end with -1; by default the last",
    }


class PassageTraining(EncoderTraining):
    """Settings of a training on questions about passages."""

    rows: int = 16
    passage_column: str | None = None
    question_column: str | None = None
    answer_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in EncoderTraining.about.items() if name != "summary"},
        "context": "context length: tokens of a question and a part of its passage that the model reads at once",
        "rows": "the most questions in a micro-batch",
        "passage_column": "the column of the passages: its name, or its number from 1",
        "question_column": "the column of the questions",
        "answer_column": "the column of the answers, which stand in their passages; empty where there is none",
    }


class MaskTraining(EncoderTraining):
    """Settings of a training on hidden tokens."""

    batch: int = 32
    micro: int | None = None
    hide: float = HIDDEN_SHARE
    whole_words: bool = False
    held_out: int | None = HELD_OUT_BYTES

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in EncoderTraining.about.items() if name not in ("tokens", "rows", "summary")},
        "batch": "batch size: windows of text in a training step",
        "micro": "micro-batch (gradient accumulation): windows computed at once",
        "hide": "mask rate: the share of the tokens that are hidden (masked)",
        "whole_words": "whole-word masking: hide all tokens of a word, or none",
        "held_out": HELD_OUT,
    }

    def check(self) -> None:
        super().check()
        within(self, "held_out", 1, 2**40)
        if not 0 < self.hide < 1:
            raise ConfigError(f"must be above 0 and below 1, found {self.hide}", where="hide")
