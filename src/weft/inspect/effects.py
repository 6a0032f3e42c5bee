"""Effects: how the measure of an answer changes with each of many changes. A sweep is one batch of rows.

    ablation     each head, or each branch, switched off: layers x heads
    patching     the stream, a branch or a head replaced by that of another input: layers x tokens
    occlusion    each token hidden

Zero and mean take a model off its data in different ways: `by` says which, and both side by side say more than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from weft.core.changes import BranchName, Change, Hidden, Replaced, Without, changed
from weft.errors import ConfigError
from weft.inspect.study import Study

Part = Literal["stream", "mix", "read", "transform"]


@dataclass(frozen=True)
class Effects:
    """The measure of the answer with each change, as a table; `before` is the measure without any.

    `measures[row, column]` is NaN where there is nothing to change. `differences` are measures less `before`.
    """

    name: str
    measured: str
    before: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: np.ndarray  # (rows, columns) float64
    changes: tuple[tuple[Change | None, ...], ...]
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
    heads = [_heads(study, layer, branch) for layer in range(1, study.trunk.layers + 1)]
    if not max(heads, default=0):
        raise ConfigError(f"this model has no heads in its {branch}", where="ablation", fix="switch off branches")
    table = [
        [
            Without(layer + 1, branch=branch, head=head + 1, by=by) if head < count else None
            for head in range(max(heads))
        ]
        for layer, count in enumerate(heads)
    ]
    rows = [f"layer {layer + 1}" for layer in range(len(heads))]
    return _swept(study, "without", rows, [f"head {head + 1}" for head in range(max(heads))], table)


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
    recorder, stream = other.recorded(), study.stream
    names = study.tokens.get(stream, ())
    both = min(study.recorded(keep=("states",)).stream(stream).tokens.shape[1], recorder.stream(stream).tokens.shape[1])
    first = 0 if part == "stream" and head is None else 1
    more: dict[str, Any] = {} if part == "stream" and head is None else {"branch": "mix" if part == "stream" else part}
    more |= {} if head is None else {"head": head}
    layers = [layer for layer in range(first, study.trunk.layers + 1) if _has(study, layer, more.get("branch"), head)]
    table = [[Replaced(layer, of="other", tokens=(n + 1,), **more) for n in range(both)] for layer in layers]
    rows = [f"layer {layer}" if layer else "embedding" for layer in layers]
    columns = [names[n] if n < len(names) else f"token {n + 1}" for n in range(both)]
    with changed(study.model, given={"other": recorder}):
        return _swept(study, f"{part} of the other input", rows, columns, table, {"other": recorder})


def occlusion(study: Study, *, stream: str | None = None) -> Effects:
    """Every token hidden, one at a time; of another stream, such as the source, where it is named."""
    chosen = study.stream if stream is None else stream
    kept = study.recorded(keep=("states",)).stream(chosen).tokens
    count, own = kept.shape[1], study.place if chosen == study.stream and not study.joined else None
    table = [[None if n + 1 == own else Hidden((n + 1,), stream=chosen or None) for n in range(count)]]
    names = study.tokens.get(chosen, ())
    columns = [names[n] if n < len(names) else f"token {n + 1}" for n in range(count)]
    return _swept(study, "hidden", ["all layers"], columns, table)


@torch.no_grad()
def _swept(
    study: Study,
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    table: Sequence[Sequence[Change | None]],
    given: Any = None,
) -> Effects:
    """The measures of a table of changes, computed together."""
    flat = [one for row in table for one in row if one is not None]
    with changed(study.model, given=given):
        values = study.values([(), *((one,) for one in flat)])
    before, *found = study.measure(values).cpu().double().tolist()
    waiting = iter(found)
    measures = np.array([[np.nan if one is None else next(waiting) for one in row] for row in table], np.float64)
    kept = tuple(tuple(row) for row in table)
    return Effects(name, study.measured, before, tuple(rows), tuple(columns), measures, kept, study.stream)


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
