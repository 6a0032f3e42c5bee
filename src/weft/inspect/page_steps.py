"""Steps of tokens as a page holds them: for every head of a stream, the numbers by which one token reads its keys.

    q, the keys read most with their k, v, score, scaled score, bias and weight, and the sum of w v

Vectors are given by their first numbers, keys that are read little by their number and their weight together. A short
input has them for every token, a long one for the token that answers and the last ones.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.core.recording import Reading, Recorder
from weft.errors import WeftError
from weft.inspect.document import LookDocument, PageStream, TokenSteps
from weft.inspect.steps import Steps, steps

MOST_HEADS = 256  # tokens x heads of a stream whose steps a page holds
KEYS, NUMBERS, DIGITS = 12, 4, 5  # keys of a token; numbers of a vector; digits of a number
ALIKE = 0.02  # how far the weights of a page, in eight bits, may be from those of a reading

Layers = list[list[Reading]]


def steps_of(document: LookDocument, recorder: Recorder, first: int | None = None) -> tuple[TokenSteps, ...]:
    """The steps of each stream of attention whose readings were recorded; token `first`, from 0, before all others."""
    found = list[TokenSteps]()
    known = list(_recorded(recorder))
    for stream in document.streams:
        layers = next((one for one in known if stream.by == "attention" and _same(stream, one)), None)
        if layers is None:
            continue
        shown = stream.weights
        for token in _chosen(shown.queries, shown.layers * shown.heads, first):
            try:
                heads = [[_plain(_steps(layer, token, head)) for head in range(shown.heads)] for layer in layers]
            except WeftError:
                break
            found.append(TokenSteps(stream.name, token, zlib.compress(json.dumps(heads).encode(), 9)))
    return tuple(found)


def _recorded(recorder: Recorder) -> Iterator[Layers]:
    """The layers of each kind of attention of each stream, first to last."""
    for stream in recorder.passes:
        for name in ("mix", "read"):
            layers = [one[name] for one in recorder.stream(stream).readings if name in one]
            if layers and all(one.changed is None and one.on_edges is None for layer in layers for one in layer):
                yield layers


def _steps(readings: Sequence[Reading], query: int, head: int) -> Steps:
    """The steps of a query in one head: a decoder that steps reads once for each token."""
    for reading in readings:
        if query < reading.q.shape[2]:
            return steps(reading, head=head, query=query)
        query -= reading.q.shape[2]
    raise WeftError("there is no such token", where="steps")


def _same(stream: PageStream, layers: Layers) -> bool:
    """Whether a stream of a page shows these readings: as many of everything, and the same weights."""
    shown = stream.weights
    sizes = {(one.q.shape[0], one.q.shape[1], one.k.shape[2]) for layer in layers for one in layer}
    queries = {sum(one.q.shape[2] for one in layer) for layer in layers}
    if len(layers) != shown.layers or sizes != {(1, shown.heads, shown.keys)} or queries != {shown.queries}:
        return False
    first, last = layers[0][0], layers[-1][-1]
    own = [first.weights(queries=[0])[0, 0, 0], last.weights(queries=[last.q.shape[2] - 1])[0, -1, -1]]
    there = [shown.head(0, 0)[0], shown.head(shown.layers - 1, shown.heads - 1)[-1]]
    return all(np.abs(one.float().cpu().numpy() - two).max() < ALIKE for one, two in zip(own, there, strict=True))


def _chosen(queries: int, heads: int, first: int | None) -> list[int]:
    """The tokens whose steps a page holds."""
    if queries * heads <= MOST_HEADS:
        return list(range(queries))
    order = dict.fromkeys([*([] if first is None or not 0 <= first < queries else [first]), *range(queries)[::-1]])
    return sorted(list(order)[: max(1, MOST_HEADS // heads)])


def _plain(one: Steps) -> dict[str, Any]:
    """The steps of one head as short JSON: the keys in the order of their weights."""
    order = np.argsort(-one.weights, kind="stable")[:KEYS]
    order = order[one.readable[order]]
    rest = 1.0 - one.weights[order].sum() if one.readable.any() else 0.0
    return {
        "formula": one.formula, "factor": _short(one.factor), "why": one.why, "d": one.q.size, "e": one.v.shape[1],
        "q": _short(one.q[:NUMBERS]), "keys": order.tolist(), "k": _short(one.k[order, :NUMBERS]),
        "v": _short(one.v[order, :NUMBERS]), "scores": _short(one.scores[order]), "scaled": _short(one.scaled[order]),
        "bias": None if one.bias is None else _short(one.bias[order]), "weights": _short(one.weights[order]),
        "out": _short(one.output[:NUMBERS]), "others": int(one.readable.sum()) - len(order),
        "rest": _short(max(0.0, rest)), "closed": int((~one.readable).sum()),
    }  # fmt: skip


def _short(value: Any) -> Any:
    """Numbers with few digits."""
    if isinstance(value, np.ndarray):
        return [_short(one) for one in value]
    return float(f"{float(value):.{DIGITS}g}") if np.isfinite(value) else None
