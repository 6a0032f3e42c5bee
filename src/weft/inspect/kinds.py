"""Kinds of heads: what each head reads, told from its weights. Entropy and reach of heads.

previous, itself, first   the share of attention on the token before, the token itself, the first token
induction                 on a random text that comes twice: the share on the token behind the earlier occurrence
same row, same column     of a grid: the share on tokens of one row or column, itself left out, beyond what is even
near                      of a graph: the share on neighbours; of places: within a tenth of the largest distance

Numbers are means over the queries that could do it. A head is called by the largest share, from `MIN_SHARE` up. They
say what a head reads, not what its answer depends on: `effects` measures that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.core.recording import Reading, record
from weft.errors import ConfigError
from weft.inspect.study import Study
from weft.modalities.text import Text, TextEmbed
from weft.models.stream import Stream

MIN_SHARE = 0.4  # of its attention that a head must give to be called by a kind
QUERIES = 256  # whose weights are computed at once
REPEATED = 25  # tokens of the random text that comes twice, where the context has room


@dataclass(frozen=True)
class HeadKinds:
    """What the heads of one branch read, layers x heads.

    `shares` has a table (layers, heads) for each kind, `entropy` is in bits, `reach` the mean distance between query
    and key in `unit`. `names` is the kind of each head, "" where none is large enough.
    """

    stream: str
    branch: str
    shares: Mapping[str, np.ndarray]
    entropy: np.ndarray
    reach: np.ndarray
    unit: str

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The kind of each head, by layers."""
        return tuple(
            tuple(self._named(layer, head) for head in range(self.entropy.shape[1]))
            for layer in range(self.entropy.shape[0])
        )

    def _named(self, layer: int, head: int) -> str:
        found = {name: float(table[layer, head]) for name, table in self.shares.items()}
        best = max(found, key=lambda name: found[name], default="")
        return best if best and found[best] >= MIN_SHARE else ""

    def of(self, kind: str) -> tuple[tuple[int, int], ...]:
        """The heads that are called so, as (layer, head) from 1."""
        return tuple(
            (layer + 1, head + 1)
            for layer, row in enumerate(self.names)
            for head, name in enumerate(row)
            if name == kind
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        shares = {name: table.round(5).tolist() for name, table in self.shares.items()}
        said = {"stream": self.stream, "branch": self.branch, "unit": self.unit, "names": [list(r) for r in self.names]}
        numbers = {"entropy": self.entropy.round(5).tolist(), "reach": self.reach.round(5).tolist()}
        return {**said, "shares": shares, **numbers}


@torch.no_grad()
def kinds(study: Study, *, stream: str | None = None, distances: np.ndarray | None = None, unit: str = "") -> HeadKinds:
    """The kinds of the heads within a stream: by default the one that answers.

    `distances` (N N) between its tokens, in `unit`, are hops of a graph or kilometres of a map: by default those that
    the study knows. Without them, tokens of a grid have distances in patches, those of a line in tokens. Induction is
    tried where the stream is a causal text.
    """
    chosen = study.stream if stream is None else stream
    if distances is None and study.distances is not None and chosen == study.stream:
        distances, unit = study.distances()
    kept = study.recorded(keep=("readings",)).stream(chosen)
    layers = [layer["mix"] for layer in kept.readings if "mix" in layer]
    if not layers:
        raise ConfigError("this stream has no attention whose heads could be told apart", where="kinds")
    tests, away, unit = _tests(kept.tokens, distances, unit)
    found = _measured(layers, tests, away)
    shares = {name: found[name] for name in tests}
    if (repeated := _induction(study, chosen)) is not None:
        shares["induction"] = repeated
    return HeadKinds(chosen, "mix", shares, found["entropy"], found["reach"], unit)


Test = Callable[[Tensor], tuple[Tensor, Tensor]]  # queries (q) -> which keys count (q K), which queries could do it (q)


def _tests(
    tokens: Any, distances: np.ndarray | None, unit: str
) -> tuple[dict[str, Test], Callable[[Tensor], Tensor], str]:
    """The shares to measure, the distances of queries from all keys, and their unit."""
    places = torch.arange(tokens.shape[1])
    line = tokens.line_axis is not None or tokens.order.name in ("LINE", "PREFIX")
    tests: dict[str, Test] = {"itself": lambda q: (places == q[:, None], torch.ones_like(q, dtype=torch.bool))}
    if line:
        tests["previous"] = lambda q: (places == q[:, None] - 1, q > 0)
        tests["first"] = lambda q: ((places == 0).expand(len(q), -1), q > 1)
    if distances is not None:
        far = torch.as_tensor(distances)
        near = 1.0 if unit == "hops" else float(far[far.isfinite()].max()) / 10
        tests["near"] = lambda q: ((far[q] <= near) & (far[q] > 0), ((far[q] <= near) & (far[q] > 0)).any(-1))
        return tests, lambda q: far[q].nan_to_num(posinf=0.0), unit
    if "row" in tokens.coords and "column" in tokens.coords:
        row, column = (tokens.coords[axis][0].float().cpu() for axis in ("row", "column"))
        for name, axis in (("same row", row), ("same column", column)):
            tests[name] = _same(axis, places)
        return tests, lambda q: torch.hypot(row[q, None] - row, column[q, None] - column), "patches"
    return tests, lambda q: (q[:, None] - places).abs().float(), "tokens"


def _same(axis: Tensor, places: Tensor) -> Test:
    def test(q: Tensor) -> tuple[Tensor, Tensor]:
        same = (axis[q, None] == axis) & (places != q[:, None])
        return same, same.any(-1)

    return test


def _measured(
    layers: Sequence[Sequence[Reading]], tests: Mapping[str, Test], away: Callable[[Tensor], Tensor]
) -> dict[str, np.ndarray]:
    """Shares, entropy and reach of every head, a few queries at a time."""
    heads = max(layer[0].q.shape[1] for layer in layers)
    found = {name: np.full((len(layers), heads), np.nan) for name in (*tests, "entropy", "reach")}
    for number, layer in enumerate(layers):
        reading = layer[0]
        count, own = reading.q.shape[2], reading.q.shape[1]
        sums = {name: torch.zeros(own, dtype=torch.float64) for name in found}
        could = dict.fromkeys(found, 0)
        for start in range(0, count, QUERIES):
            q = torch.arange(start, min(start + QUERIES, count))
            weights = reading.weights(queries=q.tolist())[0].cpu().double()  # not every device has doubles
            reads = weights.sum(-1)[0] > 0
            for name, test in tests.items():
                counts, able = test(q)
                able = able & reads
                sums[name] += (weights * counts)[:, able].sum((1, 2))
                could[name] += int(able.sum())
            sums["entropy"] += -(weights.clamp_min(1e-300).log2() * weights)[:, reads].sum((1, 2))
            sums["reach"] += (weights * away(q))[:, reads].sum((1, 2))
            could["entropy"], could["reach"] = (could[name] + int(reads.sum()) for name in ("entropy", "reach"))
        for name, table in found.items():
            table[number, :own] = (sums[name] / max(could[name], 1)).numpy()
    return found


def _induction(study: Study, chosen: str) -> np.ndarray | None:
    """The share on the token behind the earlier occurrence, on a random text that comes twice; None without one."""
    model = study.model
    embed = getattr(model, "embed", None)
    if chosen or not isinstance(model, Stream) or not isinstance(embed, TextEmbed) or study.trunk.layers == 0:
        return None
    if model.config.embed.reading != "line":  # type: ignore[attr-defined]
        return None
    context: int = model.config.embed.context  # type: ignore[attr-defined]
    half = min(REPEATED, (context - 1) // 2)
    if half < 4:
        return None
    return induction(model, half)


@torch.no_grad()
def induction(model: Stream, half: int = REPEATED, *, texts: int = 4, seed: int = 0) -> Float[np.ndarray, "L H"]:
    """The induction score of every head, by layers.

    On `texts` random texts of `half` tokens that come twice: the mean share of a query of the second time on the token
    behind its earlier occurrence.
    """
    vocab = model.config.embed.vocab  # type: ignore[attr-defined]
    drawn = torch.Generator().manual_seed(seed)
    once = torch.randint(0, vocab, (texts, half), generator=drawn).to(next(model.parameters()).device)
    with record(model.eval()) as recorder:
        model.encode(Text(torch.cat([once, once], 1)))
    layers = [layer["mix"][0] for layer in recorder.stream("").readings if "mix" in layer]
    heads = max((reading.q.shape[1] for reading in layers), default=0)
    found = np.full((len(layers), heads), np.nan)
    queries = list(range(half, 2 * half))
    for number, reading in enumerate(layers):
        weights = reading.weights(queries=queries)
        places = torch.arange(half, device=weights.device)
        behind = weights[:, :, places, places + 1]  # the token behind the same one, `half` places earlier
        found[number, : behind.shape[1]] = behind.double().mean((0, 2)).cpu().numpy()
    return found
