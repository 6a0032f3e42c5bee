"""Contrastive: a captioner whose pictures and texts also have vectors in one space (CoCa)."""

from itertools import takewhile

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.core.heads import Summary
from weft.core.norms import LayerNorm, Norm
from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.common_space import CommonSpace
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.tokens import Tokens


class Contrastive(CommonSpace, Seq2Seq):
    """picture -> memory -> read by one learned query -> its vector; text -> first blocks, at its end -> its vector.

    The first blocks of the decoder read no picture, the others do: one pass over a text gives its vector and the logits
    of its words (Yu et al., 2022). The decoder reads all tokens of the encoder, without a pooler between them.
    """

    class Config(Seq2Seq.Config):
        """`pool` reads a picture's tokens by one query; `vector` makes the vectors, which are compared by their cosine.

        Cosines are divided by a learned temperature, which starts at `temperature`.
        """

        pool: Trunk.Config
        vector: Summary.Config
        norm: Norm.Config = LayerNorm.Config(learned=False)
        temperature: float = 0.07

        @property
        def text_blocks(self) -> int:
            """The number of the decoder's first blocks, which read no picture."""
            return len(list(takewhile(lambda block: block.read is None, self.target.trunk.all_blocks())))

        def check(self) -> None:
            super().check()
            if not 0 < self.text_blocks < len(self.target.trunk.all_blocks()):
                problem = "expected blocks that read no memory, and then blocks that do"
                raise ConfigError(problem, where="Contrastive.target.trunk")
            if not self.temperature > 0:
                raise ConfigError(f"must be above 0, found {self.temperature}", where="Contrastive.temperature")

    config: Config

    def __init__(self, config: Config):
        super().__init__(config)
        width = config.bridge or config.source.dim
        self.query = nn.Parameter(torch.randn(1, 1, width))
        self.pool = config.pool.build(dim=width, memory_dim=width)
        self.picture_vector = config.vector.build(dim=width)
        self.text_norm = config.norm.build(dim=config.target.dim)
        self.text_vector = config.vector.build(dim=config.target.dim)
        self.set_temperature(config.temperature)

    @property
    def text_reader(self) -> Stream.Config:
        return self.config.target

    @property
    def vector_width(self) -> int:
        return self.config.vector.width(self.config.target.dim)

    def seen(self, picture: Picture) -> Float[Tensor, "B E"]:
        return self.pictured(self.memorise(picture))

    def pictured(self, memory: Tokens) -> Float[Tensor, "B E"]:
        """The vectors of pictures, of length 1."""
        return self.picture_vector(self.pool(Tokens.free(self.query.expand(memory.shape[0], -1, -1)), memory))

    def worded(self, text: Text, ends: Int[Tensor, "R"]) -> Float[Tensor, "R E"]:
        """The vectors of texts, of length 1; `ends` are the places of their end marks."""
        tokens = self.target.embed(text)
        states = self.target.trunk.states(tokens)
        for _ in range(self.config.text_blocks):
            next(states)
        return self._at_ends(tokens.with_x(next(states)), ends)

    def read(self, text: Text, ends: Int[Tensor, "R"], memory: Tokens) -> tuple[Tokens, Float[Tensor, "R E"]]:
        """The decoder's last tokens for texts about pictures, and the vectors of the texts, from one pass."""
        tokens, trunk = self.target.embed(text), self.target.trunk
        states = list(trunk.states(tokens, memory))
        last = states[-1] if trunk.norm is None else trunk.norm(states[-1])
        return tokens.with_x(last), self._at_ends(tokens.with_x(states[self.config.text_blocks]), ends)

    def _at_ends(self, tokens: Tokens, ends: Int[Tensor, "R"]) -> Float[Tensor, "R E"]:
        last = tokens.take(ends[:, None])
        return self.text_vector(last.with_x(self.text_norm(last.x)))
