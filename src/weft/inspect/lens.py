"""The lens: what a model would answer if it stopped after each layer, or after each branch of one.

The stream at that depth goes through the trunk's last norm and the head (the logit lens of nostalgebraist, 2020), for
any answer that a study has: a next token, a class, a node's label, a caption's word, the cells of a forecast. Where the
wiring normalises the stream itself (PostNorm), there is no last norm and the stream is read as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.core.block import Plain, PostNorm
from weft.core.changes import Change
from weft.inspect.study import Study

READ_AS_IT_IS = "this model normalises its stream after each branch: it is read as it is at every depth"


@dataclass(frozen=True)
class LensStep:
    """The answer at one depth: `layer` 0 is what the embedder gives; `branch` is "" after the whole layer.

    `said` are the likeliest answers there, `chance` the probability of the model's own answer, `measure` its measure.
    """

    layer: int
    branch: str
    said: tuple[tuple[str, float | None], ...]
    chance: float
    measure: float

    @property
    def name(self) -> str:
        """The depth in words."""
        if not self.layer:
            return "embedding"
        return f"layer {self.layer}{f', {self.branch}' if self.branch else ''}"


@dataclass(frozen=True)
class Lens:
    """The answers from the embedding to the last layer, for one token or for all together.

    `values` (steps, V) are all values at each depth; the last row is the model's answer.
    """

    steps: tuple[LensStep, ...]
    values: np.ndarray
    place: int | None  # the token, from 1
    token: str  # its name
    answer: str
    measured: str  # what the measure is
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        steps = [{"name": step.name, **_plain(step)} for step in self.steps]
        return {
            "place": self.place,
            "token": self.token,
            "answer": self.answer,
            "measured": self.measured,
            "steps": steps,
        }


def _plain(step: LensStep) -> dict[str, Any]:
    said = [{"text": text, "probability": chance} for text, chance in step.said]
    return {"layer": step.layer, "branch": step.branch, "said": said, "chance": step.chance, "measure": step.measure}


@torch.no_grad()
def lens(study: Study, *, place: int | None = None, changes: tuple[Change, ...] = (), most: int = 5) -> Lens:
    """The answer after every layer and branch; `place` is another token than the study's, from 1."""
    study = study if place is None or place == study.place else study.at(place)
    recorder = study.recorded(changes)
    kept, trunk = recorder.stream(study.stream), study.trunk
    depths = list(_depths(trunk, kept))
    before = kept.tokens.shape[1] - study.embed().shape[1]
    states = torch.cat([state[:, before:] for _, _, state in depths])
    if trunk.gives == "added":
        states = states - depths[0][2][:, before:]
    valid = kept.tokens.valid[:, before:]
    tokens = study.embed().rows(torch.zeros(len(states), dtype=torch.long, device=states.device))
    tokens = replace(tokens, valid=valid.expand(len(states), -1), unpadded=bool(valid.all()))
    values = study.read(tokens.with_x(states if trunk.norm is None else trunk.norm(states)), study.place)
    chances, measures = study.chance(values).tolist(), study.measure(values).tolist()
    steps = tuple(
        LensStep(layer, branch, study.best(values[row], most), chances[row], measures[row])
        for row, (layer, branch, _) in enumerate(depths)
    )
    names = study.tokens.get(study.stream, ())
    token = "" if study.place is None else names[before + study.place - 1] if names else str(study.place)
    note = READ_AS_IT_IS if trunk.norm is None and trunk.layers else ""
    shown = values.float().cpu().numpy()
    return Lens(steps, shown, study.place, token, study.label(study.answer), study.measured, note)


def _depths(trunk: Any, kept: Any) -> Iterator[tuple[int, str, Tensor]]:
    """Layer, branch and stream of every depth: after each branch, but for the last one of a layer, and each layer."""
    yield 0, "", kept.states[0]
    for layer, added in enumerate(kept.branches):
        block, x = trunk.blocks[layer % len(trunk.blocks)], kept.states[layer]
        for branch in list(added)[:-1]:
            if isinstance(block.wiring, PostNorm):
                norm = getattr(block, f"{branch}_norm")
                x = x + added[branch] if norm is None else norm(x + added[branch])
            else:
                x = added[branch] if isinstance(block.wiring, Plain) else x + added[branch]
            yield layer + 1, branch, x
        yield layer + 1, "", kept.states[layer + 1]
