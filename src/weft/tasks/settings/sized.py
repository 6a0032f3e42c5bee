"""Settings that the trainings of all tasks share: the size of the model, a start from another run, bad rows."""

from collections.abc import Mapping
from typing import ClassVar

from weft.errors import ConfigError
from weft.tasks.settings.limits import share, within
from weft.training.settings import Training

MOST_LAYERS = 1000
LAYERS_OF_BOTH = "number of layers in the encoder, and in the decoder"
SMOOTHING = "label smoothing: the share of probability spread evenly over all {}, in training"
LABELS = "classes, or numbers (regression); by default recognised from the labels"


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
    header: bool | None = None
    endings: tuple[str, ...] = ()

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
        "header": "whether the first row of tables names their columns; recognised where nobody says",
        "endings": "of folders, take the files of text with these endings: py,md",
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
        "skip": "bad rows or files that may be left out: a number, or a share below 1; with more, data is refused",
    }

    def check(self) -> None:
        super().check()
        if self.skip is not None and not (0 <= self.skip < 1 or self.skip == int(self.skip)):
            raise ConfigError(f"expected a number of rows, or a share below 1, found {self.skip}", where="skip")

    @property
    def allowed(self) -> int | float | None:
        """`skip` as the readers take it."""
        return self.skip if self.skip is None or self.skip < 1 else int(self.skip)
