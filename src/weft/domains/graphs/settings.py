"""Settings of trainings on graphs of nodes and on sets of vectors."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import LABELS, RowTraining


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
        "batch": "batch size: micro-batches in a step, each of up to `tokens` elements and `rows` graphs or sets",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most elements (nodes, vectors) in a micro-batch of graphs or sets of similar size, with padding",
        "rows": "the most graphs or sets in a micro-batch",
        "input_dropout": "dropout of input features: the share set to zero in training; above 0 by default if sparse",
        "labels": LABELS,
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
