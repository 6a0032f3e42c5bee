"""Words about a picture on one sheet: the picture, then for each word the picture in grey under what counted for it."""

import textwrap
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from weft.domains.captions.views.words import Boxes, By, PictureSentence, PictureWords, area, inside
from weft.inspect import maps
from weft.inspect.answers import probability
from weft.inspect.figures import PALE, Format, Sheet, fitted, sheet
from weft.inspect.views import ALL, AttentionChoice

SIDE, GAP, COLUMNS = 1.5, 0.14, 5  # inches of a small picture and between two; pictures in a row
LABEL, BELOW = 0.24, 0.16  # inches above a picture for its word, and below it for the share in its box
LONGEST_WORD = 16  # characters of a word that have room above a picture
LINE = 92  # characters of a line of the heading
EMPTY = "the model wrote nothing about this picture"


@dataclass(frozen=True)
class Method:
    """How maps were made, in words."""

    name: str
    bright: str
    number: str
    even: str = ""

    def numbers(self, parts: int) -> str:
        """What the number beside each word means, for maps with this number of parts."""
        return self.number + self.even.format(parts=parts, share=percent(1 / parts))

    def in_words(self, parts: int) -> str:
        """What the colours and numbers of maps mean."""
        return f"{self.bright} {self.numbers(parts)} Every map has its own scale of colours."


METHOD: dict[By, Method] = {
    "attention": Method(
        "attention",
        "Bright: the parts of the picture that the model attended to for this word.",
        "The number is the attention weight of the brightest part",
        " (if all {parts} parts had equal attention, each would have {share}).",
    ),
    "occlusion": Method(
        "occlusion",
        "Bright: the parts of the picture that the word depends on.",
        "The number is the fall of the word's probability when the brightest part is covered.",
    ),
}


def draw(shown: PictureWords, choice: AttentionChoice = ALL, *, format: Format = "png") -> bytes:
    """A PNG or SVG: the picture as it is, then for each word the picture under the heat of its map."""
    wide, high = fitted(shown.pixels, SIDE, SIDE)
    step = max(wide, min(SIDE, 1.1)) + GAP
    with sheet(format) as on:
        y = _heading(on, shown, choice)
        empty = not shown.last.words
        for n, sentence in enumerate(shown.sentences):
            if len(shown.sentences) > 1:
                on.text(0, y, f"{sentence.name}: {sentence.text}", size=9.5)
                y += 0.26
            first = int(n == 0)  # the picture itself stands before the first word
            if first:
                on.picture(shown.pixels, 0, y + LABEL, wide, high)
            tall = LABEL + high + (BELOW if any(sentence.boxes) else 0.0) + 0.08
            for k, map in enumerate(sentence.maps(choice)):
                row, column = divmod(k + first, COLUMNS)
                _word(on, shown, (sentence, k, map), (column * step, y + row * tall + LABEL, wide, high))
            y += -(-(len(sentence.words) + first) // COLUMNS) * tall + 0.06
        if empty:
            x, top = (0.0, y) if len(shown.sentences) > 1 else (step, y - high - 0.14)
            on.text(x, top, EMPTY, size=9)
        return on.bytes()


def _heading(on: Sheet, shown: PictureWords, choice: AttentionChoice) -> float:
    """The text, whose picture it is, and what colours and numbers mean; returns where the pictures begin."""
    y = 0.0
    if len(shown.sentences) == 1:
        for line in textwrap.wrap(shown.last.text, LINE):
            on.text(0, y, line, size=11)
            y += 0.22
    on.text(0, y, facts(shown, choice), color=PALE, size=8)
    y += 0.2
    if not any(len(sentence.words) for sentence in shown.sentences):
        return y
    rows, columns = shown.last.weights.shape[3:]
    for line in textwrap.wrap(METHOD[shown.by].in_words(rows * columns), round(1.6 * LINE)):
        on.text(0, y, line, color=PALE, size=7)
        y += 0.14
    return y + 0.08


def facts(shown: PictureWords, choice: AttentionChoice) -> str:
    """The picture's file, the probability and the score of the text, and whose attention is shown, in a line."""
    layers, heads = shown.last.weights.shape[:2]
    which = METHOD[shown.by].name
    if not shown.last.words:
        which = ""
    elif shown.by == "attention":
        layer = f"mean of {layers} layers" if choice.layer is None else f"layer {choice.layer}"
        head = f"mean of {heads} heads" if choice.head is None else f"head {choice.head}"
        which = f"attention, {layer if layers > 1 else 'one layer'}, {head if heads > 1 else 'one head'}"
    sure = [] if shown.chance is None else [f"probability of the {shown.last.name} {probability(shown.chance)}"]
    score = [] if shown.score is None else [f"score {round(shown.score, 2) + 0.0:.2f}"]  # never -0.00
    return "   ·   ".join(part for part in (PurePath(shown.title).name, *sure, *score, which) if part)


def _word(
    on: Sheet,
    shown: PictureWords,
    word: tuple[PictureSentence, int, np.ndarray],
    place: tuple[float, float, float, float],
) -> None:
    """One word: its name and number above, its map over the picture in grey, its box, and the share in it."""
    (sentence, k, map), (x, y, wide, high) = word, place
    label, boxes = sentence.words[k], sentence.boxes[k]
    label = label if len(label) <= LONGEST_WORD else f"{label[: LONGEST_WORD - 1]}…"
    on.text(x, y - 0.04, label, va="bottom", size=9)
    on.text(x + max(wide, min(SIDE, 1.1)), y - 0.04, percent(map.max()), va="bottom", ha="right", color=PALE, size=7)
    axis = on.picture(maps.lit(shown.pixels, map, wide, sentence.middle), x, y, wide, high, frame=None)
    for box in boxes:
        maps.mark_box(axis, box)
    if boxes:
        on.text(x, y + high + 0.03, in_boxes(map, boxes, sentence.middle), color=PALE, size=6.5)


def percent(share: float) -> str:
    """A share in words: 62 %, 3.1 %, 0 %."""
    return f"{100 * share:.0f} %" if share >= 0.1 or share < 0.0005 else f"{100 * share:.1f} %"


def in_boxes(map: np.ndarray, boxes: Boxes, middle: float) -> str:
    """How much of a map lies in the boxes of a word, beside the share of the picture that they cover."""
    where = "in the box" if len(boxes) == 1 else "in the boxes"
    return f"{percent(inside(map, boxes, middle))} {where} (area {percent(area(boxes))})"
