"""Words about a picture as a film: the picture lights up word after word, with the text so far beneath it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from weft.domains.captions.views.words import PictureWords
from weft.domains.captions.views.words_sheet import EMPTY
from weft.inspect import maps
from weft.inspect.figures import INK, PALE, Sheet, fitted, sheet
from weft.inspect.films import gif, on_one_canvas
from weft.inspect.views import ALL, AttentionChoice

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
            axis = on.picture(
                shown.pixels if map is None else maps.lit(shown.pixels, map, wide), 0, 0, wide, high, frame=None
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
