"""What a recurrent mixer may have beside its equations: a first state, a context, a gate on it, and an output.

The first state is made of one vector of the memory; which one is a type in a slot.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least, at_most
from weft.core.cache import Slots
from weft.core.linear import Out
from weft.core.mixers import Mixer, last_token, mean_token
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.tokens import Tokens


class MemoryVector(Part, nn.Module):
    """One vector of a memory, of the memory's width."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of vector. `build(dim=)` takes the width of the memory."""

    def forward(self, memory: Tokens) -> Float[Tensor, "M D"]:
        raise NotImplementedError


class LastToken(MemoryVector):
    """The last real token: the summary that a recurrent encoder ends with."""

    class Config(MemoryVector.Config):
        """For memories in a line."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()

    def forward(self, memory: Tokens) -> Float[Tensor, "M D"]:
        return last_token(memory)


class MeanToken(MemoryVector):
    """relu(W z + b) of the mean z of all real tokens; with `hidden` 0 the mean itself. A picture has no last token."""

    class Config(MemoryVector.Config):
        """`hidden` is the number of layers; the map to the state is one more, so that 1 makes an MLP of two layers."""

        hidden: int = 1

        def check(self) -> None:
            at_least(self, 0, "hidden")
            at_most(self, 100, "hidden")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(config.hidden))

    def forward(self, memory: Tokens) -> Float[Tensor, "M D"]:
        z = mean_token(memory)
        for layer in self.layers:
            z = torch.relu(layer(z))
        return z


class FirstState(Mixer):
    """c = h_0: the state that the line begins with is the context of every step."""

    class Config(Mixer.Config):
        """The whole memory in one vector, which the state may forget and the context does not."""

    cross = memory_shareable = same_for_all_queries = True

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        if memory_dim is None:
            raise ConfigError("reads what is made of a memory, and there is none", where="FirstState")

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        raise ConfigError("only a recurrent mixer has a first state", where="FirstState", fix="read by Attention")


class ContextGate(Part, nn.Module):
    """beta = sigmoid(w . h + b), by which a context is multiplied: some words need no look (Xu et al., 2015, 4.2.1)."""

    class Config(BaseConfig):
        """One number for each step."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.beta = nn.Linear(dim, 1)

    def forward(self, h: Float[Tensor, "B D"], context: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return torch.sigmoid(self.beta(h)) * context


class DeepOutput(Part, nn.Module):
    """x + L_h h + L_c c: an output from word, state and context (Pascanu et al., 2014; Xu et al., 2015)."""

    class Config(BaseConfig):
        """Without it the output of a step is its state."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.h, self.context = Out(dim, dim), Out(dim, dim)

    def forward(
        self, x: Float[Tensor, "B N D"], h: Float[Tensor, "B N D"], context: Float[Tensor, "B N D"]
    ) -> Float[Tensor, "B N D"]:
        return x + self.h(h) + self.context(context)
