"""What a node of a graph read: the graph around it, with the attention weights on what it looked at.

Elements of a set are nodes without edges. Knows models of nodes and their readings; refuses to know tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from weft.config import Config
from weft.core import PerToken, record
from weft.core.recording import Reading
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.encoded import NodePositions, batch_of
from weft.domains.graphs.views.drawing import draw_graph, layout
from weft.errors import ConfigError, DataError, nearest
from weft.inspect.document import LookDocument, NodePlace, TokenGroup
from weft.inspect.packed import EdgeWeights
from weft.inspect.streams import Read, streams_of
from weft.inspect.study import Study, stream_study
from weft.inspect.views import AttentionChoice, LookedAnswer, View
from weft.modalities.graph import Graph, SparseRows
from weft.models.stream import Stream
from weft.tasks.labels import labelling
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec

ON_A_PAGE = 240  # nodes of a page around the one that reads
MOST_DRAWN = 60  # nodes around the one that reads
LISTED = 12  # nodes named in words


POSITIONS = "positions"


class LookAtGraph(Config):
    """Settings of a look at a graph."""

    what: str | None = None
    node: str | None = None
    layer: int | None = None
    head: int | None = None

    about: ClassVar[Mapping[str, str]] = {
        "what": "positions: the graph of the training data, coloured by the eigenvectors of its Laplacian",
        "node": "the node whose attention is shown, by its name or number; by default the one with most neighbours",
        "layer": "one layer, from 1; by default the mean of all",
        "head": "one head, from 1; by default the mean of all",
    }

    def check(self) -> None:
        if self.what not in (None, POSITIONS):
            raise ConfigError(f"expected {POSITIONS}, found {self.what!r}", where="what")


Layer = Reading | np.ndarray | EdgeWeights  # what every node read: as recorded, (heads, N, N), or along edges


@dataclass(eq=False, repr=False)
class GraphView(View):
    """Shares of what one node read of each node, and the graph around it."""

    graph: Graph
    node: int
    shares: np.ndarray  # (N,), summing to 1 where anything was read
    answers: Sequence[str]  # for each node, or one for the whole
    which: str  # whose attention it is, in words
    averages: bool = False  # the model has no attention: shares are those of a mean
    answer: LookedAnswer | None = None  # for the whole, or for the node
    picked: tuple[tuple[str, str], ...] = ()  # the layer and head that a page shows at first
    layers: Sequence[Layer] = ()  # what every node read

    def drawn(self, count: int = MOST_DRAWN) -> np.ndarray:
        """The nodes that are shown: the one that reads, those that it read most, then its neighbourhood."""
        most = [int(i) for i in np.argsort(-self.shares, kind="stable")[: count // 2] if self.shares[i] > 0]
        found = dict.fromkeys([self.node, *most])
        if not len(self.graph.edges):
            return np.array(list(dict.fromkeys([*found, *range(self.graph.size)]))[:count])
        around, seen = [self.node], {self.node}
        while around and len(found) < count:
            here = around.pop(0)
            for other in np.unique(self.graph.edges[(self.graph.edges == here).any(1)]).tolist():
                if other not in seen:
                    seen.add(other)
                    around.append(other)
                    found[other] = None
        return np.array(list(found)[:count])

    def document(self) -> LookDocument:
        """The graph around the node, with what every node of it read in every head."""
        nodes = self.drawn(ON_A_PAGE)
        rows = {int(node): row for row, node in enumerate(nodes)}
        inside = tuple((rows[a], rows[b]) for a, b in self.graph.edges.tolist() if a in rows and b in rows)
        places = layout(len(nodes), inside, _plane(self.graph, nodes))
        plane = NodePlace(tuple((round(float(x), 4), round(1 - float(y), 4)) for x, y in places), inside)
        said = tuple(self.answers[int(node)] for node in nodes) if len(self.answers) == self.graph.size else ()
        groups = (TokenGroup("nodes", tuple(self.name(int(node)) for node in nodes), plane, said),)
        which = "the mean of what each node is joined to" if self.averages else "attention"
        weights = _among(self.layers, nodes)
        read = Read(which, "nodes", "nodes", weights, "mean" if self.averages else "attention")
        streams, left = streams_of((read,), groups)
        hidden = self.graph.size - len(nodes)
        notes = [f"{hidden:,} nodes farther away are not on this page."] if hidden else []
        notes += [note for note in [self.note()] if note and self.averages]
        return LookDocument(
            self.title, "graph", self.about, self.text(), groups=groups, streams=streams, answer=self.answer,
            start=(*self.picked, ("token", f"nodes.{rows[self.node] + 1}")), notes=(*notes, *left),
        )  # fmt: skip

    @property
    def title(self) -> str:
        """What is shown, in a line."""
        return f"what {self.name(self.node)} read of {self.graph.name.rpartition('/')[2]}"

    def name(self, node: int) -> str:
        """A node by its name."""
        return self.graph.node(node) if self.graph.names else f"node {node}"

    @property
    def about(self) -> str:
        return f"{self.title} ({self.which})"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """As a picture."""
        nodes = self.drawn()
        places = {int(node): row for row, node in enumerate(nodes)}
        inside = [(places[a], places[b]) for a, b in self.graph.edges.tolist() if a in places and b in places]
        return draw_graph(
            layout(len(nodes), inside, _plane(self.graph, nodes)),
            inside,
            reader=places[self.node],
            shares=self.shares[nodes],
            names=[self.graph.node(int(node)) for node in nodes],
            answers=[self.answers[int(node)] for node in nodes] if len(self.answers) == self.graph.size else [],
            title=self.title,
            note="; ".join([self.which, *([str(self.answer)] if self.answer is not None else [])]),
            format=format,
        )

    def text(self) -> str:
        """In words and numbers, for a terminal."""
        order = [int(i) for i in np.argsort(-self.shares, kind="stable")[:LISTED] if self.shares[i] > 0]
        lines = [f"{self.title} ({self.which})", *([str(self.answer)] if self.answer is not None else [])]
        for i in order:
            answer = f"  {self.answers[i]}" if len(self.answers) == self.graph.size else ""
            own = " (itself)" if i == self.node else ""
            lines.append(f"  {self.shares[i]:6.1%}  {self.name(i)}{own}{answer}")
        return "\n".join(lines)

    def note(self) -> str | None:
        """What a user should know of the picture."""
        if self.averages:
            return "this model has no attention: it sums up all that a node is joined to, by fixed weights"
        hidden = self.graph.size - len(self.drawn())
        return f"{hidden:,} nodes farther away are not drawn" if hidden > 0 else None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        read = {self.name(int(i)): round(float(self.shares[i]), 6) for i in np.flatnonzero(self.shares)}
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        return {"graph": self.graph.name, "node": self.name(self.node), "which": self.which, **answer, "read": read}


@torch.inference_mode()
def look_at_graph(
    model: Stream, codec: GraphCodec, label: LabelCodec, graph: Graph, places: NodePositions, how: LookAtGraph
) -> GraphView:
    """What one node of a graph read, and what the model answers."""
    if not graph.size:
        raise DataError("a graph without nodes has nothing to look at", where=graph.name)
    encoded = codec.encode([graph])
    node = _node(graph, how.node)
    model.eval()
    with record(model) as recorder:
        values = model(batch_of(encoded, places).to(next(model.parameters()).device)).float().cpu()
    answers = label.decode(values.flatten(0, -2), 1)
    said = [one["label"] if isinstance(label, ClassCodec) else f"{one['value']:g}" for one in answers]
    own = answers[node if len(answers) == graph.size else 0]
    chances = own.get("probabilities") or {f"{own.get('value', 0):g}": None}
    answer = LookedAnswer(tuple(chances.items()), "answer" if len(answers) == 1 else f"answer for {graph.node(node)}")
    readings = [some[0] for some in recorder.readings.values()]
    if not readings:
        mine = encoded[0].key[encoded[0].query == node] if len(graph.edges) else np.arange(graph.size)
        shares = np.bincount(mine, minlength=graph.size) / max(len(mine), 1)
        joined = (
            (encoded[0].query, encoded[0].key) if len(graph.edges) else np.indices((graph.size,) * 2).reshape(2, -1)
        )
        counts = np.bincount(joined[0], minlength=graph.size)
        means = EdgeWeights(joined[0], joined[1], (1 / counts[joined[0]])[:, None], graph.size)
        which = "the mean of what it is joined to"
        return GraphView(graph, node, shares, said, which, True, answer, layers=[means])
    heads = readings[0].q.shape[1]
    choice = AttentionChoice(how.layer, how.head)
    layer, head = choice.indices(len(readings), heads)
    chosen = readings if layer is None else [readings[layer]]
    shares = np.mean([_shares(one, node, graph.size, head) for one in chosen], 0)
    words = [f"layer {layer + 1}" if layer is not None else f"mean of {len(readings)} layers"]
    words.append(f"head {head + 1}" if head is not None else f"mean of {heads} heads")
    layers = [_layer(one, graph.size) for one in readings]
    return GraphView(graph, node, shares, said, ", ".join(words), answer=answer, picked=choice.picked, layers=layers)


def study_graph(
    model: Stream, codec: GraphCodec, label: LabelCodec, graph: Graph, places: NodePositions, how: LookAtGraph
) -> Study:
    """The study of a graph's answer, or of that of one of its nodes."""
    if not graph.size:
        raise DataError("a graph without nodes has nothing to look at", where=graph.name)
    raw = batch_of(codec.encode([graph]), places).to(next(model.parameters()).device)
    names = [graph.node(node) for node in range(graph.size)]
    place = _node(graph, how.node) + 1 if isinstance(model.head, PerToken) else None
    far = (lambda: (hops(graph), "hops")) if len(graph.edges) else None
    return stream_study(model, raw, names=names, place=place, distances=far, **labelling.studied(label))


def hops(graph: Graph) -> np.ndarray:
    """The fewest edges between each two nodes (N N), in either direction; infinite where there is no way."""
    near = np.zeros((graph.size, graph.size), bool)
    near[graph.edges[:, 0], graph.edges[:, 1]] = near[graph.edges[:, 1], graph.edges[:, 0]] = True
    found = np.where(np.eye(graph.size, dtype=bool), 0.0, np.inf)
    reached, step = np.eye(graph.size, dtype=bool), 0
    while True:
        step += 1
        new = (reached.astype(np.float32) @ near > 0) & np.isinf(found)
        if not new.any():
            return found
        found[new], reached = step, new


def _shares(reading: Reading, node: int, size: int, head: int | None) -> np.ndarray:
    """How much one node read of each, in one layer."""
    found = reading.edge_weights()
    if found is None:
        rows = reading.weights(queries=[node])[0, :, 0, :size]
    else:
        edges, weights = found
        mine = edges.query == node
        rows = weights.new_zeros(weights.shape[1], size).index_add_(1, edges.key[mine], weights[mine].T)
    return (rows.mean(0) if head is None else rows[head]).cpu().double().numpy()


def _layer(reading: Reading, size: int) -> Reading | EdgeWeights:
    """What every node read in one layer: as it was recorded, or along its edges."""
    found = reading.edge_weights()
    if found is None:
        return reading
    edges, weights = found
    return EdgeWeights(edges.query.cpu().numpy(), edges.key.cpu().numpy(), weights.float().cpu().numpy(), size)


def _among(layers: Sequence[Layer], nodes: np.ndarray) -> np.ndarray | list[EdgeWeights]:
    """The same among some nodes alone, in their order; along edges where one layer reads so."""
    dense = [_dense(one, nodes) for one in layers if not isinstance(one, EdgeWeights)]
    if len(dense) == len(layers) and len({len(one) for one in dense}) == 1:
        return np.stack(dense)
    found = [_edges_among(one, nodes) for one in layers]
    if len({one.weights.shape[1] for one in found}) > 1:  # layers with different numbers of heads: their means
        found = [replace(one, weights=one.weights.mean(1, keepdims=True)) for one in found]
    return found


def _dense(layer: Reading | np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """(heads, n, n) of what some nodes read of each other."""
    if isinstance(layer, np.ndarray):
        return layer[:, nodes][:, :, nodes]
    return layer.weights(queries=nodes.tolist())[0][:, :, nodes].detach().float().cpu().numpy()


def _edges_among(layer: Layer, nodes: np.ndarray) -> EdgeWeights:
    if not isinstance(layer, EdgeWeights):
        query, key = np.indices((len(nodes),) * 2).reshape(2, -1)
        dense = _dense(layer, nodes)
        return EdgeWeights(query, key, dense.reshape(len(dense), -1).T, len(nodes))
    place = np.full(layer.tokens, -1)
    place[nodes] = np.arange(len(nodes))
    query, key = place[layer.query], place[layer.key]
    both = (query >= 0) & (key >= 0)
    return EdgeWeights(query[both], key[both], layer.weights[both], len(nodes))


def _node(graph: Graph, asked: str | None) -> int:
    if asked is None:
        return int(np.bincount(graph.edges.ravel(), minlength=graph.size).argmax())
    names = [graph.node(i) for i in range(graph.size)]
    if asked not in names:
        raise ConfigError(f"there is no node {asked!r}", where="node", fix=nearest(asked, names[:1000]))
    return names.index(asked)


def _plane(graph: Graph, nodes: np.ndarray) -> np.ndarray | None:
    """Where to draw elements that no edge joins: by the two directions in which their features vary most."""
    if len(graph.edges) or graph.features is None or graph.width < 2 or len(nodes) < 3:
        return None
    rows = graph.features.dense() if isinstance(graph.features, SparseRows) else graph.features
    centred = rows[nodes] - rows[nodes].mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return centred @ axes[:2].T
