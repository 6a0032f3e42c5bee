"""Settings of each task's training, as people give them with `--set name=value`. Numbers and their limits; no torch."""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeVar

from weft.config import Config, field_types
from weft.data.images.settings import Augment
from weft.errors import ConfigError, nearest
from weft.training.settings import Training

MOST_LAYERS = 1000
HELD_OUT_BYTES = 1_000_000  # more would take long to score and tell little more
HIDDEN_SHARE = 0.15  # of the tokens of a text are hidden (Devlin et al., 2019)
Settings = TypeVar("Settings", bound=Config)


class SizedTraining(Training):
    """Settings of a training whose model is sized by the plan, or goes on from another run's."""

    dropout: float | None = None
    dim: int | None = None
    depth: int | None = None
    heads: int | None = None
    freeze: bool = False
    lora: int | None = None
    outside: bool = False
    encoding: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **Training.about,
        "dropout": "dropout rate: the share of values set to zero in training",
        "dim": "width of the model (hidden size)",
        "depth": "number of layers",
        "heads": "attention heads in a layer",
        "freeze": "with --from: freeze the pretrained weights and train the new part alone (a head, or a decoder)",
        "lora": "with --from: LoRA fine-tuning with matrices of this rank; the pretrained weights stay frozen",
        "outside": "also read what links, absolute paths and .. lead to outside of the folders that are named",
        "encoding": "encoding of the files of text where they are not UTF-8: cp1252, latin-1, utf-16",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("dim", 2**20), ("heads", 2**20), ("depth", MOST_LAYERS), ("lora", 1024)):
            within(self, name, 1, most)
        share(self, "dropout")
        if self.freeze and self.lora is not None:
            raise ConfigError("either the trunk is frozen, or small matrices learn beside it", where="freeze")


class RowTraining(SizedTraining):
    """Settings of a training on rows or files, of which some may be bad."""

    skip: float | None = None

    about: ClassVar[Mapping[str, str]] = {
        **SizedTraining.about,
        "skip": "bad rows or files to leave out before the data is refused: a number, or a share below 1",
    }

    def check(self) -> None:
        super().check()
        if self.skip is not None and not (0 <= self.skip < 1 or self.skip == int(self.skip)):
            raise ConfigError(f"expected a number of rows, or a share below 1, found {self.skip}", where="skip")

    @property
    def allowed(self) -> int | float | None:
        """`skip` as the readers take it."""
        return self.skip if self.skip is None or self.skip < 1 else int(self.skip)


OF_TEXT: Mapping[str, str] = {
    "context": "context length: tokens that the model reads at once",
    "tokenizer": "bytes, characters, bpe or the path of a tokenizer.json",
    "vocab": "size of a bpe vocabulary",
}
SMOOTHING = "label smoothing: the share of probability spread evenly over all {}, in training"


HELD_OUT = "of the tenth of the text that is held out, the most bytes"


class TextTraining(SizedTraining):
    """Settings of a language model's training."""

    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    held_out: int | None = HELD_OUT_BYTES

    about: ClassVar[Mapping[str, str]] = {**SizedTraining.about, **OF_TEXT, "held_out": HELD_OUT}

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)
        within(self, "held_out", 1, 2**40)


class PairTraining(RowTraining):
    """Settings of an encoder–decoder's training on pairs of texts."""

    batch: int = 1
    micro: int | None = 1
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    tokens: int | None = None
    smoothing: float = 0.0
    source: str | None = None
    target: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        **OF_TEXT,
        "depth": "number of layers on each side",
        "batch": "micro-batches in a step, of up to `tokens` tokens each",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "tokens in a micro-batch of sentences of like length, on the longer side, padding included",
        "smoothing": SMOOTHING.format("tokens"),
        "source": "the column, field or language to translate from; its name, or its number from 1",
        "target": "the one to translate to",
    }

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)
        within(self, "tokens", 1, 2**24)
        share(self, "smoothing")


class ParseTraining(PairTraining):
    """Settings of the training of a parser."""

    form: Literal["text", "symbols", "gaps"] = "text"
    rows: int = 32

    about: ClassVar[Mapping[str, str]] = {
        **PairTraining.about,
        "form": "how a tree is learned, which the model decides: as text, as symbols of its own, or by gaps between words",
        "rows": "for --model gaps: the most sentences in a step",
    }

    def check(self) -> None:
        super().check()
        within(self, "rows", 1, 2**20)


class EncoderTraining(RowTraining):
    """Settings of the training of a model that reads whole texts."""

    batch: int = 1
    micro: int | None = 1
    patience: int | None = 4
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    tokens: int | None = None
    rows: int = 32
    summary: Literal["class", "mean"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        **OF_TEXT,
        "batch": "micro-batches in a step, of up to `tokens` tokens and `rows` texts each",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most tokens in a micro-batch of texts of like length, padding included",
        "rows": "the most texts in a micro-batch",
        "summary": "class (the first token stands for the text) or mean (of all tokens)",
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
    labels: Literal["classes", "numbers"] | None = None
    fewest: int = 1
    balance: bool = False
    smoothing: float = 0.0

    about: ClassVar[Mapping[str, str]] = {
        **EncoderTraining.about,
        "text_column": "the column or field of the texts: its name, or its number from 1",
        "label_column": "the one of the labels",
        "labels": "classes or numbers; by default as they look",
        "fewest": "leave out classes with fewer texts than this",
        "balance": "class weights: let every class count alike in training, however rare it is",
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
        "micro": "windows computed at once",
        "hide": "share of the tokens that are hidden (masked)",
        "whole_words": "hide all tokens of a word, or none",
        "held_out": HELD_OUT,
    }

    def check(self) -> None:
        super().check()
        within(self, "held_out", 1, 2**40)
        if not 0 < self.hide < 1:
            raise ConfigError(f"must be above 0 and below 1, found {self.hide}", where="hide")


class WordTraining(SizedTraining):
    """Settings of a training of vectors of words."""

    lr: float = 0.035
    clip: float = 14.0
    warmup: int = 0
    batch: int = 24
    contexts: Literal["skip-gram", "cbow", "counts"] = "skip-gram"
    window: int | None = None
    negatives: float = 5.0
    sample: float = 1e-3
    most: float = 10.0
    fewest: int | None = None
    vocab: int | None = None
    lower: bool = True
    breaks: Literal["lines", "paragraphs", "documents"] = "lines"
    held_out: int | None = HELD_OUT_BYTES

    about: ClassVar[Mapping[str, str]] = {
        **{
            name: text
            for name, text in SizedTraining.about.items()
            if name not in ("depth", "heads", "dropout", "lora")
        },
        "dim": "numbers in the vector of a word",
        "clip": "norm above which the gradient of one word is scaled down; 0 turns it off",
        "batch": "batch size: blocks of 512 words in a training step, or of 512 pairs of words with glove",
        "contexts": "skip-gram (each neighbour from the word), cbow (the word from the mean of its neighbours), or counts (glove alone)",
        "window": "words on either side that are neighbours; by default 5, with glove 10",
        "negatives": "drawn words that count for each pair (negative sampling)",
        "sample": "share of the text above which a word is thinned out (subsampling); 0 keeps all",
        "most": "with glove: number of times that two words stand together above which they count fully; 100 suits billions of words",
        "fewest": "leave out words seen fewer times than this; by default 5, in small texts fewer",
        "vocab": "the most words to learn, the most frequent ones",
        "lower": "read all words in lower case",
        "breaks": "where neighbours end: at the end of each line, at empty lines (paragraphs), or at the end of documents",
        "held_out": HELD_OUT,
    }

    def check(self) -> None:
        super().check()
        for name, least, most in (
            ("window", 1, 1000),
            ("fewest", 1, 2**40),
            ("vocab", 2, 2**31),
            ("held_out", 1, 2**40),
        ):
            within(self, name, least, most)
        for name in ("depth", "heads"):
            if getattr(self, name) not in (None, 1):
                raise ConfigError("vectors of words have no layers and no heads", where=name, fix="leave it out")
        if self.lora or self.dropout:
            where = "lora" if self.lora else "dropout"
            raise ConfigError("vectors of words have no trunk", where=where, fix="leave it out")
        for name in ("negatives", "most"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"must be above 0, found {getattr(self, name)}", where=name)
        share(self, "sample")


class PictureTraining(RowTraining):
    """Settings of a training on pictures."""

    batch: int = 64
    size: int | None = None
    patch: int | None = None
    summary: Literal["class", "mean"] | None = None
    drop: float = 0.0
    smoothing: float = 0.0
    strength: Literal["auto", "none", "light", "medium", "heavy"] = "auto"
    augment: Augment = Augment()

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        "size": "side in pixels at which pictures are read; small ones of one shape are read as they are",
        "patch": "side of a patch in pixels",
        "summary": "class (a class token stands for the picture) or mean (of all tokens)",
        "drop": "share of a picture's tokens left out in training",
        "smoothing": SMOOTHING.format("classes"),
        "strength": "of augmentation: auto (by the number of epochs), none, light, medium or heavy",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("size", 4096), ("patch", 512)):
            within(self, name, 1, most)
        share(self, "smoothing")
        share(self, "drop")


class PictureLabelTraining(PictureTraining):
    """Settings of a training on labelled pictures."""

    labels: Literal["classes", "numbers"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "labels": "classes or numbers; by default as they look",
    }


class HidingTraining(PictureTraining):
    """Settings of a training that hides patches."""

    hide: float = 0.75
    even: bool = False

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "hide": "share of the patches that are hidden (masked)",
        "even": "score patches brought to mean 0 and spread 1 each: often better to start classifiers from",
    }


class ViewsTraining(PictureTraining):
    """Settings of a training on several views of each picture."""

    near: int = 4

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "near": "views of small parts of each picture (local crops), beside two of most of it (global crops)",
    }


class CaptionTraining(PictureTraining):
    """Settings of a training on pictures with captions."""

    visit: int = 2
    coverage: float = 0.0
    contrast: float | None = None
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    picture_column: str | None = None
    caption_column: str | None = None
    decoder: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in PictureTraining.about.items() if name != "summary"},
        **OF_TEXT,
        "depth": "number of layers on each side",
        "smoothing": SMOOTHING.format("tokens"),
        "visit": "captions of a picture that are learned each time it is seen",
        "coverage": "above 0 asks that over a whole caption all parts of the picture are looked at alike (doubly stochastic "
        "attention); 1 in Show, Attend and Tell",
        "contrast": "model coca: weight of telling a caption from those of other pictures, beside writing it",
        "context": "tokens of the longest caption",
        "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
        "caption_column": "the one that holds the captions; by default all that seem to",
        "decoder": "a run of language-model: the decoder begins with its tokenizer, embedding and layers",
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
        for name in ("mixup", "cutmix"):
            if getattr(self.augment, name):
                raise ConfigError("a picture made of two has no caption", where=f"augment.{name}", fix="leave it out")


class AnswerTraining(PictureTraining):
    """Settings of a training on questions about pictures."""

    batch: int = 32
    visit: int = 5
    context: int | None = None
    answer_context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    picture_column: str | None = None
    question_column: str | None = None
    answer_column: str | None = None
    kind_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in PictureTraining.about.items() if name != "summary"},
        **OF_TEXT,
        "depth": "number of layers on each side",
        "smoothing": SMOOTHING.format("tokens"),
        "visit": "questions about a picture that are learned each time it is seen",
        "context": "tokens of the longest question",
        "answer_context": "tokens of the longest answer",
        "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
        "question_column": "the one that holds the questions",
        "answer_column": "the one that holds the answers; by default all that seem to",
        "kind_column": "the one that says what kind of question each is; it is measured by kind",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("visit", 1000), ("context", 2**20), ("answer_context", 2**20)):
            within(self, name, 1, most)
        for name in ("mixup", "cutmix"):
            if getattr(self.augment, name):
                problem = "a picture made of two has no answers"
                raise ConfigError(problem, where=f"augment.{name}", fix="leave it out")


class ForecastTraining(SizedTraining):
    """Settings of a training on fields in space and time."""

    batch: int = 8
    history: int | None = None
    ahead: int | None = None
    hide: Literal["all", "future", "gaps"] = "all"
    patch: int | None = None
    halo: int | None = None
    span: int | None = None
    variables: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **SizedTraining.about,
        "batch": "batch size: windows in a training step",
        "history": "fields in a row that the model reads; by default 6",
        "ahead": "fields after them that it predicts at once; by default 6. Forecasts that reach farther are rolled forward",
        "hide": "what is hidden in training: all (the future, blocks, patches, a layer, the middle), future or gaps alone",
        "patch": "side of a token in cells",
        "halo": "cells around a token that it reads too",
        "span": "time steps in a token; by default all of a window (swift), or one (atmorep)",
        "variables": "names of the variables to use, with commas between them; by default all on the grid",
    }

    def check(self) -> None:
        super().check()
        for name, least, most in (
            ("history", 1, 100),
            ("ahead", 1, 100),
            ("patch", 1, 512),
            ("halo", 0, 64),
            ("span", 1, 200),
        ):
            within(self, name, least, most)


class PlaceTraining(RowTraining):
    """Settings of a training on places with a value each. Rounded numbers would blur places: it computes in fp32."""

    batch: int = 32
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    code: Literal["fourier", "siren", "harmonics", "raw"] | None = None
    scale: float | None = None
    features: int | None = None
    degree: int | None = None
    lat_column: str | None = None
    lon_column: str | None = None
    time_column: str | None = None
    plane_columns: str | None = None
    value_column: str | None = None
    labels: Literal["classes", "numbers"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in RowTraining.about.items() if name != "heads"},
        "batch": "batch size: groups of 64 places in a training step",
        "code": "of positions: fourier (pictures, planes, classes), siren, harmonics (numbers on the globe) or raw",
        "scale": "typical waves of a Fourier code over half the picture; more resolve finer detail and blur less",
        "features": "numbers in a Fourier code",
        "degree": "of the finest harmonics, which have this many waves around the globe",
        "lat_column": "the column of the latitude in degrees: its name, or its number from 1",
        "lon_column": "the one of the longitude",
        "time_column": "the one of the time: numbers, or dates as 2024-07-01",
        "plane_columns": "the columns of coordinates that are not on the globe, as in x,y",
        "value_column": "the column, array or variable to learn",
        "labels": "classes or numbers; by default as they look",
    }

    def check(self) -> None:
        super().check()
        within(self, "features", 2, 2**16)
        within(self, "degree", 1, 40)
        if self.scale is not None and not self.scale > 0:
            raise ConfigError(f"must be above 0, found {self.scale}", where="scale")
        if self.features is not None and self.features % 2:
            raise ConfigError(f"a sine and a cosine of each frequency: expected an even number, found {self.features}",
                              where="features")  # fmt: skip


class ElementTraining(RowTraining):
    """Settings of a training on sets or graphs of elements."""

    batch: int = 1
    micro: int | None = 1
    patience: int | None = 8
    tokens: int = 8192
    rows: int = 32
    input_dropout: float | None = None
    labels: Literal["classes", "numbers"] | None = None
    label_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in RowTraining.about.items() if name != "skip"},
        "batch": "micro-batches in a step, of up to `tokens` elements and `rows` wholes each",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most elements (nodes, vectors) in a micro-batch of wholes of like size, padding included",
        "rows": "the most graphs or sets in a micro-batch",
        "input_dropout": "share of the elements' own numbers dropped in training; by default some of sparse ones",
        "labels": "classes or numbers; by default as they look",
        "label_column": "the column or property of the labels, by its name",
    }

    def check(self) -> None:
        super().check()
        within(self, "tokens", 1, 2**24)
        within(self, "rows", 1, 2**16)
        share(self, "input_dropout")


class GraphTraining(ElementTraining):
    """Settings of a training on graphs."""

    directed: bool | None = None
    level: Literal["nodes", "graphs"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **ElementTraining.about,
        "directed": "whether an edge has a direction; by default as the file says, else false",
        "level": "nodes or graphs: whose labels are learned, where both have some",
    }


class SetTraining(ElementTraining):
    """Settings of a training on sets of vectors."""

    set_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **ElementTraining.about,
        "set_column": "of a table with a vector in each row: the column that names its set",
    }


def within(settings: Training, name: str, least: int, most: int) -> None:
    """Refuse a setting that is given and out of bounds."""
    value = getattr(settings, name)
    if value is not None and not least <= value <= most:
        raise ConfigError(f"expected from {least} to {most}, found {value}", where=name)


def share(settings: Training, name: str) -> None:
    """Refuse a setting that is given and is no share."""
    value = getattr(settings, name)
    if value is not None and not 0 <= value < 1:
        raise ConfigError(f"must be at least 0 and below 1, found {value}", where=name)


def with_settings(config: Settings, settings: Mapping[str, object], *, prefix: str = "") -> Settings:
    """A config with the user's settings; unknown names are refused with the nearest known one."""
    for name, value in settings.items():
        head = name.split(".")[0]
        if head not in field_types(type(config)):
            fix = nearest(head, field_types(type(config)))
            raise ConfigError(f"unknown setting {prefix + name!r}", where="--set", fix=fix)
        try:
            config = config.set(name, value)
        except ConfigError as error:
            where = f"--set {prefix}{name}" if error.where in (name, head) else f"--set {prefix}{name}: {error.where}"
            raise ConfigError(error.problem, where=where, fix=error.fix) from None
    return config
