"""Rules of what a search may write next, and the simplest: `Choices`, one of some texts. Knows ids alone."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.errors import ConfigError, DataError


@runtime_checkable
class Rule(Protocol):
    """What a search may write next. A search has a rule for each row: two rows may be under different ones."""

    def allowed(self, written: Sequence[int]) -> Sequence[int] | np.ndarray:
        """The tokens that may follow what was written, the end among them where it may end; never none."""
        ...


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


def limited(
    logits: Float[Tensor, "R V"],
    written: Sequence[Sequence[int]],
    rules: Sequence[Rule] | None,
    never: Sequence[int] = (),
) -> Float[Tensor, "R V"]:
    """Logits of rows, with minus infinity for tokens that a row's rule forbids, and for those that `never` come."""
    if never:
        odd = next((id for id in never if not 0 <= id < logits.shape[1]), None)
        if odd is not None:
            raise ConfigError(f"the model has tokens 0 to {logits.shape[1] - 1}, found {odd}", where="never")
        logits = logits.index_fill(1, torch.tensor(never, device=logits.device), float("-inf"))
    if rules is None:
        return logits
    each = [np.asarray(rule.allowed(ids), np.int64) for rule, ids in zip(rules, written, strict=True)]
    rows = torch.from_numpy(np.repeat(np.arange(len(each)), [len(tokens) for tokens in each])).to(logits.device)
    tokens = torch.from_numpy(np.concatenate(each)).to(logits.device)
    bounded = torch.full_like(logits, float("-inf"))
    bounded[rows, tokens] = logits[rows, tokens]
    return bounded
