"""Lists of edges on the spine: the kernel along edges equals the explicit one, and costs grow with the edges alone."""

import dataclasses

import pytest
import torch
from helpers.tiny import close, ids, numbers, randomised
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.core import Attention, Average, Block, Cache, Edges, Mlp, Same, SymmetricShares, Trunk, kernels, record
from weft.core import edges as along
from weft.core.scope import Scope, Shape
from weft.position import Alibi, Kinds, Weighted
from weft.relations import EdgeList
from weft.tokens import Tokens, join

DIM, KINDS = 8, 3
RULES = (Edges(),)


def edge_list(batch: int, nodes: int, *, share: float = 0.3, seed: int = 0) -> EdgeList:
    chance = torch.rand(batch, nodes, nodes, generator=torch.Generator().manual_seed(seed))
    row, query, key = (chance < share).nonzero().T
    values = {"weight": 0.5 + numbers(len(row), seed=seed).abs(), "type": ids(1, len(row), vocab=KINDS, seed=seed)[0]}
    return EdgeList.of(row * nodes + query, row * nodes + key, batch=batch, tokens=nodes, values=values)


def graphs(batch: int = 2, nodes: int = 7, *, padded: bool = False, share: float = 0.3, seed: int = 0) -> Tokens:
    valid = torch.arange(nodes)[None] < torch.tensor([[nodes], [nodes - 3]])[:batch] if padded else None
    coords = {"segment": ids(batch, nodes, vocab=2, seed=seed), "position": torch.arange(nodes).expand(batch, nodes)}
    free = Tokens.free(numbers(batch, nodes, DIM, seed=seed), valid=valid, coords=coords)
    return dataclasses.replace(free, pairs={"edges": edge_list(batch, nodes, share=share, seed=seed)})


def as_matrices(tokens: Tokens) -> Tokens:
    """The same tokens with their edges as matrices."""
    edges = tokens.pairs["edges"]
    assert isinstance(edges, EdgeList)
    named = {f"edges.{name}": edges.dense(name) for name in edges.values}
    return dataclasses.replace(tokens, pairs={**tokens.pairs, "edges": edges.dense(), **named})


BIASES = {
    "no bias": None,
    "kinds": Kinds.Config(relation="edges.type", count=KINDS),
    "weights": Weighted.Config(weight="edges.weight"),
    "weights and kinds": Weighted.Config(weight="edges.weight", kinds=Kinds.Config(relation="edges.type", count=KINDS)),
    "places": Alibi.Config(),
}
MIXERS = {
    **{name: Attention.Config(heads=4, kv_heads=2, rules=RULES, bias=bias) for name, bias in BIASES.items()},
    "two rules": Attention.Config(heads=2, rules=(*RULES, Same(axis="segment"))),
    "average": Average.Config(rules=RULES),
    "repeated average": Average.Config(rules=RULES, steps=3, teleport=0.2),
    "weighted average": Average.Config(rules=RULES, weight="edges.weight"),
    "symmetric sum": Average.Config(rules=RULES, shares=SymmetricShares()),
    "weighted symmetric sum": Average.Config(rules=RULES, weight="edges.weight", shares=SymmetricShares()),
}


def trunk(mixer: str, *, depth: int = 2) -> Trunk:
    block = Block.Config(mix=MIXERS[mixer], transform=Mlp.Config(hidden=12))
    return randomised(Trunk.Config(depth=depth, block=block).build(dim=DIM)).double().eval()


@pytest.fixture(params=[("cpu", "cuda"), ()], ids=["sparse", "in pieces"])
def device_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along, "SPARSE_DEVICES", request.param)
    monkeypatch.setattr(along, "PIECE", 40)


@pytest.mark.usefixtures("device_kind")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("mixer", MIXERS)
def test_a_list_of_edges_and_a_matrix_give_the_same_values_and_gradients(mixer: str, padded: bool):
    net, found = trunk(mixer), []
    for tokens in (graphs(padded=padded), as_matrices(graphs(padded=padded))):
        x = tokens.x.clone().requires_grad_()
        out = net(tokens.with_x(x)).padding_zeroed().x
        grads = torch.autograd.grad(out.square().sum(), [x, *net.parameters()])
        found.append([out, *grads])
    assert all(close(a, b) for a, b in zip(*found, strict=True))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(1, 9))
def test_the_kernel_along_edges_is_the_explicit_one_on_every_graph(seed: int, share: float, nodes: int):
    tokens = graphs(nodes=nodes, share=share, seed=seed)
    q, k, v = (numbers(2, 2, nodes, 4, seed=seed + i).requires_grad_() for i in range(3))
    found = []
    for one in (tokens, as_matrices(tokens)):
        scope = Scope(one, one, ranked=True)
        out = kernels.attend(q, k, v, scope, rules=RULES, factor=0.7)
        found.append([out, *torch.autograd.grad(out.square().sum(), (q, k, v))])
    assert Scope(tokens, tokens, ranked=True).shape(RULES) is Shape.EDGES
    assert all(close(a, b) for a, b in zip(*found, strict=True))
    alone = ~tokens.pairs["edges"].dense().any(-1)
    assert not found[0][0].transpose(1, 2)[alone].any(), "a node without edges reads zero"


def test_gradients_along_edges_are_those_of_small_changes():
    tokens = graphs(nodes=5)
    edges = tokens.pairs["edges"]
    q, k, v = (numbers(10, heads, 3, seed=i).requires_grad_() for i, heads in enumerate((2, 1, 1)))
    bias = numbers(len(edges), 2, seed=9).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *t: along.edge_attention(*t[:3], edges, factor=0.5, bias=t[3]), (q, k, v, bias)
    )


@pytest.mark.parametrize("extreme", [1e4, -1e4])
def test_large_scores_of_either_sign_stay_finite(extreme: float):
    edges = edge_list(1, 6, share=0.5)
    q, k = torch.full((6, 1, 1), extreme), torch.ones(6, 1, 1)
    weights = along.edge_weights(q, k, edges, factor=1.0)
    sums = torch.zeros(6).index_add(0, edges.query, weights[:, 0])
    assert weights.isfinite().all() and close(sums[edges.query], torch.ones(len(edges)), 1e-6)


def test_what_is_no_number_surfaces_where_it_is_read():
    net, tokens = trunk("no bias", depth=1), graphs(batch=1)
    x = tokens.x.clone()
    x[0, 2] = float("nan")
    readers = tokens.pairs["edges"].dense()[0, :, 2]
    readers[2] = True
    assert torch.equal(net(tokens.with_x(x)).x[0].isnan().any(-1), readers)


def test_the_order_of_the_list_leaves_no_trace():
    edges = edge_list(2, 7)
    shuffled = torch.randperm(len(edges), generator=torch.Generator().manual_seed(3))
    values = {name: value[shuffled] for name, value in edges.values.items()}
    again = EdgeList.of(edges.query[shuffled], edges.key[shuffled], batch=2, tokens=7, values=values)
    assert torch.equal(again.query, edges.query) and torch.equal(again.key, edges.key)
    assert all(torch.equal(again.values[name], value) for name, value in edges.values.items())


@pytest.mark.parametrize("mixer", MIXERS)
def test_permuting_the_nodes_permutes_the_outputs(mixer: str):
    net, tokens = trunk(mixer), graphs()
    if mixer == "places":  # of which each node keeps its own
        assert "position" in tokens.coords
    order = torch.stack([torch.randperm(7, generator=torch.Generator().manual_seed(s)) for s in (1, 2)])
    assert close(net(tokens.take(order)).x, net(tokens).take(order).x)


def test_streams_are_picked_and_joined_with_their_edges():
    tokens, index = graphs(), torch.tensor([1, 0, 1])
    assert torch.equal(tokens.rows(index).pairs["edges"].dense("weight"), tokens.pairs["edges"].dense("weight")[index])
    other = graphs(seed=5, nodes=4)
    whole = join(tokens, other).pairs["edges"].dense("type")
    matrices = join(as_matrices(tokens), as_matrices(other)).pairs["edges.type"]
    assert torch.equal(whole, matrices)
    assert torch.equal(
        join(tokens, Tokens.free(other.x)).pairs["edges"].dense()[:, :7, :7], tokens.pairs["edges"].dense()
    )


def test_a_cache_keeps_relations_with_the_tokens_that_were_read_before():
    net, whole = trunk("kinds"), as_matrices(graphs())
    line = Tokens.line(whole.x, coords={"segment": whole.coords["segment"]})
    past = torch.ones(7, 7, dtype=torch.bool).tril()
    whole = dataclasses.replace(line, pairs={name: pair * past for name, pair in whole.pairs.items()})
    cache, outs, start = Cache(3), [], 0
    for length in (2, 1, 4):
        end = start + length
        part = Tokens.line(whole.x[:, start:end], position=torch.arange(start, end).expand(2, length))
        pairs = {name: pair[:, start:end, :end] for name, pair in whole.pairs.items()}
        outs.append(net(dataclasses.replace(part, pairs=pairs), cache=cache).x)
        start = end
    assert close(torch.cat(outs, 1), net(whole).x)


def test_recorded_weights_along_edges_are_those_of_the_matrix():
    net, tokens = trunk("weights and kinds"), graphs()
    found: list[Tensor] = []
    for one in (tokens, as_matrices(tokens)):
        with record(net) as recorder:
            net(one)
        found.append(recorder.readings["blocks.1.mix"][0].weights())
        if one is tokens:
            edges, weights = recorder.readings["blocks.1.mix"][0].edge_weights()
    assert close(*found)
    row, query, key = edges.query // 7, edges.query % 7, edges.key % 7
    assert close(weights, found[0][row, :, query, key])


def test_memory_grows_with_the_edges_and_not_with_the_square_of_the_nodes():
    """200,000 nodes have 160 GB of pairs; with two edges each they take a fraction of a second."""
    nodes = 200_000
    ring = torch.arange(nodes)
    edges = EdgeList.of(ring.repeat(2), torch.cat([(ring + 1) % nodes, ring]), batch=1, tokens=nodes)
    x = numbers(1, nodes, DIM, dtype=torch.float32).requires_grad_()
    net = Trunk.Config(block=Block.Config(mix=Attention.Config(heads=2, rules=RULES))).build(dim=DIM)
    net(dataclasses.replace(Tokens.free(x), pairs={"edges": edges})).x.sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
