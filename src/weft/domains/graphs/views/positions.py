"""Where the nodes of a graph are, to look at: the graph coloured by eigenvectors of its Laplacian.

The first ones change slowly along edges and part the graph into few large regions, later ones into more.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.domains.graphs.positions import MOST_STEPS, laplacian_waves
from weft.domains.graphs.views.drawing import layout
from weft.errors import DataError
from weft.inspect.figures import EDGE, INK, LINES, PALE, SERIES, SIGNS, Sheet, shades, sheet
from weft.inspect.views import View
from weft.modalities.graph import Graph

SHOWN = 4  # eigenvectors, each in a panel
SIDE = 3.3  # inches of a panel
GAP = 0.3
MOST_DRAWN = 1500  # nodes
ROUNDS = 120  # of the springs
SOURCES = 40  # nodes from which steps to all others are counted
LIMIT = 1.5  # entries beyond this, in units of a typical one, have the darkest colours


@dataclass(repr=False)
class PositionView(View):
    """The graph coloured by its first eigenvectors, and how alike positions are by the steps between two nodes."""

    graph: Graph
    nodes: np.ndarray  # that are drawn
    waves: np.ndarray  # (N, W) of all nodes
    similarity: Sequence[float]  # mean cosine of the positions of two nodes, 0 to MOST_STEPS steps apart, and farther
    read: int  # eigenvectors that the model reads

    @property
    def about(self) -> str:
        """What is shown, in a line."""
        return f"the first eigenvectors of the Laplacian of {self.graph.name.rpartition('/')[2]}"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """As a picture."""
        places = {int(node): row for row, node in enumerate(self.nodes)}
        inside = [(places[a], places[b]) for a, b in self.graph.edges.tolist() if a in places and b in places]
        ranks = np.argsort(np.argsort(self.waves[self.nodes, :2], axis=0, kind="stable"), axis=0) / len(self.nodes)
        laid = layout(len(self.nodes), inside, start=ranks, rounds=ROUNDS)
        with sheet(format) as on:
            on.text(0, -0.32, self.about, size=12, va="bottom")
            on.text(0, -0.1, f"{len(self.nodes):,} nodes; red above zero, blue below", color=PALE, va="bottom")
            for number in range(SHOWN):
                x, y = (number % 2) * (SIDE + GAP), (number // 2) * (SIDE + GAP + 0.15)
                self._panel(on, number, laid, inside, x, y)
            self._similarity(on, 0.35, 2 * (SIDE + GAP) + 0.55)
            return on.bytes()

    def _panel(self, on: Sheet, number: int, laid: np.ndarray, edges: Sequence[Any], x: float, y: float) -> None:
        from matplotlib.collections import LineCollection

        on.text(x, y + 0.05, f"eigenvector {number + 1}", size=8.5)
        axis = on.axis(x, y + 0.25, SIDE, SIDE, frame=None)
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        lines = [laid[list(pair)] for pair in edges]
        axis.add_collection(LineCollection(lines, colors=EDGE, linewidths=0.3, zorder=1))
        size = np.clip(6000 / max(len(laid), 1), 4, 60)
        values = np.clip(self.waves[self.nodes, number] / LIMIT, -1, 1)
        axis.scatter(*laid.T, s=size, c=values, cmap=shades(SIGNS), vmin=-1, vmax=1, linewidths=0.2, edgecolors=PALE,
                     zorder=2)  # fmt: skip

    def _similarity(self, on: Sheet, x: float, y: float) -> None:
        """The mean cosine by steps, as a line."""
        on.text(x - 0.35, y - 0.3, "how alike the positions of two nodes are (mean cosine), by the steps between them",
                size=8.5)  # fmt: skip
        axis = on.axis(x, y, 2 * SIDE + GAP - 0.35, 1.3)
        axis.plot(range(len(self.similarity)), self.similarity, color=SERIES[0], marker="o", markersize=4)
        axis.axhline(0, color=LINES, zorder=0)
        axis.set_xticks(range(len(self.similarity)), [*map(str, range(MOST_STEPS + 1)), "farther"], fontsize=7)
        axis.set_yticks((0, 0.5, 1), ("0", "0.5", "1"), fontsize=7)
        axis.set_ylim(min(-0.1, *self.similarity) - 0.05, 1.08)
        axis.tick_params(labelsize=7, colors=INK, bottom=True, left=True, labelbottom=True, labelleft=True)

    def text(self) -> str:
        """In words and numbers, for a terminal."""
        names = [*map(str, range(MOST_STEPS + 1)), "farther"]
        lines = [f"  {name:>7} {value:6.2f}" for name, value in zip(names, self.similarity, strict=True)]
        return "\n".join([self.about, "  steps   similarity of positions (mean cosine)", *lines])

    def note(self) -> str | None:
        """What a user should know of the picture."""
        hidden = self.graph.size - len(self.nodes)
        notes = [] if self.read else ["this model reads no positions: they are those of the graph"]
        notes += [f"{hidden:,} nodes farther away are not drawn"] if hidden else []
        return "; ".join(notes) or None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        vectors = {self.graph.node(int(i)): [round(float(v), 5) for v in self.waves[i]] for i in self.nodes}
        return {"graph": self.graph.name, "similarity": list(self.similarity), "positions": vectors}


def look_at_positions(graph: Graph, count: int, read: int) -> PositionView:
    """The eigenvectors of a graph, as many as models read."""
    if graph.size < 2 or not len(graph.edges):
        raise DataError("nodes without edges have no position", where=graph.name, fix="look at another graph")
    waves, beside = laplacian_waves(graph.edges, graph.size, max(count, SHOWN)), _neighbours(graph)
    first = int(np.argmax(np.abs(waves).sum(1)))
    around = [node for node, _ in _reached(beside, first)]
    nodes = np.sort([*around, *sorted(set(range(graph.size)) - set(around))][:MOST_DRAWN])
    return PositionView(graph, nodes, waves, _by_steps(waves, beside), read)


def _neighbours(graph: Graph) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(graph.size)]
    for a, b in graph.edges.tolist():
        found[a].append(b)
        found[b].append(a)
    return found


def _reached(beside: list[list[int]], first: int) -> list[tuple[int, int]]:
    """The nodes that can be reached from one, nearest first, with the steps to each."""
    seen, waiting = {first: 0}, deque([first])
    while waiting:
        here = waiting.popleft()
        for other in beside[here]:
            if other not in seen:
                seen[other] = seen[here] + 1
                waiting.append(other)
    return list(seen.items())


def _by_steps(waves: np.ndarray, beside: list[list[int]]) -> list[float]:
    """The mean cosine of the positions of two nodes by the steps between them, for nodes that edges join."""
    unit = waves / np.maximum(np.linalg.norm(waves, axis=1, keepdims=True), 1e-12)
    total, count = np.zeros(MOST_STEPS + 2), np.zeros(MOST_STEPS + 2)
    joined = [node for node in range(len(beside)) if beside[node] and waves[node].any()]
    for first in joined[:: max(1, len(joined) // SOURCES)]:
        nodes, steps = np.array(_reached(beside, first)).T
        steps = np.minimum(steps, MOST_STEPS + 1)
        np.add.at(total, steps, unit[nodes] @ unit[first])
        np.add.at(count, steps, 1)
    return [round(float(value), 4) for value in total / np.maximum(count, 1)]
