"""Spelling: a word's vector by its letters, so that a word that was never met is read by its beginning and its ending.

The letters of each token are a table of numbers beside the weights: ids are all that the part is given.
"""

import zlib
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.modalities.framing import token_texts
from weft.modalities.tokenizer import Tokenizer

NGRAMS = (2, 3, 4)  # letters


class Spelling(Part, nn.Module):
    """x_i = mean of G[g] over the letter n-grams g of i's word + sums of G over its beginnings and over its endings.

    All are hashed into `buckets` rows of one table G (Bojanowski et al., 2017). Beginnings and endings are the word's,
    whichever tokens it is cut into; n-grams are those within its tokens. All tokens of a word have one vector.
    """

    class Config(BaseConfig):
        """N-grams have 2 to 4 letters, of which `grams` of a token count at most; beginnings and endings 1 to `ends`.

        The table starts with standard deviation `std`.
        """

        buckets: int = 16384
        ends: int = 5
        grams: int = 24
        std: float = 0.2

        def check(self) -> None:
            at_least(self, 1, "buckets", "ends", "grams")

    def __init__(self, config: Config, *, dim: int, vocab: int):
        super().__init__()
        self.buckets = config.buckets
        self.table = nn.Embedding(config.buckets + 1, dim, padding_idx=0)  # row 0 stands for no n-gram
        nn.init.normal_(self.table.weight, std=config.std)
        with torch.no_grad():
            self.table.weight[0] = 0.0
        for name, width in _widths(config).items():
            self.register_buffer(name, torch.zeros(vocab, width, dtype=torch.int64))

    grams: Tensor  # rows of the n-grams of each token, its shape first
    begins: Tensor  # the first letters of each token, as numbers above 0
    ends: Tensor  # the last ones, from behind
    joins: Tensor  # whether a token goes on a word that began before it, and lets the next one go on

    def forward(self, ids: Int[Tensor, "B N"], valid: Bool[Tensor, "B N"] | None = None) -> Float[Tensor, "B N D"]:
        goes_on = self._goes_on(ids, valid)
        first, last = _bounds(goes_on)
        begins, ends = self._outer(self.begins[ids], goes_on.roll(-1, 1), -1), self._outer(self.ends[ids], goes_on, 1)
        rows = torch.cat([_at(begins, first), _at(ends + (ends > 0), last)], -1)
        grams = self.grams[ids]
        known = _within(grams.gt(0).sum(2, keepdim=True), first, last).clamp(min=1)
        return _within(self._sums(grams), first, last) / known + self._sums(rows)

    def _goes_on(self, ids: Int[Tensor, "B N"], valid: Bool[Tensor, "B N"] | None) -> Bool[Tensor, "B N"]:
        """Whether a token goes on the word of the one before it; the first of a row never does."""
        before, after = self.joins[ids].bool().unbind(-1)
        if valid is not None:
            before, after = before & valid, after & valid
        return torch.cat([torch.zeros_like(before[:, :1]), before[:, 1:] & after[:, :-1]], 1)

    def _outer(self, own: Int[Tensor, "B N L"], joined: Bool[Tensor, "B N"], step: int) -> Int[Tensor, "B N L"]:
        """Rows for the outermost 1 to L letters, seen from each token inwards; `joined` to the one `step` before it."""
        letters, sizes, reached = own, own.gt(0).sum(-1, keepdim=True), joined[..., None]
        places, filled = torch.arange(own.shape[-1], device=own.device), sizes
        for away in range(1, own.shape[-1] + 1):  # all tokens but a space have a letter: this many are enough
            inner = own.roll(step * away, 1).gather(-1, (places - filled).clamp(min=0))
            letters = torch.where(reached & (places >= filled), inner, letters)
            filled = filled + sizes.roll(step * away, 1) * reached
            reached = reached & joined.roll(step * away, 1)[..., None]
        code, rows = torch.zeros_like(letters[..., 0]), list[Tensor]()
        for letter in letters.unbind(-1):
            code = (code * 69069 + letter) % 2147483647
            rows.append(torch.where(letter > 0, 1 + code % (self.buckets - 1), 0))
        return torch.stack(rows, -1)

    def _sums(self, rows: Int[Tensor, "B N G"]) -> Float[Tensor, "B N D"]:
        """The sum of the vectors of each token's rows."""
        flat = F.embedding_bag(rows.flatten(0, 1), self.table.weight, mode="sum", padding_idx=0)
        return flat.unflatten(0, rows.shape[:2])


def _widths(config: Spelling.Config) -> dict[str, int]:
    return {"grams": config.grams, "begins": config.ends, "ends": config.ends, "joins": 2}


def _bounds(goes_on: Bool[Tensor, "B N"]) -> tuple[Int[Tensor, "B N 1"], Int[Tensor, "B N 1"]]:
    """The places of the first and of the last token of each token's word."""
    place = torch.arange(goes_on.shape[1], device=goes_on.device).expand(goes_on.shape)
    first = torch.where(goes_on, 0, place).cummax(1).values
    last = torch.where(goes_on.roll(-1, 1), goes_on.shape[1] - 1, place).flip(1).cummin(1).values.flip(1)
    return first[..., None], last[..., None]


def _at(values: Shaped[Tensor, "B N D"], place: Int[Tensor, "B N 1"]) -> Shaped[Tensor, "B N D"]:
    return values.gather(1, place.expand_as(values))


def _within(values: Shaped[Tensor, "B N D"], first: Int[Tensor, "B N 1"], last: Int[Tensor, "B N 1"]) -> Tensor:
    """The sum over each token's word, as a difference of sums from the left."""
    sums = values.cumsum(1)
    return _at(sums, last) - _at(sums - values, first)


def spelled(config: Spelling.Config, tokenizer: Tokenizer) -> Mapping[str, Tensor]:
    """The letters of a tokenizer's tokens, by the names of the part's buffers. A word stands between spaces."""
    tables = {name: np.zeros((tokenizer.size, width), np.int64) for name, width in _widths(config).items()}
    special = set(tokenizer.special.tolist())
    for id, text in enumerate(token_texts(tokenizer)):
        if id in special or not text:
            continue
        tables["joins"][id] = not text[0].isspace(), text.isspace() or not text[-1].isspace()
        word, ends = text.strip(), config.ends
        letters = word.lower()
        within = [letters[i : i + n] for n in NGRAMS for i in range(len(letters) - n + 1)]
        parts = [_shape(word), *within] if word else []
        written = {
            "grams": [1 + zlib.crc32(part.encode("utf-8", "replace")) % config.buckets for part in parts][
                : config.grams
            ],
            "begins": [1 + ord(letter) for letter in letters[:ends]],
            "ends": [1 + ord(letter) for letter in letters[::-1][:ends]],
        }
        for name, numbers in written.items():
            tables[name][id, : len(numbers)] = numbers
    return {name: torch.from_numpy(table) for name, table in tables.items()}


def _shape(word: str) -> str:
    """What a token looks like: whether it begins with a capital, whether it has a digit."""
    return f"{'A' if word[0].isupper() else 'a'}{'9' if any(c.isdigit() for c in word) else ''}^"
