"""Heads: tokens become values. One value a token, or one for all tokens together."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.tokens import Tokens


class Head(Part, nn.Module):
    """What is read off the trunk's last tokens."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of head. `build(dim=, size=, table=)`: `table` is the embedding table, for heads that share it."""

    def forward(self, tokens: Tokens) -> Tensor:
        raise NotImplementedError


class PerToken(Head):
    """W x + b for each token: logits over a vocabulary, or numbers."""

    class Config(Head.Config):
        """`tied` uses the embedding table as W; `cap` bounds logits smoothly: cap * tanh(logits / cap)."""

        tied: bool = False
        offsets: bool = False
        cap: float | None = None
        std: float = 0.02

    def __init__(self, config: Config, *, dim: int, size: int, table: nn.Embedding | None = None):
        super().__init__()
        self.cap = config.cap
        self.out = nn.Linear(dim, size, bias=config.offsets)
        nn.init.normal_(self.out.weight, std=config.std)
        if config.tied:
            assert table is not None, "a tied head needs an embedding table"
            self.out.weight = table.weight

    def forward(self, tokens: Tokens) -> Float[Tensor, "B N V"]:
        return self.values(tokens.x)

    def values(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead V"]:
        """The values for bare content: lets callers compute them only where they are needed."""
        # a tied table keeps fp32 while the trunk computes in bf16
        cast = isinstance(self.out, nn.Linear) and x.dtype != self.out.weight.dtype
        out = F.linear(x, self.out.weight.to(x.dtype), self._bias(x)) if cast else self.out(x)
        out = _full(out)
        return out if self.cap is None else self.cap * torch.tanh(out / self.cap)

    def _bias(self, x: Tensor) -> Tensor | None:
        return None if self.out.bias is None else self.out.bias.to(x.dtype)


class Pooled(Head):
    """One answer for all tokens: W of the mean over the real tokens, or of the first token (a class token)."""

    class Config(Head.Config):
        """`first` reads the first real token; otherwise the mean. Weights start with standard deviation `std`."""

        first: bool = False
        std: float = 0.02

    def __init__(self, config: Config, *, dim: int, size: int, table: nn.Embedding | None = None):
        super().__init__()
        self.first = config.first
        self.out = nn.Linear(dim, size)
        nn.init.normal_(self.out.weight, std=config.std)
        nn.init.zeros_(self.out.bias)

    def forward(self, tokens: Tokens) -> Float[Tensor, "B V"]:
        if self.first:
            start = tokens if tokens.full else tokens.take(tokens.valid.long().argmax(1, keepdim=True))
            return self.values(start.x[:, 0])
        real = tokens.valid[..., None]
        total = tokens.x.masked_fill(~real, 0.0).sum(1)
        return self.values(total / real.sum(1).clamp(min=1))

    def values(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead V"]:
        """The values for the summary."""
        plain = isinstance(self.out, nn.Linear)  # where there is no trunk, content comes in the embedder's precision
        return _full(self.out(x.to(self.out.weight.dtype) if plain else x))


def _full(values: Tensor) -> Tensor:
    """Values are given in full precision, however the trunk computes."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
