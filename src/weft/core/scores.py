"""Scores: how well a query fits a key. Knows nothing of masks, positions or values."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.core.attention import Attention
    from weft.core.scope import Scope

ScoreOf = Callable[[Tensor, Tensor], Tensor]  # (B H Q d) queries and (B H K d) keys -> (B H Q K) scores


class Score(Part, nn.Module):
    """e = f_att(q, k), to be followed by a softmax over the keys."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of score; a softmax temperature above 1 flattens the weights, below 1 sharpens them."""

        temperature: float = 1.0
        of_distances: ClassVar[bool] = False  # whether it depends on the distance between two tokens too

        def check(self) -> None:
            if self.temperature <= 0:
                raise ConfigError(f"must be above 0, found {self.temperature}", where="temperature")

        def build_for(self, attention: "Attention", dim: int) -> "Score":
            """The score of an attention in a stream of width `dim`. Most scores know the width of a head alone."""
            return self.build(dim=attention.head_dim)

    factor: float | None = (
        None  # for dot products: the factor on q . k, which a fused kernel takes; None for other scores
    )

    def forward(self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        raise NotImplementedError

    def heads_at(self, scope: "Scope", attention: "Attention", heads: Sequence[int] | None = None) -> ScoreOf:
        """The score between the heads of tokens in this scope; `heads` are some of them. Most are alike everywhere."""
        return self


class Dot(Score):
    """score(q, k) = q . k / sqrt(d), or plain q . k when not scaled (Vaswani et al., 2017; Luong et al., 2015)."""

    class Config(Score.Config):
        """`scaled` divides by sqrt(d), which keeps the softmax from saturating at the start."""

        scaled: bool = True

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.scaled, self.temperature = config.scaled, config.temperature
        self.factor: float = (1 / math.sqrt(dim) if config.scaled else 1.0) / config.temperature

    def forward(self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        return (q * self.factor) @ k.transpose(-1, -2)


class Additive(Score):
    """score(q, k) = v . tanh(q + k), the alignment model of Bahdanau et al. (2015)."""

    class Config(Score.Config):
        """A small network for each pair: memory grows with Q x K x d."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.temperature = config.temperature
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        energy = self.v(torch.tanh(q[..., :, None, :] + k[..., None, :, :])).squeeze(-1)
        return energy / self.temperature


class Capped(Score):
    """cap * tanh(score(q, k) / cap): any score, kept within +-cap smoothly (Gemma 2; Bello et al., 2017)."""

    class Config(Score.Config):
        """`score` is the score that is kept within +-`cap`. No fused kernel computes it: weights are written out."""

        score: Score.Config = Dot.Config()
        cap: float = 50.0

        def check(self) -> None:
            super().check()
            if self.cap <= 0:
                raise ConfigError(f"must be above 0, found {self.cap}", where="Capped.cap")
            if self.score.of_distances:
                problem = f"{type(self.score).__qualname__.removesuffix('.Config')} scores cannot be capped"
                raise ConfigError(problem, where="Capped.score", fix="cap a Dot or an Additive score, or use no cap")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.cap, self.temperature = config.cap, config.temperature
        self.score = config.score.build(dim=dim)

    def forward(self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        return self.limited(self.score(q, k)) / self.temperature

    def limited(self, scores: Float[Tensor, "*lead"]) -> Float[Tensor, "*lead"]:
        """The scores within +-cap."""
        return self.cap * torch.tanh(scores / self.cap)
