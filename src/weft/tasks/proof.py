"""Proof: what an export is asked besides numbers, and the run's own answers.

The other library has to come to the same answers by its own tokenizer, processor and settings of generation.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import DataError
from weft.tasks.asks import Given
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.request import Loaded
from weft.tasks.settings.limits import with_settings

if TYPE_CHECKING:
    from weft.tasks.task import Task

MOST = 8  # inputs that are tried


@dataclass(frozen=True)
class Proof:
    """Questions of one kind, and the run's answers. `settings` go to their generation."""

    kind: str
    inputs: list[Any]
    answers: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)
    limits: list[int] = field(
        default_factory=list
    )  # new tokens for each input; by default as generation_config.json says
    within: float = 0.0  # by which numbers may differ

    def asked(self) -> dict[str, Any]:
        """The questions for the other process, as JSON: the kind of answer, the inputs and the settings."""
        inputs = [_sent(one) for one in self.inputs]
        return {"kind": self.kind, "inputs": inputs, "settings": self.settings, "limits": self.limits}

    def compare(self, found: Sequence[Any], folder: Path) -> None:
        """Refuse answers that are not the run's."""
        for given, ours, theirs in zip(self.inputs, self.answers, found, strict=True):
            if not self._same(ours, theirs):
                found_there = f"the Hugging Face library answers {theirs!r:.120} to {_shown(given)}"
                problem = f"{found_there}, the run answers {ours!r:.120}"
                raise DataError(problem, where=str(folder))

    def _same(self, ours: Any, theirs: Sequence[Any]) -> bool:
        if self.kind == "tags":  # words that the model does not read have no answer
            return all(not near or tag in near for tag, near in zip(ours, theirs, strict=True))
        if isinstance(ours, float):
            return abs(ours - theirs[0]) <= self.within
        if isinstance(ours, list):  # labels that are given together: all the sure ones, and none but the possible ones
            sure, possible = theirs
            return set(sure) <= set(ours) <= set(possible)
        if "text" in self.kind:  # from a tie on, other texts are as right
            same = ours.strip() == theirs[0].strip()
            return bool(same or any(ours.strip().startswith(begun.strip()) for begun in theirs[1:]))
        return ours in theirs


def _sent(given: Any) -> Any:
    """An input as JSON has it: of pictures the bytes, with their height, width and channels."""
    if isinstance(given, dict):
        return {name: _sent(part) for name, part in given.items()}
    if not isinstance(given, np.ndarray):
        return given
    return {"shape": list(given.shape), "bytes": base64.b64encode(given.tobytes()).decode()}


def _shown(given: Any) -> str:
    """An input in words, for a message."""
    if isinstance(given, dict):
        return ", ".join(map(_shown, given.values()))
    if isinstance(given, np.ndarray):
        return f"a picture of {given.shape[1]} x {given.shape[0]} pixels"
    return f"{given!r:.80}"


def predicted(task: "Task[Any, Any, Any]", run: Loaded, inputs: Sequence[Any], **settings: Any) -> list[dict[str, Any]]:
    """What a run predicts with its usual settings and these."""
    how = with_settings(run.usual(task.Predict), settings)
    return [one.values for one in task.predict(run, [Given(one) for one in inputs], how, None)]


def label_answers(run: Loaded, found: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The answers of a run that labels: numbers, lists of labels or labels."""
    if isinstance(run.codec("label", LabelCodec), NumberCodec):
        return [float(one["value"]) for one in found]
    return [sorted(one["labels"]) if "labels" in one else one["label"] for one in found]
