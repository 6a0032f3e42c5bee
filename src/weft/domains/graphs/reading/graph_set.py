"""GraphSet: the graphs of some files, and what people should know of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.errors import DataError
from weft.machine import memory
from weft.modalities.graph import Graph

NODE_BYTES = 8192  # of memory that a node takes in training besides the layers of the model, as measured
SMALLER = "cut it into several graphs, such as the neighbourhoods of its labelled nodes"


@dataclass(frozen=True, kw_only=True)
class GraphSet:
    """The graphs of some files. `features` and `kinds` name the columns of both; notes are lines for people.

    `taken` are columns of tables by the settings that name them.
    """

    graphs: Sequence[Graph]
    features: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_graph_labels(self) -> bool:
        """Whether any whole graph has a label."""
        return any(graph.label for graph in self.graphs)

    @property
    def has_node_labels(self) -> bool:
        """Whether any node has a label."""
        return any(any(graph.labels) for graph in self.graphs)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all graphs with their labels and parts."""
        found = hashlib.sha256()
        for graph in self.graphs:
            found.update(graph.digest())
            found.update("\0".join([graph.label, *graph.labels]).encode("utf-8"))
            for name, nodes in sorted(graph.parts.items()):
                found.update(name.encode() + nodes.tobytes())
        return found.hexdigest()


def check_nodes(graph: Graph) -> None:
    """Refuse a graph whose nodes alone would not fit into memory, before anything is made of them."""
    if graph.size * NODE_BYTES > (room := memory()):
        problem = f"{graph.size:,} nodes need at least {graph.size * NODE_BYTES / 1e9:,.1f} GB, and this machine has "
        raise DataError(f"{problem}{room / 1e9:,.1f} GB", where=graph.name, fix=SMALLER)
