"""A graph laid out in the plane and drawn. Knows places, edges and shares; refuses to know models."""

from collections.abc import Sequence

import numpy as np

from weft.inspect.figures import EDGE, INK, PALE, SERIES, SHADES, Format, Sheet, shades, sheet

SIDE = 6.0  # inches
ROUNDS = 300  # of the springs
NAMED = 40  # nodes up to which all have their names written
MOST_CLASSES = 8


def layout(
    count: int,
    edges: Sequence[tuple[int, int]],
    plane: np.ndarray | None = None,
    *,
    start: np.ndarray | None = None,
    rounds: int = ROUNDS,
) -> np.ndarray:
    """(count, 2) positions from 0 to 1: edges are springs, nodes repel each other (Fruchterman and Reingold, 1991).

    Nodes begin at random places or at `start`; those of a `plane` stay where they are.
    """
    chance = np.random.Generator(np.random.PCG64(1))
    given = start if plane is None else plane
    places = chance.random((count, 2)) if given is None else np.array(given, float)
    if plane is None and count > 1:
        ends = np.array(edges, np.int64).reshape(-1, 2)
        length, middle = 1 / np.sqrt(count), places.mean(0)
        for step in range(rounds):
            move = _repelled(places, length) - 0.5 * (places - middle)  # the middle draws what no edge holds
            along = places[ends[:, 1]] - places[ends[:, 0]]
            pull = along * np.sqrt((along**2).sum(-1, keepdims=True)) / length
            np.add.at(move, ends[:, 0], pull)
            np.add.at(move, ends[:, 1], -pull)
            size = np.maximum(np.sqrt((move**2).sum(-1, keepdims=True)), 1e-9)
            places = places + move / size * np.minimum(size, 0.1 * (1 - step / rounds))
    low, high = places.min(0), places.max(0)
    return (places - low) / np.where(high > low, high - low, 1.0)


def _repelled(places: np.ndarray, length: float) -> np.ndarray:
    """(N, 2) where each node is pushed by all others, as the inverse of their distance."""
    square = ((places**2).sum(1)[:, None] + (places**2).sum(1) - 2 * places @ places.T).clip(1e-6)
    force = length**2 / square
    return force.sum(1)[:, None] * places - force @ places


def draw_graph(
    places: np.ndarray,
    edges: Sequence[tuple[int, int]],
    *,
    reader: int,
    shares: np.ndarray,
    names: Sequence[str],
    answers: Sequence[str] = (),
    title: str = "",
    note: str = "",
    format: Format = "png",
) -> bytes:
    """A PNG or SVG: grey edges, and from the node that reads a line to each that it read, as dark as its share."""
    most, scale = float(shares.max(initial=0.0)), shades(SHADES[1:])
    with sheet(format) as on:
        if title:
            on.text(0, -0.52, title, size=12, va="bottom")
        on.text(0, -0.22, note, color=PALE, va="bottom")
        axis = on.axis(0, 0, SIDE, SIDE, frame=None)
        axis.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.06))
        for a, b in edges:
            axis.plot(*places[[a, b]].T, color=EDGE, linewidth=0.7, zorder=1)
        for i in np.argsort(shares):
            if i != reader and shares[i] > 0 and most > 0:
                dark = shares[i] / most
                line = {"color": scale(dark), "linewidth": 0.8 + 3.2 * dark, "zorder": 2, "solid_capstyle": "round"}
                axis.plot(*places[[reader, i]].T, **line)
        classes = sorted(set(answers))[:MOST_CLASSES]
        colours = {name: SERIES[place] for place, name in enumerate(classes)}
        size = 160 if len(places) <= NAMED else 70
        for i, (x, y) in enumerate(places):
            fill = colours.get(answers[i], PALE) if answers else "#9cc3e4"
            edge, width = (INK, 2.4) if i == reader else ("white", 0.8)
            axis.scatter(
                [x], [y], s=size * (1.6 if i == reader else 1), c=fill, edgecolors=edge, linewidths=width, zorder=3
            )
        _write(on, places, names, reader, shares, len(places) <= NAMED)
        for place, name in enumerate(classes):
            y = 0.1 + 0.24 * place
            on.axis(SIDE + 0.15, y, 0.13, 0.13, frame=None).set_facecolor(colours[name])
            on.text(SIDE + 0.36, y - 0.01, name)
        return on.bytes()


def _write(on: Sheet, places: np.ndarray, names: Sequence[str], reader: int, shares: np.ndarray, every: bool) -> None:
    """Names beside the nodes: all, or those that were read most."""
    most = set(np.argsort(-shares)[:8].tolist())
    for i, (x, y) in enumerate(places):
        if every or i == reader or i in most:
            share = f" {shares[i]:.0%}" if shares[i] >= 0.005 else ""
            left = (x + 0.06) / 1.12 * SIDE + 0.12
            behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75}  # edges pass below a name
            on.text(left, SIDE - (y + 0.06) / 1.12 * SIDE - 0.06, f"{names[i][:18]}{share}", size=7, bbox=behind,
                    color=INK if share else PALE)  # fmt: skip
