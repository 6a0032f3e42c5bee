"""Attention: project, turn, score, read. Holds the weights; the arithmetic is in `kernels`."""

from collections.abc import Sequence
from typing import Literal

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from weft.config import at_least
from weft.core import kernels, native_reading, recording
from weft.core.cache import Slots
from weft.core.inside import Inside
from weft.core.linear import Out
from weft.core.mixers import Mixer
from weft.core.norms import Norm
from weft.core.rules import Rule
from weft.core.scope import Pass, Scope
from weft.core.scores import Dot, Score, ScoreOf
from weft.core.watched_reading import watched_reading
from weft.errors import ConfigError
from weft.position import Bias, Turn, turn


class Attention(Mixer):
    """out = W_O [head_1 ... head_H], head = softmax(score(q, k) + bias) v over the readable tokens.

    Within a stream q, k and v come from the same tokens; built with `memory_dim` it reads a memory instead.
    Key heads may be shared by several query heads (Shazeer, 2019; Ainslie et al., 2023); queries and keys may be
    normalised, each head by itself (Henry et al., 2020) or all heads of a token together (OLMo 2, 2024).
    """

    class Config(Mixer.Config):
        """`head_dim` defaults to the width over `heads`, `value_dim` to `head_dim`, `kv_heads` to `heads`.

        `offsets` are added after each map; `out_offsets` says it for W_O alone, where that is otherwise, and
        `key_offsets` for keys (DINOv3 has none there; known within a stream alone). `qk_norm`
        normalises queries and keys, the numbers of one head together or those of all heads (`qk_norm_over`). With
        `sinks` each head has a learned score that takes part in the softmax and gives no value: weights may then sum
        to less than one (gpt-oss, 2025). No fused kernel computes it: weights are written out.
        """

        heads: int
        kv_heads: int | None = None
        head_dim: int | None = None
        value_dim: int | None = None
        score: Score.Config = Dot.Config()
        qk_norm: Norm.Config | None = None
        qk_norm_over: Literal["head", "heads"] = "head"
        turn: Turn.Config | None = None
        bias: Bias.Config | None = None
        rules: tuple[Rule, ...] = ()
        offsets: bool = True
        out_offsets: bool | None = None
        sinks: bool = False
        key_offsets: bool | None = None

        def check(self) -> None:
            at_least(self, 1, "heads", "kv_heads", "head_dim", "value_dim")
            if self.key_offsets and not self.offsets:
                raise ConfigError("keys alone have no offsets", where="Attention.key_offsets", fix="leave it out")
            if self.heads % (self.kv_heads or self.heads):
                raise ConfigError(
                    f"{self.heads} heads cannot share {self.kv_heads} key heads evenly", where="Attention.kv_heads"
                )

        @property
        def ends_offset(self) -> bool:
            """Whether W_O has offsets."""
            return self.offsets if self.out_offsets is None else self.out_offsets

        def width(self, dim: int) -> int:
            """The width of one head in a stream of width `dim`."""
            if self.head_dim is None and dim % self.heads:
                raise ConfigError(
                    f"a width of {dim} does not divide into {self.heads} heads",
                    where="Attention.heads",
                    fix=f"use a width of {self.heads * round(dim / self.heads)}, or set head_dim",
                )
            return self.head_dim or dim // self.heads

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.heads, self.groups = config.heads, config.kv_heads or config.heads
        self.head_dim = config.width(dim)
        self.value_dim = config.value_dim or self.head_dim
        self.rules = config.rules
        self.turn_config, self.bias_config = config.turn, config.bias
        queries, keys = self.heads * self.head_dim, self.groups * self.head_dim
        self.sizes = [queries, keys, self.groups * self.value_dim]
        partly = config.offsets and config.key_offsets is False
        if partly and memory_dim is not None:
            problem = "keys of a memory have offsets like queries"
            raise ConfigError(problem, where="Attention.key_offsets", fix="leave it out")
        self.offset = nn.Parameter(torch.zeros(self.sizes[0] + self.sizes[2])) if partly else None
        if memory_dim is None:
            self.qkv = nn.Linear(dim, sum(self.sizes), bias=config.offsets and not partly)
        else:
            self.q = nn.Linear(dim, queries, bias=config.offsets)
            self.kv = nn.Linear(memory_dim, sum(self.sizes[1:]), bias=config.offsets)
        self.cross = memory_dim is not None
        # whether rows are read one by one without their padding: then sums have one order, whatever rows stand beside
        self.rows_apart = False
        self.memory_shareable = not config.rules and config.bias is None
        self.out = Out(self.heads * self.value_dim, dim, bias=config.ends_offset)
        self.score = config.score.build_for(self, dim)
        self.norm_over = config.qk_norm_over
        normed = self.sizes if config.qk_norm_over == "heads" else (self.head_dim, self.head_dim)
        self.q_norm = config.qk_norm.build(dim=normed[0]) if config.qk_norm else None
        self.k_norm = config.qk_norm.build(dim=normed[1]) if config.qk_norm else None
        self.sinks = nn.Parameter(torch.zeros(self.heads)) if config.sinks else None
        self.turn = config.turn.build(head_dim=self.head_dim) if config.turn else None
        self.bias = config.bias.build(heads=self.heads) if config.bias else None

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        if self.cross:
            assert at.cross is not None and at.memory is not None, "this attention reads a memory: none was given"
            return self.read(x, at.memory.x, at.cross, slots, at.inside)
        scope = at.own
        qkv = self.projected(x)
        if slots is None and at.inside is None and (whole := native_reading.read(self, qkv, scope)) is not None:
            return self.out(whole)
        q, k, v = qkv.split(self.sizes, -1)
        q = self.place(q, self.q_norm, scope, "queries").transpose(1, 2)
        k = self.place(k, self.k_norm, scope, "queries").transpose(1, 2)  # the new keys stand where the queries do
        v = v.unflatten(-1, (self.groups, -1)).transpose(1, 2)
        if slots is not None:
            k, v = slots.append("k", k, dim=2), slots.append("v", v, dim=2)
        return self.finish(q, k, v, scope, at.inside)

    def projected(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        """Queries, keys and values side by side."""
        qkv = self.qkv(x)
        if self.offset is None:
            return qkv
        queries, values = self.offset.to(qkv.dtype).split(self.sizes[::2])
        return qkv + torch.cat([queries, queries.new_zeros(self.sizes[1]), values])

    def read(
        self,
        x: Float[Tensor, "B Q D"],
        memory: Float[Tensor, "M K E"],
        scope: Scope,
        slots: Slots | None = None,
        inside: Inside | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """The attention output over a memory; its keys and values are computed once and kept in the slots."""
        q = self.place(self.q(x), self.q_norm, scope, "queries").transpose(1, 2)
        if slots is None:
            return self.finish(q, *self.keys(memory, scope), scope, inside)
        # they are read at every step: each head's stand side by side, which takes about two thirds of the time
        k, v = slots.once("memory", lambda: tuple(one.contiguous() for one in self.keys(memory, scope)))
        return self.finish(q, k, v, scope, inside)

    def keys(
        self, memory: Float[Tensor, "B K E"], scope: Scope
    ) -> tuple[Float[Tensor, "B G K d"], Float[Tensor, "B G K e"]]:
        """Keys and values of a memory."""
        k, v = self.kv(memory).split(self.sizes[1:], -1)
        k = self.place(k, self.k_norm, scope, "keys").transpose(1, 2)
        return k, v.unflatten(-1, (self.groups, -1)).transpose(1, 2)

    def place(self, t: Float[Tensor, "B N E"], norm: Norm | None, scope: Scope, side: str) -> Float[Tensor, "B N H d"]:
        """Cut into heads, normalise, turn by the place of each token."""
        heads = self.cut(t, norm)
        if self.turn is None:
            return heads
        return turn(heads, *self.turns(self.turn, scope, side, heads.dtype))

    def cut(self, t: Float[Tensor, "*lead E"], norm: Norm | None) -> Float[Tensor, "*lead H d"]:
        """Queries or keys cut into heads and normalised, each head by itself or all of a token together."""
        if norm is not None and self.norm_over == "heads":
            t, norm = norm(t), None
        heads = t.unflatten(-1, (-1, self.head_dim))
        return heads if norm is None else norm(heads)

    def turns(self, turning: Turn, scope: Scope, side: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the tokens' angles, (B N 1 half), computed once a pass."""
        tokens = scope.queries if side == "queries" else scope.keys
        key = ("turn", side, self.turn_config, self.head_dim, dtype)
        return scope.memo(key, lambda: turning(tokens.coords, dtype))

    def finish(
        self,
        q: Float[Tensor, "B H Q d"],
        k: Float[Tensor, "M G K d"],
        v: Float[Tensor, "M G K e"],
        scope: Scope,
        inside: Inside | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """The weighted sum of the values, projected back to the stream; `inside` is what is kept and changed of it."""
        rows_per_memory = q.shape[0] // k.shape[0]
        if rows_per_memory > 1:  # rows that share a memory become queries of one row: its keys are read once
            assert not self.rules and self.bias is None, "what is read depends on the row's own places"
            q = rearrange(q, "(b f) h q d -> b h (f q) d", f=rows_per_memory)
        if self.rows_apart:
            out, weights = kernels.without_padding(q, k, v, scope, self.sum_values)
        else:
            out, weights = self.sum_values(q, k, v, scope)
        if inside is not None or recording.active() is not None:
            out = watched_reading(self, recording.Reading(self, q, k, v, scope, weights), out, inside)
        return self.out(rearrange(out, "b h (f q) d -> (b f) q (h d)", f=rows_per_memory))

    def weights(
        self,
        q: Float[Tensor, "B H Q d"],
        k: Float[Tensor, "M G K d"],
        scope: Scope,
        *,
        heads: Sequence[int] | None = None,
        closed: Bool[Tensor, "B h Q K"] | None = None,
    ) -> Float[Tensor, "B h Q K"]:
        """The attention weights in full, of all heads or of some; `closed` are pairs that may not be read."""
        score, bias = self.score.heads_at(scope, self, heads), self.bias_of(scope)
        return kernels.weigh(
            q, k, scope, rules=self.rules, score=score, bias=bias, sinks=self.sinks, heads=heads, closed=closed
        )

    def score_of(self, scope: Scope) -> ScoreOf:
        """The score as a function of queries and keys; where it depends on distances, of those in this scope."""
        return self.score.heads_at(scope, self)

    def sum_values(self, q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> tuple[Tensor, Tensor | None]:
        """The weighted sum of the values, (B H Q e), and the weights where they had to be written out."""
        if self.score.factor is not None and self.sinks is None:
            bias, factor = self.bias_of(scope), self.score.factor
            return kernels.attend(q, k, v, scope, rules=self.rules, factor=factor, bias=bias), None
        weights = self.weights(q, k, scope)
        return kernels.weighted(weights, v, scope), weights

    def bias_of(self, scope: Scope) -> kernels.BiasOf | None:
        """The bias on scores as a function of a scope: this attention's own, or else the one that all layers share.

        It is computed once a pass, and shared by all layers whose biases have the same config and no weights.
        """
        bias = scope.bias if self.bias is None else self.bias
        if bias is None:
            return None
        learned = next(bias.parameters(), None) is not None
        key = ("bias", id(bias)) if learned or self.bias is None else ("bias", self.bias_config, self.heads)

        def compute(at: Scope) -> Tensor:
            places = (at.queries.coords, at.keys.coords)
            return bias(*places, at.relations(bias.relations)) if bias.relations else bias(*places)

        return lambda inner: inner.memo(key, lambda: compute(inner))
