"""Heads: tokens become values. One value a token, or one for all tokens together."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least, at_most
from weft.core.draws import dropout
from weft.core.linear import linear
from weft.core.norms import Norm
from weft.core.pooling import AttendedPool
from weft.core.transforms import ACTIVATIONS, Activation
from weft.errors import ConfigError
from weft.tokens import Tokens


class Dense(Part, nn.Module):
    """norm(act(W x + b)): a layer between the trunk and a head's last map (Devlin et al., 2019).

    BERT's head for masked words has it with gelu and a norm, its pooler with tanh, DistilBERT's with relu. ViLT's
    answers follow a layer with act(norm(W x + b)).
    """

    class Config(BaseConfig):
        """`width` is the width of the result, by default the width of the input. Without an activation, act(x) = x.

        Without `offsets` there is no b. `normed` is where the norm stands: after the activation, or before it.
        """

        activation: Activation | None = "gelu"
        norm: Norm.Config | None = None
        width: int | None = None
        offsets: bool = True
        std: float = 0.02
        normed: Literal["after", "before"] = "after"

        def check(self) -> None:
            at_least(self, 1, "width")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.width = config.width or dim
        self.linear = nn.Linear(dim, self.width, bias=config.offsets)
        nn.init.normal_(self.linear.weight, std=config.std)
        if config.offsets:
            nn.init.zeros_(self.linear.bias)
        self.act = ACTIVATIONS[config.activation] if config.activation else None
        self.norm = config.norm.build(dim=self.width) if config.norm else None
        self.normed = config.normed

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        plain = isinstance(self.linear, nn.Linear)  # where there is no trunk, content comes in the embedder's precision
        x = self.linear(x.to(self.linear.weight.dtype) if plain else x)
        steps = (self.act, self.norm) if self.normed == "after" else (self.norm, self.act)
        for step in steps:
            x = x if step is None else step(x)
        return x


class Head(Part, nn.Module):
    """Values computed from the trunk's last tokens."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of head. `build(dim=, size=, table=)`: `table` is the embedding table, for heads that share it."""

    def forward(self, tokens: Tokens) -> Tensor:
        raise NotImplementedError


class PerToken(Head):
    """W x + b for each token: logits over a vocabulary, or numbers."""

    class Config(Head.Config):
        """`tied` uses the embedding table as W; `cap` bounds logits smoothly: cap * tanh(logits / cap).

        `dense` stands before W, and `scale` multiplies what W is given: D^-0.5 where T5 ties its table.
        """

        tied: bool = False
        offsets: bool = False
        dense: Dense.Config | None = None
        scale: float = 1.0
        cap: float | None = None
        std: float = 0.02

    def __init__(self, config: Config, *, dim: int, size: int | None, table: nn.Embedding | None = None):
        super().__init__()
        self.cap, self.scale = config.cap, config.scale
        self.dense = config.dense.build(dim=dim) if config.dense else None
        width = dim if self.dense is None else self.dense.width
        self.out = nn.Linear(width, known(size), bias=config.offsets)
        nn.init.normal_(self.out.weight, std=config.std)
        if config.offsets:
            nn.init.zeros_(self.out.bias)
        if config.tied:
            self._tie(table)

    def _tie(self, table: nn.Embedding | None) -> None:
        if table is None:
            raise ConfigError("the tokens have no embedding table to share", where="PerToken.tied")
        if table.weight.shape != self.out.weight.shape:
            raise ConfigError(
                f"a table of {list(table.weight.shape)} cannot be W of {list(self.out.weight.shape)}",
                where="PerToken.tied",
                fix=f"let the head's dense have width={table.weight.shape[1]}, or set tied=false",
            )
        self.out.weight = table.weight

    def forward(self, tokens: Tokens) -> Float[Tensor, "B N V"]:
        return self.values(tokens.x)

    def values(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead V"]:
        """The values for bare content: lets callers compute them only where they are needed."""
        out = self.uncapped(x)
        return out if self.cap is None else self.cap * torch.tanh(out / self.cap)

    def uncapped(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead V"]:
        """The same before they are bounded."""
        x = self.ahead(x)
        # a tied table keeps fp32 while the trunk computes in bf16
        cast = isinstance(self.out, nn.Linear) and x.dtype != self.out.weight.dtype
        out = linear(x, self.out.weight.to(x.dtype), self._bias(x)) if cast else self.out(x)
        return _in_float32(out)

    def ahead(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        """What W is given."""
        if self.dense is not None:
            x = self.dense(x)
        return x * self.scale if self.scale != 1 else x

    def _bias(self, x: Tensor) -> Tensor | None:
        return None if self.out.bias is None else self.out.bias.to(x.dtype)


class SpanEnds(Head):
    """W x + b for each token: two logits, that a span begins there and that it ends there (Devlin et al., 2019)."""

    class Config(Head.Config):
        """`dense` stands before W; weights start with standard deviation `std`."""

        dense: Dense.Config | None = None
        std: float = 0.02

    def __init__(self, config: Config, *, dim: int, size: int | None = None, table: nn.Embedding | None = None):
        super().__init__()
        self.dense = config.dense.build(dim=dim) if config.dense else None
        self.out = nn.Linear(dim if self.dense is None else self.dense.width, 2)
        nn.init.normal_(self.out.weight, std=config.std)
        nn.init.zeros_(self.out.bias)

    def forward(self, tokens: Tokens) -> Float[Tensor, "B N 2"]:
        x = tokens.x if self.dense is None else self.dense(tokens.x)
        plain = isinstance(self.out, nn.Linear)  # where there is no trunk, content comes in the embedder's precision
        return _in_float32(self.out(x.to(self.out.weight.dtype) if plain else x))


class Pooled(Head):
    """One answer for all tokens: W of the mean over the real tokens, of the first token (a class token) or the last.

    With `typical`, W is given the sum over the real tokens too, for what grows with their number: a molecule's energy.
    """

    class Config(Head.Config):
        """`first` reads the first real token, `last` the last one; otherwise the mean.

        Weights start with standard deviation `std`; without `offsets` nothing is added to W x.
        `norm`, `dense` and `hidden` stand between that token and W, in this order; in training, `dropout` zeroes that
        share of what W is given. `typical` is the usual number of tokens, by which the sum is divided.
        """

        first: bool = False
        norm: Norm.Config | None = None
        dense: Dense.Config | None = None
        hidden: Dense.Config | None = None
        dropout: float = 0.0
        std: float = 0.02
        typical: float | None = None
        last: bool = False
        offsets: bool = True

        def check(self) -> None:
            if self.first and self.last:
                raise ConfigError("the first token or the last, not both", where="Pooled.last")
            if not 0 <= self.dropout < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.dropout}", where="Pooled.dropout")

    def __init__(self, config: Config, *, dim: int, size: int | None, table: nn.Embedding | None = None):
        super().__init__()
        self.first, self.last, self.rate, self.typical = config.first, config.last, config.dropout, config.typical
        dim = dim if config.typical is None else 2 * dim
        self.norm = config.norm.build(dim=dim) if config.norm else None
        self.dense = config.dense.build(dim=dim) if config.dense else None
        dim = dim if self.dense is None else self.dense.width
        self.hidden = config.hidden.build(dim=dim) if config.hidden else None
        self.out = nn.Linear(dim if self.hidden is None else self.hidden.width, known(size), bias=config.offsets)
        nn.init.normal_(self.out.weight, std=config.std)
        if config.offsets:
            nn.init.zeros_(self.out.bias)

    def forward(self, tokens: Tokens) -> Float[Tensor, "B V"]:
        return self.values(self.summary(tokens))

    def summary(self, tokens: Tokens) -> Float[Tensor, "B E"]:
        """What is known of all tokens together: one vector, and the sum behind it where there is a `typical` number."""
        one = last_token(tokens) if self.last else summary(tokens, first=self.first)
        if self.typical is None:
            return one
        return torch.cat([one, tokens.x.masked_fill(~tokens.valid[..., None], 0.0).sum(1) / self.typical], -1)

    def values(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead V"]:
        """The values for the summary."""
        if self.norm is not None:
            x = _normed(self.norm, x)
        if self.dense is not None:
            x = self.dense(x)
        if self.hidden is not None:
            x = self.hidden(x)
        x = dropout(x, self.rate, self.training)
        plain = isinstance(self.out, nn.Linear)  # where there is no trunk, content comes in the embedder's precision
        return _in_float32(self.out(x.to(self.out.weight.dtype) if plain else x))


class PerClassToken(Head):
    """The mean of W_i x_i + b_i over the class tokens, one of which learned from a teacher (Touvron et al., 2021)."""

    class Config(Head.Config):
        """`tokens` is the number of class tokens in front; each has its own map."""

        tokens: int = 2
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 1, "tokens")
            at_most(self, 100, "tokens")

    def __init__(self, config: Config, *, dim: int, size: int | None, table: nn.Embedding | None = None):
        super().__init__()
        self.outs = nn.ModuleList(nn.Linear(dim, known(size)) for _ in range(config.tokens))
        for out in self.outs:
            nn.init.normal_(out.weight, std=config.std)  # type: ignore[arg-type]
            nn.init.zeros_(out.bias)  # type: ignore[arg-type]

    def forward(self, tokens: Tokens) -> Float[Tensor, "B V"]:
        return _in_float32(torch.stack([out(tokens.x[:, i]) for i, out in enumerate(self.outs)]).mean(0))


class FirstAndMean(Head):
    """W [first, mean of the others] + b: a class token beside the mean of all patches (Oquab et al., 2023)."""

    class Config(Head.Config):
        """Weights start with standard deviation `std`.

        The mean leaves out as many `registers` behind the first token: tokens that stand for no part of the input
        (Darcet et al., 2024).
        """

        std: float = 0.02
        registers: int = 0

        def check(self) -> None:
            at_least(self, 0, "registers")

    def __init__(self, config: Config, *, dim: int, size: int | None, table: nn.Embedding | None = None):
        super().__init__()
        self.registers = config.registers
        self.out = nn.Linear(2 * dim, known(size))
        nn.init.normal_(self.out.weight, std=config.std)
        nn.init.zeros_(self.out.bias)

    def forward(self, tokens: Tokens) -> Float[Tensor, "B V"]:
        others = (tokens.valid & (tokens.valid.long().cumsum(1) > 1 + self.registers))[..., None]
        mean = tokens.x.masked_fill(~others, 0.0).sum(1) / others.sum(1).clamp(min=1)
        x = torch.cat([summary(tokens, first=True), mean], -1)
        plain = isinstance(self.out, nn.Linear)  # where there is no trunk, content comes in the embedder's precision
        return _in_float32(self.out(x.to(self.out.weight.dtype) if plain else x))


class Summary(Head):
    """One vector for all tokens, by which sentences and pictures are compared: their mean, the first or the last."""

    class Config(Head.Config):
        """`first` reads the first real token and `last` the last one, where a text ends; otherwise the mean.

        With `pool` a learned query reads all tokens instead. `unit` brings the vector to length 1, so that products are
        cosines; `norm` and `dense` stand before that.
        """

        first: bool = False
        last: bool = False
        norm: Norm.Config | None = None
        dense: Dense.Config | None = None
        unit: bool = False
        pool: AttendedPool.Config | None = None

        def check(self) -> None:
            if self.first + self.last + (self.pool is not None) > 1:
                problem = "the first token or the last, or a query that reads all of them: one of these"
                raise ConfigError(problem, where="Summary")

        def width(self, dim: int) -> int:
            """The number of values of the vector, in a stream of width `dim`."""
            return dim if self.dense is None else self.dense.width or dim

    def __init__(self, config: Config, *, dim: int, size: int | None = None, table: nn.Embedding | None = None):
        super().__init__()
        self.first, self.last, self.unit = config.first, config.last, config.unit
        self.pool = config.pool.build(dim=dim) if config.pool else None
        self.norm = config.norm.build(dim=dim) if config.norm else None
        self.dense = config.dense.build(dim=dim) if config.dense else None

    def forward(self, tokens: Tokens) -> Float[Tensor, "B E"]:
        if self.pool is not None:
            x = self.pool(tokens)
        else:
            x = last_token(tokens) if self.last else summary(tokens, first=self.first)
        x = x if self.norm is None else _normed(self.norm, x)
        x = _in_float32(x if self.dense is None else self.dense(x))
        return F.normalize(x, dim=-1) if self.unit else x


def picture_vector(head: nn.Module | None, tokens: Tokens, *, first: bool) -> Float[Tensor, "B E"]:
    """The vector by which a picture is compared: that of a head made for this, else the first token or the mean."""
    made = isinstance(head, Summary) and (head.norm is not None or head.pool is not None)
    return head(tokens) if made and head is not None else summary(tokens, first=first)


def summary(tokens: Tokens, *, first: bool) -> Float[Tensor, "B D"]:
    """The first real token, or the mean of all real ones; zero where no token is real."""
    if first:
        start = tokens if tokens.unpadded else tokens.take(tokens.valid.long().argmax(1, keepdim=True))
        return start.x[:, 0]
    real = tokens.valid[..., None]
    return tokens.x.masked_fill(~real, 0.0).sum(1) / real.sum(1).clamp(min=1)


def last_token(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The last real token."""
    if tokens.unpadded:
        return tokens.x[:, -1]
    place = tokens.valid.shape[1] - 1 - tokens.valid.flip(1).long().argmax(1, keepdim=True)
    return tokens.take(place).x[:, 0]


def known(size: int | None) -> int:
    """The number of values a head gives, refused where neither the embedder nor the model gives it."""
    if size is None:
        raise ConfigError("the head's size is not known from the tokens: set outputs", where="Stream.outputs")
    return size


def _normed(norm: Norm, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
    """The norm in the precision of its weights: where there is no trunk, content comes in the embedder's precision."""
    weight = next(norm.parameters(), None)
    return norm(x if weight is None else x.to(weight.dtype))


def _in_float32(values: Tensor) -> Tensor:
    """The values in float32 where the trunk computes in half precision."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
