"""graph: learn labels of nodes or of whole graphs. Graphs in, a model that labels new ones out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import final

from torch import Tensor

from weft.batches.source import Source
from weft.domains.graphs import answers, elements
from weft.domains.graphs import recipe as recipes
from weft.domains.graphs.answers import AskElements
from weft.domains.graphs.cards import GRAPH
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import GraphData, Rows
from weft.domains.graphs.encoded.rows import EncodedGraphs
from weft.domains.graphs.exchange import with_vectors_in_unit
from weft.domains.graphs.measures import in_words
from weft.domains.graphs.reading.files import KNOWN, read_graphs
from weft.domains.graphs.reading.given import Named, are_tables, given_graphs
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.settings import GraphTraining
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

GraphDraft = Draft[GraphData, EncodedGraphs, GraphTraining]


@final
class GraphLabels(Task[GraphData, EncodedGraphs, GraphTraining]):
    """A class or a number for each node, or for each graph."""

    card = GRAPH
    parts = (Parts({"graph": End.of(GraphCodec), "label": End.of(LabelCodec)}, (Stream,), GraphEmbed),)
    recipe = recipes.GRAPHS
    unit = "label"
    asks = (Asks("file", "a graph", KNOWN),)
    embeds = (Asks("file", "a graph", KNOWN),)
    Predict = AskElements
    Look = LookAtGraph

    def codecs(self, data: GraphData, training: GraphTraining, known: Codecs) -> Codecs:
        return elements.element_codecs(data, known)

    def encode(
        self, data: GraphData, codecs: Codecs, training: GraphTraining, known: Model.Config | None, progress: Progress
    ) -> EncodedGraphs:
        return EncodedGraphs.of(data, elements.graph_codec(codecs), labelling.codec_of(codecs))

    def sized(self, draft: GraphDraft) -> tuple[Model.Config, GraphTraining]:
        return recipes.new_model(draft, self.recipe)

    def continued(self, draft: GraphDraft, origin: Loaded) -> tuple[Model.Config, GraphTraining]:
        return elements.continued(draft, origin)

    def start(self, origin: Loaded, codecs: Codecs) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=True, same_head=codecs["label"].same(origin.codecs.get("label")))

    def objective(self, encoded: EncodedGraphs, codecs: Codecs, training: GraphTraining) -> Objective.Config:
        return elements.element_objective(encoded.data, codecs)

    def source(self, encoded: EncodedGraphs, codecs: Codecs, model: Model.Config, training: GraphTraining) -> Source:
        recipes.check_size(model, encoded.largest, encoded.data.described)
        places = recipes.places_of(model)
        return encoded.source(places, tokens=training.tokens, rows=training.rows, seed=training.seed)

    def batch_in_words(self, training: GraphTraining, source: Source) -> str:
        return (
            "the whole graph in each step"
            if source.per_epoch == 1
            else f"batches of up to {training.batch * training.rows} graphs"
        )

    def ability(self, run: Loaded) -> str:
        thing = "a node of a graph" if elements.is_node_level(run) else "a graph"
        return labelling.ability(run.codec("label", LabelCodec), thing)

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.graph_facts(run, "labelled nodes" if elements.is_node_level(run) else "graphs")

    def example(self, run: Loaded, measured: Measured) -> str:
        return in_words(measured.more.get("baselines", {}))

    def gives(self, run: Loaded) -> Gives:
        if elements.is_node_level(run):
            return Gives("table", endings=answers.WRITES)
        return labelling.gives(run.codec("label", LabelCodec), answers.WRITES)

    def together(self, words: Sequence[object]) -> Iterable[Sequence[object]]:
        return [words] if are_tables(words) else [[word] for word in words]

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        for name, found in self._read(run, words):
            yield Given(Opened(found), name)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: AskElements, listen: Listen | None) -> list[Answer]:
        return answers.predicted(run, [(one.name, self._graphs(run, one)) for one in inputs], how)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: object) -> Embedded:
        return answers.embedded(run, [(one.name, self._graphs(run, one)) for one in inputs])

    def shown(self, prediction: Prediction) -> str:
        if "nodes" not in prediction:
            return labelling.in_a_line(prediction)
        return "\n".join(labelling.in_a_line({"input": one["node"], **one}) for one in prediction["nodes"])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Rows:
        asked, codec = run.training(GraphTraining), elements.graph_codec(run.codecs)
        found = read_graphs(sources, directed=asked.directed, label=LabelColumn(asked.label_column))
        return elements.nodes(found, codec) if elements.is_node_level(run) else elements.wholes(found, codec, "graph")

    def measure(self, run: Loaded, held_out: Rows, progress: Progress, seconds: float | None = None) -> Measured:
        return elements.measured(run, held_out, progress, "graph")

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtGraph) -> View:
        one = only_one(inputs, "a graph")
        name, found = one.name, self._graphs(run, one)
        codec = elements.graph_codec(run.codecs)
        graph = elements.aligned(found, codec)[0]
        recipes.check_size(run.model.config, graph.size, name)
        places = recipes.places_of(run.model.config)
        return look_at_graph(run.stream, codec, run.codec("label", LabelCodec), graph, places, how)

    @staticmethod
    def _read(run: Loaded, words: Sequence[object]) -> Named:
        asked = run.training(GraphTraining)
        return given_graphs(words, directed=asked.directed, label=asked.label_column)

    def _graphs(self, run: Loaded, one: Given) -> GraphSet:
        """The graphs of an input: opened already, or bytes of a file."""
        if isinstance(one.value, Opened) and isinstance(one.value.what, GraphSet):
            return one.value.what
        if not isinstance(one.value, Content):
            raise unlike(one, "a graph")
        with in_a_file(one, one.value) as path:
            ((_, found),) = self._read(run, [path])
        return found

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_labels(run, with_vectors_in_unit(run))
