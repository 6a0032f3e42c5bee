"""Text tokens: ids become vectors by a table learned with the rest, plus codes of their places."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core.cache import Slots
from weft.core.norms import Norm
from weft.core.transforms import dropout
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.position import Place
from weft.tokens import Tokens


@dataclass(frozen=True)
class Text:
    """A batch of token ids; rows of different lengths are padded on either side and say so in `valid`.

    `trailing` promises that padding, if any, stands behind the real tokens.
    """

    ids: Int[Tensor, "B N"]
    valid: Bool[Tensor, "B N"] | None = None
    trailing: bool = False

    def to(self, device: torch.device | str) -> "Text":
        """The same on another device."""
        return Text(self.ids.to(device), None if self.valid is None else self.valid.to(device), self.trailing)


class Grams(Part, nn.Module):
    """Vectors for the last 2 ... n ids, hashed into `buckets` rows: word-like knowledge for the price of a look-up."""

    class Config(BaseConfig):
        """Pays for characters and bytes, whose single symbols say little."""

        longest: int = 3
        buckets: int = 16384
        std: float = 0.05

        def check(self) -> None:
            at_least(self, 2, "longest")
            at_least(self, 1, "buckets")

    def __init__(self, config: Config, *, dim: int, vocab: int):
        super().__init__()
        self.vocab = vocab
        lengths = range(2, config.longest + 1)
        self.tables = nn.ModuleList(nn.Embedding(min(vocab**n, config.buckets), dim) for n in lengths)
        for table in self.tables:
            nn.init.normal_(table.weight, std=config.std)  # type: ignore[arg-type]

    @property
    def before(self) -> int:
        """How many earlier ids are needed."""
        return len(self.tables)

    def forward(self, ids: Int[Tensor, "B M"], new: int) -> Float[Tensor, "B N D"]:
        """The sum of the vectors of the last `new` ids; `ids` holds earlier ones in front, where there are any."""
        total, code = torch.zeros((), device=ids.device), ids
        for n, table in enumerate(self.tables, 1):
            code = code + F.pad(ids, (n, 0))[:, : ids.shape[1]] * self.vocab**n
            exact = self.vocab ** (n + 1) <= table.num_embeddings
            rows = code if exact else (code * 2654435761 >> 7) % table.num_embeddings
            total = total + table(rows[:, -new:])
        return total


class TextEmbed(Embedder):
    """x_i = E[id_i] (+ grams) (+ position), in a line (each token reads the past) or free (everyone reads everyone)."""

    class Config(Embedder.Config):
        """`context` is the longest text the model is meant for; `place` adds or joins position codes.

        `scale` multiplies the table's vectors: sqrt(D) in the original transformer.
        """

        vocab: int
        context: int
        reading: Literal["line", "free"] = "line"
        place: Place.Config | None = None
        grams: Grams.Config | None = None
        norm: Norm.Config | None = None
        std: float = 0.02
        scale: float = 1.0
        dropout: float = 0.0

        def check(self) -> None:
            if self.vocab < 1 or self.context < 1:
                raise ConfigError("vocab and context must be at least 1", where="TextEmbed")
            if self.limit is not None and self.limit < self.context:
                raise ConfigError(
                    f"a context of {self.context} does not fit a position code for {self.limit} places",
                    where="TextEmbed.context",
                )

        @property
        def size(self) -> int | None:
            return self.vocab

        @property
        def limit(self) -> int | None:
            return self.place.code.limit() if self.place else None

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.reading, self.rate, self.scale = config.reading, config.dropout, config.scale
        self.table = nn.Embedding(config.vocab, dim)
        nn.init.normal_(self.table.weight, std=config.std)
        self.grams = config.grams.build(dim=dim, vocab=config.vocab) if config.grams else None
        self.place = config.place.build(dim=dim) if config.place else None
        self.norm = config.norm.build(dim=dim) if config.norm else None

    def forward(self, raw: Text, *, slots: Slots | None = None) -> Tokens:
        ids, valid = raw.ids, raw.valid
        position = self._positions(ids, valid, slots)
        x = self.table(ids) if self.scale == 1 else self.table(ids) * self.scale
        if self.grams is not None:
            x = x + self._grams(ids if valid is None else ids.masked_fill(~valid, 0), slots)
        if self.norm is not None:
            x = self.norm(x)
        coords = {"position": position}
        if self.place is not None:
            x = self.place(x, coords)
        x = dropout(x, self.rate, self.training)
        if self.reading == "free":
            return Tokens.free(x, valid=valid, coords=coords, trailing=raw.trailing)
        return Tokens.line(x, valid=valid, position=position, trailing=raw.trailing)

    def _positions(self, ids: Tensor, valid: Tensor | None, slots: Slots | None) -> Tensor:
        """0, 1, 2 ... for each row's real tokens; padding in front counts down from -1."""
        start = slots.get("next position") if slots is not None else None
        steps = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
        if start is not None:
            position = start[:, None] + steps
        elif valid is None:
            position = steps
        else:
            position = steps - valid.long().argmax(1, keepdim=True)  # the first real token stands at 0
        if slots is not None:
            slots.set("next position", position[:, -1] + 1)
        return position

    def _grams(self, ids: Tensor, slots: Slots | None) -> Tensor:
        new, grams = ids.shape[1], self.grams
        assert grams is not None
        earlier = slots.get("earlier ids") if slots is not None else None
        if earlier is not None:
            ids = torch.cat([earlier, ids], 1)
        if slots is not None:
            slots.set("earlier ids", ids[:, -grams.before :])
        return grams(ids, new)
