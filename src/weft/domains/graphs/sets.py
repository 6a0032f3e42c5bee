"""sets: learn labels of sets of vectors, in which order means nothing. Sets in, a model that labels new ones out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import final

from torch import Tensor

from weft.batches.source import Source
from weft.domains.graphs import answers, elements
from weft.domains.graphs import recipe as recipes
from weft.domains.graphs.answers import AskElements
from weft.domains.graphs.cards import SETS
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import GraphData, Rows
from weft.domains.graphs.encoded.rows import EncodedGraphs, NodePositions
from weft.domains.graphs.exchange import with_vectors_in_unit
from weft.domains.graphs.measures import in_words
from weft.domains.graphs.reading.given import Named, given_sets, set_in_words
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.reading.set_files import KNOWN, read_set_files
from weft.domains.graphs.settings import SetTraining
from weft.domains.graphs.views.node import LookAtGraph, look_at_graph
from weft.inspect.views import View
from weft.modalities.graph_embed import GraphEmbed
from weft.models.stream import Model, Stream
from weft.objectives import Objective
from weft.tasks.asks import Answer, Asks, Content, Given, Gives, Opened, Ways, in_a_file, only_one, unlike
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights
from weft.tasks.labels import labelling
from weft.tasks.labels.label import LabelCodec
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
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
    asks = (Asks("file", "a set of vectors", KNOWN, lines=True),)
    embeds = (Asks("file", "a set of vectors", KNOWN),)
    Predict = AskElements
    Look = LookAtGraph

    def codecs(self, data: GraphData, training: SetTraining, known: Codecs) -> Codecs:
        return elements.element_codecs(data, known)

    def encode(
        self, data: GraphData, codecs: Codecs, training: SetTraining, known: Model.Config | None, progress: Progress
    ) -> EncodedGraphs:
        return EncodedGraphs.of(data, elements.graph_codec(codecs), labelling.codec_of(codecs))

    def sized(self, draft: SetDraft) -> tuple[Model.Config, SetTraining]:
        return recipes.new_model(draft, self.recipe)

    def continued(self, draft: SetDraft, origin: Loaded) -> tuple[Model.Config, SetTraining]:
        return elements.continued(draft, origin)

    def start(self, origin: Loaded, codecs: Codecs) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=True, same_head=codecs["label"].same(origin.codecs.get("label")))

    def objective(self, encoded: EncodedGraphs, codecs: Codecs, training: SetTraining) -> Objective.Config:
        return elements.element_objective(encoded.data, codecs)

    def source(self, encoded: EncodedGraphs, codecs: Codecs, model: Model.Config, training: SetTraining) -> Source:
        return encoded.source(NodePositions(), tokens=training.tokens, rows=training.rows, seed=training.seed)

    def batch_in_words(self, training: SetTraining, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} sets"

    def ability(self, run: Loaded) -> str:
        return labelling.ability(run.codec("label", LabelCodec), "a set of vectors")

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.graph_facts(run, "sets")

    def example(self, run: Loaded, measured: Measured) -> str:
        return in_words(measured.more.get("baselines", {}))

    def gives(self, run: Loaded) -> Gives:
        return labelling.gives(run.codec("label", LabelCodec), answers.WRITES)

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        for name, found in self._read(run, words):
            yield Given(Opened(found), name)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: AskElements, listen: Listen | None) -> list[Answer]:
        return answers.predicted(run, [(one.name, self._sets(run, one)) for one in inputs], how)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: object) -> Embedded:
        return answers.embedded(run, [(one.name, self._sets(run, one)) for one in inputs])

    def shown(self, prediction: Prediction) -> str:
        return labelling.in_a_line(prediction)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Rows:
        asked = run.training(SetTraining)
        found = read_set_files(sources, set_column=asked.set_column, label=LabelColumn(asked.label_column))
        return elements.wholes(found, elements.graph_codec(run.codecs), "set")

    def measure(self, run: Loaded, held_out: Rows, progress: Progress, seconds: float | None = None) -> Measured:
        return elements.measured(run, held_out, progress, "set")

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtGraph) -> View:
        found = self._sets(run, only_one(inputs, "a set"))
        codec = elements.graph_codec(run.codecs)
        one = elements.aligned(found, codec)[0]
        return look_at_graph(run.stream, codec, run.codec("label", LabelCodec), one, NodePositions(), how)

    @staticmethod
    def _read(run: Loaded, words: Sequence[object]) -> Named:
        asked = run.training(SetTraining)
        return given_sets(words, set_column=asked.set_column, label=asked.label_column)

    def _sets(self, run: Loaded, one: Given) -> GraphSet:
        """The sets of an input: opened already, or bytes of a file."""
        if isinstance(one.value, str):
            return set_in_words(one.value)
        if isinstance(one.value, Opened) and isinstance(one.value.what, GraphSet):
            return one.value.what
        if not isinstance(one.value, Content):
            raise unlike(one, "a set of vectors")
        with in_a_file(one, one.value) as path:
            ((_, found),) = self._read(run, [path])
        return found

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_labels(run, with_vectors_in_unit(run))
