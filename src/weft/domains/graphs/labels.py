"""graph and sets: learn labels of nodes, of whole graphs, or of sets of vectors, in which order means nothing.

Both are one task with other files: a set is a graph without edges.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, final

import torch

from weft.batches.source import Source
from weft.domains.graphs import elements, rows
from weft.domains.graphs import recipe as recipes
from weft.domains.graphs.baselines import node_baselines, whole_baselines
from weft.domains.graphs.cards import GRAPH, SETS
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import GraphData, LabelledNodes, Rows, graphs_of, labels_of
from weft.domains.graphs.dataset.dividing import rehearsal
from weft.domains.graphs.elements import AskElements
from weft.domains.graphs.encoded import EncodedGraphs
from weft.domains.graphs.reading import files as graph_files
from weft.domains.graphs.reading import set_files
from weft.domains.graphs.reading.given import Named, are_tables, given_graphs, given_sets, set_in_words
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.molecules import is_molecules
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.settings import ElementTraining, GraphTraining, SetTraining
from weft.domains.graphs.views.positions import look_at_positions
from weft.domains.graphs.views.reading import POSITIONS, LookAtGraph, look_at_graph, study_graph
from weft.files.known_roles import LABEL
from weft.files.tables import open_table
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.modalities.graph_embed import GraphEmbed
from weft.models.stream import Model, Stream
from weft.objectives import Objective
from weft.tasks.asks import Answer, Asks, Content, Given, Gives, Opened, Use, Ways, in_a_file, only_one, unlike
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.labels import labelling
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.task import LabelTask
from weft.tasks.outgoing import Outgoing, plain_model, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.tasks.table_inputs import opened as opened_table
from weft.tasks.using import own_data
from weft.training.progress import Progress

T = TypeVar("T", bound=ElementTraining)


class ElementLabels(LabelTask[GraphData, EncodedGraphs, T]):
    """A class or a number for each node, or for each graph or set."""

    parts = (Parts({"graph": End.of(GraphCodec), "label": End.of(LabelCodec)}, (Stream,), GraphEmbed),)
    whole: ClassVar[str]  # what a row is called, in messages
    Predict = AskElements
    Look = LookAtGraph

    def codecs(self, data: GraphData, training: T, known: Codecs) -> Codecs:
        return elements.element_codecs(data, known)

    def encode(
        self, data: GraphData, codecs: Codecs, training: T, known: Model.Config | None, progress: Progress
    ) -> EncodedGraphs:
        return EncodedGraphs.of(data, elements.graph_codec(codecs), labelling.codec_of(codecs))

    def sized(self, draft: Draft[GraphData, EncodedGraphs, T]) -> tuple[Model.Config, T]:
        return recipes.new_model(draft, self.recipe)

    def continued(self, draft: Draft[GraphData, EncodedGraphs, T], origin: Loaded) -> tuple[Model.Config, T]:
        return elements.continued(draft, origin)

    def objective(self, encoded: EncodedGraphs, codecs: Codecs, training: T) -> Objective.Config:
        return elements.element_objective(encoded.data, codecs)

    def source(self, encoded: EncodedGraphs, codecs: Codecs, model: Model.Config, training: T) -> Source:
        recipes.check_size(model, encoded.largest, encoded.data.described, training=True)
        places = recipes.places_of(model)
        return encoded.source(places, tokens=training.tokens, rows=training.rows, seed=training.seed)

    def model_lines(self, encoded: EncodedGraphs, model: Model.Config, name: str) -> Mapping[str, str]:
        return recipes.position_remarks(model, encoded.largest, name)

    def batch_in_words(self, training: T, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} {self.whole}s"

    def ability(self, run: Loaded) -> str:
        thing = "a node of a graph" if elements.is_node_level(run) else self.asks[0].called
        return labelling.ability(run.codec("label", LabelCodec), thing)

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.graph_facts(run, "labelled nodes" if elements.is_node_level(run) else f"{self.whole}s")

    def gives(self, run: Loaded) -> Gives:
        found = labelling.gives(run.codec("label", LabelCodec), elements.WRITES)
        return replace(found, kind="table", columns=("node", *found.columns)) if elements.is_node_level(run) else found

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [labelling.cells(one) for one in prediction.get("nodes", [prediction])]

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        for name, found in self.read_given(run, words):
            yield Given(Opened(found), name)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: AskElements, listen: Listen | None) -> list[Answer]:
        return elements.predicted(run, [(one.name, self.graphs(run, one)) for one in inputs], how)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: object) -> Embedded:
        return elements.embedded(run, [(one.name, self.graphs(run, one)) for one in inputs])

    def shown(self, prediction: Prediction) -> str:
        if "nodes" not in prediction:
            return labelling.in_a_line(prediction)
        return "\n".join(labelling.in_a_line({"input": one["node"], **one}) for one in prediction["nodes"])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Rows:
        found, codec = self.read_labelled(run, sources), elements.graph_codec(run.codecs)
        return (
            elements.nodes(found, codec) if elements.is_node_level(run) else elements.wholes(found, codec, self.whole)
        )

    def measure(self, run: Loaded, held_out: Rows, progress: Progress, seconds: float | None = None) -> Measured:
        return elements.measured(run, held_out, progress, self.whole)

    def labels(self, rows: Rows) -> Sequence[str]:
        return labels_of(rows)

    def learned_baselines(self, run: Loaded, target: LabelTarget, train: Rows, held_out: Rows) -> Iterator[Baseline]:
        codec = elements.graph_codec(run.codecs)
        if isinstance(train, LabelledNodes) and isinstance(held_out, LabelledNodes):
            return node_baselines(target, train, held_out, codec)
        assert not isinstance(train, LabelledNodes) and not isinstance(held_out, LabelledNodes)
        return whole_baselines(target, train, held_out, codec)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtGraph) -> View:
        if how.what == POSITIONS:
            graphs = graphs_of(own_data(self, run).train)
            return look_at_positions(
                max(graphs, key=lambda graph: graph.size), recipes.WAVES, recipes.places_of(run.model.config).waves
            )
        one = only_one(inputs, f"a {self.whole}")
        codec, found = elements.graph_codec(run.codecs), self.graphs(run, one)
        graph = elements.aligned(found, codec)[0]
        recipes.check_size(run.model.config, graph, one.name)
        places = recipes.places_of(run.model.config)
        return look_at_graph(run.stream, codec, run.codec("label", LabelCodec), graph, places, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtGraph) -> Study:
        one = only_one(inputs, f"a {self.whole}")
        codec = elements.graph_codec(run.codecs)
        graph = elements.aligned(self.graphs(run, one), codec)[0]
        recipes.check_size(run.model.config, graph, one.name)
        label, places = run.codec("label", LabelCodec), recipes.places_of(run.model.config)
        return study_graph(run.stream, codec, label, graph, places, how)

    def graphs(self, run: Loaded, one: Given) -> GraphSet:
        """The graphs or sets of an input: opened already, or bytes of a file."""
        if isinstance(one.value, Opened) and isinstance(one.value.what, GraphSet):
            return one.value.what
        if not isinstance(one.value, Content):
            raise unlike(one, self.asks[0].called)
        with in_a_file(one, one.value) as path:
            ((_, found),) = self.read_given(run, [path])
        return found

    @abstractmethod
    def read_given(self, run: Loaded, words: Sequence[object]) -> Named:
        """The graphs or sets that a user hands over to be labelled, by name."""

    @abstractmethod
    def read_labelled(self, run: Loaded, sources: Sequence[str]) -> GraphSet:
        """The labelled graphs or sets in files."""

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_labels(run, with_vectors_in_unit(run))


@final
class GraphLabels(ElementLabels[GraphTraining]):
    """A class or a number for each node, or for each graph."""

    card = GRAPH
    recipe = recipes.GRAPHS
    unit = "label"
    whole = "graph"
    asks = (Asks("file", "a graph", graph_files.KNOWN),)
    embeds = asks

    def rehearsal(self, data: GraphData) -> GraphData | None:
        return rehearsal(data)

    def batch_in_words(self, training: GraphTraining, source: Source) -> str:
        return "the whole graph in each step" if source.per_epoch == 1 else super().batch_in_words(training, source)

    def together(self, words: Sequence[object]) -> Iterable[Sequence[object]]:
        return [words] if are_tables(words) else super().together(words)

    def in_table(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        if is_molecules(path):
            return opened_table(path, (rows.MOLECULE,), self.card.reader, ways.columns).inputs(rows.molecule_in)
        return None if rows.is_part_of_graph(path) else super().in_table(run, path, ways)

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        for one in super().opened(run, words, ways):
            whole = elements.is_node_level(run) and len(self.graphs(run, one).graphs) == 1
            yield replace(one, rows=rows.rows_of_nodes(words) if whole else ())

    def read_given(self, run: Loaded, words: Sequence[object]) -> Named:
        asked = run.training(GraphTraining)
        return given_graphs(words, directed=asked.directed, label=asked.label_column)

    def read_labelled(self, run: Loaded, sources: Sequence[str]) -> GraphSet:
        asked = self.read_by(run)
        return graph_files.read_graphs(sources, directed=asked.directed, label=LabelColumn(asked.label_column))


@final
class SetLabels(ElementLabels[SetTraining]):
    """A class or a number for each set."""

    card = SETS
    recipe = recipes.SETS
    unit = "set"
    whole = "set"
    asks = (Asks("file", "a set of vectors", set_files.KNOWN, lines=True),)
    embeds = (Asks("file", "a set of vectors", set_files.KNOWN),)

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        return (InputColumn(rows.VECTOR_SET, "set_column"),)

    def in_table(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        asked = ways.columns.get("set_column") or run.training(SetTraining).set_column
        table = open_table(path, (rows.VECTOR_SET, rows.IN_RUNS, LABEL), (asked,))
        if rows.is_set_in_each_row(table, asked):
            return super().in_table(run, path, ways)
        named = given_sets([path], set_column=asked, label=run.training(SetTraining).label_column)
        return rows.sets_of_rows(table, asked, named)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return rows.set_in(row)

    def graphs(self, run: Loaded, one: Given) -> GraphSet:
        return set_in_words(one.value) if isinstance(one.value, str) else super().graphs(run, one)

    def read_given(self, run: Loaded, words: Sequence[object]) -> Named:
        asked = run.training(SetTraining)
        return given_sets(words, set_column=asked.set_column, label=asked.label_column)

    def read_labelled(self, run: Loaded, sources: Sequence[str]) -> GraphSet:
        asked = self.read_by(run)
        return set_files.read_set_files(sources, set_column=asked.set_column, label=LabelColumn(asked.label_column))


def with_vectors_in_unit(run: Loaded) -> Model:
    """The model made to take vectors in the user's unit: mean and spread become part of the embedder's map."""
    codec, model = run.codec("graph", GraphCodec), plain_model(run)
    if not codec.config.mean:
        return model
    twin: Any = copy.deepcopy(model)
    mean, spread = (torch.tensor(side, dtype=torch.double) for side in (codec.config.mean, codec.config.spread))
    with torch.no_grad():
        table, offset = twin.embed.features.weight, twin.embed.offset
        scaled = table.double().cpu() / spread[:, None]
        offset.copy_(offset.double().cpu() - mean @ scaled)
        table.copy_(scaled)
    return twin
