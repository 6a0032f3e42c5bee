"""Effects: how the measure of an answer changes with each of many changes. A sweep is one batch of rows.

    ablation     each head, or each branch, switched off: layers x heads
    pinning      each head reads by a pattern, such as all tokens alike: layers x heads
    knockout     the token that answers does not read one of the others: layers x tokens
    patching     the stream, a branch or a head replaced by that of another input: layers x tokens, layers x heads
    steering     the direction from this input to another added to the stream: layers x strengths
    occlusion    each token hidden

Zero and mean take a model off its data in different ways: `by` says which, and both side by side say more than one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from weft.core.changes import Added, BranchName, Change, Hidden, Pattern, Pinned, Replaced, Unread, Without, changed
from weft.core.recording import Recorder
from weft.errors import ConfigError
from weft.inspect.study import Study

Part = Literal["stream", "mix", "read", "transform"]
OTHER, OWN = "other", "own"  # the names of the recordings that changes of a sweep use
STRENGTHS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # of a direction that is added


@dataclass(frozen=True)
class Effects:
    """The measure of the answer with each change, as a table; `before` is the measure without any.

    `measures[row, column]` is NaN where there is nothing to change. `differences` are measures less `before`. `said` is
    the likeliest answer with each change, `chances` the probability of the answer without any (of a number the number).
    """

    name: str
    measured: str
    before: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: np.ndarray  # (rows, columns) float64
    changes: tuple[tuple[Change | None, ...], ...]
    said: tuple[tuple[str, ...], ...]
    chances: np.ndarray  # (rows, columns) float64
    stream: str = ""

    @property
    def differences(self) -> np.ndarray:
        """How far the measure rises with each change; a part that the answer needs has a negative one."""
        return self.measures - self.before

    def to_json(self) -> dict[str, Any]:
        """Plain values; None where there is nothing to change."""
        table = [[None if np.isnan(one) else float(one) for one in row] for row in self.measures]
        said = {"name": self.name, "measured": self.measured, "before": self.before, "stream": self.stream}
        return {**said, "rows": list(self.rows), "columns": list(self.columns), "measures": table}


@torch.no_grad()
def effect(study: Study, *changes: Change) -> float:
    """The measure with some changes less that without any."""
    plain, with_them = study.measure(study.values(((), changes))).tolist()
    return with_them - plain


def ablation(study: Study, *, branch: BranchName = "mix", by: Literal["zero", "mean"] = "zero") -> Effects:
    """Every head of a branch switched off, one at a time: layers x heads."""
    return _by_heads(study, "without", branch, lambda layer, head: Without(layer, branch=branch, head=head, by=by))


def pinning(study: Study, weights: Pattern = "uniform", *, branch: BranchName = "mix") -> Effects:
    """Every head of a branch reads by a pattern, one at a time: layers x heads."""
    name = f"pinned to {weights}"
    return _by_heads(study, name, branch, lambda layer, head: Pinned(layer, branch=branch, head=head, weights=weights))


def knockout(study: Study, *, branch: BranchName = "mix") -> Effects:
    """The token that answers (all tokens, where they answer together) does not read one token: layers x tokens.

    With the branch `read` the tokens are those of the memory, such as a source or a picture.
    """
    layers = [layer for layer in range(1, study.trunk.layers + 1) if _heads(study, layer, branch)]
    if not layers:
        raise ConfigError(f"this model has no heads in its {branch}", where="knockout", fix="hide tokens instead")
    with torch.no_grad():
        tokens = study.memory() if branch == "read" else study.recorded(keep=("states",)).stream(study.stream).tokens
    count = 0 if tokens is None else tokens.shape[1]
    asking = () if study.place is None or study.joined else (study.place,)
    table = [[Unread(layer, branch=branch, tokens=asking, keys=(n + 1,)) for n in range(count)] for layer in layers]
    columns = _named(study, "source" if branch == "read" else study.stream, count)
    return _swept(study, "not read", [f"layer {layer}" for layer in layers], columns, table)


def branch_ablation(study: Study, *, by: Literal["zero", "mean"] = "zero") -> Effects:
    """Every branch of every layer switched off, one at a time: layers x branches."""
    trunk, names = study.trunk, ("mix", "read", "transform")
    blocks = [trunk.blocks[layer % len(trunk.blocks)] for layer in range(trunk.layers)]
    there = [name for name in names if any(getattr(block, name) is not None for block in blocks)]
    table = [
        [Without(layer + 1, branch=name, by=by) if getattr(block, name) is not None else None for name in there]  # type: ignore[arg-type]
        for layer, block in enumerate(blocks)
    ]
    return _swept(study, "without", [f"layer {layer + 1}" for layer in range(len(blocks))], there, table)


def patching(study: Study, other: Study, *, part: Part = "stream", head: int | None = None) -> Effects:
    """The stream after each layer, a branch or a head of it, replaced at each token by that of another input.

    Layers x tokens; of the stream also ahead of the first layer. Tokens that only one of both has are left out.
    """
    recorder = other.recorded()
    both = _both(study, recorder)
    first = 0 if part == "stream" and head is None else 1
    more: dict[str, Any] = {} if part == "stream" and head is None else {"branch": "mix" if part == "stream" else part}
    more |= {} if head is None else {"head": head}
    layers = [layer for layer in range(first, study.trunk.layers + 1) if _has(study, layer, more.get("branch"), head)]
    table = [[Replaced(layer, of=OTHER, tokens=(n + 1,), **more) for n in range(both)] for layer in layers]
    rows = [f"layer {layer}" if layer else "embedding" for layer in layers]
    columns = _named(study, study.stream, both)
    return _swept(study, f"{part} of the other input", rows, columns, table, {OTHER: recorder})


def head_patching(study: Study, other: Study, *, branch: BranchName = "mix") -> Effects:
    """What every head gives replaced, at all tokens that both have, by that of another input: layers x heads."""
    recorder = other.recorded()
    tokens = tuple(range(1, _both(study, recorder) + 1))

    def change(layer: int, head: int) -> Change:
        return Replaced(layer, branch=branch, head=head, of=OTHER, tokens=tokens)

    return _by_heads(study, "heads of the other input", branch, change, {OTHER: recorder})


def steering(study: Study, other: Study, strengths: Sequence[float] = STRENGTHS) -> Effects:
    """The stream moved towards another input and away from it, after each layer: layers x strengths.

    The direction is the mean of the other input's tokens less that of this one's; a strength of 1 takes one's mean to
    the other's. It is added at all tokens.
    """
    given = {OTHER: other.recorded(keep=("states",)), OWN: study.recorded(keep=("states",))}
    layers = range(study.trunk.layers + 1)
    table = [[Added(layer, of=OTHER, minus=OWN, strength=one) for one in strengths] for layer in layers]
    rows = [f"layer {layer}" if layer else "embedding" for layer in layers]
    return _swept(study, "steered to the other input", rows, [f"{one:+g}" for one in strengths], table, given)


def occlusion(study: Study, *, stream: str | None = None) -> Effects:
    """Every token hidden, one at a time; of another stream, such as the source, where it is named."""
    chosen = study.stream if stream is None else stream
    kept = study.recorded(keep=("states",)).stream(chosen).tokens
    count, own = kept.shape[1], study.place if chosen == study.stream and not study.joined else None
    table = [[None if n + 1 == own else Hidden((n + 1,), stream=chosen or None) for n in range(count)]]
    return _swept(study, "hidden", ["all layers"], _named(study, chosen, count), table)


def _named(study: Study, stream: str, count: int) -> list[str]:
    """The names of the first tokens of a stream."""
    names = study.tokens.get(stream, ())
    return [names[n] if n < len(names) else f"token {n + 1}" for n in range(count)]


def _both(study: Study, recorder: Recorder) -> int:
    """The number of tokens that this input and a recorded one both have."""
    own = study.recorded(keep=("states",))
    return min(one.stream(study.stream).tokens.shape[1] for one in (own, recorder))


def _by_heads(
    study: Study,
    name: str,
    branch: BranchName,
    change: Callable[[int, int], Change],
    given: Mapping[str, Recorder] | None = None,
) -> Effects:
    """A change of every head of a branch, by its layer and number."""
    heads = [_heads(study, layer, branch) for layer in range(1, study.trunk.layers + 1)]
    most = max(heads, default=0)
    if not most:
        raise ConfigError(f"this model has no heads in its {branch}", where="effects", fix="switch off branches")
    table = [
        [change(layer + 1, head + 1) if head < count else None for head in range(most)]
        for layer, count in enumerate(heads)
    ]
    rows = [f"layer {layer + 1}" for layer in range(len(heads))]
    return _swept(study, name, rows, [f"head {head + 1}" for head in range(most)], table, given)


@torch.no_grad()
def _swept(
    study: Study,
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    table: Sequence[Sequence[Change | None]],
    given: Mapping[str, Recorder] | None = None,
) -> Effects:
    """The measures of a table of changes, computed together; of several streams the one that answers is named."""
    table = [[None if one is None else _in_stream(study, one) for one in row] for row in table]
    flat = [one for row in table for one in row if one is not None]
    with changed(study.model, given=given):
        values = study.values([(), *((one,) for one in flat)])
    before, *found = study.measure(values).cpu().double().tolist()
    said, sure = [study.best(one, 1)[0][0] for one in values[1:]], study.chance(values)[1:].tolist()
    there = np.array([[one is not None for one in row] for row in table])
    measures, chances = np.full(there.shape, np.nan), np.full(there.shape, np.nan)
    measures[there], chances[there] = found, sure
    kept, waiting = tuple(tuple(row) for row in table), iter(said)
    words = tuple(tuple("" if one is None else next(waiting) for one in row) for row in table)
    return Effects(
        name, study.measured, before, tuple(rows), tuple(columns), measures, kept, words, chances, study.stream
    )


def _in_stream(study: Study, change: Change) -> Change:
    """The change, with the name of the study's stream where the model would not know which one is meant."""
    if change.stream is not None or study.stream in ("", "target"):
        return change
    return change.replace(stream=study.stream)


def _heads(study: Study, layer: int, branch: str) -> int:
    """The number of heads in a branch of a layer."""
    trunk = study.trunk
    return getattr(getattr(trunk.blocks[(layer - 1) % len(trunk.blocks)], branch), "heads", 0)


def _has(study: Study, layer: int, branch: str | None, head: int | None) -> bool:
    """Whether a layer has a branch, or a head of it."""
    if branch is None:
        return True
    trunk = study.trunk
    there = getattr(trunk.blocks[(layer - 1) % len(trunk.blocks)], branch) is not None
    return there if head is None else head <= _heads(study, layer, branch)
