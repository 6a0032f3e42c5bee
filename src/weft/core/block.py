"""Block: mix across tokens, maybe read a memory, then transform within each token; the wiring is a type in a slot."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.cache import Slots
from weft.core.mixers import Mixer, TokenShift
from weft.core.norms import LayerNorm, LayerScale, Norm
from weft.core.scope import Pass
from weft.core.transforms import Transform, dropout
from weft.errors import ConfigError

Branch = Callable[[Tensor], Tensor]


class Wiring(Part):
    """How a branch joins the stream."""

    abstract = True

    class Config(BaseConfig):
        """The ways to wire a branch."""

    normed = True  # whether the branch needs a norm

    def join(self, x: Tensor, branch: Branch, norm: Branch | None, drop: Branch) -> Tensor:
        """The stream after the branch."""
        raise NotImplementedError


class PreNorm(Wiring):
    """x + f(norm(x)) (Xiong et al., 2020): the stream itself is never normalised, and training is calm."""

    class Config(Wiring.Config):
        """Norm before the branch."""

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, norm: Branch | None, drop: Branch) -> Tensor:
        return x + drop(branch(x if norm is None else norm(x)))


class PostNorm(Wiring):
    """norm(x + f(x)): the original transformer."""

    class Config(Wiring.Config):
        """Norm after the sum."""

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, norm: Branch | None, drop: Branch) -> Tensor:
        joined = x + drop(branch(x))
        return joined if norm is None else norm(joined)


class Plain(Wiring):
    """f(x): no skip and no norm, as in stacked recurrent networks."""

    class Config(Wiring.Config):
        """The branch alone."""

    normed = False

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, norm: Branch | None, drop: Branch) -> Tensor:
        return drop(branch(x))


class Block(Part, nn.Module):
    """x -> mix -> read -> transform, each joined to the stream by the wiring."""

    class Config(BaseConfig):
        """`read` is the branch that reads a memory; `shift` mixes each token with the one before ahead of a branch.

        `scale` gives each branch learned gains before it joins the stream.
        """

        mix: Mixer.Config | None = None
        read: Mixer.Config | None = None
        transform: Transform.Config | None = None
        norm: Norm.Config = LayerNorm.Config()
        wiring: Wiring.Config = PreNorm.Config()
        shift: TokenShift.Config | None = None
        scale: LayerScale.Config | None = None
        dropout: float = 0.0

        def check(self) -> None:
            if not 0 <= self.dropout < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.dropout}", where="Block.dropout")

        @property
        def reads(self) -> bool:
            """Whether the block reads a memory, by a branch of its own or inside its mixer."""
            return self.read is not None or _reads(self.mix)

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.wiring = config.wiring.build()
        self.rate = config.dropout
        if memory_dim is None and config.reads:
            raise ConfigError("this block reads a memory, and there is none", where="Block.read", fix="set memory_dim")
        inner = memory_dim if config.read is None else None  # a recurrent mixer may read the memory itself
        self.mix = config.mix.build(dim=dim, memory_dim=inner if _reads(config.mix) else None) if config.mix else None
        self.read = config.read.build(dim=dim, memory_dim=memory_dim) if config.read else None
        self.transform = config.transform.build(dim=dim) if config.transform else None
        for name in ("mix", "read", "transform"):
            present = getattr(self, name) is not None and self.wiring.normed
            setattr(self, f"{name}_norm", config.norm.build(dim=dim) if present else None)
            scale = config.scale if getattr(self, name) is not None else None
            setattr(self, f"{name}_scale", scale.build(dim=dim) if scale is not None else None)
        self.mix_shift = config.shift.build(dim=dim) if config.shift and self.mix is not None else None
        self.transform_shift = config.shift.build(dim=dim) if config.shift and self.transform is not None else None

    def forward(self, x: Float[Tensor, "B N D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B N D"]:
        def drop(t: Tensor) -> Tensor:
            return dropout(t, self.rate, self.training)

        mix, read, transform = self.mix, self.read, self.transform
        mix_shift, transform_shift = self.mix_shift, self.transform_shift
        if mix is not None:

            def mixed(t: Tensor) -> Tensor:
                return mix(t if mix_shift is None else mix_shift(t, at, slots, "mix"), at, slots)

            x = self.wiring.join(x, _scaled(mixed, self.mix_scale), self.mix_norm, drop)
        if read is not None:
            x = self.wiring.join(x, _scaled(lambda t: read(t, at, slots), self.read_scale), self.read_norm, drop)
        if transform is not None:

            def transformed(t: Tensor) -> Tensor:
                return transform(t if transform_shift is None else transform_shift(t, at, slots, "transform"))

            x = self.wiring.join(x, _scaled(transformed, self.transform_scale), self.transform_norm, drop)
        return x


def _scaled(branch: Branch, scale: Any) -> Branch:
    """The branch with its gains."""
    return branch if scale is None else lambda t: scale(branch(t))


def _reads(mix: Mixer.Config | None) -> bool:
    return getattr(mix, "read", None) is not None
