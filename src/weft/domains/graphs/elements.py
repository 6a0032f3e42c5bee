"""Runs on graphs and sets: their codecs, what is measured of them, and their answers: labels, tables and vectors."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from weft.batches.like_lengths import in_order
from weft.core import PerToken, Pooled
from weft.core.heads import summary
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import GraphData, LabelledNodes, Rows, graphs_of, labels_of
from weft.domains.graphs.encoded import EncodedGraphs, GraphRows, batch_of
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.recipe import check_size, places_of
from weft.domains.graphs.settings import ElementTraining
from weft.errors import ConfigError, DataError, listed
from weft.modalities.graph import Graph
from weft.modalities.graph_embed import Graphs
from weft.models.stream import Stream
from weft.objectives import Objective, TokenLabels, TokenNumbers
from weft.tasks.asks import Answer
from weft.tasks.codec import Codecs, codec_at
from weft.tasks.finetuning import decided, plain_model, with_lora
from weft.tasks.labels import labelling
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.measuring import counted
from weft.tasks.request import Draft, Embedded, Loaded, Measured, Prediction
from weft.training.progress import Progress

T = TypeVar("T", bound=ElementTraining)
ElementDraft = Draft[GraphData, EncodedGraphs, T]


def element_codecs(data: GraphData, known: Codecs) -> Codecs:
    """Both ends of the samples; that of the graphs is kept where a run is gone on with."""
    graph = known.get("graph")
    if not isinstance(graph, GraphCodec):
        train, held = graphs_of(data.train), graphs_of(data.held_out)
        graph = GraphCodec.of(train, held, data.feature_names, data.kind_names)
    return {"graph": graph, "label": labelling.learned(data.kind, data.classes, data.labels(), known)}


def graph_codec(codecs: Codecs) -> GraphCodec:
    """The codec of the graphs."""
    return codec_at(codecs, "graph", GraphCodec)


def element_objective(data: GraphData, codecs: Codecs) -> Objective.Config:
    """What is learned: labels of nodes, or of wholes."""
    codec = labelling.codec_of(codecs)
    if data.level == "graphs":
        return labelling.objective(codec)
    return TokenLabels.Config() if data.kind == "classes" else TokenNumbers.Config()


def continued(draft: "ElementDraft[T]", origin: Loaded) -> tuple[Stream.Config, T]:
    """The model of another run with a head for these labels, and the settings with everything decided."""
    backbone, _ = plain_model(origin).backbone()
    same = draft.codecs["label"].same(origin.codecs.get("label"))
    wide = PerToken.Config if draft.data.level == "nodes" else Pooled.Config
    if not same or not isinstance(backbone.head, wide):
        head = PerToken.Config(offsets=True) if draft.data.level == "nodes" else Pooled.Config()
        backbone = backbone.replace(head=head, outputs=labelling.codec_of(draft.codecs).outputs)
    return with_lora(backbone, draft.training), decided(draft.training, same_head=same)


def aligned(found: GraphSet, codec: GraphCodec) -> list[Graph]:
    """Graphs with the properties that were learned from, in their order, where files name them."""
    graphs = list(found.graphs)
    for side, had, wanted in (
        ("features", found.features, codec.config.names),
        ("kinds", found.kinds, codec.config.kind_names),
    ):
        if not had or not wanted or tuple(had) == tuple(wanted):
            continue
        missing = [name for name in wanted if name not in had]
        if missing:
            problem = f"nodes lack what the model learned from: {listed(missing)}"
            raise DataError(problem, where=listed(found.files), fix=f"the properties are {listed(wanted)}")
        columns = [had.index(name) for name in wanted]
        graphs = [replace(graph, **{side: getattr(graph, side)[:, columns]}) for graph in graphs]
    return graphs


def values_of(run: Loaded, graphs: Sequence[Graph], progress: Progress | None = None) -> list[Tensor]:
    """The values of the model's head for each graph: one row, or one for each of its nodes."""
    return each_of(run, graphs, run.stream, progress)


@torch.inference_mode()
def each_of(
    run: Loaded, graphs: Sequence[Graph], compute: Callable[[Graphs], Tensor], progress: Progress | None = None
) -> list[Tensor]:
    """What `compute` makes of batches, for each graph: one row, or one for each of its nodes."""
    model, codec = run.stream, graph_codec(run.codecs)
    device = next(model.parameters()).device
    model.eval()
    places = places_of(model.config)
    for graph in graphs:
        check_size(model.config, graph, graph.name)
    encoded = codec.encode(graphs)
    found: dict[int, Tensor] = {}
    with counted(progress, len(graphs), "graphs") as count:
        for some in in_order(GraphRows(encoded, np.zeros(len(encoded))).lengths()) if encoded else ():
            values = compute(batch_of([encoded[i] for i in some], places).to(device)).float().cpu()
            for row, i in enumerate(some.tolist()):
                found[i] = values[row, : graphs[i].size] if values.ndim == 3 else values[row : row + 1]
            count(len(some))
    return [found[i] for i in range(len(graphs))]


def measured(run: Loaded, held_out: Rows, progress: Progress, called: str) -> Measured:
    """How good the answers are for labelled graphs or nodes."""
    codec, truth = run.codec("label", LabelCodec), labels_of(held_out)
    codec.encode(truth)  # refuses unknown labels before anything is computed
    each = values_of(run, graphs_of(held_out), progress)
    if not isinstance(held_out, LabelledNodes):
        return labelling.measured(codec, torch.cat(each), truth, [graph.name for graph in held_out], called=called)
    found = _nodes_measured(codec, held_out, each, held_out.masks)
    if not held_out.others:
        return found
    test = _nodes_measured(codec, held_out, each, held_out.others)
    test_part = {"examples": test.examples, **test.metrics, "intervals": test.more["intervals"]}
    return replace(found, more={**found.more, "test": test_part})


def _nodes_measured(
    codec: LabelCodec, held_out: LabelledNodes, each: Sequence[Tensor], masks: Sequence[np.ndarray]
) -> Measured:
    values = torch.cat([values[torch.from_numpy(mask)] for values, mask in zip(each, masks, strict=True)])
    names = [
        graph.node(int(i)) for graph, mask in zip(held_out.graphs, masks, strict=True) for i in np.flatnonzero(mask)
    ]
    return labelling.measured(codec, values, LabelledNodes(held_out.graphs, masks).labels(), names, called="node")


def wholes(found: GraphSet, codec: GraphCodec, thing: str) -> list[Graph]:
    """Labelled graphs or sets of a file to measure on."""
    graphs = [graph for graph in aligned(found, codec) if graph.label]
    if not graphs:
        raise DataError(
            f"no {thing} with a label", where=listed(found.files), fix="name files with labels to measure on"
        )
    return graphs


def nodes(found: GraphSet, codec: GraphCodec) -> LabelledNodes:
    """All labelled nodes of a file to measure on."""
    graphs = aligned(found, codec)
    masks = [np.array([bool(text) for text in graph.labels] or [False] * graph.size, bool) for graph in graphs]
    if not any(mask.any() for mask in masks):
        raise DataError("no node with a label", where=listed(found.files), fix="name files with labels to measure on")
    return LabelledNodes(graphs, masks)


def is_node_level(run: Loaded) -> bool:
    """Whether the run answers for each node."""
    return isinstance(run.stream.head, PerToken)


WRITES = (".csv", ".tsv")
NamedGraphs = Sequence[tuple[str, GraphSet]]  # the name of each input, with the graphs in it


class AskElements(labelling.TopLabels):
    """Settings of a prediction."""

    output: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("output",)
    about: ClassVar[Mapping[str, str]] = {
        **labelling.TopLabels.about,
        "output": "the .csv or .tsv for the answers, a row for each node, graph or set",
    }

    def check(self) -> None:
        super().check()
        if self.output is not None and Path(self.output).suffix.lower() not in WRITES:
            raise ConfigError(f"expected one of {', '.join(WRITES)}, found {self.output!r}", where="output")


def predicted(run: Loaded, given: NamedGraphs, how: AskElements) -> list[Answer]:
    """The answer for each graph or set, or for each node of each graph; with the first, a table of all."""
    codec, found = run.codec("label", LabelCodec), list[Answer]()
    for number, (name, some) in enumerate(given):
        graphs = aligned(some, graph_codec(run.codecs))
        for graph, values in zip(graphs, values_of(run, graphs), strict=True):
            shown = name if len(graphs) == 1 else f"{name}: {graph.name}"
            if is_node_level(run):
                answers = codec.decode(values, how.top)
                nodes = [{"node": graph.node(i), **answer} for i, answer in enumerate(answers)]
                found.append(Answer(number, {"input": shown, "nodes": nodes}))
            else:
                (one,) = labelling.predictions(codec, values, [shown], how.top, how.choices)
                found.append(Answer(number, one))
    if found:
        name, classes = how.output or "answers.csv", codec.names if isinstance(codec, ClassCodec) else ()
        delimiter, answers = "\t" if Path(name).suffix.lower() == ".tsv" else ",", [one.values for one in found]
        found[0] = replace(found[0], files={name: lambda: _table(answers, classes, delimiter).encode()})
    return found


def _table(found: Sequence[Prediction], classes: Sequence[str], delimiter: str) -> str:
    """A row for each answer: its input, its node, the label, and the probability of each class."""
    rows: list[dict[str, Any]] = []
    for one in found:
        for answer in one.get("nodes", [one]):
            row = {"input": one["input"], **{k: v for k, v in answer.items() if k != "probabilities"}}
            rows.append({**row, **{f"p({name})": p for name, p in answer.get("probabilities", {}).items()}})
    filled = dict.fromkeys(name for row in rows for name in row)
    shares = [f"p({name})" for name in classes if f"p({name})" in filled]
    columns = [*(name for name in filled if name not in shares), *shares]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


@torch.inference_mode()
def embedded(run: Loaded, given: NamedGraphs) -> Embedded:
    """The last layer's vectors: one for each graph or set, the mean over its elements, or one for each node."""
    model, found = run.stream, []
    for _, some in given:
        graphs = aligned(some, graph_codec(run.codecs))
        found += each_of(
            run,
            graphs,
            lambda raw: model.encode(raw).x if is_node_level(run) else summary(model.encode(raw), first=False),
        )
    if not found:
        raise DataError("nothing to give vectors of", where="weft embed", fix="name a file")
    return Embedded([name for name, _ in given], torch.cat(found).cpu().numpy())
