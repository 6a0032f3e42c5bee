"""Which parts of a picture a model's answer depends on, with attention or without: by gradient and by occlusion.

gradient   Grad-CAM: max(0, sum over channels of w x features), w = mean over places of d score / d features
           (Selvaraju et al., 2017), of the last features of a convolutional network or ahead of a trunk's last block
occlusion  the fall of the answer's probability when a part is painted over (Zeiler and Fergus, 2014)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from weft.errors import WeftError
from weft.inspect.maps import Maps, MapsView
from weft.inspect.occlusion import covered_scores
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer
from weft.modalities.convnet import ConvEmbed
from weft.modalities.image import Picture
from weft.models.stream import Stream

MIN_PLACES = 4  # along the shorter side of the features whose gradient is followed: of fewer there is no map to see

By = Literal["gradient", "occlusion"]
Values = Float[Tensor, "B V"]


@dataclass(frozen=True)
class Explained:
    """The part of a model's values that is explained: `index` of them, a class among `classes` or a number."""

    index: int
    name: str
    classes: bool = True

    def probability(self, values: Values) -> Float[Tensor, "B"]:
        """The probability of the class, or the number."""
        return (values.softmax(-1) if self.classes else values)[:, self.index]


class SaliencyView(MapsView):
    """A picture, and which of its parts the model's answer depends on. Shows itself in a notebook."""

    def __init__(
        self,
        pixels: np.ndarray,
        found: np.ndarray,
        name: str,
        *,
        by: By,
        title: str = "",
        answer: LookedAnswer | None = None,
    ):
        """`pixels` is the picture as people see it; `found` (rows, columns) is what each part counts, called `name`."""
        self.by, self.answer = by, answer
        self._maps = Maps(pixels, found[None, None], title=title, name=name)

    @property
    def maps(self) -> Maps:
        return self._maps

    @property
    def about(self) -> str:
        return f"{self.maps.title or 'a picture'}, by {self.maps.name}"

    def chosen(self) -> AttentionChoice:
        return ALL

    def to_json(self) -> dict[str, Any]:
        """Plain values: the map as one layer with one head."""
        return {**super().to_json(), "by": self.by, "name": self.maps.name}


def saliency(model: Stream, raw: Picture, explained: Explained | None, by: By) -> tuple[np.ndarray, str]:
    """What each part of one picture counts (rows, columns), and in words what the numbers are.

    Where nothing is to be explained, as the model has no head, by occlusion it is how far the picture's vector turns.
    """
    model.eval()
    if by == "gradient":
        if explained is None:
            problem = "this model gives no answer whose gradient could be followed"
            raise WeftError(
                problem, where="by", fix="use --set by=occlusion, or --set by=attention where the model has attention"
            )
        return gradient_map(model, raw, explained.index), f"gradient (Grad-CAM): what supports {explained.name}"
    if explained is None:
        return _occluded(
            raw, _likeness(model, raw)
        ), "occlusion: how far the picture's vector turns when a part is covered"
    found = _occluded(raw, lambda some: explained.probability(model(some).float()))
    if explained.classes:
        return np.clip(found, 0, None), f"occlusion: fall of the probability of {explained.name} when a part is covered"
    return np.abs(found), "occlusion: change of the number when a part is covered"


def _occluded(raw: Picture, score: Callable[[Picture], Tensor]) -> np.ndarray:
    """How far a score falls when a part is covered (rows, columns)."""
    whole, covered = covered_scores(raw, lambda some: score(some)[:, None])
    return (whole - covered)[..., 0]


def _likeness(model: Stream, raw: Picture) -> Callable[[Picture], Tensor]:
    """The cosine of pictures' mean tokens with that of one picture."""
    with torch.inference_mode():
        own = model.encode(raw).x.float().mean(1)
    return lambda some: torch.nn.functional.cosine_similarity(model.encode(some).x.float().mean(1), own)


def gradient_map(model: Stream, raw: Picture, index: int) -> np.ndarray:
    """Grad-CAM of one of the model's values for one picture, (rows, columns), its largest number 1, or all zero."""
    kept: list[Tensor] = []

    def keep(features: Tensor) -> Tensor:
        kept.append(features if features.requires_grad else features.requires_grad_())
        return features

    hooks = _hooks(model, keep)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            value = model(Picture(raw.pixels.clone(), raw.missing, raw.metres))[0, index]
            chosen = next((one for one in reversed(kept) if _places(one, raw, model) >= MIN_PLACES), kept[0])
            (slope,) = torch.autograd.grad(value, chosen)
    finally:
        for hook in hooks:
            hook.remove()
    features, slope = (_by_places(t.detach(), raw, model) for t in (chosen, slope))
    found = (features * slope.mean((1, 2), keepdim=True)).sum(0).clamp_min(0).float().cpu().numpy()
    return found / found.max() if found.max() > 0 else found


def _hooks(model: Stream, keep: Callable[[Tensor], Tensor]) -> list[Any]:
    """Hands on the features that may be followed, as they are computed: of each stage, or ahead of the last block."""
    if len(model.trunk.blocks):
        last = model.trunk.blocks[-1]
        return [last.register_forward_pre_hook(lambda _, given: (keep(given[0]), *given[1:]))]
    if isinstance(model.embed, ConvEmbed):
        stages: Any = model.embed.net.stages
        return [stage.register_forward_hook(lambda _, given, made: keep(made)) for stage in stages]
    return [model.trunk.register_forward_pre_hook(lambda _, given: (given[0].with_x(keep(given[0].x)), *given[1:]))]


def _places(features: Tensor, raw: Picture, model: Stream) -> int:
    """The places along the shorter side of features."""
    return min(_by_places(features, raw, model).shape[1:])


def _by_places(features: Tensor, raw: Picture, model: Stream) -> Float[Tensor, "C R S"]:
    """Features of one picture as channels over its grid, without class tokens."""
    if features.ndim == 4:
        return features[0]
    step = model.config.embed.stride  # type: ignore[attr-defined]
    rows, columns = (-(-side // step) for side in raw.pixels.shape[2:])
    return rearrange(features[0, -rows * columns :], "(r c) d -> d r c", r=rows)
