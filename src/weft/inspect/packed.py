"""Weights of attention as small as a page can hold them: eight bits each, a deflated piece of bytes for each head.

    form     causal (the half that can be read), full, or edges (a list of who reads whom)
    scale    by row: each row in steps of 1/255 of its largest weight; by head: in steps of its largest weight
    least    weights below this share of the scale are left out

`packed` takes the finest of these that fits a budget. Knows numbers alone, no tokens and no model.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.errors import DataError

BUDGET = 2_100_000  # bytes of all heads of a page; in base64 with the page's own 120 kB they are below 3 MB
SIDE = 32  # of a small picture of a head
LEVELS, SIGNED_LEVELS = 255, 127
FIRST_LEAST = 1 / 128  # the first share below which weights are left out where a page would be too large
LAST_LEAST = 1 / 4

Form = Literal["causal", "full", "edges"]
Scale = Literal["row", "head"]


@dataclass(frozen=True)
class EdgeWeights:
    """Weights along a list: `query` and `key` (E,) are token numbers, `weights` (E, heads) what was read."""

    query: np.ndarray
    key: np.ndarray
    weights: np.ndarray
    tokens: int


@dataclass(frozen=True)
class PackedWeights:
    """(layers, heads, queries, keys) as pieces of bytes, one for each head, layer after layer.

    A piece is deflated: float16 scales (one, or one for each query), then a byte for each weight, signed or not. With
    edges, `lists` has deflated uint32 numbers (all queries, then all keys), and `listed` the list of each head, and of
    the mean.
    """

    form: Form
    scale: Scale
    least: float
    layers: int
    heads: int
    queries: int
    keys: int
    pieces: tuple[bytes, ...]
    small: bytes  # deflated: a picture of at most 32 x 32 bytes for each head
    mean: bytes  # the mean of all heads, as one more piece, so that a page can show it at once
    signed: bool = False
    lists: tuple[bytes, ...] = ()
    listed: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return sum(map(len, (*self.pieces, *self.lists, self.small, self.mean)))

    @property
    def small_shape(self) -> tuple[int, int]:
        """Rows and columns of the small picture of a head."""
        return min(self.queries, SIDE), min(self.keys, SIDE)

    def head(self, layer: int, head: int) -> np.ndarray:
        """(queries, keys) of one head as a page shows it, counted from 0."""
        return self._unpacked(self.pieces[layer * self.heads + head], layer * self.heads + head)

    def mean_head(self) -> np.ndarray:
        """(queries, keys): the mean of all heads."""
        return self._unpacked(self.mean, len(self.pieces))

    def _unpacked(self, piece: bytes, number: int) -> np.ndarray:
        content = zlib.decompress(piece)
        scales = 1 if self.scale == "head" else self.queries
        scale = np.frombuffer(content, np.float16, scales).astype(np.float32)
        levels = np.frombuffer(content, np.int8 if self.signed else np.uint8, offset=2 * scales).astype(np.float32)
        levels /= SIGNED_LEVELS if self.signed else LEVELS
        found = np.zeros((self.queries, self.keys), np.float32)
        if self.form == "edges":
            query, key = np.frombuffer(zlib.decompress(self.lists[self.listed[number]]), np.uint32).reshape(2, -1)
            found[query, key] = levels * (scale[query] if self.scale == "row" else scale)
            return found
        if self.form == "causal":
            found[np.tril_indices(self.queries)] = levels
        else:
            found = levels.reshape(found.shape)
        return found * scale[:, None]


def packed(given: Mapping[str, "np.ndarray | Sequence[EdgeWeights]"], budget: int = BUDGET) -> dict[str, PackedWeights]:
    """Weights (layers, heads, queries, keys) or lists of edges by layer, under their names, within a budget of bytes.

    The finest way that fits: by row, by head, then with ever more of the small weights left out.
    """
    ways: list[tuple[Scale, float]] = [("row", 0.0), ("head", 0.0)]
    least = FIRST_LEAST
    while least <= LAST_LEAST:
        ways.append(("head", least))
        least *= 2
    count = sum(one.size if isinstance(one, np.ndarray) else sum(e.weights.size for e in one) for one in given.values())
    found = dict[str, PackedWeights]()
    for scale, least in ways[1:] if count > 3 * budget else ways:  # by row a weight takes about five bits
        found = {name: pack(one, scale, least) for name, one in given.items()}
        if sum(one.size for one in found.values()) <= budget:
            break
    return found


def pack(given: "np.ndarray | Sequence[EdgeWeights]", scale: Scale = "row", least: float = 0.0) -> PackedWeights:
    """Weights in one way."""
    return _packed_edges(given, scale, least) if not isinstance(given, np.ndarray) else _packed(given, scale, least)


def _packed(weights: np.ndarray, scale: Scale, least: float) -> PackedWeights:
    if weights.ndim != 4 or 0 in weights.shape:
        raise DataError(f"expected weights of (layers, heads, queries, keys), found {weights.shape}", where="page")
    layers, heads, queries, keys = weights.shape
    signed = bool((weights < 0).any())
    causal = queries == keys and queries > 1 and not np.triu(weights, 1).any()
    half = np.tril_indices(queries) if causal else None
    pieces, small = list[bytes](), list[np.ndarray]()
    for head in weights.reshape(-1, queries, keys).astype(np.float32):
        levels, scales = _levels(head, scale, least, signed)
        pieces.append(_deflated(scales, levels[half] if half is not None else levels))
        small.append(_small(head))
    levels, scales = _levels(weights.mean((0, 1)).astype(np.float32), scale, least, signed)
    mean = _deflated(scales, levels[half] if half is not None else levels)
    form: Form = "causal" if causal else "full"
    return PackedWeights(
        form, scale, least, layers, heads, queries, keys, tuple(pieces), _deflated(*small), mean, signed
    )


def _packed_edges(layers: Sequence[EdgeWeights], scale: Scale, least: float) -> PackedWeights:
    size, heads = layers[0].tokens, layers[0].weights.shape[1]
    lists, listed, pieces, small = list[bytes](), list[int](), list[bytes](), list[np.ndarray]()
    for one in layers:
        edges = _deflated(np.stack([one.query, one.key]).astype(np.uint32))
        if edges not in lists:
            lists.append(edges)
        for values in one.weights.T.astype(np.float32):
            pieces.append(_edge_piece(values, least))
            listed.append(lists.index(edges))
            small.append(_small_edges(one, values, size))
    pairs, place = np.unique(np.concatenate([one.query * size + one.key for one in layers]), return_inverse=True)
    mean = np.bincount(place, np.concatenate([one.weights.mean(1) for one in layers]), len(pairs)) / len(layers)
    lists.append(_deflated(np.stack(np.divmod(pairs, size)).astype(np.uint32)))
    return PackedWeights(
        "edges", "head", least, len(layers), heads, size, size, tuple(pieces), _deflated(*small),
        _edge_piece(mean, least), lists=tuple(lists), listed=(*listed, len(lists) - 1),
    )  # fmt: skip


def _edge_piece(values: np.ndarray, least: float) -> bytes:
    """The weights of one head along its list."""
    largest = float(values.max(initial=0.0))
    levels = np.round(values / (largest or 1.0) * LEVELS)
    levels[levels < least * LEVELS] = 0
    return _deflated(np.array([largest], np.float16), levels.astype(np.uint8))


def _levels(head: np.ndarray, scale: Scale, least: float, signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of one head (queries, keys), and its scales as float16."""
    most = SIGNED_LEVELS if signed else LEVELS
    largest = np.abs(head).max(1) if scale == "row" else np.abs(head).max(keepdims=True).reshape(1)
    scales = largest.astype(np.float16)
    steps = np.where(scales > 0, scales.astype(np.float32), 1.0)[:, None]
    levels = np.clip(np.round(head / steps * most), -most if signed else 0, most)
    levels[np.abs(levels) < least * most] = 0
    return levels.astype(np.int8 if signed else np.uint8), scales


def _small(head: np.ndarray) -> np.ndarray:
    """The largest weight of each of at most 32 x 32 parts, as bytes."""
    rows, columns = (np.linspace(0, size, min(size, SIDE), endpoint=False).astype(int) for size in head.shape)
    pooled = np.maximum.reduceat(np.maximum.reduceat(np.abs(head), rows, 0), columns, 1)
    return np.round(pooled / (pooled.max() or 1.0) * LEVELS).astype(np.uint8)


def _small_edges(one: EdgeWeights, values: np.ndarray, size: int) -> np.ndarray:
    side = min(size, SIDE)
    pooled = np.zeros((side, side), np.float32)
    np.maximum.at(pooled, (one.query * side // size, one.key * side // size), values)
    return np.round(pooled / (pooled.max() or 1.0) * LEVELS).astype(np.uint8)


def _deflated(*arrays: np.ndarray) -> bytes:
    return zlib.compress(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays), 9)


def entropies(rows: Iterable[np.ndarray]) -> list[float]:
    """For each head (queries, keys) the mean entropy of what its queries read, in bits: 0 is one token alone."""
    found = []
    for head in rows:
        shares = head / np.maximum(head.sum(-1, keepdims=True), 1e-12)
        bits = -(shares * np.log2(np.maximum(shares, 1e-12))).sum(-1)
        found.append(round(float(bits[head.sum(-1) > 0].mean()) if (head.sum(-1) > 0).any() else 0.0, 3))
    return found
