"""Mixers: how information moves across tokens. One call for attention, averaging and recurrence."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.cache import Slots
from weft.core.rules import Rule
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.tokens import Order, Tokens


class Mixer(Part, nn.Module):
    """New content for each token from the tokens it may read, of its own stream or of a memory."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of mixer. `build(dim=, memory_dim=)`; a mixer that reads a memory is given its width."""

    across = False  # whether it reads a memory
    shares = False  # whether several rows may share one of the memory
    steady = False  # whether it reads the same whatever the token that asks

    def forward(self, x: Float[Tensor, "B Q D"], run: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        raise NotImplementedError


class Average(Mixer):
    """W mean(x over the readable tokens): the plainest linear combination of tokens, as in DeepSets."""

    class Config(Mixer.Config):
        """`rules` limit what is averaged."""

        rules: tuple[Rule, ...] = ()

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.rules = config.rules
        self.across = memory_dim is not None
        self.out = nn.Linear(memory_dim or dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], run: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        if self.across:
            assert run.across is not None and run.memory is not None
            scope, source = run.across, run.memory.x
        else:
            scope, source = run.within, x if slots is None else slots.append("x", x, dim=1)
        weights = scope.mask(self.rules)[:, 0].to(source.dtype)
        source = source.masked_fill(~scope.keys.valid[..., None], 0.0)
        return self.out(weights @ source / weights.sum(-1, keepdim=True).clamp(min=1))


class Last(Mixer):
    """W times the last real token of a memory: one context vector for all there is to know (Sutskever et al., 2014)."""

    class Config(Mixer.Config):
        """The bottleneck that attention removes."""

    across = shares = steady = True

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        if memory_dim is None:
            raise ConfigError("reads the end of a memory, and there is none", where="Last", fix="set memory_dim")
        self.out = nn.Linear(memory_dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], run: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        assert run.memory is not None, "this mixer reads a memory: none was given"
        return self.out(last_token(run.memory)).repeat_interleave(run.fan, 0)[:, None].expand(x.shape)


def last_token(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The content of the last real token of each stream."""
    if tokens.full:
        return tokens.x[:, -1]
    places = torch.arange(tokens.shape[1], device=tokens.x.device)
    index = torch.where(tokens.valid, places, 0).amax(1)
    return tokens.x.gather(1, index[:, None, None].expand(-1, 1, tokens.x.shape[-1]))[:, 0]


class Shift(Part, nn.Module):
    """x + m * (x_previous - x): a learned mix with the token before, for streams in a line.

    Costs almost nothing and lets attention and MLP see pairs of neighbours. Where there is no token before, zero
    stands in its place.
    """

    class Config(BaseConfig):
        """Starts as no mix at all."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(dim))

    def forward(
        self, x: Float[Tensor, "B Q D"], run: Pass, slots: Slots | None = None, name: str = "previous"
    ) -> Float[Tensor, "B Q D"]:
        last = slots.get(name) if slots is not None else None
        if slots is not None:
            slots.set(name, x[:, -1:])
        previous = torch.cat([torch.zeros_like(x[:, :1]) if last is None else last, x[:, :-1]], 1)
        tokens = run.within.queries
        if not (tokens.full and tokens.order is Order.LINE):
            previous = previous.masked_fill(~self._readable(run)[..., None], 0.0)
        return torch.lerp(x, previous, self.mix.to(x.dtype).expand_as(x))

    @staticmethod
    def _readable(run: Pass) -> Tensor:
        """Whether the token before is real and of no higher rank."""

        def make() -> Tensor:
            keys, queries = run.within.keys, run.within.queries
            new = queries.shape[1]
            valid = torch.cat([torch.zeros_like(keys.valid[:, :1]), keys.valid[:, :-1]], 1)[:, -new:]
            rank = torch.cat([keys.rank[:, :1], keys.rank[:, :-1]], 1)[:, -new:]
            return valid & (rank <= queries.rank)

        return run.within.memo("readable predecessor", make)
