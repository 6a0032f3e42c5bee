"""sets: learn labels of sets of vectors, in which order means nothing. Sets in, a model that labels new ones out."""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from torch import Tensor

from weft.codecs.codec import Codecs
from weft.codecs.graph import GraphCodec
from weft.codecs.label import LabelCodec
from weft.data.datasets.graph_data import GraphData, Rows
from weft.data.encoded.graphs import EncodedGraphs, Places
from weft.data.graphs.given import Given, given_sets
from weft.data.graphs.properties import LabelColumn
from weft.data.readers.sets import read_set_files
from weft.data.source import Source
from weft.inspect.graphs import LookAtGraph, look_at_graph
from weft.inspect.views import View
from weft.modalities.graph_embed import GraphEmbed
from weft.models.stream import Model, Stream
from weft.objectives import Objective
from weft.tasks import element_answers, elements, labels
from weft.tasks.baselines import in_words
from weft.tasks.cards.graphs import SETS
from weft.tasks.element_answers import AskElements
from weft.tasks.finetuning import start_weights
from weft.tasks.graph_exchange import with_vectors_in_unit
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.recipes import graphs as recipes
from weft.tasks.request import Draft, Listen, Loaded, Measured, Prediction
from weft.tasks.settings.graphs import SetTraining
from weft.tasks.task import Task
from weft.training.progress import Progress

SetDraft = Draft[GraphData, EncodedGraphs, SetTraining]


@final
class SetLabels(Task[GraphData, EncodedGraphs, SetTraining]):
    """A class or a number for each set."""

    card = SETS
    parts = (Parts({"graph": End.of(GraphCodec), "label": End.of(LabelCodec)}, (Stream,), GraphEmbed),)
    recipe = recipes.SETS
    unit = "set"
    writes = element_answers.WRITES
    Predict = AskElements
    Look = LookAtGraph

    def codecs(self, data: GraphData, training: SetTraining, known: Codecs) -> Codecs:
        return elements.element_codecs(data, known)

    def encode(
        self, data: GraphData, codecs: Codecs, training: SetTraining, known: Model.Config | None, progress: Progress
    ) -> EncodedGraphs:
        return EncodedGraphs.of(data, elements.graph_codec(codecs), labels.codec_of(codecs))

    def sized(self, draft: SetDraft) -> tuple[Model.Config, SetTraining]:
        return recipes.new_model(draft, self.recipe)

    def continued(self, draft: SetDraft, origin: Loaded) -> tuple[Model.Config, SetTraining]:
        return elements.continued(draft, origin)

    def start(self, origin: Loaded, codecs: Codecs) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=True, same_head=codecs["label"].same(origin.codecs.get("label")))

    def objective(self, encoded: EncodedGraphs, codecs: Codecs, training: SetTraining) -> Objective.Config:
        return elements.element_objective(encoded.data, codecs)

    def source(self, encoded: EncodedGraphs, codecs: Codecs, model: Model.Config, training: SetTraining) -> Source:
        return encoded.source(Places(), tokens=training.tokens, rows=training.rows, seed=training.seed)

    def batch_in_words(self, training: SetTraining, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} sets"

    def ability(self, run: Loaded) -> str:
        return labels.ability(run.codec("label", LabelCodec), "a set of vectors")

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.graph_facts(run, "sets")

    def example(self, run: Loaded, measured: Measured) -> str:
        return in_words(measured.more.get("baselines", {}))

    def predict(
        self, run: Loaded, inputs: Sequence[object], how: AskElements, listen: Listen | None
    ) -> list[Prediction]:
        return element_answers.predicted(run, self._given(run, inputs), how)

    def vectors(self, run: Loaded, inputs: Sequence[object], settings: Mapping[str, object]) -> np.ndarray:
        return element_answers.vectors(run, self._given(run, inputs), settings)

    def shown(self, prediction: Prediction) -> str:
        return labels.in_a_line(prediction)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Rows:
        asked = run.training(SetTraining)
        found = read_set_files(sources, set_column=asked.set_column, label=LabelColumn(asked.label_column))
        return elements.wholes(found, elements.graph_codec(run.codecs), "set")

    def measure(self, run: Loaded, held_out: Rows, progress: Progress, seconds: float | None = None) -> Measured:
        return elements.measured(run, held_out, progress, "set")

    def look(self, run: Loaded, input: object, how: LookAtGraph) -> View:
        ((_, found),) = self._given(run, [input])
        codec = elements.graph_codec(run.codecs)
        one = elements.aligned(found, codec)[0]
        return look_at_graph(run.stream, codec, run.codec("label", LabelCodec), one, Places(), how)

    @staticmethod
    def _given(run: Loaded, inputs: Sequence[object]) -> Given:
        asked = run.training(SetTraining)
        return given_sets(inputs, set_column=asked.set_column, label=asked.label_column)

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_labels(run, with_vectors_in_unit(run))
