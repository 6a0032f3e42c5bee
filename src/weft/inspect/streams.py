"""Streams for a document: weights packed within a budget, with the entropy and the reach of every head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.inspect.document import GlobePlace, GridPlace, LinePlace, PageStream, TokenGroup, TreePlace
from weft.inspect.packed import BUDGET, EdgeWeights, PackedWeights, entropies, packed

EARTH_KM = 6371.0


@dataclass(frozen=True)
class Read:
    """Weights that are to be packed into a stream: an array, or edges layer by layer."""

    name: str
    queries: str
    keys: str
    weights: np.ndarray | Sequence[EdgeWeights]  # (layers, heads, queries, keys), or layer by layer
    by: str = "attention"
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def streams_of(
    reads: Sequence[Read], groups: Sequence[TokenGroup], budget: int = BUDGET
) -> tuple[tuple[PageStream, ...], tuple[str, ...]]:
    """Streams within a budget of bytes, and what to say of what was left out."""
    kept = packed({read.name: read.weights for read in reads}, budget)
    places = {group.name: group for group in groups}
    streams = tuple(_stream(read, kept[read.name], places) for read in reads)
    left = max((one.least for one in kept.values()), default=0.0)
    note = (
        f"To keep this page small, weights below 1/{round(1 / left)} of a head's largest are left out." if left else ""
    )
    return streams, (note,) if note else ()


def _stream(read: Read, weights: PackedWeights, groups: dict[str, TokenGroup]) -> PageStream:
    entropy, reach, unit = list[float](), list[float](), ""
    if read.by == "attention" and isinstance(read.weights, np.ndarray):
        heads = read.weights.reshape(-1, *read.weights.shape[2:])
        entropy = entropies(heads)
        apart, unit = _distances(groups[read.keys]) if read.queries == read.keys else (None, "")
        reach = [] if apart is None else [round(_reach(head, apart), 3) for head in heads]
    elif read.by == "attention":
        entropy = [bits for layer in read.weights for bits in _edge_entropies(layer)]
    return PageStream(
        name=read.name, queries=read.queries, keys=read.keys, weights=weights, by=read.by, entropy=tuple(entropy),
        reach=tuple(reach), unit=unit, rows=read.rows, columns=read.columns,
    )  # fmt: skip


def _reach(head: np.ndarray, apart: np.ndarray) -> float:
    """The mean distance of what was read."""
    known = np.isfinite(apart)
    return float((head[known] * apart[known]).sum() / max(float(head[known].sum()), 1e-12))


def _edge_entropies(layer: EdgeWeights) -> list[float]:
    count = int(layer.query.max(initial=0)) + 1
    bits = np.zeros((count, layer.weights.shape[1]))
    np.add.at(bits, layer.query, -layer.weights * np.log2(np.maximum(layer.weights, 1e-12)))
    return [round(float(one), 3) for one in bits[np.unique(layer.query)].mean(0)]


def _distances(group: TokenGroup) -> tuple[np.ndarray | None, str]:
    """How far tokens of a group stand apart, and the unit."""
    place, count = group.place, len(group.tokens)
    if isinstance(place, LinePlace | TreePlace):
        return np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(np.float32), "tokens"
    if isinstance(place, GridPlace):
        rows, columns = np.divmod(np.arange(place.rows * place.columns), place.columns)
        inner = np.hypot(np.subtract.outer(rows, rows), np.subtract.outer(columns, columns))
        return _behind(inner, place.first), "patches"
    if isinstance(place, GlobePlace) and place.sphere:
        y, x = (np.radians(one.ravel()) for one in np.meshgrid(place.y, place.x, indexing="ij"))
        cosine = np.sin(y)[:, None] * np.sin(y) + np.cos(y)[:, None] * np.cos(y) * np.cos(np.subtract.outer(x, x))
        return _behind(EARTH_KM * np.arccos(np.clip(cosine, -1, 1)), place.first), "km"
    return None, ""


def _behind(inner: np.ndarray, first: int) -> np.ndarray:
    """Distances among all tokens; NaN for the first, which have no place."""
    found = np.full((len(inner) + first,) * 2, np.nan, np.float32)
    found[first:, first:] = inner
    return found
