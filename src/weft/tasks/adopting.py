"""Adopted, AdoptedFile: what a task makes of a model that was trained elsewhere, so that it is a run of the task."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.interop import Imported
from weft.models.stream import Model
from weft.objectives import Classify, Number, Several
from weft.objectives.objective import Objective
from weft.tasks.codec import Codec, Codecs
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.settings.sized import SizedTraining


@dataclass(frozen=True)
class Adopted:
    """The codecs by end, as far as the folder says what they are, and the objective of runs that start from the model.

    `objective` is None where the model learns nothing itself. `settings` are those that later runs take over.
    `files` are those that the codecs read, by name.
    """

    codecs: Mapping[str, Codec.Config]
    objective: Objective.Config | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AdoptedFile:
    """A model out of one file, with all that a run has. `family` is what such files hold, `form` its format.

    `summary` and `facts` are for the model card.
    """

    model: Model
    model_name: str
    codecs: Codecs
    objective: Objective.Config
    training: SizedTraining
    family: str
    form: str
    summary: str
    facts: Mapping[str, str]


def shape_of(imported: Imported) -> dict[str, Any]:
    """The size of a model in the words of a training's settings, and what its makers said of its training."""
    stream = imported.config.reader()
    blocks = stream.trunk.all_blocks()
    return {
        "dim": stream.dim,
        "depth": len(blocks) or None,
        "heads": getattr(blocks[0].mix, "heads", None) if blocks else None,
        "dropout": blocks[0].dropout if blocks else 0.0,
    }


def label_codec(imported: Imported, *, unnamed: type[NumberCodec] | None = None) -> LabelCodec.Config | None:
    """The codec of a model's labels; `unnamed` is the one where it names none. A single label is a number."""
    names = tuple(imported.labels)
    if imported.several:
        return SeveralCodec.Config(names=names)
    if len(names) == 1:
        return NumberCodec.Config()
    if names:
        return ClassCodec.Config(names=names)
    return None if unnamed is None else unnamed.Config()


def label_objective(label: LabelCodec.Config | None) -> Objective.Config | None:
    """How such labels are learned."""
    if isinstance(label, SeveralCodec.Config):
        return Several.Config()
    return Number.Config() if isinstance(label, NumberCodec.Config) else Classify.Config()
