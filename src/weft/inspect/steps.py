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
from rich.cells import cell_len, set_cell_size
from torch import Tensor

from weft.core.distances import Disentangled
from weft.core.recording import Reading
from weft.core.scores import Additive, Capped, Dot
from weft.errors import ConfigError, harmless

SHOWN_NUMBERS = 4  # numbers of a vector in the table, where there is room
LABEL_COLUMNS = 20  # columns of a label in the table
BAR_COLUMNS = 12  # width of the bar of a weight of 1


@dataclass(frozen=True)
class Steps:
    """output = sum over keys of weight v, weight = softmax(scaled + bias) over the readable keys.

    `formula` is how a score is made; `scaled` is score x `factor`, and a factor of 1 means that nothing is scaled.
    """

    query: str
    keys: tuple[str, ...]
    head: int
    formula: str
    factor: float
    q: np.ndarray  # (d)
    k: np.ndarray  # (K d)
    v: np.ndarray  # (K e)
    scores: np.ndarray  # (K)
    scaled: np.ndarray  # (K)
    bias: np.ndarray | None  # (K)
    readable: np.ndarray  # (K) true where the query may read the key
    weights: np.ndarray  # (K) they add up to 1, or to 0 where nothing may be read
    output: np.ndarray  # (e)

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
        formula, scores, factor = _scored(reading, row, head, query, q, k)
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
        q=q.numpy(),
        k=k.numpy(),
        v=v.numpy(),
        scores=scores.numpy(),
        scaled=scaled.numpy(),
        bias=None if bias is None else bias.numpy(),
        readable=readable.numpy(),
        weights=weights.numpy(),
        output=(weights @ v).numpy(),
    )


def _vectors(reading: Reading, row: int, head: int, query: int) -> tuple[Tensor, Tensor, Tensor]:
    """The query, and the keys and values of the group of heads it belongs to; padding is zero."""
    group = head // (reading.q.shape[1] // reading.k.shape[1])
    gone = ~reading.scope.keys.valid[row, :, None]
    k, v = (t[row, group].masked_fill(gone, 0.0) for t in (reading.k, reading.v))
    q, k, v = (t.detach().double().cpu() for t in (reading.q[row, head, query], k, v))
    return q, k, v


def _scored(reading: Reading, row: int, head: int, query: int, q: Tensor, k: Tensor) -> tuple[str, Tensor, float]:
    """How the score is made, the score of each key before scaling, and what it is multiplied by."""
    score: Any = reading.attention.score
    if isinstance(score, Disentangled):
        parts = {"c2p": " + q·K[distance]", "p2c": " + Q[distance]·k"}
        keys = reading.k.repeat_interleave(reading.q.shape[1] // reading.k.shape[1], 1)
        whole = reading.attention.score_of(reading.scope)(reading.q, keys)[row, head, query].detach().double().cpu()
        return "q·k" + "".join(parts[term] for term in score.config.terms), whole / score.scale, score.scale
    return _scored_by(score, q, k)


def _scored_by(score: Any, q: Tensor, k: Tensor) -> tuple[str, Tensor, float]:
    """The same for a score that depends on query and key alone."""
    if isinstance(score, Dot):
        return "q·k", k @ q, score.factor
    if isinstance(score, Additive):
        return "w·tanh(q+k)", torch.tanh(q + k) @ score.v.weight[0].detach().double().cpu(), 1 / score.temperature
    if isinstance(score, Capped):
        formula, inner, factor = _scored_by(score.score, q, k)
        shown = formula if math.isclose(factor, 1.0) else f"{factor:.4g} {formula}"
        return f"{score.cap:g} tanh({shown} / {score.cap:g})", score.limited(inner * factor), 1 / score.temperature
    like = next(score.parameters(), q)
    given = score(q[None, None, None].to(like), k[None, None].to(like))
    return f"{type(score).__name__}(q, k)", given[0, 0, 0].double().cpu(), 1.0


def _bias(reading: Reading, row: int, head: int, query: int) -> Tensor | None:
    make = reading.bias
    if make is None:
        return None
    shape = (*reading.q.shape[:3], reading.k.shape[2])
    return make(reading.scope).detach().expand(shape)[row, head, query].double().cpu()


def _readable(reading: Reading, row: int, query: int) -> Tensor:
    return reading.scope.mask(reading.attention.rules)[row, 0, query].cpu()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(steps: Steps, *, width: int | None = None) -> str:
    """The steps as plain text with aligned columns, the biggest weight marked.

    Vectors show their first numbers: as many as fit into `width` columns, at least one, and four where no width is given.
    """
    for shown in range(SHOWN_NUMBERS, 0, -1):
        text = _table(steps, shown)
        if width is None or max(map(cell_len, text.splitlines())) <= width:
            break
    return text


def _table(steps: Steps, shown: int) -> str:
    query, (d, e) = _short(steps.query), (steps.q.size, steps.v.shape[1])
    body = _columns(steps, shown)
    ruler = "-" * max(map(cell_len, body))
    total = "nothing may be read: all weights are 0" if not steps.readable.any() else f"{steps.weights.sum():.4f}"
    return "\n".join(
        [
            f"How {query} reads {len(steps.keys)} tokens in head {steps.head + 1}",
            "",
            f"1. The query q of {query}, {d} numbers:  {_vector(steps.q, shown)}",
            "",
            f"2. Each token has a key k of {d} numbers and a value v of {e}.",
            f"   score  = {steps.formula}",
            f"   scaled = {_scaling(steps)}",
            f"   weight = softmax = exp({_exponent(steps)}) / sum of exp({_exponent(steps)}),",
            "            the sum over the tokens that may be read",
            "",
            *(line.rstrip() for line in [*body[:2], ruler, *body[2:], ruler]),
            f"   sum of the weights: {total}{'' if steps.readable.all() else ';  closed: may not be read here'}",
            "",
            f"3. output = sum of weight × v, {e} numbers:  {_vector(steps.output, shown)}",
        ]
    )


def _scaling(steps: Steps) -> str:
    d = steps.q.size
    if _by_root(steps):
        return f"score / √d = score / √{d} = score × {steps.factor:.4g}"
    if math.isclose(steps.factor, 1.0):
        return "score: this kind of score is not scaled"
    return f"score × factor = score × {steps.factor:.4g}"


def _by_root(steps: Steps) -> bool:
    return steps.formula == "q·k" and math.isclose(steps.factor, steps.q.size**-0.5)


def _exponent(steps: Steps) -> str:
    return "scaled" if steps.bias is None else "scaled + bias"


def _columns(steps: Steps, shown: int) -> list[str]:
    """Two lines of headings and one for each key, columns padded to one width."""
    best = int(steps.weights.argmax()) if steps.readable.any() else -1
    by = (
        f"/ √{steps.q.size}"
        if _by_root(steps)
        else "= score"
        if math.isclose(steps.factor, 1.0)
        else f"× {steps.factor:.4g}"
    )
    signed = lambda numbers: [f"{x + 0.0:.4f}" for x in numbers]  # noqa: E731
    columns = [
        ["", "", *(">" if n == best else "" for n in range(len(steps.keys)))],
        ["token", "", *map(_short, steps.keys)],
        ["k", "", *(_vector(k, shown) for k in steps.k)],
        ["score", steps.formula, *signed(steps.scores)],
        ["scaled", by, *signed(steps.scaled)],
        *([] if steps.bias is None else [["bias", "", *signed(steps.bias)]]),
        [
            "weight",
            "softmax",
            *(f"{w:.4f}" if r else "closed" for w, r in zip(steps.weights, steps.readable, strict=True)),
        ],
        [
            "",
            "",
            *("█" * round(BAR_COLUMNS * w) + (" biggest" if n == best else "") for n, w in enumerate(steps.weights)),
        ],
        ["v", "", *(_vector(v, shown) for v in steps.v)],
    ]
    left = {0, 1, len(columns) - 2}  # marks, labels and bars begin at the left; numbers end at the right
    return ["  ".join(cells) for cells in zip(*(_padded(c, n in left) for n, c in enumerate(columns)), strict=True)]


def _padded(cells: list[str], left: bool) -> list[str]:
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) if left else " " * (width - cell_len(cell)) + cell for cell in cells]


def _vector(numbers: np.ndarray, shown: int) -> str:
    text = " ".join(f"{x:7.3f}" for x in numbers[:shown])
    return f"{text} …" if numbers.size > shown else text


def _short(label: str) -> str:
    shown = harmless(label).replace("\n", "↵").replace("\t", "⇥")
    return shown if cell_len(shown) <= LABEL_COLUMNS else set_cell_size(shown, LABEL_COLUMNS - 1) + "…"
