"""Labels of whole samples, classes or numbers: learned, predicted, measured. Knows a model's values, no modality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from weft.config import Config
from weft.errors import ConfigError, listed, nearest
from weft.files.labelled import LabelledData, W
from weft.files.labels import Kind
from weft.generate.compute import Compute
from weft.inspect.calibration import calibration
from weft.inspect.confusion import confusion
from weft.inspect.saliency import Explained
from weft.inspect.views import LookedAnswer
from weft.objectives import Classify, Number, Objective, Several
from weft.objectives.classify import balanced
from weft.objectives.measures.calibration import reliability
from weft.objectives.measures.classes import class_measures, confusion_counts
from weft.objectives.measures.numbers import number_measures
from weft.objectives.measures.several import several_measures, several_tally
from weft.objectives.measures.tallies import Tally
from weft.tasks.asks import Gives
from weft.tasks.codec import Codecs, codec_at
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec, NamedCodec
from weft.tasks.labels.numbers import NumberCodec, numbers_of
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.request import Measured, Prediction

MISTAKES = 8  # listed in an evaluation
MOST_WEIGHT = 100.0  # of a yes, where labels are to be balanced
MOST_CONFUSED = 100  # classes of which all confusions are counted in a report


class TopLabels(Config):
    """Settings of a prediction of labels."""

    top: int = 0
    choices: tuple[str, ...] = ()

    about: ClassVar[Mapping[str, str]] = {
        "top": "how many of the likeliest labels to list; 0 lists all",
        "choices": "labels to choose from, separated by commas; by default all",
    }

    def check(self) -> None:
        if self.top < 0:
            raise ConfigError(f"must be at least 0, found {self.top}", where="top")


class Labelling(Compute, TopLabels):
    """Settings of a prediction of labels, the precision of the model among them."""

    threshold: float | None = None

    about: ClassVar[Mapping[str, str]] = {
        **TopLabels.about,
        **Compute.about,
        "threshold": "of several labels, those with a higher probability are given; by default 0.5",
    }


def codec_of(codecs: Codecs) -> LabelCodec:
    """The codec of the labels."""
    return codec_at(codecs, "label", LabelCodec)


# Learned


def learned(kind: Kind, classes: Sequence[str], labels: Sequence[str], known: Codecs) -> LabelCodec:
    """The codec of labels that are to be trained on: `classes` in the order of their numbers, or numbers.

    That of the run to start from is kept for the same classes, and for numbers, whose scale its head knows.
    """
    before = known.get("label")
    if kind == "numbers":
        return before if isinstance(before, NumberCodec) else NumberCodec.of(numbers_of(labels))
    if kind == "several":
        return SeveralCodec(SeveralCodec.Config(names=tuple(classes)))
    return ClassCodec(ClassCodec.Config(names=tuple(classes)))


def kind_of(codec: LabelCodec) -> Kind:
    """What the labels of a codec are."""
    if isinstance(codec, SeveralCodec):
        return "several"
    return "numbers" if isinstance(codec, NumberCodec) else "classes"


def learned_from(data: LabelledData[W], known: Codecs) -> LabelCodec:
    """The codec of the labels of rows that are to be trained on."""
    return learned(data.kind, data.classes, [row.label for row in data.train], known)


def objective(codec: LabelCodec, *, smoothing: float = 0.0, balance: np.ndarray | None = None) -> Objective.Config:
    """What is learned of labels. With the targets to `balance` every class counts alike, however rare it is."""
    if isinstance(codec, SeveralCodec):
        return Several.Config(smoothing=smoothing, weights=() if balance is None else weights_of_yes(balance))
    if not isinstance(codec, ClassCodec):
        return Number.Config()
    weights = () if balance is None else balanced(np.bincount(balance, minlength=codec.outputs).tolist())
    return Classify.Config(smoothing=smoothing, weights=weights)


def weights_of_yes(targets: np.ndarray) -> tuple[float, ...]:
    """How much a yes counts for each label, so that it counts like all the noes together; at most a hundred times."""
    yes = targets.sum(0)
    return tuple(float(w) for w in np.clip((len(targets) - yes) / np.maximum(yes, 1), 1.0, MOST_WEIGHT))


# Predicted


def gives(codec: LabelCodec, endings: tuple[str, ...] = ()) -> Gives:
    """The kind of answers by labels: one of some, any of some, or a number."""
    if isinstance(codec, SeveralCodec):
        return Gives("labels", endings=endings, columns=("labels", *map(probability_column, codec.names)))
    if isinstance(codec, ClassCodec):
        return Gives("choices", endings=endings, columns=("label", "probability"))
    return Gives("number" if isinstance(codec, NumberCodec) else "numbers", endings=endings, columns=("value",))


def predictions(
    codec: LabelCodec, values: Tensor, inputs: Sequence[object], top: int = 0, choices: Sequence[str] = ()
) -> list[Prediction]:
    """The answer for each input: a label with probabilities, one of `choices` where some are given, or a value."""
    if choices:
        codec, values = chosen(codec, values, choices)
    return [{"input": one, **said} for one, said in zip(inputs, codec.decode(values, top), strict=True)]


def at_threshold(codec: LabelCodec, threshold: float | None) -> LabelCodec:
    """The codec that gives labels above a probability; refused where only one label is given."""
    if threshold is None:
        return codec
    if not isinstance(codec, SeveralCodec):
        problem = "this model gives one answer, whatever its probability"
        raise ConfigError(problem, where="threshold", fix="leave it out")
    return SeveralCodec(codec.config.replace(threshold=threshold))


def chosen(codec: LabelCodec, values: Tensor, choices: Sequence[str]) -> tuple[LabelCodec, Tensor]:
    """The codec and the logits of some labels alone; the probabilities of classes add up to one."""
    if not isinstance(codec, NamedCodec):
        raise ConfigError("the labels are numbers, of which none can be chosen", where="choices", fix="leave it out")
    for name in choices:
        if name not in codec.names:
            raise ConfigError(f"there is no label {name!r}", where="choices", fix=nearest(name, codec.names))
    names = tuple(dict.fromkeys(choices))
    numbers = [codec.names.index(name) for name in names]
    return codec.config.replace(names=names).build(), values[:, numbers]


def cells(prediction: Prediction) -> Prediction:
    """A prediction as a row of a table: the label with its probability, all labels, or the value."""
    if "labels" in prediction:
        each = {probability_column(name): p for name, p in prediction["probabilities"].items()}
        return {**prediction, "labels": ";".join(prediction["labels"]), **each}
    label = prediction.get("label")
    return prediction if label is None else {**prediction, "probability": prediction["probabilities"][label]}


def probability_column(name: str) -> str:
    """The column of a table with the probability of a label, where there are several."""
    return f"p({name})"


def in_a_line(prediction: Prediction) -> str:
    """A prediction in a line: the answer and how sure it is, then the input."""
    if "value" in prediction:
        return f"{prediction['value']:g}\t{prediction['input']}"
    if "labels" in prediction:
        said = [f"{label} {prediction['probabilities'].get(label, 1.0):.2f}" for label in prediction["labels"]]
        return f"{', '.join(said) or 'none'}\t{prediction['input']}"
    best = prediction["label"]
    return f"{best} {prediction['probabilities'][best]:.2f}\t{prediction['input']}"


def answer(codec: LabelCodec, values: Tensor, top: int = 3) -> LookedAnswer:
    """The answer to one input, given the head's values (1, outputs): the likeliest labels, or a number."""
    (said,) = codec.decode(values, top)
    if "value" in said:
        return LookedAnswer(((f"{said['value']:g}", None),))
    return LookedAnswer(tuple(said["probabilities"].items()))


def explained(codec: LabelCodec, values: Tensor, label: str | None) -> Explained:
    """The class that a look explains, by default the answer; or the number."""
    if not isinstance(codec, NamedCodec):
        if label is not None:
            raise ConfigError("this model gives numbers, no classes", where="label", fix="leave it out")
        return Explained(0, "a larger number", classes=False)
    if label is not None and label not in codec.names:
        raise ConfigError(f"there is no class {label!r}", where="label", fix=nearest(label, codec.names))
    index = int(values[0].argmax()) if label is None else codec.names.index(label)
    return Explained(index, codec.names[index])


def studied(codec: LabelCodec) -> dict[str, Any]:
    """What a study is told of labels: the kind of the answer, and the name of each value."""
    if not isinstance(codec, NamedCodec):
        return {"kind": "number", "label": lambda _: "the number"}
    return {"kind": "yes" if isinstance(codec, SeveralCodec) else "classes", "label": lambda i: codec.names[i]}


def ability(codec: LabelCodec, thing: str) -> str:
    """What a model does that tells labels of a `thing`, in the first words of a sentence."""
    if isinstance(codec, SeveralCodec):
        return f"Gives {thing} any of {listed(codec.names)}"
    return f"Gives {thing} {f'one of {listed(codec.names)}' if isinstance(codec, ClassCodec) else 'a number'}"


# Measured


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: the sample's place, its true class, the class that was said and how probable that was."""

    row: int
    label: str
    said: str
    sure: float


def measured(
    codec: LabelCodec, values: Tensor, labels: Sequence[str], names: Sequence[str], *, called: str
) -> Measured:
    """How good a model's values are for samples with these true labels.

    The surest mistakes are listed with their names or excerpts from `names`, under the key `called`: text, picture.
    """
    if isinstance(codec, NumberCodec):
        predicted = codec.restored(values[:, 0]).numpy()
        truth = numbers_of(labels)
        found = number_measures(predicted, truth)
        return Measured(len(labels), *found, tally=Tally.errors("rmse", predicted - truth))
    if isinstance(codec, SeveralCodec):
        return _several_measured(codec, values, labels, names, called=called)
    assert isinstance(codec, ClassCodec)
    truth, shares = codec.encode(labels), probabilities(values)
    metrics, more = class_measures(shares, truth, codec.names)
    mistakes = [
        {called: names[one.row], "label": one.label, "said": one.said, "sure": round(one.sure, 4)}
        for one in surest_mistakes(codec, values, labels, MISTAKES)
    ]
    counts = confusion_counts(shares.argmax(1), truth, codec.outputs)
    if codec.outputs <= MOST_CONFUSED:
        more = {**more, "confusion": {"classes": list(codec.names), "counts": counts.tolist()}}

    def pictures() -> dict[str, bytes]:
        bins = reliability(shares, truth)
        return {"confusion.png": confusion(counts, codec.names), "calibration.png": calibration(bins)}

    tally = Tally.shares("accuracy", shares.argmax(1) == truth)
    return Measured(len(labels), metrics, {**more, "mistakes": mistakes}, pictures, tally)


def _several_measured(
    codec: SeveralCodec, values: Tensor, labels: Sequence[str], names: Sequence[str], *, called: str
) -> Measured:
    """The same for samples with any number of labels: a mistake is the label that is wrong and surest."""
    truth, shares, given = codec.encode(labels) > 0, values.double().sigmoid().numpy(), codec.given(values)
    metrics, more = several_measures(shares, given, truth, codec.names)
    sure = np.where(given != truth, np.where(given, shares, 1 - shares), 0)
    worst = [int(row) for row in np.argsort(-sure.max(1)) if sure[row].any()][:MISTAKES]
    mistakes = [
        {
            called: names[row],
            "label": ", ".join(name for name, yes in zip(codec.names, truth[row], strict=True) if yes) or "none",
            "said": ", ".join(name for name, yes in zip(codec.names, given[row], strict=True) if yes) or "none",
            "sure": round(float(sure[row].max()), 4),
        }
        for row in worst
    ]
    return Measured(len(labels), metrics, {**more, "mistakes": mistakes}, tally=several_tally(given, truth))


def surest_mistakes(codec: LabelCodec, values: Tensor, labels: Sequence[str], most: int) -> list[Mistake]:
    """The samples about whose class the model was most sure and wrong, the surest first; numbers have none."""
    if not isinstance(codec, ClassCodec):
        return []
    truth, shares = codec.encode(labels), probabilities(values)
    found = shares.argmax(1)
    worst = [int(i) for i in np.argsort(-shares.max(1)) if found[i] != truth[i]][:most]
    return [Mistake(i, codec.names[truth[i]], codec.names[found[i]], float(shares[i].max())) for i in worst]


def probabilities(values: Tensor) -> np.ndarray:
    """The probability of each class, from logits."""
    return values.softmax(-1).double().numpy()
