"""Stretches: rotary turns slowed down, so that a model reads texts longer than those it first learned from.

A stretch is a frozen config without weights. It maps the angles per place of all pairs, fastest first, to slower ones,
once, when the model is built. Angles that depended on the length of the text would change what was already read.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from weft.config import Config, at_least
from weft.errors import ConfigError


class Stretch(Config):
    """A way to slow turns down. `gain` multiplies what is turned, queries and keys alike."""

    gain: float = 1.0

    def check(self) -> None:
        if self.gain <= 0:
            raise ConfigError(f"must be above 0, found {self.gain}", where=f"{type(self).__name__}.gain")

    def slowed(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        """The angle per place of each pair, given the one without a stretch."""
        raise NotImplementedError


class Even(Stretch):
    """frequency / factor: places are interpolated (Chen et al., 2023)."""

    factor: float

    def check(self) -> None:
        super().check()
        at_least(self, 1, "factor")

    def slowed(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        return frequency / self.factor


class Ramp(Stretch):
    """Pairs with few turns within the first `context` places are slowed by `factor`, those with many are kept.

    Between `slow` and `fast` turns both frequencies are mixed: frequency / factor * (1 - kept) + frequency * kept.
    """

    factor: float
    context: int
    slow: float = 1.0
    fast: float = 4.0

    def check(self) -> None:
        super().check()
        at_least(self, 1, "factor", "context")
        if not 0 < self.slow < self.fast:
            where = f"{type(self).__name__}.slow"
            raise ConfigError(f"must be above 0 and below fast ({self.fast}), found {self.slow}", where=where)

    def slowed(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        kept = self.kept(frequency, base)
        return frequency / self.factor * (1 - kept) + frequency * kept

    def kept(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        """The share of the first frequency in the mixture, from 0 to 1."""
        raise NotImplementedError


class TurnRamp(Ramp):
    """A `Ramp` in which `kept` grows with the number of turns, as in Llama 3.1 (Grattafiori et al., 2024)."""

    def kept(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        turns = self.context * frequency / (2 * math.pi)
        return ((turns - self.slow) / (self.fast - self.slow)).clamp(0, 1)


class PairRamp(Ramp):
    """A `Ramp` where `kept` falls evenly from pair to pair: YaRN (Peng et al., 2023), with gain 0.1 ln(factor) + 1.

    With `whole` the ramp begins and ends at whole pairs.
    """

    fast: float = 32.0
    whole: bool = True

    def kept(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        if base == 1:
            raise ConfigError("all pairs turn equally fast with a base of 1", where="PairRamp")
        pairs = len(frequency)
        first, last = (
            pairs * math.log(self.context / (2 * math.pi * n)) / math.log(base) for n in (self.fast, self.slow)
        )
        if self.whole:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, 2 * pairs - 1)
        width = last - first or 0.001
        return 1 - ((torch.arange(pairs, dtype=frequency.dtype) - first) / width).clamp(0, 1)


class EachPair(Stretch):
    """frequency_i / factors_i: one factor for each pair, found by search as in LongRoPE (Ding et al., 2024)."""

    factors: tuple[float, ...]

    def check(self) -> None:
        super().check()
        if not self.factors or min(self.factors) <= 0:
            raise ConfigError("expected numbers above 0", where="EachPair.factors")

    def slowed(self, frequency: Float[Tensor, "pairs"], base: float) -> Float[Tensor, "pairs"]:
        if len(self.factors) != len(frequency):
            problem = f"expected one for each of {len(frequency)} pairs, found {len(self.factors)}"
            raise ConfigError(problem, where="EachPair.factors")
        return frequency / torch.tensor(self.factors, dtype=frequency.dtype)
