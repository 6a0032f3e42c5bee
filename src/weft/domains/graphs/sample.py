"""Samples of weft's own: a graph of tables at a party, and throws of dice as sets. Drawn from fixed numbers."""

import numpy as np

from weft.domains.graphs.reading.graph_set import GraphSet
from weft.modalities.graph import Graph

GUESTS, CIRCLES = 360, ("chess", "garden", "music", "sailing")
FRIENDS, STRANGERS = 5, 1.2  # of a guest: within the circle and without
NOISE = 2.2  # in what guests say of themselves; a circle moves it by 1
THROWS, MOST_DICE = 1200, 8


def party() -> GraphSet:
    """360 guests of four circles who know each other, mostly within a circle; each says a little about himself."""
    chance = np.random.Generator(np.random.PCG64(7))
    circle = chance.integers(len(CIRCLES), size=GUESTS)
    same = circle[:, None] == circle
    odds = np.where(same, FRIENDS / (GUESTS / len(CIRCLES)), STRANGERS / GUESTS)
    pairs = np.argwhere(np.triu(chance.random((GUESTS, GUESTS)) < odds, 1))
    centres = np.eye(len(CIRCLES), 8)
    features = (centres[circle] + NOISE / 2 * chance.normal(size=(GUESTS, 8))).astype(np.float32)
    graph = Graph(
        name="party",
        size=GUESTS,
        edges=pairs.astype(np.int64),
        features=features,
        names=tuple(f"guest {i}" for i in range(GUESTS)),
        labels=tuple(CIRCLES[i] for i in circle),
    )
    return GraphSet(graphs=[graph], features=tuple(f"answer {i + 1}" for i in range(8)), files=("weft-party",))


def dice_throws() -> GraphSet:
    """1,200 throws of two to eight dice, each die as two numbers; the label says whether a pair is among them."""
    chance = np.random.Generator(np.random.PCG64(11))
    sets = []
    for place in range(THROWS):
        dice = chance.integers(1, 7, size=int(chance.integers(2, MOST_DICE + 1)))
        if place % 2:  # half of the throws have no two dice alike
            dice = chance.permutation(6)[: min(len(dice), 6)] + 1
        angle = dice * (2 * np.pi / 6)
        vectors = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
        label = "pair" if len(set(dice.tolist())) < len(dice) else "no pair"
        sets.append(Graph(name=f"throw {place}", size=len(dice), features=vectors, label=label))
    return GraphSet(graphs=sets, features=("x", "y"), files=("weft-dice",))
