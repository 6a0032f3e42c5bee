"""Settings of each task's training, as people give them with `--set name=value`. Numbers and their limits; no torch."""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeVar

from weft.config import Config, field_types
from weft.data.images.settings import Augment
from weft.errors import ConfigError, nearest_setting
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
        "outside": "also read files outside the named folders, where links, absolute paths or .. lead to them",
        "encoding": "character encoding of text files that are not UTF-8: cp1252, latin-1, utf-16",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("dim", 2**20), ("heads", 2**20), ("depth", MOST_LAYERS), ("lora", 1024)):
            within(self, name, 1, most)
        share(self, "dropout")
        if self.freeze and self.lora is not None:
            raise ConfigError("freeze and lora cannot be used together", where="freeze", fix="leave out one of them")


class RowTraining(SizedTraining):
    """Settings of a training on rows or files, of which some may be bad."""

    skip: float | None = None

    about: ClassVar[Mapping[str, str]] = {
        **SizedTraining.about,
        "skip": "bad rows or files that may be left out: a number, or a share below 1; data with more of them is refused",
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
    "vocab": "vocabulary size of a bpe tokenizer",
}
SMOOTHING = "label smoothing: the share of probability spread evenly over all {}, in training"


HELD_OUT = "the most bytes of held-out text; a tenth of the text is held out, up to this"


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
        "depth": "number of layers in the encoder, and in the decoder",
        "batch": "batch size: micro-batches in a training step, each of up to `tokens` tokens",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most tokens in a micro-batch of sentences of similar length, on the longer side, padding included",
        "smoothing": SMOOTHING.format("tokens"),
        "source": "the column, field or language to translate from; its name, or its number from 1",
        "target": "the column, field or language to translate into",
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
    labels: Literal["classes", "numbers"] | None = None
    fewest: int = 1
    balance: bool = False
    smoothing: float = 0.0

    about: ClassVar[Mapping[str, str]] = {
        **EncoderTraining.about,
        "text_column": "the column or field of the texts: its name, or its number from 1",
        "label_column": "the column or field of the labels",
        "labels": "classes, or numbers (regression); by default recognised from the labels",
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
        "dim": "width of the vector of a word (embedding size)",
        "clip": "gradient clipping: norm above which the gradient of one word is scaled down; 0 turns it off",
        "batch": "batch size: blocks of 512 words in a training step, or of 512 pairs of words with glove",
        "contexts": "skip-gram (predict each neighbour from the word), cbow (predict the word from the mean of its neighbours), or "
        "counts (glove only)",
        "window": "context window: words on either side that count as neighbours; by default 5, with glove 10",
        "negatives": "negative sampling: random words that are compared with each pair of neighbours",
        "sample": "subsampling of frequent words: some occurrences of a word above this share of the text are left out; 0 keeps all",
        "most": "with glove (x_max): two words that stand near each other this many times or more count fully, rarer pairs less; "
        "100 suits billions of words",
        "fewest": "minimum count: words seen fewer times are left out; by default 5, in small texts fewer",
        "vocab": "vocabulary size: learn this many words at most, the most frequent ones",
        "lower": "read all words in lower case",
        "breaks": "where the context window ends: at the end of each line (lines), at empty lines (paragraphs), or at the end of "
        "documents (documents)",
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
            raise ConfigError(
                "vectors of words have no layers, so this does not apply", where=where, fix="leave it out"
            )
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
        "size": "image size: pictures are scaled to this side in pixels; small ones of equal size are read as they are",
        "patch": "patch size: the side of a patch in pixels",
        "summary": "pooling: class (a class token stands for the picture) or mean (the average of all tokens)",
        "drop": "patch dropout: the share of a picture's tokens left out in training",
        "smoothing": SMOOTHING.format("classes"),
        "strength": "data augmentation: auto (chosen by the number of epochs), none, light, medium or heavy",
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
        "labels": "classes, or numbers (regression); by default recognised from the labels",
    }


class HidingTraining(PictureTraining):
    """Settings of a training that hides patches."""

    hide: float = 0.75
    even: bool = False

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "hide": "mask ratio: the share of the patches that are hidden (masked)",
        "even": "normalise the pixels of each patch before the loss (norm_pix_loss): often a better start for classifiers",
    }


class ViewsTraining(PictureTraining):
    """Settings of a training on several views of each picture."""

    near: int = 4

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "near": "local crops: views of small parts of each picture, beside two views of most of it (global crops)",
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
        "depth": "number of layers in the encoder, and in the decoder",
        "smoothing": SMOOTHING.format("tokens"),
        "visit": "captions of a picture that are used each time the picture is read",
        "coverage": "attention penalty (doubly stochastic attention): above 0, all parts of the picture are to get equal attention "
        "over a whole caption; 1 in Show, Attend and Tell",
        "contrast": "model coca: weight of the contrastive loss (match pictures with their captions) beside the caption loss",
        "context": "context length: the most tokens of a caption",
        "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
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
        for name in ("mixup", "cutmix"):
            if getattr(self.augment, name):
                raise ConfigError(
                    f"{name} blends two pictures, and the blend has no caption",
                    where=f"augment.{name}",
                    fix="leave it out",
                )


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
        "depth": "number of layers in the encoder, and in the decoder",
        "smoothing": SMOOTHING.format("tokens"),
        "visit": "questions about a picture that are used each time the picture is read",
        "context": "context length: the most tokens of a question",
        "answer_context": "the most tokens of an answer",
        "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
        "question_column": "the column of the questions",
        "answer_column": "the column of the answers; by default all columns that look like answers",
        "kind_column": "the column with the kind of each question; accuracy is then measured for each kind too",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("visit", 1000), ("context", 2**20), ("answer_context", 2**20)):
            within(self, name, 1, most)
        for name in ("mixup", "cutmix"):
            if getattr(self.augment, name):
                problem = f"{name} blends two pictures, and the blend has no answers"
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
        "history": "input steps: consecutive fields that the model reads; by default 6",
        "ahead": "output steps: fields after them that it predicts at once; by default 6. Longer forecasts are rolled forward "
        "(autoregressive)",
        "hide": "masking: what is hidden in training: all (the future, blocks, patches, a layer, the middle), only the future, or "
        "only gaps",
        "patch": "patch size: the side of a token in grid cells",
        "halo": "grid cells around a token that are part of its input too",
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
        "code": "position encoding: fourier (default for pictures, planes, classes), siren, harmonics (default for numbers on the "
        "globe) or raw",
        "scale": "frequency scale of the Fourier features: typical number of waves over half the picture; a larger one shows finer detail",
        "features": "number of Fourier features",
        "degree": "degree of the finest spherical harmonics, which have this many waves around the globe",
        "lat_column": "the column of the latitude in degrees: its name, or its number from 1",
        "lon_column": "the column of the longitude in degrees",
        "time_column": "the column of the time: numbers, or dates as 2024-07-01",
        "plane_columns": "the columns of coordinates that are not on the globe, as in x,y",
        "value_column": "the column, array or variable to learn",
        "labels": "classes, or numbers (regression); by default recognised from the labels",
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
        "batch": "batch size: micro-batches in a training step, each of up to `tokens` elements and `rows` graphs or sets",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most elements (nodes, vectors) in a micro-batch of graphs or sets of similar size, padding included",
        "rows": "the most graphs or sets in a micro-batch",
        "input_dropout": "dropout of the input features: the share set to zero in training; by default above 0 for sparse features",
        "labels": "classes, or numbers (regression); by default recognised from the labels",
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
        "level": "nodes or graphs: which labels are learned, where both have labels",
    }


class SetTraining(ElementTraining):
    """Settings of a training on sets of vectors."""

    set_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **ElementTraining.about,
        "set_column": "in a table with a vector in each row: the column with the name of the vector's set",
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
            fix = nearest_setting(head, field_types(type(config)), getattr(type(config), "about", {}))
            raise ConfigError(f"unknown setting {prefix + name!r}", where="--set", fix=fix)
        try:
            config = config.set(name, value)
        except ConfigError as error:
            where = f"--set {prefix}{name}" if error.where in (name, head) else f"--set {prefix}{name}: {error.where}"
            raise ConfigError(error.problem, where=where, fix=error.fix) from None
    return config
