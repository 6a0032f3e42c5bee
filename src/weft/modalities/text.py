"""Text tokens: ids become vectors by a table learned with the rest, plus codes of their places."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least, at_most, below_one
from weft.core.cache import Slots
from weft.core.draws import dropout, unit
from weft.core.norms import Norm
from weft.errors import ConfigError
from weft.modalities.counting import Counted
from weft.modalities.embedder import Embedder
from weft.modalities.spelling import Spelling
from weft.position import Place
from weft.tokens import Tokens


@dataclass(frozen=True)
class Text:
    """A batch of token ids; rows of different lengths are padded on either side and say so in `valid`.

    `padded_behind` promises that padding, if any, stands behind the real tokens. `segments` says which text each token
    belongs to, where several stand in one row; None is the first throughout.
    """

    ids: Int[Tensor, "B N"]
    valid: Bool[Tensor, "B N"] | None = None
    padded_behind: bool = False
    segments: Int[Tensor, "B N"] | None = None

    def to(self, device: torch.device | str) -> "Text":
        """The same on another device."""
        valid, segments = (None if t is None else t.to(device) for t in (self.valid, self.segments))
        return Text(self.ids.to(device), valid, self.padded_behind, segments)


class HashedNgrams(Part, nn.Module):
    """Vectors for the last 2 ... n ids, hashed into `buckets` rows: word-like knowledge for the price of a look-up."""

    class Config(BaseConfig):
        """Pays for characters and bytes, whose single symbols say little."""

        longest: int = 3
        buckets: int = 16384
        std: float = 0.05

        def check(self) -> None:
            at_least(self, 2, "longest")
            at_most(self, 100, "longest")
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
    """x_i = E[id_i] (+ grams) (+ spelling) (+ segment) (+ position), in a line (of the past) or free (all read all)."""

    class Config(Embedder.Config):
        """`context` is the longest text the model is meant for; `place` adds or joins position codes.

        `scale` multiplies the table's vectors: sqrt(D) in the original transformer. `norm` is of the table's vectors,
        `last_norm` of the whole sum. `segments` vectors tell texts in one row apart (Devlin et al., 2019). With
        `narrow` all of this has that width, and W x + b widens the sum to the model's (Lan et al., 2020). With `end`, a
        text ends at the first id that is this one: what stands behind it is padding. `counted` gives the tokens a
        further coordinate: how many of some ids were met so far. In training a share `token_dropout` of the tokens says
        nothing of what it is (word dropout): rare words are then known by their neighbours too. `spelling` adds what
        the letters of a token's word say, and is not dropped with it. With `filler`, texts are filled up to `context`
        by this id, which is read like any other (Zhai et al., 2023).
        """

        vocab: int
        context: int
        reading: Literal["line", "free"] = "line"
        place: Place.Config | None = None
        grams: HashedNgrams.Config | None = None
        norm: Norm.Config | None = None
        last_norm: Norm.Config | None = None
        segments: int = 0
        narrow: int | None = None
        end: int | None = None
        std: float = 0.02
        scale: float = 1.0
        dropout: float = 0.0
        token_dropout: float = 0.0
        counted: Counted.Config | None = None
        spelling: Spelling.Config | None = None
        filler: int | None = None

        def check(self) -> None:
            if self.vocab < 1 or self.context < 1:
                raise ConfigError("vocab and context must be at least 1", where="TextEmbed")
            at_least(self, 0, "segments")
            below_one(self, "dropout", "token_dropout")
            at_least(self, 1, "narrow")
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
        self.reading, self.rate, self.scale, self.end = config.reading, config.dropout, config.scale, config.end
        self.filler, self.context = config.filler, config.context
        self.token_rate = config.token_dropout
        width = config.narrow or dim
        self.table = nn.Embedding(config.vocab, width)
        nn.init.normal_(self.table.weight, std=config.std)
        self.grams = config.grams.build(dim=width, vocab=config.vocab) if config.grams else None
        self.spelling = config.spelling.build(dim=width, vocab=config.vocab) if config.spelling else None
        self.segments = nn.Embedding(config.segments, width) if config.segments else None
        if self.segments is not None:
            nn.init.normal_(self.segments.weight, std=config.std)
        self.place = config.place.build(dim=width) if config.place else None
        self.counted = config.counted.build(vocab=config.vocab) if config.counted else None
        self.norm = config.norm.build(dim=width) if config.norm else None
        self.last_norm = config.last_norm.build(dim=width) if config.last_norm else None
        self.widen = nn.Linear(width, dim) if config.narrow else None
        if self.widen is not None:
            nn.init.normal_(self.widen.weight, std=width**-0.5)
            nn.init.zeros_(self.widen.bias)

    def forward(self, raw: Text, *, slots: Slots | None = None) -> Tokens:
        raw = raw if self.filler is None else self._filled(raw, self.filler)
        position = self._positions(raw.ids, raw.valid, slots)
        coords = {"position": position}
        x = self._named(raw, slots)
        if self.place is not None:
            x = self.place(x, coords)
        if self.counted is not None:
            coords[self.counted.axis] = self.counted(raw.ids, raw.valid, slots)
        if self.last_norm is not None:
            x = self.last_norm(x)
        x = dropout(x, self.rate, self.training)
        if self.widen is not None:
            x = self.widen(x)
        valid, behind = raw.valid, raw.padded_behind
        if self.end is not None:
            valid, behind = self._ended(raw, slots), behind or valid is None
        if self.reading == "free":
            return Tokens.free(x, valid=valid, coords=coords, padded_behind=behind, line_axis="position")
        return Tokens.line(x, valid=valid, position=position, coords=coords, padded_behind=behind)

    def _named(self, raw: Text, slots: Slots | None) -> Float[Tensor, "B N E"]:
        """What the ids and segments say by themselves, wherever they stand."""
        ids, valid = raw.ids, raw.valid
        x = self.table(ids) if self.scale == 1 else self.table(ids) * self.scale
        if self.grams is not None:
            x = x + self._grams(ids if valid is None else ids.masked_fill(~valid, 0), slots)
        if self.spelling is not None:
            x = self._kept(x) + self.spelling(ids, valid)
        if self.norm is not None:
            x = self.norm(x)
        if self.spelling is None:
            x = self._kept(x)
        if self.segments is not None:
            return x + (self.segments.weight[0] if raw.segments is None else self.segments(raw.segments))
        if raw.segments is not None:
            raise ConfigError("the text has segments, and this model knows none", where="TextEmbed.segments")
        return x

    def _filled(self, raw: Text, filler: int) -> Text:
        """Texts as long as the context: the filler stands wherever there is no real token, and counts as one."""
        ids = raw.ids if raw.valid is None else raw.ids.masked_fill(~raw.valid, filler)
        return Text(F.pad(ids, (0, max(0, self.context - ids.shape[1])), value=filler), segments=raw.segments)

    def _kept(self, x: Float[Tensor, "B N E"]) -> Float[Tensor, "B N E"]:
        """In training, the vectors of all tokens but a share that is dropped."""
        if not (self.token_rate and self.training):
            return x
        return x * (unit(x.shape[0], x.shape[1], x.device) >= self.token_rate)[..., None]

    def _ended(self, raw: Text, slots: Slots | None) -> Bool[Tensor, "B N"]:
        """True for the tokens up to the first end, which counts too."""
        assert self.end is not None
        ends = raw.ids.eq(self.end).long()
        seen = ends.cumsum(1)
        if slots is not None:
            earlier = slots.get("ends")
            seen = seen if earlier is None else seen + earlier
            slots.set("ends", seen[:, -1:])
        whole = seen == ends
        return whole if raw.valid is None else whole & raw.valid

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
