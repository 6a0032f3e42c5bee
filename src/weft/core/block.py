"""Block: mix across tokens, maybe read a memory, then transform within each token; the wiring is a type in a slot."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, below_one
from weft.core.cache import Slots
from weft.core.draws import dropout
from weft.core.mixers import Mixer
from weft.core.norms import LayerNorm, LayerScale, Norm
from weft.core.scope import Pass
from weft.core.shifts import Neighbours
from weft.core.transforms import Transform
from weft.errors import ConfigError

Function = Callable[[Tensor], Tensor]
BRANCHES, NORMS = ("mix", "read", "transform"), ("norm", "out_norm")


@dataclass(frozen=True)
class Branch:
    """What one branch of a block computes, and the norm that its wiring places; None where it has none."""

    compute: Function
    norm: Function | None


class Wiring(Part):
    """How the branches of a block join the stream."""

    abstract = True

    class Config(BaseConfig):
        """The ways to wire a branch."""

        norms: ClassVar[tuple[str, ...]] = ("norm",)  # the norms of each branch, by the ends of their names
        stream_normed: ClassVar[bool] = True  # whether the stream needs no norm after the last block
        reads_normed: ClassVar[bool] = False  # whether a branch reads the norm of the stream
        one_norm: ClassVar[bool] = False  # whether all branches share the norm of the first

    def joined(self, x: Tensor, branches: Iterable[Branch], drop: Function) -> Tensor:
        """The stream after all branches, each of which reads what the one before it gave."""
        for branch in branches:
            x = self.join(x, branch, drop)
        return x

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        """The stream after one branch."""
        raise NotImplementedError


class PreNorm(Wiring):
    """x + f(norm(x)) (Xiong et al., 2020): the stream itself is never normalised, and training is calm."""

    class Config(Wiring.Config):
        """Norm before the branch."""

        stream_normed: ClassVar[bool] = False
        reads_normed: ClassVar[bool] = True

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        return x + drop(_of_normed(branch, x))


class PostNorm(Wiring):
    """norm(x + f(x)): the original transformer."""

    class Config(Wiring.Config):
        """Norm after the sum."""

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        joined = x + drop(branch.compute(x))
        return joined if branch.norm is None else branch.norm(joined)


class SandwichNorm(Wiring):
    """x + norm_2(f(norm_1(x))): norms on both sides of a branch (Ding et al., 2021), as in Gemma 2 and 3."""

    class Config(Wiring.Config):
        """Norms before the branch and of its result; the second is called `out_norm`."""

        norms: ClassVar[tuple[str, ...]] = ("norm", "out_norm")
        stream_normed: ClassVar[bool] = False
        reads_normed: ClassVar[bool] = True

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        return x + drop(_of_normed(branch, x))  # what the branch computes ends with its second norm


class ResultNorm(Wiring):
    """x + norm(f(x)): what a branch gives is normalised before it joins the stream (Liu et al., 2022), as in OLMo 2."""

    class Config(Wiring.Config):
        """The norm of a branch's result is called `out_norm`."""

        norms: ClassVar[tuple[str, ...]] = ("out_norm",)
        stream_normed: ClassVar[bool] = False

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        return x + drop(branch.compute(x))  # what the branch computes ends with its norm


class Parallel(Wiring):
    """x + f(norm_f(x)) + g(norm_g(x)): all branches read the same stream (Wang & Komatsuzaki, 2021), as in GPT-NeoX."""

    class Config(Wiring.Config):
        """Norm before each branch; no branch waits for another."""

        stream_normed: ClassVar[bool] = False
        reads_normed: ClassVar[bool] = True

    def __init__(self, config: Config):
        self.config = config

    def joined(self, x: Tensor, branches: Iterable[Branch], drop: Function) -> Tensor:
        total = x
        for branch in branches:
            total = total + drop(_of_normed(branch, x))
        return total


class ParallelOneNorm(Wiring):
    """x + f(norm(x)) + g(norm(x)): all branches read the same norm of the stream, as in GPT-J and Phi."""

    class Config(Wiring.Config):
        """One norm ahead of all branches; no branch waits for another."""

        stream_normed: ClassVar[bool] = False
        reads_normed: ClassVar[bool] = True
        one_norm: ClassVar[bool] = True

    def __init__(self, config: Config):
        self.config = config

    def joined(self, x: Tensor, branches: Iterable[Branch], drop: Function) -> Tensor:
        total, norm, normed = x, None, x
        for branch in branches:
            if branch.norm is not None and branch.norm is not norm:  # branches with a shift normalise by themselves
                norm, normed = branch.norm, branch.norm(x)
            total = total + drop(branch.compute(normed))
        return total


class Plain(Wiring):
    """f(x): no skip and no norm, as in stacked recurrent networks."""

    class Config(Wiring.Config):
        """The branch alone."""

        norms: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: Config):
        self.config = config

    def join(self, x: Tensor, branch: Branch, drop: Function) -> Tensor:
        return drop(branch.compute(x))


def _of_normed(branch: Branch, x: Tensor) -> Tensor:
    return branch.compute(x if branch.norm is None else branch.norm(x))


class Block(Part, nn.Module):
    """x -> mix -> read -> transform, each joined to the stream by the wiring."""

    class Config(BaseConfig):
        """`read` is the branch that reads a memory; `shift` mixes each token with its neighbours ahead of a branch.

        `scale` gives each branch learned gains before it joins the stream. The branches named in `unnormed` have no
        norm: a first block may follow a norm of the embedder (Warner et al., 2024).
        """

        mix: Mixer.Config | None = None
        read: Mixer.Config | None = None
        transform: Transform.Config | None = None
        norm: Norm.Config = LayerNorm.Config()
        wiring: Wiring.Config = PreNorm.Config()
        shift: Neighbours.Config | None = None
        unnormed: tuple[Literal["mix", "read", "transform"], ...] = ()
        scale: LayerScale.Config | None = None
        dropout: float = 0.0

        def check(self) -> None:
            below_one(self, "dropout")

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
        there = [name for name in BRANCHES if getattr(self, name) is not None]
        self.normed_by = {name: there[0] if config.wiring.one_norm else name for name in there}
        for name in BRANCHES:
            for end in NORMS:
                own = self.normed_by.get(name) == name and name not in config.unnormed
                present = own and end in config.wiring.norms
                setattr(self, f"{name}_{end}", config.norm.build(dim=dim) if present else None)
            scale = config.scale if getattr(self, name) is not None else None
            setattr(self, f"{name}_scale", scale.build(dim=dim) if scale is not None else None)
        self.mix_shift = config.shift.build(dim=dim) if config.shift and self.mix is not None else None
        self.transform_shift = config.shift.build(dim=dim) if config.shift and self.transform is not None else None

    def forward(self, x: Float[Tensor, "B N D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B N D"]:
        keys = iter(() if at.keys is None else at.keys)

        def drop(t: Tensor) -> Tensor:
            return dropout(t, self.rate, self.training, next(keys, None))

        return self.wiring.joined(x, self._branches(at, slots), drop)

    def _branches(self, at: Pass, slots: Slots | None) -> Iterator[Branch]:
        """The branches that are there, in their order."""
        mix, read, transform = self.mix, self.read, self.transform
        if mix is not None:
            yield self._branch("mix", lambda t: mix(t, at, slots), at, slots)
        if read is not None:
            yield self._branch("read", lambda t: read(t, at, slots), at, slots)
        if transform is not None:
            yield self._branch("transform", transform, at, slots)

    def _branch(self, name: str, compute: Function, at: Pass, slots: Slots | None) -> Branch:
        """A branch with its norms, its shift and its gains."""
        norm = getattr(self, f"{self.normed_by[name]}_norm")
        behind = (getattr(self, f"{name}_{end}") for end in ("out_norm", "scale"))
        shift: Neighbours | None = getattr(self, f"{name}_shift", None)
        for last in behind:
            compute = compute if last is None else _followed(compute, last)
        if (inside := at.inside) is not None:
            compute = _followed(compute, lambda y: inside.branch(name, y))
        if shift is None:
            return Branch(compute, norm)
        if self.wiring.config.reads_normed:  # norm and shift may then be one operation
            return Branch(compute, lambda t: shift(t, at, slots, name, norm))
        return Branch(_followed(lambda t: shift(t, at, slots, name), compute), norm)


def _followed(first: Function, last: Function) -> Function:
    """One function after another."""
    return lambda t: last(first(t))


def _reads(mix: Mixer.Config | None) -> bool:
    return getattr(mix, "read", None) is not None
