"""Epochs of gcn and gat on one graph, in turns with PyTorch Geometric's: as many layers, of the same width.

    python bench/graphs.py cora.npz [--rounds 20]

The graph is any .npz that `weft train` takes. Both sides train on the whole graph by Adam; an epoch is one step. Rounds
alternate, so that whatever else the machine does falls on both. PyTorch Geometric is given dense features, as its data
sets hold them; weft keeps sparse ones sparse.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import graphs_of
from weft.domains.graphs.dataset.reader import LabelledGraphs
from weft.domains.graphs.encoded import EncodedGraphs, NodePositions, batch_of
from weft.domains.graphs.settings import GraphTraining
from weft.modalities.graph import SparseRows
from weft.modalities.graph_embed import GraphEmbed
from weft.models.zoo import Size
from weft.models.zoo.graphs import GRAPH_MODELS, Wanted
from weft.tasks.labels.classes import ClassCodec

WIDTH, HEADS, DROPOUT = 64, 8, 0.5
EPOCHS = 5  # in a round


def weft_step(name: str, path: str) -> Callable[[], float]:
    data = LabelledGraphs().read([path], None, GraphTraining())
    label = ClassCodec(ClassCodec.Config(names=data.classes), read=lambda name: "")
    codec = GraphCodec.of(graphs_of(data.train))
    rows = EncodedGraphs.of(data, codec, label).train
    batch = batch_of(rows.graphs, NodePositions())
    embed = GraphEmbed.Config(features=codec.config.features, bags=codec.config.bags, dropout=DROPOUT)
    size = Size(dim=WIDTH, depth=2, heads=HEADS, context=1)
    wanted = Wanted(level="nodes", outputs=len(data.classes), types=codec.config.type_count)
    model = GRAPH_MODELS[name](size, embed, wanted, dropout=DROPOUT).build()
    mask, targets = torch.from_numpy(rows.where[0]), torch.from_numpy(rows.targets[0])
    return _step(model, lambda: model(batch)[0], mask, targets)


def geometric_step(name: str, path: str) -> Callable[[], float]:
    from torch_geometric.nn import GATConv, GCNConv

    data = LabelledGraphs().read([path], None, GraphTraining())
    graph = graphs_of(data.train)[0]
    x = torch.from_numpy(graph.features.dense() if isinstance(graph.features, SparseRows) else graph.features)
    edges = torch.from_numpy(graph.edges).T
    edges = torch.cat([edges, edges.flip(0)], 1)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            wide = (
                (GCNConv, {"cached": True}, 1)
                if name == "gcn"
                else (GATConv, {"heads": HEADS, "dropout": DROPOUT}, HEADS)
            )
            kind, more, heads = wide
            self.first = kind(x.shape[1], WIDTH // heads, **more)
            self.second = kind(WIDTH, WIDTH // heads, **more)
            self.out = nn.Linear(WIDTH, len(data.classes))

        def forward(self, x: Tensor) -> Tensor:
            x = F.dropout(x, DROPOUT, self.training)
            x = F.dropout(F.relu(self.first(x, edges)), DROPOUT, self.training)
            return self.out(F.dropout(F.relu(self.second(x, edges)), DROPOUT, self.training))

    model = Net()
    names = {label: i for i, label in enumerate(data.classes)}
    targets = torch.tensor([names.get(label, 0) for label in graph.labels])
    return _step(model, lambda: model(x), torch.from_numpy(data.train.masks[0]), targets)


def _step(model: nn.Module, values: Callable[[], Tensor], mask: Tensor, targets: Tensor) -> Callable[[], float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)

    def step() -> float:
        began = time.perf_counter()
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(values()[mask], targets[mask]).backward()
        optimizer.step()
        return time.perf_counter() - began

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    for name in ("gcn", "gat"):
        sides = {"weft": weft_step(name, asked.graph), "torch_geometric": geometric_step(name, asked.graph)}
        times: dict[str, list[float]] = {side: [] for side in sides}
        for step in sides.values():
            step()
        for _ in range(asked.rounds):
            for side, step in sides.items():
                times[side] += [step() for _ in range(EPOCHS)]
        found = {side: round(1000 * statistics.median(some), 2) for side, some in times.items()}
        ratios = [a / b for a, b in zip(times["torch_geometric"], times["weft"], strict=True)]
        print(json.dumps({"model": name, "milliseconds": found, "ratio": round(statistics.median(ratios), 2)}))


if __name__ == "__main__":
    main()
