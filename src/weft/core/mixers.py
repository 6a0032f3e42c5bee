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
    """New content for each token from the tokens it may read: those of the same stream, or those of a memory."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of mixer. `build(dim=, memory_dim=)`; a mixer that reads a memory is given its width."""

    cross = False  # whether it reads a memory
    memory_shareable = False  # whether several rows of the batch may read one row of the memory
    same_for_all_queries = False  # whether every query reads the same values

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        raise NotImplementedError


class Average(Mixer):
    """W mean(x over the readable tokens): the plainest linear combination of tokens, as in DeepSets."""

    class Config(Mixer.Config):
        """`rules` limit what is averaged."""

        rules: tuple[Rule, ...] = ()

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.rules = config.rules
        self.cross = memory_dim is not None
        self.out = nn.Linear(memory_dim or dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        if self.cross:
            assert at.cross is not None and at.memory is not None
            scope, source = at.cross, at.memory.x
        else:
            scope, source = at.own, x if slots is None else slots.append("x", x, dim=1)
        weights = scope.mask(self.rules)[:, 0].to(source.dtype)
        source = source.masked_fill(~scope.keys.valid[..., None], 0.0)
        return self.out(weights @ source / weights.sum(-1, keepdim=True).clamp(min=1))


class Last(Mixer):
    """W times the last real token of a memory: one context vector for the whole source (Sutskever et al., 2014)."""

    class Config(Mixer.Config):
        """The bottleneck that attention removes."""

    cross = memory_shareable = same_for_all_queries = True

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        if memory_dim is None:
            raise ConfigError("reads the end of a memory, and there is none", where="Last", fix="set memory_dim")
        self.out = nn.Linear(memory_dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        assert at.memory is not None, "this mixer reads a memory: none was given"
        return self.out(last_token(at.memory)).repeat_interleave(at.rows_per_memory, 0)[:, None].expand(x.shape)


def last_token(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The content of the last real token of each stream."""
    if tokens.unpadded:
        return tokens.x[:, -1]
    places = torch.arange(tokens.shape[1], device=tokens.x.device)
    index = torch.where(tokens.valid, places, 0).amax(1)
    return tokens.x.gather(1, index[:, None, None].expand(-1, 1, tokens.x.shape[-1]))[:, 0]


class TokenShift(Part, nn.Module):
    """x + m * (x_previous - x): a learned mix with the token before, for streams in a line.

    Costs almost nothing and lets attention and MLP see pairs of neighbours. Where there is no token before, zero
    stands in its place.
    """

    class Config(BaseConfig):
        """The weights start at zero: each token is kept as it is."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(dim))

    def forward(
        self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None, name: str = "previous"
    ) -> Float[Tensor, "B Q D"]:
        last = slots.get(name) if slots is not None else None
        if slots is not None:
            slots.set(name, x[:, -1:])
        previous = torch.cat([torch.zeros_like(x[:, :1]) if last is None else last, x[:, :-1]], 1)
        tokens = at.own.queries
        if not (tokens.unpadded and tokens.order is Order.LINE):
            previous = previous.masked_fill(~self._readable(at)[..., None], 0.0)
        return torch.lerp(x, previous, self.mix.to(x.dtype).expand_as(x))

    @staticmethod
    def _readable(at: Pass) -> Tensor:
        """Whether the token before is real and of no higher rank."""

        def make() -> Tensor:
            keys, queries = at.own.keys, at.own.queries
            new = queries.shape[1]
            valid = torch.cat([torch.zeros_like(keys.valid[:, :1]), keys.valid[:, :-1]], 1)[:, -new:]
            rank = torch.cat([keys.rank[:, :1], keys.rank[:, :-1]], 1)[:, -new:]
            return valid & (rank <= queries.rank)

        return at.own.memo("readable predecessor", make)
