"""Attribution: which parts of a model, and which tokens of an input, an answer comes from.

direct                 what each head, MLP and the embedding added to the measure; the parts add up to it
gradient x input       slope of the measure at each token times the token's content
integrated gradients   slopes along the way to the input from one whose tokens are all alike, their mean, times what
                       each token differs from it (Sundararajan et al., 2017). Completeness: the numbers add up to the
                       rise of the measure. From zeros the way would lead through a jump: norms undo any scale.

Direct parts need a stream that branches add to and a head that is linear behind the last norm, whose scale is held
fixed (Elhage et al., 2021). Elsewhere they are refused in words: `effects` answers the same question by switching off.
Content is what the embedder gives, position codes included.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from weft.core.block import Plain, PostNorm
from weft.core.norms import LayerNorm
from weft.errors import WeftError
from weft.inspect.study import Study

EXACT = 1e-5  # by which parts may miss the measure, for each unit of what is added
STEPS, MOST_STEPS = 32, 512  # points along the way to the input: at first, and at most
COMPLETE = 0.01  # share of all that is attributed by which its sum may miss the rise of the measure
ROWS = 8  # of these that are computed at once


class NotAdditive(WeftError):
    """A model whose parts do not add up to its answer."""


@dataclass(frozen=True)
class PartAdded:
    """What a part added to the measure: the embedding (layer 0), a head, a branch, or all offsets together."""

    layer: int
    branch: str  # "embedding", "mix", "read", "transform", "offsets"
    head: int | None
    value: float

    @property
    def name(self) -> str:
        """The part in words."""
        if not self.layer:
            return self.branch
        return f"layer {self.layer} {self.branch}" + ("" if self.head is None else f" head {self.head}")


@dataclass(frozen=True)
class Direct:
    """Parts that add up to the measure; `missing` is what they miss it by."""

    parts: tuple[PartAdded, ...]
    measure: float
    missing: float
    measured: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        parts = [{"name": part.name, "value": part.value} for part in self.parts]
        return {"measured": self.measured, "measure": self.measure, "missing": self.missing, "parts": parts}


@dataclass(frozen=True)
class ByToken:
    """What each token counts for the measure. `total` is what the numbers should add up to, where that is known."""

    by: Literal["gradient x input", "integrated gradients"]
    tokens: tuple[str, ...]
    values: np.ndarray  # (tokens) float64
    measure: float
    measured: str
    total: float | None = None

    @property
    def completeness(self) -> float | None:
        """The sum of all numbers over what they should add up to: 1 where nothing is missing."""
        return None if not self.total else float(self.values.sum()) / self.total

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        said = {"by": self.by, "measured": self.measured, "measure": self.measure, "completeness": self.completeness}
        return {**said, "tokens": list(self.tokens), "values": [float(value) for value in self.values]}


def direct(study: Study, *, heads: bool = True) -> Direct:
    """What the embedding, each head, each other branch and the offsets added to the measure of the answer.

    Heads are apart unless their branch is normalised before it joins the stream. Refused (NotAdditive) where the stream
    is not a sum of parts, or the head is not linear.
    """
    trunk, read = study.trunk, study.uncapped or study.read
    _refuse(study)
    kept = study.recorded().stream(study.stream)
    tokens, _ = study.begun()
    before, x = kept.tokens.shape[1] - tokens.shape[1], kept.states[-1]
    tokens = tokens.with_x(tokens.x.to(x.dtype))
    x, first = x[:, before:], kept.states[0][:, before:]
    whole = x - first if trunk.gives == "added" else x
    normed = whole if trunk.norm is None else trunk.norm(whole)
    leaf = normed.detach().clone().requires_grad_()
    with torch.inference_mode(False), torch.enable_grad():
        measure = study.measure(read(tokens.with_x(leaf), study.place))[0]
        (slope,) = torch.autograd.grad(measure, leaf)
        nothing = study.measure(read(tokens.with_x(torch.zeros_like(leaf)), study.place))[0]
    measure, nothing = measure.detach(), nothing.detach()
    linear = float(nothing) + float((slope * leaf.detach()).sum())
    if abs(linear - float(measure)) > EXACT * max(1.0, abs(float(measure)), abs(float(nothing))):
        raise NotAdditive(
            "the head of this model is not linear: parts of the stream do not add up to its answer",
            where="attribution",
            fix="switch parts off instead: effects.ablation",
        )
    weight = _through_norm(trunk.norm, whole, slope)
    found = [] if trunk.gives == "added" else [PartAdded(0, "embedding", None, _given(weight, first))]
    found += _added(study, kept, weight, before, heads)
    offset = getattr(trunk.norm, "offset", None)
    constant = float(nothing) + (0.0 if offset is None else float((slope * offset).sum().detach()))
    constant += sum(part.value for part in found if part.branch == "offsets")
    found = [part for part in found if part.branch != "offsets"]
    parts = (*found, PartAdded(0, "offsets", None, constant))
    missing = float(measure) - sum(part.value for part in parts)
    bound = "" if study.uncapped is None else ", before logits are bounded"
    return Direct(parts, float(measure), missing, f"{study.measured}{bound}")


def _refuse(study: Study) -> None:
    """Refuse a stream that is not the sum of what branches add."""
    kinds = {type(block.wiring).__name__ for block in study.trunk.blocks if isinstance(block.wiring, PostNorm | Plain)}
    if kinds:
        which = "normalised after each branch" if "PostNorm" in kinds else "replaced by each branch"
        raise NotAdditive(
            f"the stream of this model is {which}: it is not a sum of parts",
            where="attribution",
            fix="switch parts off instead: effects.ablation",
        )


def _through_norm(norm: nn.Module | None, x: Tensor, slope: Tensor) -> Tensor:
    """The slope of the measure by the stream ahead of the norm, whose scale is held fixed."""
    if norm is None:
        return slope
    if isinstance(norm, LayerNorm):
        scale = (x.var(-1, correction=0, keepdim=True) + norm.eps).rsqrt()
        gained = slope if norm.gain is None else slope * norm.gain
        gained = gained - gained.mean(-1, keepdim=True)  # the mean is taken off what comes in
        return gained * scale
    scale = (x.square().mean(-1, keepdim=True) + norm.eps).rsqrt()  # type: ignore[operator]
    excess = getattr(norm, "excess", None)
    gain = getattr(norm, "gain", None) if excess is None else 1 + excess
    return slope * scale if gain is None else slope * scale * gain


def _given(weight: Tensor, part: Tensor) -> float:
    return float((weight.detach().cpu().double() * part.detach().cpu().double()).sum())


def _added(study: Study, kept: Any, weight: Tensor, before: int, heads: bool) -> list[PartAdded]:
    """What heads and branches added, layer by layer."""
    found, trunk = list[PartAdded](), study.trunk
    for layer, added in enumerate(kept.branches):
        block = trunk.blocks[layer % len(trunk.blocks)]
        for branch, y in added.items():
            mixer, readings = getattr(block, branch), kept.readings[layer].get(branch, [])
            normed = getattr(block, f"{branch}_out_norm", None) is not None
            own = heads and not normed and len(readings) == 1 and isinstance(getattr(mixer, "out", None), nn.Linear)
            if not own or readings[0].attention is not mixer:
                found.append(PartAdded(layer + 1, branch, None, _given(weight, y[:, before:])))
                continue
            scale = getattr(block, f"{branch}_scale", None)
            back = weight if scale is None else weight * scale.gain
            out = readings[0].out[:, :, before:]  # (1 H N e)
            apart = (back @ mixer.out.weight).unflatten(-1, (out.shape[1], -1)).transpose(1, 2)
            values = (apart.cpu().double() * out.cpu().double()).sum((0, 2, 3)).tolist()
            found += [PartAdded(layer + 1, branch, head + 1, value) for head, value in enumerate(values)]
            if mixer.out.bias is not None:
                bias = mixer.out.bias.expand_as(back)
                found.append(PartAdded(layer + 1, "offsets", None, _given(back, bias)))
    return found


def gradient_by_input(study: Study) -> ByToken:
    """Slope of the measure at each token times its content."""
    x, slope, measure = _slopes(study, torch.ones(1))
    return ByToken("gradient x input", _names(study), _by_token(x * slope[0]), float(measure[0]), study.measured)


def integrated_gradients(study: Study, *, steps: int = STEPS, most: int = MOST_STEPS) -> ByToken:
    """The slopes along the straight way from tokens that are all alike, their mean, to the input, times the difference.

    The numbers add up to the rise of the measure along the way; `completeness` says how well they do. Where they miss
    it by more than a hundredth, twice as many `steps` are taken, up to `most`.
    """
    while True:
        found = _integrated(study, steps)
        missing, sizes = abs(found.values.sum() - (found.total or 0.0)), (1.0, np.abs(found.values).sum())
        if missing <= COMPLETE * max(sizes) or 2 * steps > most:
            return found
        steps *= 2


def _integrated(study: Study, steps: int) -> ByToken:
    points, shares = np.polynomial.legendre.leggauss(steps)
    alphas = torch.tensor([*((points + 1) / 2), 0.0, 1.0])
    x, slopes, measures = _slopes(study, alphas, from_mean=True)
    x, slopes = x.cpu(), slopes.cpu()  # not every device has doubles
    mean = (slopes[:steps].double() * torch.tensor(shares / 2)[:, None, None]).sum(0)
    total = float(measures[-1] - measures[-2])
    parts = _by_token((x - x.mean(0)).double() * mean)
    return ByToken("integrated gradients", _names(study), parts, float(measures[-1]), study.measured, total)


def _slopes(study: Study, alphas: Tensor, *, from_mean: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The content (N D), the slopes (A N D) of the measure at shares of the way to it, and the measures there."""
    slopes, measures = list[Tensor](), list[Tensor]()
    with torch.inference_mode(False), torch.enable_grad():
        with torch.no_grad():
            tokens, memory = study.begun()
            x = tokens.x.detach().clone()
            memory = None if memory is None else memory.with_x(memory.x.detach().clone())
        for first in range(0, len(alphas), ROWS):
            some = alphas[first : first + ROWS].to(x)
            rows = tokens.rows(torch.zeros(len(some), dtype=torch.long, device=x.device))
            start = x.mean(1, keepdim=True) if from_mean else torch.zeros_like(x)
            content = (start + some[:, None, None] * (x - start)).requires_grad_()
            found = study.measure(study.read(study.trunk(rows.with_x(content), memory), study.place))
            slopes += torch.autograd.grad(found.sum(), content)
            measures.append(found.detach())
    return x[0], torch.cat(slopes), torch.cat(measures)


def _by_token(parts: Tensor) -> np.ndarray:
    return parts.detach().cpu().double().sum(-1).numpy()


def _names(study: Study) -> tuple[str, ...]:
    """The names of the stream's own tokens; a prefix before them is a memory."""
    names, own = study.tokens.get(study.stream, ()), study.embed().shape[1]
    return tuple(names[-own:]) if len(names) >= own else tuple(f"token {n + 1}" for n in range(own))
