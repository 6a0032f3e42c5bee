"""Labelled nodes divided by their names: to train on and held out, or to try models on and judge them."""

import hashlib
from dataclasses import replace

import numpy as np

from weft.domains.graphs.dataset.data import GraphData, LabelledNodes
from weft.files.held_out import SHARE, split_rows
from weft.files.labels import Kind

JUDGING_SHARE = 0.2  # of the labels to train on, that judge which model suits a graph
FEWEST_JUDGES = 30  # labels: by fewer, chance would choose


def nodes_split(every: LabelledNodes, kind: Kind, share: float = SHARE) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """A share of the labelled nodes, of every class alike, by the digest of the graph's place and the node's name."""
    places = [(g, int(i)) for g, mask in enumerate(every.masks) for i in np.flatnonzero(mask)]
    names = [f"{g} {every.graphs[g].node(i)}" for g, i in places]
    digests = [hashlib.sha256(name.encode("utf-8")).digest() for name in names]
    groups = every.labels() if kind == "classes" else None
    sides = [[np.zeros(graph.size, bool) for graph in every.graphs] for _ in range(2)]
    divided = split_rows(places, digests, share, what="labelled nodes", groups=groups)
    for masks, nodes in zip(sides, divided, strict=True):
        for graph, node in nodes:
            masks[graph][node] = True
    return sides[0], sides[1]


def rehearsal(data: GraphData) -> GraphData | None:
    """Labels of the nodes of one graph to try models on; None for other data, or where too few would judge.

    Where the file names nodes to test on, those to validate on judge. Else all held-out nodes are measured, and some of
    those to train on judge in their place.
    """
    train, held = data.train, data.held_out
    if not isinstance(train, LabelledNodes) or not isinstance(held, LabelledNodes) or len(train.graphs) != 1:
        return None
    if held.others:
        return data if held.count >= FEWEST_JUDGES else None
    if JUDGING_SHARE * train.count < FEWEST_JUDGES:
        return None
    learned, judging = (LabelledNodes(train.graphs, masks) for masks in nodes_split(train, data.kind, JUDGING_SHARE))
    return replace(data, train=learned, held_out=judging)
