"""Where each word of a caption looked: maps over the picture, word by word (Xu et al., 2015, figure 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from weft.config import Config
from weft.errors import ConfigError
from weft.inspect import fonts, maps
from weft.inspect.alignment import Alignment, piece_labels, piece_spans
from weft.inspect.figures import PALE, Format, fitted, sheet, writable
from weft.inspect.maps import Maps
from weft.inspect.picture_reading import patch_grid, picture_weights
from weft.inspect.views import ALL, AttentionChoice, picture_page
from weft.inspect.vision import LEARNED, MapsView, learned_names
from weft.modalities.image import Picture
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq

SIDE, GAP, COLUMNS = 1.5, 0.14, 5  # inches of a small picture and between two; pictures in a row


class LookAtCaption(Config):
    """Settings of a look at a picture and its caption."""

    layer: int | None = None
    head: int | None = None
    word: str | None = None
    every: bool = False
    caption: str | None = None
    beam: int = 5
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "word": "one word in large, with each head by itself: the word, or its place from 1",
        "every": "with word: every head of every layer in a panel of its own",
        "caption": "look with this caption instead of the model's own",
        "beam": "the beam of the model's own caption",
        "what": f"{', '.join(LEARNED)} or both: what the picture embedder learned; needs no picture",
    }

    def check(self) -> None:
        learned_names(self.what)

    @property
    def chosen(self) -> AttentionChoice:
        """The layer and the head to show; a setting that nothing would come of is refused."""
        if self.every and self.word is None:
            raise ConfigError("every head of every layer is shown for one word", where="every", fix="set word too")
        return AttentionChoice(self.layer, self.head)


@dataclass(frozen=True)
class Written:
    """A picture as people see it and as the model reads it, and a caption as ids behind those that the decoder opens with."""

    pixels: np.ndarray
    raw: Picture
    opening: tuple[int, ...]
    ids: tuple[int, ...]
    title: str = ""


class CaptionView:
    """One picture and a caption, with all that was read of the picture for each word. Shows itself in a notebook."""

    def __init__(self, model: Seq2Seq, tokenizer: Tokenizer, what: Written, choice: AttentionChoice = ALL):
        self.what, self.choice = what, choice
        self.text_of = tokenizer.decode(what.ids)
        target = [*what.opening, *what.ids][:-1] if what.ids else list(what.opening)
        weights = picture_weights(model, what.raw, target)[:, :, len(what.opening) - 1 :]
        self.grid = patch_grid(model, what.raw)
        patches = weights[:, :, : len(what.ids)]
        self.alignment = Alignment(
            source=("",) * patches.shape[3],
            target=tuple(piece_labels(tokenizer, what.ids)),
            weights=patches,
            source_spans=(None,) * patches.shape[3],
            target_spans=tuple(piece_spans(tokenizer, what.ids)),
        ).by_words("", self.text_of)
        self.choice.indices(*self.alignment.weights.shape[:2])

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the caption."""
        return self.alignment.target

    @cached_property
    def maps(self) -> np.ndarray:
        """(words, rows, columns): how much of each patch was read when each word was written."""
        chosen = self.alignment.of(self.choice).mean().weights[0, 0]
        return chosen.reshape(len(self.words), *self.grid)

    def of_word(self, word: str) -> Maps:
        """What was read for one word, by each head of each layer; `word` is a word or its place from 1."""
        place = _place(self.words, word)
        weights = self.alignment.weights[:, :, place]
        layers = weights.reshape(*weights.shape[:2], *self.grid)
        return Maps(self.what.pixels, layers, title=f"{self.words[place]}   in: {self.text_of.strip()}")

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The picture, and again for each word under what was read of it."""
        return draw(self.what.pixels, self.words, self.maps, title=self.text_of.strip(), format=format)

    def page(self) -> bytes:
        """The same as a page that needs nothing else."""
        return picture_page(self.text_of.strip() or "a caption", self.picture())

    def text(self) -> str:
        """For each word where it looked most, in shares of height and width from the upper left."""
        width = max(map(len, self.words), default=0)
        lines = []
        for word, shares in zip(self.words, self.maps, strict=True):
            row, column = np.unravel_index(int(shares.argmax()), shares.shape)
            down, along = (row + 0.5) / self.grid[0], (column + 0.5) / self.grid[1]
            lines.append(f"  {word:<{width}}  {shares.max():.2f} at {down:.0%} down, {along:.0%} across")
        return "\n".join([f"{self.what.title}: {self.text_of.strip()}", "", *lines])

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs(list(self.words))

    def to_json(self) -> dict[str, Any]:
        """Plain values: the words, and for each the share of every patch."""
        weights = np.round(self.maps.astype(np.float64), 4).tolist()
        return {"input": self.what.title, "text": self.text_of.strip(), "words": list(self.words), "maps": weights}

    def _repr_png_(self) -> bytes:
        return self.picture("png")

    def __repr__(self) -> str:
        return self.text()


class WordView(MapsView):
    """What was read of a picture for one word of its caption, in every layer and head."""

    def __init__(self, view: CaptionView, word: str, *, every: bool = False):
        self.view, self.word, self.every = view, word, every
        self.maps  # noqa: B018 (a word that is not there is told at once)

    @cached_property
    def maps(self) -> maps.Maps:
        """How much of each patch was read for the word."""
        return self.view.of_word(self.word)

    def chosen(self) -> AttentionChoice:
        return replace(self.view.choice, every=self.every)

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return self.view.note()


def draw(
    pixels: np.ndarray, words: Sequence[str], shown: np.ndarray, *, title: str = "", format: Format = "png"
) -> bytes:
    """A PNG or SVG: the picture as it is, then for each word the picture under the heat of its map (rows, columns)."""
    wide, high = fitted(pixels, SIDE, SIDE)
    with sheet(format) as on:
        on.text(0, -0.42, title, size=11, va="bottom")
        note = "each word on a scale of its own, brightest where it read most: how much that is stands beside it"
        on.text(0, -0.24, note, size=7, color=PALE, va="bottom")
        for n in range(len(words) + 1):
            x, y = n % COLUMNS * (SIDE + GAP), n // COLUMNS * (high + 0.32)
            if n == 0:
                on.picture(pixels, x, y, wide, high)
                continue
            map = shown[n - 1]
            on.text(x, y - 0.04, writable(words[n - 1]), va="bottom", size=9)
            on.text(x + wide, y - 0.04, f"{map.max():.2g}", va="bottom", ha="right", color=PALE, size=7)
            on.picture(maps.lit(pixels, map, wide), x, y, wide, high, frame=None)
        return on.bytes()


def _place(words: Sequence[str], word: str) -> int:
    """The place of a word, which is given as such or as a number from 1."""
    if not words:
        fix = "give a caption to look with: --set caption=…; or train for longer"
        raise ConfigError("the caption is empty, there is no word to show", where="word", fix=fix)
    if word.isdecimal() and 1 <= int(word) <= len(words):
        return int(word) - 1
    plain = [one.strip().casefold() for one in words]
    if word.strip().casefold() not in plain:
        fix = f"they are: {', '.join(words)}; or give a place from 1 to {len(words)}"
        raise ConfigError(f"{word!r} is not among the words", where="word", fix=fix)
    return plain.index(word.strip().casefold())
