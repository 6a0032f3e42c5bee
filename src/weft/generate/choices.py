"""What a search may write: one of some texts, as a tree of their beginnings, or all but some tokens. Knows ids alone."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.errors import DataError


@runtime_checkable
class Rule(Protocol):
    """What a search may write next."""

    def bounded(self, logits: Tensor, written: Sequence[Sequence[int]]) -> Tensor:
        """The logits of rows, with minus infinity for tokens that may not follow what each row has written; never all."""
        ...


class AllBut:
    """Everything but some tokens, wherever they would stand."""

    def __init__(self, tokens: Sequence[int]):
        self.tokens = tuple(tokens)

    def bounded(self, logits: Float[Tensor, "R V"], written: Sequence[Sequence[int]]) -> Float[Tensor, "R V"]:
        """The logits without those tokens."""
        return logits.index_fill(-1, torch.tensor(self.tokens, device=logits.device), float("-inf"))


class Choices:
    """Some texts of which one is to be written, none other and none in part."""

    def __init__(self, texts: Iterable[Sequence[int] | np.ndarray], end: int):
        """`texts` are ids without the end."""
        self.end, self.longest = end, 0
        self._tree: dict[int, Any] = {}  # the tokens that may come next, each with the tree of what may follow it
        for ids in texts:
            branch = self._tree
            for token in ids:
                branch = branch.setdefault(int(token), {})
            branch[end] = {}
            self.longest = max(self.longest, len(ids))
        if not self._tree:
            raise DataError("there is nothing to choose from", where="choices", fix="name at least one answer")

    @property
    def limit(self) -> int:
        """Tokens of a search that has room for the longest text and its end."""
        return self.longest + 1

    def allowed(self, written: Sequence[int]) -> Sequence[int]:
        """The tokens that may follow the beginning of a text."""
        branch = self._tree
        for token in written:
            branch = branch[token]
        return tuple(branch)

    def bounded(self, logits: Float[Tensor, "R V"], written: Sequence[Sequence[int]]) -> Float[Tensor, "R V"]:
        """The logits of those tokens alone."""
        each = [self.allowed(ids) for ids in written]
        rows = torch.tensor([row for row, tokens in enumerate(each) for _ in tokens], device=logits.device)
        tokens = torch.tensor([token for tokens in each for token in tokens], device=logits.device)
        bounded = torch.full_like(logits, float("-inf"))
        bounded[rows, tokens] = logits[rows, tokens]
        return bounded


def limited(
    logits: Float[Tensor, "R V"], written: Sequence[Sequence[int]], rule: Rule | None, never: Sequence[int] = ()
) -> Float[Tensor, "R V"]:
    """Logits of rows, with minus infinity for tokens that may not follow what each row has written, or `never` come."""
    if never:
        logits = logits.index_fill(1, torch.tensor(never, device=logits.device), float("-inf"))
    return logits if rule is None else rule.bounded(logits, written)
