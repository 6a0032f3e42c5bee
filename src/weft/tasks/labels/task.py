"""LabelTask: what all tasks do alike that give their inputs a label, a class or a number. Knows no domain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from weft.config import Config
from weft.models.stream import Model
from weft.objectives import Objective
from weft.tasks.asks import Gives
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import decided, start_weights, with_lora
from weft.tasks.labels import labelling
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.request import D, Draft, E, Loaded, Measured, Prediction, S
from weft.tasks.task import Task


class LabelTask(Task[D, E, S]):
    """A label for each input. The codec of the labels stands at the end called "label"."""

    thing: ClassVar[str]  # what gets a label, as in "a text"
    Predict: ClassVar[type[Config]] = labelling.Labelling

    def continued(self, draft: Draft[D, E, S], origin: Loaded) -> tuple[Model.Config, S]:
        """The model of another run with an output for each of these labels, and the settings, decided."""
        config = with_lora(origin.model.config, draft.training)
        same, outputs = _same_labels(draft.codecs, origin), labelling.codec_of(draft.codecs).outputs
        return config.replace(outputs=outputs), decided(draft.training, same_head=same)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        """The weights of the run to start from; those of its head where it knows the same labels."""
        return start_weights(origin, backbone=True, same_head=_same_labels(codecs, origin))

    def objective(self, encoded: E, codecs: Codecs, training: S) -> Objective.Config:
        """The loss for classes or numbers."""
        return labelling.objective(labelling.codec_of(codecs))

    def ability(self, run: Loaded) -> str:
        """The labels that the model gives, in the first words of a sentence."""
        return labelling.ability(run.codec("label", LabelCodec), self.thing)

    def facts(self, run: Loaded) -> Mapping[str, str]:
        """How many rows there were."""
        return {"data": f"{run.data.amount('train')} rows to train on, {run.data.amount('held_out')} held out"}

    def gives(self, run: Loaded) -> Gives:
        """One of some labels, any of some, or a number."""
        return labelling.gives(run.codec("label", LabelCodec))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        """The label with its probability, or the value."""
        return [labelling.cells(prediction)]

    def baselines(self, run: Loaded, data: D, held_out: Any, measured: Measured) -> Iterator[Baseline]:
        """The commonest class or the mean; then the task's own methods, where there is something to tell apart."""
        target = LabelTarget(run.codec("label", LabelCodec), self.labels(data.train), self.labels(held_out))
        yield target.usual()
        if target.varied:
            yield from self.learned_baselines(run, target, data.train, held_out)

    def usual_answer(self, data: D, codecs: Codecs) -> str | None:
        """The commonest class, or the mean; none where a row has several labels."""
        labels, codec = self.labels(data.train), labelling.codec_of(codecs)
        if isinstance(codec, SeveralCodec) or not len(labels):
            return None
        return LabelTarget(codec, labels, ()).usual_label()

    def kept_baselines(self, run: Loaded, held_out: Any) -> Iterator[Baseline]:
        """The commonest class or the mean of the training data."""
        if (usual := run.data.usual) is not None:
            yield LabelTarget(run.codec("label", LabelCodec), [usual], self.labels(held_out)).usual()

    def labels(self, rows: Any) -> Sequence[str]:
        """The label of each row."""
        return [row.label for row in rows]

    def learned_baselines(self, run: Loaded, target: LabelTarget, train: Any, held_out: Any) -> Iterator[Baseline]:
        """Plain methods that learn from the rows to train on, the cheapest first."""
        return iter(())

    def shown(self, prediction: Prediction) -> str:
        """The label, how sure it is, and the input, in a line."""
        return labelling.in_a_line(prediction)


def _same_labels(codecs: Codecs, origin: Loaded) -> bool:
    return codecs["label"].same(origin.codecs.get("label"))
