"""Embedder: the definition of a token. The only kind of part that knows what a domain's raw values are."""

from typing import Any

from torch import nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.cache import Slots
from weft.tokens import Tokens


class Embedder(Part, nn.Module):
    """Raw values of a domain become Tokens. `build(dim=)`."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of token."""

        @property
        def size(self) -> int | None:
            """The number of values of a head over these tokens; None where the tokens do not decide it."""
            return None

        @property
        def limit(self) -> int | None:
            """The most tokens in one stream, or None."""
            return None

    def forward(self, raw: Any, *, slots: Slots | None = None) -> Tokens:
        raise NotImplementedError
