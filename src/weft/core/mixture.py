"""Mixture of experts: each token is given to a few of many transforms, which a router chooses for it."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import at_least, at_most
from weft.core.transforms import Gated, Transform
from weft.errors import ConfigError

MAX_EXPERTS = 1024


class Mixture(Transform):
    """sum_e share_e expert_e(x) over the experts with the highest scores W x + b (Shazeer et al., 2017).

    The shares are the softmax of the scores: of the chosen experts' (Jiang et al., 2024), or of all experts' scores,
    so that those of the chosen ones sum to less than one (Fedus et al., 2022).
    """

    class Config(Transform.Config):
        """`expert` is built `experts` times, and each token is given to the `chosen` best.

        `shares` says whose scores the softmax is of. With `offsets`, the router has b. No loss keeps the experts
        equally busy.
        """

        expert: Transform.Config = Gated.Config()
        experts: int = 8
        chosen: int = 2
        shares: Literal["chosen", "all"] = "chosen"
        offsets: bool = False

        def check(self) -> None:
            at_least(self, 1, "experts", "chosen")
            at_most(self, MAX_EXPERTS, "experts")
            if self.chosen > self.experts:
                problem = f"{self.chosen} of {self.experts} experts cannot be chosen"
                raise ConfigError(problem, where="Mixture.chosen", fix=f"choose at most {self.experts}")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.chosen, self.over_all = config.chosen, config.shares == "all"
        self.router = nn.Linear(dim, config.experts, bias=config.offsets)
        self.experts = nn.ModuleList(config.expert.build(dim=dim) for _ in range(config.experts))

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        shares = self.shares(x)
        if torch.compiler.is_exporting():  # a graph has no rows that come and go: all experts read all tokens
            read = [expert(x) * shares[..., i, None].to(x.dtype) for i, expert in enumerate(self.experts)]
            return torch.stack(read).sum(0)
        tokens, apart, out = x.flatten(0, 1), shares.flatten(0, 1), torch.zeros_like(x).flatten(0, 1)
        for i, expert in enumerate(self.experts):
            rows = apart[:, i].nonzero()[:, 0]
            if len(rows) or torch.is_grad_enabled():  # while training, an expert that nobody chose has a gradient of 0
                given = expert(tokens[rows][None])[0] * apart[rows, i, None].to(x.dtype)
                out = out.index_add(0, rows, given)
        return out.view_as(x)

    def shares(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N E"]:
        """How much each expert adds to each token, not in half precision; 0 for those that are not chosen."""
        scores = self.router(x)
        scores = scores if scores.dtype is torch.float64 else scores.float()
        best, which = scores.topk(self.chosen, -1)
        most = scores if self.over_all else best
        best = (best - most.logsumexp(-1, keepdim=True)).exp()
        return torch.zeros_like(scores).scatter(-1, which, best)
