"""The views of words about a picture: all of them as a picture, frames, a page, words and values; or one in large.

As a film, the picture lights up word after word, with the text so far beneath it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import numpy as np

from weft.domains.captions.views.words import Boxes, LookAtWords, PictureSentence, PictureWords, area, inside
from weft.domains.captions.views.words_sheet import EMPTY, METHOD, draw, in_boxes, percent
from weft.inspect import fonts, maps
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.figures import INK, PALE, Sheet, fitted, sheet
from weft.inspect.films import gif, on_one_canvas
from weft.inspect.maps import MapsView
from weft.inspect.photos import patches, photo
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer, View

SIDE = 2.6  # inches of the longer side of the picture
MIN_TEXT_WIDTH = 2.2  # inches of a line of text
SIZE, LINE, SPACE = 10, 0.21, 0.05  # points of a letter; inches between lines and between words
MARKED = "#ffd58a"  # behind the current word
WORD_MS, LAST_MS = 700, 2500  # how long frames are shown
MOST_WORDS = 100  # of a longer text the last words are left out


class _Place(NamedTuple):
    """Where a word stands: the number of its sentence and its own, inches from the left and the top, and its width."""

    sentence: int
    word: int
    x: float
    y: float
    width: float


def film(shown: PictureWords, choice: AttentionChoice = ALL) -> bytes:
    """An animated GIF: the picture, the picture lit for each word, and the picture with all words."""
    frames = list(_frames(shown, choice))
    return gif(frames, [*[WORD_MS] * (len(frames) - 1), LAST_MS])


def _frames(shown: PictureWords, choice: AttentionChoice) -> Iterator[np.ndarray]:
    """The pixels of each frame (H W 3); all frames have one size."""
    wide, high = fitted(shown.pixels, SIDE, SIDE)
    across = max(wide, MIN_TEXT_WIDTH)
    places = _laid_out(shown, across)
    tall = high + 0.12 + max((place.y for place in places), default=0.0) + LINE
    lit = [sentence.maps(choice) for sentence in shown.sentences]
    size: tuple[int, int] | None = None
    for now in [None, *places, None] if places else [None]:
        with sheet("png") as on:
            on.axis(0, 0, across, tall, frame="white")  # every frame is as large as this
            map = None if now is None else lit[now.sentence][now.word]
            middle = 0.5 if now is None else shown.sentences[now.sentence].middle
            axis = on.picture(
                shown.pixels if map is None else maps.lit(shown.pixels, map, wide, middle), 0, 0, wide, high, frame=None
            )
            for box in () if now is None else shown.sentences[now.sentence].boxes[now.word]:
                maps.mark_box(axis, box)
            past = places if now is None and size is not None else [p for p in places if now is not None and p <= now]
            _write(on, shown, past, now, high + 0.12)
            if not places:
                on.text(0, high + 0.12, EMPTY, color=PALE, size=8)
            frame = on_one_canvas(on.bytes(), size)
        size = (frame.shape[1], frame.shape[0])
        yield frame


def _write(on: Sheet, shown: PictureWords, places: list[_Place], now: _Place | None, top: float) -> None:
    """The words so far, the current one marked."""
    for place in places:
        word = shown.sentences[place.sentence].words[place.word]
        marked = {"bbox": {"boxstyle": "square,pad=0.12", "color": MARKED, "linewidth": 0}} if place is now else {}
        color = PALE if place.sentence < len(shown.sentences) - 1 and place is not now else INK
        on.text(place.x, top + place.y, word, size=SIZE, color=color, **marked)


def _laid_out(shown: PictureWords, across: float) -> list[_Place]:
    """A place for each word in lines of a width, each sentence on a line of its own."""
    found: list[_Place] = []
    y = 0.0
    with sheet("png") as on:
        for number, sentence in enumerate(shown.sentences):
            x, y = 0.0, y + (LINE if number else 0.0)
            for n, (word, spaced) in enumerate(zip(sentence.words, sentence.spaced(), strict=True)):
                width = on.width(word, SIZE)
                x += SPACE if spaced and x else 0.0
                if x and x + width > across:
                    x, y = 0.0, y + LINE
                found.append(_Place(number, n, x, y, width))
                x += width
    return found[:MOST_WORDS]


class PictureWordsView(View):
    """One picture, and for each word about it what counted. Shows itself in a notebook."""

    def __init__(self, shown: PictureWords, choice: AttentionChoice = ALL):
        self.shown, self.choice = shown, choice
        if shown.last.text:
            self.answer = LookedAnswer(((shown.last.text, shown.chance),), shown.last.name)
        for sentence in shown.sentences:
            choice.indices(*sentence.weights.shape[:2])

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the last text: the caption, or the answer."""
        return self.shown.last.words

    @cached_property
    def maps(self) -> np.ndarray:
        """(words, rows, columns): how much of each part of the picture counted for each word of the last text."""
        return self.shown.last.maps(self.choice)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the maps."""
        rows, columns = self.shown.last.weights.shape[3:]
        return rows, columns

    @property
    def about(self) -> str:
        return f"what counted in {self.shown.title or 'a picture'} for each word of: {self.shown.last.text}"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The picture, and again for each word under what counted for it."""
        return draw(self.shown, self.choice, format=format)

    def document(self) -> LookDocument:
        """The picture, and the words of each text with what every head read of it."""
        shown, groups, reads = self.shown, list[TokenGroup](), list[Read]()
        for sentence in (one for one in shown.sentences if one.words):
            rows, columns = sentence.weights.shape[3:]
            grid = patches(rows, columns, name=f"patches for the {sentence.name}", middle=sentence.middle)
            words = TokenGroup(sentence.name, sentence.words, boxes=sentence.boxes)
            weights = sentence.weights.reshape(*sentence.weights.shape[:3], rows * columns)
            groups += [words, grid]
            reads.insert(0, Read(f"{shown.by} of the {sentence.name}", words.name, grid.name, weights, shown.by))
        streams, left = streams_of(tuple(reads), tuple(groups))
        said = METHOD[shown.by].in_words(self.grid[0] * self.grid[1])
        return LookDocument(
            PurePath(shown.title).name or "a picture", "picture", self.about, self.text(), groups=tuple(groups),
            streams=streams, pictures=(photo(shown.pixels, shown.title),), answer=self.answer,
            start=(*self.choice.picked, ("token", f"{shown.last.name}.1")), notes=(said if groups else EMPTY, *left),
        )  # fmt: skip

    def film(self) -> bytes:
        """A GIF: the picture lights up word after word, with the text so far beneath."""
        return film(self.shown, self.choice)

    def text(self) -> str:
        """For each word the place that counted most, in shares of height and width from the upper left."""
        lines = [PurePath(self.shown.title).name, *([str(self.answer)] if self.answer is not None else [])]
        for sentence in self.shown.sentences:
            lines += ["", *([f"{sentence.name}: {sentence.text}"] if len(self.shown.sentences) > 1 else [])]
            lines += _listed(sentence, sentence.maps(self.choice)) or [f"  {EMPTY}"]
        explained = METHOD[self.shown.by].numbers(self.grid[0] * self.grid[1])
        return "\n".join(lines if not self.words else [*lines, "", explained])

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs([word for sentence in self.shown.sentences for word in sentence.words])

    def to_json(self) -> dict[str, Any]:
        """Plain values: the words of the last text, and for each how much every part counted; earlier texts by name."""
        score = {} if self.shown.score is None else {"score": round(self.shown.score, 4) + 0.0}
        chance = {} if self.shown.chance is None else {"probability": round(self.shown.chance, 6)}
        earlier = {one.name: _plain(one, one.maps(self.choice)) for one in self.shown.sentences[:-1]}
        title = {"input": self.shown.title}
        return {**title, **_plain(self.shown.last, self.maps), **score, **chance, "by": self.shown.by, **earlier}


class OneWordView(MapsView):
    """What counted for one word, in every layer and head."""

    def __init__(self, view: PictureWordsView, word: str, *, every: bool = False):
        self.view, self.every = view, every
        self.sentence, self.place = view.shown.find(word)
        self.answer = view.answer

    @cached_property
    def maps(self) -> maps.Maps:
        """How much of each part counted for the word."""
        shown = self.view.shown
        return maps.Maps(
            shown.pixels,
            self.sentence.weights[:, :, self.place],
            title=f"{self.sentence.words[self.place]}   in: {self.sentence.text}",
            boxes=self.sentence.boxes[self.place],
            name=None if shown.by == "attention" else METHOD[shown.by].name,
            middle=self.sentence.middle,
        )

    @property
    def about(self) -> str:
        return f"what counted for the word {self.sentence.words[self.place]!r} in: {self.sentence.text}"

    def chosen(self) -> AttentionChoice:
        return replace(self.view.choice, every=self.every)

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return self.view.note()


def look_at_words(shown: PictureWords, how: LookAtWords) -> PictureWordsView | OneWordView:
    """All words, or the one that the settings ask for."""
    if shown.by == "occlusion":
        how.refuse_layers()
    view = PictureWordsView(shown, how.chosen)
    return view if how.word is None else OneWordView(view, how.word, every=how.every)


def _listed(sentence: PictureSentence, shown: np.ndarray) -> list[str]:
    """A line for each word."""
    width, lines = max((len(word) for word in sentence.words), default=0), []
    for word, map, boxes in zip(sentence.words, shown, sentence.boxes, strict=True):
        row, column = np.unravel_index(int(map.argmax()), map.shape)
        down, along = (row + sentence.middle) / map.shape[0], (column + sentence.middle) / map.shape[1]
        line = f"  {word:<{width}}  {percent(map.max()):>6} at {down:.0%} down, {along:.0%} across"
        lines.append(f"{line}; {in_boxes(map, boxes, sentence.middle)}" if boxes else line)
    return lines


def _plain(sentence: PictureSentence, shown: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {"text": sentence.text, "words": list(sentence.words)}
    found["maps"] = np.round(shown.astype(np.float64), 4).tolist()
    if any(sentence.boxes):
        places = zip(shown, sentence.boxes, strict=True)
        found["boxes"] = [_boxes(map, boxes, sentence.middle) for map, boxes in places]
    return found


def _boxes(map: np.ndarray, boxes: Boxes, middle: float) -> dict[str, Any] | None:
    """The boxes of a word with the share of its map in them and their area; None where it has none."""
    if not boxes:
        return None
    sides = np.round(np.asarray(boxes, np.float64), 4).tolist()
    return {"boxes": sides, "inside": round(inside(map, boxes, middle), 4), "area": round(area(boxes), 4)}
