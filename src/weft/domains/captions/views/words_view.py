"""The views of words about a picture: all as a picture, frames, a page, words and plain values; or one in large."""

from dataclasses import replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal

import numpy as np

from weft.domains.captions.views.words import Boxes, LookAtWords, PictureSentence, PictureWords, area, inside
from weft.domains.captions.views.words_film import film
from weft.domains.captions.views.words_page import words_page
from weft.domains.captions.views.words_sheet import EMPTY, METHOD, draw, in_boxes, percent
from weft.inspect import fonts, maps
from weft.inspect.maps import MapsView
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer, View


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

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The picture, and again for each word under what counted for it."""
        return draw(self.shown, self.choice, format=format)

    def film(self) -> bytes:
        """A GIF: the picture lights up word after word, with the text so far beneath."""
        return film(self.shown, self.choice)

    def page(self) -> bytes:
        """A page that needs nothing else: the picture under the map of the word that is pointed at."""
        return words_page(self.shown, self.choice)

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
        down, along = (row + 0.5) / map.shape[0], (column + 0.5) / map.shape[1]
        line = f"  {word:<{width}}  {percent(map.max()):>6} at {down:.0%} down, {along:.0%} across"
        lines.append(f"{line}; {in_boxes(map, boxes)}" if boxes else line)
    return lines


def _plain(sentence: PictureSentence, shown: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {"text": sentence.text, "words": list(sentence.words)}
    found["maps"] = np.round(shown.astype(np.float64), 4).tolist()
    if any(sentence.boxes):
        places = zip(shown, sentence.boxes, strict=True)
        found["boxes"] = [_boxes(map, boxes) for map, boxes in places]
    return found


def _boxes(map: np.ndarray, boxes: Boxes) -> dict[str, Any] | None:
    """The boxes of a word with the share of its map in them and their area; None where it has none."""
    if not boxes:
        return None
    sides = np.round(np.asarray(boxes, np.float64), 4).tolist()
    return {"boxes": sides, "inside": round(inside(map, boxes), 4), "area": round(area(boxes), 4)}
