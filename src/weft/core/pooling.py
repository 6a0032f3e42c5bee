"""AttendedPool: all tokens become one vector, which a learned query reads from them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.attention import Attention
from weft.core.norms import LayerNorm, Norm
from weft.core.scope import Pass
from weft.core.transforms import Mlp, Transform
from weft.tokens import Tokens


class AttendedPool(Part, nn.Module):
    """y = attention(query, tokens); y + transform(norm(y)): multi-head attention pooling (Zhai et al., 2022)."""

    class Config(BaseConfig):
        """The query is one learned vector; it is not added to what it reads."""

        read: Attention.Config
        transform: Transform.Config = Mlp.Config()
        norm: Norm.Config = LayerNorm.Config()

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, dim) * dim**-0.5)
        self.read = config.read.build(dim=dim, memory_dim=dim)
        self.norm = config.norm.build(dim=dim)
        self.transform = config.transform.build(dim=dim)

    def forward(self, tokens: Tokens) -> Float[Tensor, "B D"]:
        query = Tokens.free(self.query.to(tokens.x.dtype).expand(tokens.shape[0], -1, -1))
        x = self.read(query.x, Pass(query, memory=tokens))
        return (x + self.transform(self.norm(x)))[:, 0]
