"""The laws of models of graphs and sets: the order of nodes means nothing; graphs in a batch do not see each other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.tiny import close, randomised
from torch import Tensor

from weft.config import from_json
from weft.domains.graphs import positions
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.encoded import NodePositions, batch_of
from weft.domains.graphs.positions import STEP_KINDS, laplacian_waves, steps_between
from weft.modalities.graph import Graph, SparseRows
from weft.modalities.graph_embed import GraphEmbed
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.graphs import GRAPH_MODELS, SET_MODELS, Wanted

ALL_MODELS = {**GRAPH_MODELS, **SET_MODELS}
SIZE = Size(dim=8, depth=2, heads=2, context=1)
WAVES = 3


def graph(size: int = 9, *, seed: int = 0, edges: Sequence[tuple[int, int]] | None = None, **more: object) -> Graph:
    chance = np.random.default_rng(seed)
    if edges is None:
        edges = np.argwhere(np.triu(chance.random((size, size)) < 0.35, 1)).tolist()
    joined = np.array(edges, np.int64).reshape(-1, 2)
    return Graph(
        name=f"graph {seed}",
        size=size,
        edges=joined,
        weights=chance.uniform(0.5, 2, len(joined)),
        types=np.array(["thick" if value < 0.5 else "thin" for value in chance.random(len(joined))], object),
        features=chance.normal(size=(size, 4)).astype(np.float32),
        kinds=chance.choice(["x", "y", "z"], (size, 1)).astype(object),
        **more,
    )


CODEC = GraphCodec.of([graph(seed=seed) for seed in range(4)])


def model(name: str, level: str = "nodes", codec: GraphCodec = CODEC) -> Stream:
    config = codec.config
    embed = GraphEmbed.Config(
        features=config.features, kinds=tuple(len(words) + 1 for words in config.kinds), degrees=6, waves=WAVES
    )
    wanted = Wanted(level=level, outputs=3, types=config.type_count, weighted=config.weighted, steps=STEP_KINDS)
    return randomised(ALL_MODELS[name](SIZE, embed, wanted).build()).double().eval()


def answers(net: Stream, graphs: Sequence[Graph], codec: GraphCodec = CODEC) -> Tensor:
    batch = batch_of(codec.encode(graphs), NodePositions(WAVES, True))
    assert isinstance(batch.features, Tensor) and batch.waves is not None
    edges = replace(batch.edges, values={**batch.edges.values, "weight": batch.edges.values["weight"].double()})
    return net(replace(batch, features=batch.features.double(), waves=batch.waves.double(), edges=edges))


def permuted(one: Graph, order: np.ndarray) -> Graph:
    """The same graph with its nodes in another order: node i was node order[i]."""
    place = np.argsort(order)
    edges = np.sort(place[one.edges], axis=1) if not one.directed else place[one.edges]
    assert isinstance(one.features, np.ndarray) and one.kinds is not None
    return replace(one, edges=edges, features=one.features[order], kinds=one.kinds[order])


@pytest.mark.parametrize("level", ["nodes", "graphs"])
@pytest.mark.parametrize("name", ALL_MODELS)
def test_permuting_nodes_permutes_answers(name: str, level: str):
    net = model(name, level)
    for seed in range(4):
        one, order = graph(seed=seed), np.random.default_rng(seed).permutation(9)
        found, again = (answers(net, [some])[0] for some in (one, permuted(one, order)))
        assert close(again, found[torch.from_numpy(order)] if level == "nodes" else found, 1e-6)
        assert level == "graphs" or not close(found[0], found[1], 1e-3), "nodes are told apart"


def test_nodes_that_a_symmetry_exchanges_get_the_same_answer():
    ring = graph(6, edges=[(i, (i + 1) % 6) for i in range(6)])
    ring = replace(
        ring, features=np.ones((6, 4), np.float32), kinds=np.full((6, 1), "x", object), types=None, weights=None
    )
    codec = GraphCodec.of([replace(ring, features=np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))])
    net = model("graph-transformer", codec=codec)
    batch = batch_of(codec.encode([ring]), NodePositions(WAVES, True))
    assert isinstance(batch.features, Tensor) and batch.waves is not None
    found = net(replace(batch, features=batch.features.double(), waves=batch.waves.double()))[0]
    assert close(found, found[:1].expand_as(found), 1e-6)


@pytest.mark.parametrize("level", ["nodes", "graphs"])
@pytest.mark.parametrize("name", ALL_MODELS)
def test_graphs_of_all_sizes_in_one_batch_are_answered_as_each_alone(name: str, level: str):
    net = model(name, level)
    graphs = [graph(9, seed=1), graph(1, seed=2), graph(0, seed=3), graph(40, seed=4), graph(3, seed=5, edges=[])]
    together = answers(net, graphs)
    for row, one in enumerate(graphs):
        alone = answers(net, [one])[0]
        found = together[row, : one.size] if level == "nodes" else together[row]
        assert close(found, alone[: one.size] if level == "nodes" else alone, 1e-9)


@pytest.mark.parametrize("name", ALL_MODELS)
def test_empty_and_lonely_graphs_have_finite_answers_and_gradients(name: str):
    net = model(name, "graphs").train()
    out = answers(net, [graph(0), graph(1), graph(4, edges=[])])
    out.square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", GRAPH_MODELS)
def test_weights_of_edges_matter_and_types_do_where_there_is_attention(name: str):
    net, one = model(name), graph()
    heavier = replace(one, weights=one.weights * np.linspace(1, 5, len(one.edges)))
    other = replace(one, types=np.where(one.types == "thick", "thin", "thick").astype(object))
    assert not close(answers(net, [heavier]), answers(net, [one]), 1e-6)
    assert close(answers(net, [other]), answers(net, [one]), 1e-6) is (name in ("gcn", "appnp"))


def test_averaging_before_a_linear_head_is_averaging_its_answers():
    net, one = model("appnp"), graph()
    trunk = net.config.trunk
    first = net.config.replace(trunk=trunk.replace(blocks=trunk.blocks[:-1])).build().double().eval()
    first.load_state_dict(net.state_dict())
    start = found = answers(first, [one])[0]
    weights = torch.eye(one.size, dtype=torch.double)
    weights[one.edges[:, 0], one.edges[:, 1]] = weights[one.edges[:, 1], one.edges[:, 0]] = torch.from_numpy(
        one.weights
    )
    shares = weights / weights.sum(1, keepdim=True)
    for _ in range(10):
        found = 0.9 * shares @ found + 0.1 * start
    assert close(answers(net, [one])[0], found, 1e-6)


def test_a_directed_edge_is_read_from_both_ends_in_two_ways():
    ways = [graph(2, edges=[pair], directed=True) for pair in ((0, 1), (1, 0))]
    codec = GraphCodec.of(ways)
    assert codec.config.type_count == 1 + 2 * len(codec.config.edge_types)
    (encoded,) = codec.encode(ways[:1])
    kinds = {(int(q), int(k)): int(t) for q, k, t in zip(encoded.query, encoded.key, encoded.types, strict=True)}
    assert kinds[0, 0] == kinds[1, 1] == 0 and len({kinds[0, 1], kinds[1, 0], 0}) == 3
    found = [answers(model("gat", codec=codec), [one], codec) for one in ways]
    assert not close(*found, 1e-6)


def test_the_sign_of_an_eigenvector_changes_nothing_in_use_and_is_drawn_in_training():
    net = model("graph-transformer")
    batch = batch_of(CODEC.encode([graph()]), NodePositions(WAVES, True))
    assert batch.waves is not None and batch.waves.abs().sum() > 0
    embed = net.embed.float()
    flipped = replace(batch, waves=-batch.waves)
    assert close(embed(batch).x, embed(flipped).x, 1e-6)
    embed.train()
    drawn = {float(embed(batch).x.detach().sum()) for _ in range(8)}
    assert len(drawn) > 1


def test_steps_between_nodes_are_counted_and_places_follow_the_nodes():
    path = np.array([(i, i + 1) for i in range(7)])
    steps = steps_between(path, 9)
    assert steps[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 6], "farther than five steps, and not joined, are one kind"
    order = np.random.default_rng(0).permutation(9)
    edges = np.argsort(order)[np.array(graph(seed=2).edges)]
    waves, again = laplacian_waves(graph(seed=2).edges, 9, 4), laplacian_waves(edges, 9, 4)
    assert np.allclose(np.abs(again), np.abs(waves[order]), atol=1e-5) and np.abs(waves).sum() > 0


def test_eigenvectors_of_large_graphs_are_those_of_the_whole_matrix(monkeypatch: pytest.MonkeyPatch):
    """Of a graph in two large parts, a small one and a node alone; each part by the sparse solver or whole."""
    pytest.importorskip("scipy")
    ring = [(i, (i + 1) % 40) for i in range(40)] + [(0, 7), (3, 20), (5, 30)]
    path = [(40 + i, 41 + i) for i in range(34)] + [(41, 60)]
    edges = np.array([*ring, *path, (75, 76)])
    whole = laplacian_waves(edges, 78, 6)
    monkeypatch.setattr(positions, "MOST_WHOLE", 20)
    found = laplacian_waves(edges, 78, 6)
    signs = np.sign((found * whole).sum(0))
    assert np.abs(whole).max(0).min() > 0.1 and np.allclose(found * signs, whole, atol=1e-3)
    assert not found[77].any(), "a node alone is nowhere"


def test_sparse_features_give_what_dense_ones_give():
    config = GraphEmbed.Config(features=80, bags=True)
    embed = config.build(dim=8).eval()
    rows = np.zeros((5, 80), np.float32)
    rows[[0, 0, 1, 3], [3, 70, 3, 9]] = [1.0, 2.0, 1.0, 4.0]
    one = Graph(name="sparse", size=5, features=rows)
    codec = GraphCodec.of([one])
    assert codec.config.bags and isinstance(codec.encode([one])[0].features, SparseRows)
    batch = batch_of(codec.encode([one, replace(one, size=2, features=rows[:2])]), NodePositions())
    unit = torch.from_numpy(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    assert close(embed(batch).x[0], embed(replace(batch[:1], features=unit[None])).x[0], 1e-6)
    assert embed.features is not None
    grads = [
        torch.autograd.grad(embed(one).x.square().sum(), [embed.features.weight])[0]
        for one in (batch[:1], replace(batch[:1], features=unit[None]))
    ]
    assert close(*grads, 1e-5) and grads[0].abs().sum() > 0
    assert close(embed(batch[1:]).x[0, :2], embed(batch).x[0, :2], 1e-6), "a part of a batch keeps its features"


@pytest.mark.parametrize("name", ALL_MODELS)
def test_a_model_travels_as_json(name: str):
    config = model(name).config
    assert from_json(config.to_json()) == config
