"""Attention step by step, for teaching: the numbers by which one token reads the others in one head.

    q, k, v  ->  score of each key  ->  scaled  (+ bias)  ->  softmax = weights  ->  weighted sum of v

Everything is worked out anew in float64 from what was recorded; the result is what the kernels compute.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.core.distances import Disentangled
from weft.core.recording import Reading
from weft.core.scope import Scope
from weft.core.scores import Additive, Capped, Dot
from weft.errors import ConfigError


@dataclass(frozen=True)
class Steps:
    """output = sum over keys of weight v, weight = softmax(scaled + bias) over the readable keys.

    `formula` is how a score is made; `scaled` is score x `factor`, and a factor of 1 means that nothing is scaled.
    `why` says where the factor comes from, unless it is 1 or 1/√d. `layer` names the layer of attention.
    """

    query: str
    keys: tuple[str, ...]
    head: int
    formula: str
    factor: float
    why: str
    q: np.ndarray  # (d)
    k: np.ndarray  # (K d)
    v: np.ndarray  # (K e)
    scores: np.ndarray  # (K)
    scaled: np.ndarray  # (K)
    bias: np.ndarray | None  # (K)
    readable: np.ndarray  # (K) true where the query may read the key
    weights: np.ndarray  # (K) they add up to 1, or to 0 where nothing may be read
    output: np.ndarray  # (e)
    layer: str = ""

    def to_json(self) -> dict[str, Any]:
        """Every field as plain lists, numbers and strings; a number that is not finite is None."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def steps(
    reading: Reading,
    *,
    row: int = 0,
    head: int = 0,
    query: int = 0,
    query_label: str | None = None,
    key_labels: Sequence[str] | None = None,
    layer: str = "",
) -> Steps:
    """How query number `query` of a row of the batch read its keys in one head."""
    (rows, heads, queries, _), keys = reading.q.shape, reading.k.shape[2]
    for name, index, size in (("row", row, rows), ("head", head, heads), ("query", query, queries)):
        if not 0 <= index < size:
            raise ConfigError(f"expected a number from 0 to {size - 1}, found {index}", where=name)
    if key_labels is not None and len(key_labels) != keys:
        raise ConfigError(f"expected {keys} labels, one for each key; found {len(key_labels)}", where="key_labels")
    with torch.no_grad():
        q, k, v = _vectors(reading, row, head, query)
        formula, scores, factor, why = _scored(reading, row, head, query, q, k)
        bias, readable = _bias(reading, row, head, query), _readable(reading, row, query)
        scaled = scores * factor
        total = scaled if bias is None else scaled + bias
        weights = torch.zeros_like(total)
        if readable.any():
            weights[readable] = total[readable].softmax(-1)
    return Steps(
        query=f"token {query + 1}" if query_label is None else query_label,
        keys=tuple(key_labels) if key_labels is not None else tuple(f"token {n + 1}" for n in range(keys)),
        head=head,
        formula=formula,
        factor=factor,
        why=why,
        q=q.numpy(),
        k=k.numpy(),
        v=v.numpy(),
        scores=scores.numpy(),
        scaled=scaled.numpy(),
        bias=None if bias is None else bias.numpy(),
        readable=readable.numpy(),
        weights=weights.numpy(),
        output=(weights @ v).numpy(),
        layer=layer,
    )


def _vectors(reading: Reading, row: int, head: int, query: int) -> tuple[Tensor, Tensor, Tensor]:
    """The query, and the keys and values of the group of heads it belongs to; padding is zero."""
    group = head // (reading.q.shape[1] // reading.k.shape[1])
    gone = ~reading.scope.keys.valid[row, :, None]
    k, v = (t[row, group].masked_fill(gone, 0.0) for t in (reading.k, reading.v))
    q, k, v = (t.detach().double().cpu() for t in (reading.q[row, head, query], k, v))
    return q, k, v


Scored = tuple[str, Tensor, float, str]  # formula, score of each key before scaling, factor, where the factor is from


def _scored(reading: Reading, row: int, head: int, query: int, q: Tensor, k: Tensor) -> Scored:
    """How the score is made, the score of each key before scaling, what it is multiplied by, and why."""
    score: Any = reading.attention.score
    if isinstance(score, Disentangled):
        terms = score.config.terms
        parts = {"c2p": " + q·K[distance]", "p2c": " + Q[distance]·k"}
        keys = reading.k.repeat_interleave(reading.q.shape[1] // reading.k.shape[1], 1)
        whole = reading.attention.score_of(reading.scope)(reading.q, keys)[row, head, query].detach().double().cpu()
        root = f"1/√({1 + len(terms)} × {q.numel()}){_divided(score.config.temperature)}"
        why = f"{root}: a score is the sum of {1 + len(terms)} products{_tempered(score.config.temperature)}"
        return "q·k" + "".join(parts[term] for term in terms), whole / score.scale, score.scale, why
    return _scored_by(score, q, k)


def _scored_by(score: Any, q: Tensor, k: Tensor) -> Scored:
    """The same for a score that depends on query and key alone."""
    if isinstance(score, Dot):
        why = _temperature(score.temperature, f"1/√{q.numel()}" if score.scaled else "1")
        return "q·k", k @ q, score.factor, why
    if isinstance(score, Additive):
        energies = torch.tanh(q + k) @ score.v.weight[0].detach().double().cpu()
        return "w·tanh(q+k)", energies, 1 / score.temperature, _temperature(score.temperature)
    if isinstance(score, Capped):
        formula, inner, factor, _ = _scored_by(score.score, q, k)
        shown = formula if math.isclose(factor, 1.0) else f"{factor:.4g} {formula}"
        limited = score.limited(inner * factor)
        formula = f"{score.cap:g} tanh({shown} / {score.cap:g})"
        return formula, limited, 1 / score.temperature, _temperature(score.temperature)
    like = next(score.parameters(), q)
    given = score(q[None, None, None].to(like), k[None, None].to(like))
    return f"{type(score).__name__}(q, k)", given[0, 0, 0].double().cpu(), 1.0, ""


def _temperature(temperature: float, over: str = "1") -> str:
    """Where a factor comes from that is not just `over`."""
    return "" if temperature == 1 else f"{over}{_divided(temperature)}{_tempered(temperature)}"


def _divided(temperature: float) -> str:
    return "" if temperature == 1 else f" / {temperature:.4g}"


def _tempered(temperature: float) -> str:
    """What a temperature other than 1 does."""
    if temperature == 1:
        return ""
    effect = "sharpens" if temperature < 1 else "flattens"
    return f", where {temperature:.4g} is the temperature of this model's scores ({effect} the weights)"


def _bias(reading: Reading, row: int, head: int, query: int) -> Tensor | None:
    make = reading.bias
    if make is None:
        return None
    scope, (rows, heads) = _of_query(reading, query), reading.q.shape[:2]
    return make(scope).detach().expand(rows, heads, 1, reading.k.shape[2])[row, head, 0].double().cpu()


def _readable(reading: Reading, row: int, query: int) -> Tensor:
    return _of_query(reading, query).mask(reading.attention.rules)[row, 0, 0].cpu()


def _of_query(reading: Reading, query: int) -> Scope:
    """The scope of one query: what is computed in it does not grow with the number of queries."""
    return reading.scope.of_queries(torch.tensor([query], device=reading.q.device))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
