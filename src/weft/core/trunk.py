"""Trunk: blocks in a row, the same shape out as in. Knows no modality and no task."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core import draws, inside
from weft.core.adapters import LowRank
from weft.core.attention import Attention
from weft.core.block import BRANCHES, Block
from weft.core.cache import Cache
from weft.core.distances import Distances
from weft.core.inside import Watch
from weft.core.linear import Gpt2Init, Init
from weft.core.memories import Across, MemoryUse, Prefix
from weft.core.norms import LayerNorm, Norm
from weft.core.recomputing import recomputed
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.position import Bias
from weft.tokens import Tokens

MAX_DEPTH = 1000


class Trunk(Part, nn.Module):
    """tokens -> block 1 ... block M -> norm (where the wiring leaves the stream without one)."""

    class Config(BaseConfig):
        """`depth` copies of `block`, or the listed `blocks` in their order. A depth of 0 needs neither.

        All blocks are gone through `passes` times with the same weights (Lan et al., 2020). `bias` is one bias on
        scores for every attention within the stream that has no bias itself (Raffel et al., 2020). `distances` are the
        vectors of distances for scores that are `Disentangled`, the same in all layers. A `memory` is read across by
        the blocks, or is a prefix of the line. It `gives` the tokens, or only what the blocks added to them, x_M - x_0.
        With `adapters` nothing else in the trunk learns.
        """

        depth: int = 1
        block: Block.Config | None = None
        blocks: tuple[Block.Config, ...] = ()
        passes: int = 1
        bias: Bias.Config | None = None
        distances: Distances.Config | None = None
        memory: MemoryUse.Config = Across.Config()
        gives: Literal["tokens", "added"] = "tokens"
        norm: Norm.Config | None = LayerNorm.Config()
        init: Init.Config = Gpt2Init.Config()
        adapters: LowRank.Config | None = None

        def check(self) -> None:
            given = (self.block is not None) + bool(self.blocks)
            least = 1 if given else 0
            if not least <= self.depth <= MAX_DEPTH:
                raise ConfigError(f"expected from {least} to {MAX_DEPTH}, found {self.depth}", where="Trunk.depth")
            if given != (self.depth > 0):
                raise ConfigError("give either one block with a depth, or a list of blocks", where="Trunk")
            at_least(self, 1, "passes")
            if self.passes * max(1, len(self.all_blocks())) > MAX_DEPTH:
                raise ConfigError(
                    f"more than {MAX_DEPTH} layers in all, found {self.passes} passes", where="Trunk.passes"
                )
            if self.bias is not None and len(self.biased_heads()) != 1:
                problem = f"a bias for all layers needs one number of heads, found {sorted(self.biased_heads())}"
                raise ConfigError(problem, where="Trunk.bias")
            scores = [block.mix.score for block in self.all_blocks() if isinstance(block.mix, Attention.Config)]
            disentangled = any(score.of_distances for score in scores)
            if disentangled and self.distances is None:
                problem = "a Disentangled score compares tokens with vectors of distances, and the trunk has none"
                raise ConfigError(problem, where="Trunk.distances", fix="set distances, or choose another score")
            if self.distances is not None and not disentangled:
                problem = "there are vectors of distances, and no attention has a Disentangled score to use them"
                raise ConfigError(problem, where="Trunk.distances", fix="leave them out, or use Disentangled scores")
            if isinstance(self.memory, Prefix.Config) and any(block.reads for block in self.all_blocks()):
                problem = "a memory that is a prefix of the line is read by what mixes the line"
                raise ConfigError(problem, where="Trunk.memory", fix="leave out the blocks' read")

        def all_blocks(self) -> tuple[Block.Config, ...]:
            """The blocks in their order."""
            return self.blocks or (self.block,) * self.depth  # type: ignore[return-value]

        def last_norm(self) -> Norm.Config | None:
            """The norm after the last block: none where the wiring leaves the stream normalised."""
            blocks = self.all_blocks()
            return None if blocks and blocks[-1].wiring.stream_normed else self.norm

        def biased_heads(self) -> set[int]:
            """The numbers of heads of the attentions that the trunk's bias is for."""
            mixers = (block.mix for block in self.all_blocks())
            return {mix.heads for mix in mixers if isinstance(mix, Attention.Config) and mix.bias is None}

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        blocks = config.all_blocks()
        self.computes: torch.dtype | None = None  # the precision, where weights are rounded only while they are used
        self.recomputes = False  # while training, blocks keep their input alone and are computed again on the way back
        self.dim, self.passes, self.memory, self.gives = dim, config.passes, config.memory.build(), config.gives
        self.bias = config.bias.build(heads=min(config.biased_heads())) if config.bias else None
        self.distances = config.distances.build(dim=dim) if config.distances else None
        inner = config.memory.block_memory(dim, memory_dim)
        self.blocks = nn.ModuleList(block.build(dim=dim, memory_dim=inner) for block in blocks)
        last_norm = config.last_norm()
        self.norm = last_norm.build(dim=dim) if last_norm is not None else None
        config.init.build().apply(self, depth=len(blocks) * config.passes)
        if config.adapters is not None:
            config.adapters.build().apply(self)

    def forward(self, tokens: Tokens, memory: Tokens | None = None, cache: Cache | None = None) -> Tokens:
        """`cache` holds what was read before and takes in these tokens too."""
        tokens, states = self.begun(tokens, memory, cache)
        x = first = next(states)
        for x in states:  # noqa: B007 (the last one is wanted)
            pass
        if self.gives == "added":
            x = x - first
        return tokens.with_x(x if self.norm is None else self.norm(x))

    def states(
        self, tokens: Tokens, memory: Tokens | None = None, cache: Cache | None = None
    ) -> Iterator[Float[Tensor, "B N D"]]:
        """The content ahead of the first block and after each block, computed one by one as they are asked for."""
        return self.begun(tokens, memory, cache)[1]

    def begun(
        self, tokens: Tokens, memory: Tokens | None = None, cache: Cache | None = None
    ) -> tuple[Tokens, Iterator[Float[Tensor, "B N D"]]]:
        """The tokens as the blocks see them, and `states` of them."""
        tokens, at, x, before, watch = self._entered(tokens, memory, cache)
        return tokens, self._through(x, at, before, cache, watch, range(self.layers))

    def between(self, tokens: Tokens, memory: Tokens | None, start: int, stop: int) -> Float[Tensor, "B N D"]:
        """The content of tokens that have gone through `start` layers, after `stop` layers. Knows no prefix."""
        _, at, x, before, watch = self._entered(tokens, memory, None)
        assert not before, "a prefix changes from layer to layer, too"
        *_, last = self._through(x, at, 0, None, watch, range(start, stop))
        return last

    @property
    def layers(self) -> int:
        """The number of blocks that a pass goes through."""
        return self.passes * len(self.blocks)

    def _entered(
        self, tokens: Tokens, memory: Tokens | None, cache: Cache | None
    ) -> tuple[Tokens, Pass, Float[Tensor, "B N D"], int, Watch | None]:
        """What blocks need: tokens, scopes, content, the length of a prefix, and what is kept and changed."""
        line = tokens = tokens.padding_zeroed()
        if memory is not None:
            memory = memory.padding_zeroed()
            if cache is None or not cache.length:
                line = self.memory.line(tokens, memory)
            memory = self.memory.beside(memory)
        before = line.shape[1] - tokens.shape[1]
        if (watch := inside.watch(self)) is not None:
            shown = watch.begin(line, cache)
            if shown is not line:  # some tokens are hidden
                valid = shown.valid[:, before:]
                line, tokens = shown, replace(tokens, valid=valid, unpadded=False, padded_behind=False)
        seen = cache.extend(line) if cache is not None else None
        weighted = next(chain(self.parameters(), self.buffers()), None) is not None
        if memory is not None and weighted:
            memory = memory.with_x(memory.x.to(self.dtype))  # that of an encoder without blocks is in full precision
        at = Pass(line, seen=seen, memory=memory, bias=self.bias, distances=self.distances)
        x = line.x.to(self.dtype) if weighted else line.x
        return tokens, at, x, before, watch

    def _through(
        self,
        x: Float[Tensor, "B N D"],
        at: Pass,
        before: int,
        cache: Cache | None,
        watch: Watch | None,
        layers: range,
    ) -> Iterator[Float[Tensor, "B N D"]]:
        """The content ahead of these layers and after each, without that of `before` tokens of a prefix."""
        x = x if watch is None or layers.start else watch.state(x, 0)
        again = self.recomputes and self.training and torch.is_grad_enabled() and cache is None and watch is None
        yield x[:, before:] if before else x
        for i in layers:
            block = self.blocks[i % len(self.blocks)]
            drawn = draws.keys(len(x), len(BRANCHES), x.device) if block.training and block.rate else None
            here = at.within(None if watch is None else watch.layer(i + 1), drawn)
            if again:
                x = recomputed(partial(block, at=here), x)
            else:
                x = block(x, here, cache.slots(f"block {i}") if cache is not None else None)
            x = x if watch is None else watch.state(x, i + 1)
            yield x[:, before:] if before else x

    @property
    def dtype(self) -> torch.dtype:
        """The precision that the trunk computes in."""
        return self.computes or next(
            (p.dtype for p in self.parameters()), torch.float32
        )  # none: all weights are in eight bits


def recompute_blocks(model: nn.Module, on: bool) -> None:
    """Let the blocks of a model keep their input alone while it learns, or all that their gradients need."""
    for module in model.modules():
        if isinstance(module, Trunk):
            module.recomputes = on


def compute_in(model: nn.Module, dtype: torch.dtype) -> None:
    """Set the number format in which trunks and convolutions compute.

    Their weights stay in fp32 and are rounded as they are used.
    """
    for module in model.modules():
        if hasattr(module, "computes"):
            module.computes = dtype  # type: ignore[assignment]
