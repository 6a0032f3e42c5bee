"""Sweeps and changed answers as values of a page or of a server: what a study says under many changes, as JSON.

`sweep` runs one by its name, `sweeps` all that a model allows, `changed_answers` any changes, each as a row of one
batch. `plain` of `document` makes JSON of what they give.

    heads switched off, heads at their mean, heads reading all tokens alike     layers x heads
    branches switched off                                                       layers x branches
    tokens not read, source tokens not read                                     layers x tokens
    stream, heads of the second input; steered to the second input              layers x tokens, heads, strengths
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.core.changes import Change, changed
from weft.core.recording import Recorder
from weft.errors import ConfigError, WeftError, nearest
from weft.inspect.answers import LookedAnswer
from weft.inspect.change_words import words_of
from weft.inspect.document import ChangedAnswer, EffectGrid
from weft.inspect.effects import (
    Effects,
    ablation,
    branch_ablation,
    head_patching,
    knockout,
    patching,
    pinning,
    steering,
)
from weft.inspect.study import Study

MOST_WORK = 1e12  # multiplications of all rows of a sweep
MOST_COLUMNS = 64  # tokens of a sweep by tokens that is run unasked


@dataclass(frozen=True)
class SweepKind:
    """A sweep: how it is run, how many rows it has for a model of so many layers, heads and tokens, what cells are."""

    run: Callable[[Study, Any], Effects]
    cells: str  # heads, branches, tokens, source tokens or strengths
    change: str  # what a cell does, in words behind "change of the answer"
    second: bool = False  # whether it needs a second input


SWEEPS: Mapping[str, SweepKind] = {
    "heads switched off": SweepKind(lambda one, _: ablation(one), "heads", "without"),
    "branches switched off": SweepKind(lambda one, _: branch_ablation(one), "branches", "without"),
    "heads at their mean": SweepKind(lambda one, _: ablation(one, by="mean"), "heads", "with the mean of"),
    "heads pinned to uniform": SweepKind(lambda one, _: pinning(one), "heads", "with uniform weights in"),
    "tokens not read": SweepKind(lambda one, _: knockout(one), "tokens", "not reading"),
    "source not read": SweepKind(lambda one, _: knockout(one, branch="read"), "source tokens", "not reading"),
    "stream of the second input": SweepKind(patching, "tokens", "with the second input's", second=True),
    "heads of the second input": SweepKind(head_patching, "heads", "with the second input's", second=True),
    "steered to the second input": SweepKind(steering, "strengths", "steered by", second=True),
}


def sweep(study: Study, name: str, other: Study | None = None) -> EffectGrid:
    """One sweep by its name; those with a second input need its study."""
    if name not in SWEEPS:
        raise ConfigError(f"unknown sweep {name!r:.60}", where="sweep", fix=nearest(name, list(SWEEPS)))
    kind = SWEEPS[name]
    if kind.second and other is None:
        raise ConfigError("this sweep needs a second input", where="sweep", fix="name one: weft look RUN A --beside B")
    return grid(study, kind.run(study, other), name, kind.change)


def sweeps(
    study: Study, other: Study | None = None, most: float = MOST_WORK
) -> tuple[dict[str, EffectGrid], list[str]]:
    """The sweeps that this model allows, by their names, and the names of those that would take too long."""
    found, left = dict[str, EffectGrid](), list[str]()
    for name, kind in SWEEPS.items():
        if kind.second and other is None:
            continue
        if not affordable(study, kind, most):
            left.append(name)
            continue
        try:
            found[name] = sweep(study, name, other)
        except WeftError:  # a wiring that has no such heads or tokens
            continue
    return found, left


def affordable(study: Study, kind: SweepKind, most: float = MOST_WORK) -> bool:
    """Whether a sweep takes no more than some multiplications; those by tokens also need few tokens."""
    tokens, layers = len(study.tokens.get(study.stream, ())), study.trunk.layers + 1
    keys = len(study.tokens.get("source", ())) if kind.cells == "source tokens" else tokens
    heads = sum(getattr(block.mix, "heads", 1) for block in study.trunk.blocks)
    rows = {"heads": heads, "branches": 3 * layers, "strengths": 6 * layers}.get(kind.cells, keys * layers)
    if "tokens" in kind.cells and keys > MOST_COLUMNS:
        return False
    return rows * tokens * sum(one.numel() for one in study.trunk.parameters()) <= most


def grid(study: Study, found: Effects, name: str, change: str) -> EffectGrid:
    """Effects as a page holds them."""
    with torch.no_grad():
        chance = None if study.kind == "number" else float(study.chance(study.values())[0])
    flat = [one for row in found.changes for one in row]
    return EffectGrid(
        name=name,
        measure=found.measured,
        before=found.before,
        rows=found.rows,
        columns=found.columns,
        values=tuple(0.0 if np.isnan(one) else round(float(one), 5) for one in found.differences.ravel()),
        change=change,
        answer=study.label(study.answer),
        chance=chance,
        said=tuple(one for row in found.said for one in row),
        chances=tuple(0.0 if np.isnan(one) else round(float(one), 5) for one in found.chances.ravel()),
        words=tuple("" if one is None else words_of(one) for one in flat),
    )


@torch.no_grad()
def changed_answers(
    study: Study, rows: Sequence[Sequence[Change]], given: Mapping[str, Recorder] | None = None
) -> tuple[ChangedAnswer, ...]:
    """For each row of changes the answer without and with them, and the measure of both; computed as one batch.

    `given` are recordings of other inputs (`other.recorded()`) by the names that the changes use.
    """
    with changed(study.model, given=given):
        values = study.values([(), *map(tuple, rows)])
    before, *after = study.measure(values).tolist()
    plain = LookedAnswer(study.best(values[0]))
    return tuple(
        ChangedAnswer(
            tuple(map(words_of, some)), plain, LookedAnswer(study.best(one)), study.measured, before, with_them
        )
        for some, one, with_them in zip(rows, values[1:], after, strict=True)
    )
