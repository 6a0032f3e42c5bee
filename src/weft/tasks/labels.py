"""One label for each sample, a class or a number: learned, predicted, measured. Knows no modality."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from weft.codecs import ClassCodec, Codec, Codecs, NumberCodec
from weft.codecs.numbers import numbers_of
from weft.data.batch import Classes, Numbers
from weft.errors import listed
from weft.inspect.confusion import confusion
from weft.objectives import Classify, Number
from weft.objectives.measures import class_measures, confusion_counts, number_measures
from weft.tasks.request import Measured

LabelCodec = ClassCodec | NumberCodec


def label_of(codecs: Codecs) -> LabelCodec:
    """The codec of the labels."""
    codec = codecs["label"]
    assert isinstance(codec, ClassCodec | NumberCodec)
    return codec


def learned_labels(kind: str, classes: Sequence[str], labels: Sequence[str], known: Codec | None = None) -> LabelCodec:
    """The codec for labels to train on: classes in their order, or numbers on the scale of the run to start from."""
    if kind == "numbers":
        return known if isinstance(known, NumberCodec) else NumberCodec.of(numbers_of(labels))
    return ClassCodec(ClassCodec.Config(names=tuple(classes)), read=lambda name: "")


def wanted(codec: LabelCodec, labels: Sequence[str], where: str = "") -> Classes | Numbers:
    """Labels as a batch has them."""
    numbers = torch.from_numpy(codec.encode(labels, where))
    return Classes(numbers) if isinstance(codec, ClassCodec) else Numbers(numbers)


def label_objective(codec: LabelCodec, smoothing: float = 0.0) -> Classify.Config | Number.Config:
    """What is learned."""
    return Classify.Config(smoothing=smoothing) if isinstance(codec, ClassCodec) else Number.Config()


def label_ability(codec: LabelCodec) -> str:
    """What the model does, in the first words of a sentence."""
    return f"Tells {listed(codec.names)} apart" if isinstance(codec, ClassCodec) else "Predicts a number"


def label_measures(values: Tensor, codec: LabelCodec, labels: Sequence[str], where: str = "") -> Measured:
    """Measures of a head's values, one row a sample, with a picture of the confusion of classes."""
    truth = codec.encode(labels, where)
    if isinstance(codec, NumberCodec):
        found = codec.restored(values[:, 0]).numpy()
        return Measured(len(labels), *number_measures(found, numbers_of(labels, where)))
    shares = values.softmax(-1).double().numpy()
    counts = confusion_counts(shares.argmax(1), truth, len(codec.names))
    metrics, more = class_measures(shares, truth, codec.names)
    return Measured(len(labels), metrics, more, {"confusion.png": confusion(counts, codec.names)})


def shown_label(prediction: Mapping[str, Any]) -> str:
    """A prediction as plain text: the likeliest classes, or the number."""
    if "value" in prediction:
        return f"{prediction['value']:g}"
    likely = list(prediction["probabilities"].items())[:3]
    return ", ".join(f"{label} {p:.2f}" for label, p in likely if p >= 0.005)
