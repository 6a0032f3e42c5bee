"""Words about a picture: for each word how much each part of the picture counted for it, and the part it is about.

Knows a picture, texts and grids of numbers; not which model they come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from weft.config import Config
from weft.domains.captions.views.inside import Box, covered
from weft.domains.pairs.views import SIDE, Side
from weft.errors import ConfigError, DataError
from weft.files.pictures.regions import Region
from weft.inspect.alignment import Alignment, Span, piece_labels, piece_spans
from weft.inspect.figures import coloured
from weft.inspect.token_steps import TOKEN
from weft.inspect.views import AttentionChoice
from weft.modalities.tokenizer import Tokenizer

By = Literal["attention", "occlusion"]
Boxes = tuple[Box, ...]  # the parts of a picture that a word is about; none where that is not known


class LookAtWords(Config):
    """Settings of a look at words about a picture, whichever task wrote them."""

    layer: int | None = None
    head: int | None = None
    word: str | None = None
    every: bool = False
    by: By | None = None
    token: str | None = None
    side: Side = "across"

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "word": "one word enlarged, with a panel for each head: the word, or its position from 1",
        "every": "with word: every head of every layer, each in its own panel",
        "by": "attention: the attention weights for each word; occlusion: which parts make the word less probable when "
        "they are covered; by default attention, or occlusion where the model has none",
        "token": TOKEN,
        "side": SIDE,
    }

    @property
    def chosen(self) -> AttentionChoice:
        """The layer and the head to show; a setting that nothing would come of is refused."""
        if self.every and self.word is None:
            raise ConfigError(
                "every head of every layer is shown for one word", where="every", fix="add --set word=WORD"
            )
        return AttentionChoice(self.layer, self.head)

    def refuse_layers(self) -> None:
        """Refuses the choice of a layer or head where the maps are not those of attention."""
        for name in ("layer", "head", "every"):
            if getattr(self, name):
                problem = "occlusion is measured on the whole model, it has no layers and heads"
                raise ConfigError(
                    problem, where=name, fix=f"leave out {name}, or --set by=attention where the model has attention"
                )


@dataclass(frozen=True)
class PictureSentence:
    """A text and its words; weights[layer, head, word, row, column]: how much a part of the picture counted for a word.

    `name` says what the text is, as question or answer; `boxes` are the parts of the picture that each word is about;
    `middle` is where the middle of what a part shows lies in its square, in shares of the side.
    """

    text: str
    words: tuple[str, ...]
    weights: np.ndarray
    name: str = "caption"
    boxes: tuple[Boxes, ...] = ()
    middle: float = 0.5

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, np.float32)
        if weights.ndim != 5 or weights.shape[2] != len(self.words) or 0 in (*weights.shape[:2], *weights.shape[3:]):
            problem = (
                f"expected weights of (layers, heads, {len(self.words)} words, rows, columns), found {weights.shape}"
            )
            raise DataError(problem, where=self.name)
        if not np.isfinite(weights).all():
            raise DataError("some weights are not finite numbers", where=self.name)
        if self.boxes and len(self.boxes) != len(self.words):
            raise DataError(f"expected boxes for {len(self.words)} words, found {len(self.boxes)}", where=self.name)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "boxes", tuple(self.boxes) or ((),) * len(self.words))

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        ids: Sequence[int],
        weights: np.ndarray,
        *,
        name: str = "caption",
        regions: Sequence[Region] = (),
        middle: float = 0.5,
    ) -> "PictureSentence":
        """The words of a text of ids, from weights (layers, heads, tokens, rows, columns) of its tokens."""
        text, grid = tokenizer.decode(ids), weights.shape[3:]
        patches = weights.reshape(*weights.shape[:3], grid[0] * grid[1])
        words = Alignment(
            source=("",) * patches.shape[3],
            target=tuple(piece_labels(tokenizer, ids)),
            weights=patches,
            source_spans=(None,) * patches.shape[3],
            target_spans=tuple(piece_spans(tokenizer, ids)),
        ).by_words("", text)
        spread = words.weights.reshape(*words.weights.shape[:3], *grid)
        boxes = tuple(boxes_of(span, regions) for span in spans_of_stripped(text, words.target_spans))
        return cls(text.strip(), words.target, spread, name, boxes, middle)

    @classmethod
    def empty(cls, name: str = "caption") -> "PictureSentence":
        """A text without words."""
        return cls("", (), np.zeros((1, 1, 0, 1, 1)), name)

    def maps(self, choice: AttentionChoice) -> np.ndarray:
        """(words, rows, columns): the average over the chosen layers and heads."""
        layer, head = choice.indices(*self.weights.shape[:2])
        chosen = self.weights if layer is None else self.weights[layer : layer + 1]
        return (chosen if head is None else chosen[:, head : head + 1]).mean((0, 1))

    def spaced(self) -> list[bool]:
        """For each word, whether white space stands before it in the text."""
        found, place = [], 0
        for word in self.words:
            start = self.text.find(word.strip(), place)
            between = self.text[place:start] if start >= 0 else " "
            found.append(any(sign.isspace() for sign in between))
            place = start + len(word.strip()) if start >= 0 else place
        return found


@dataclass(frozen=True)
class PictureWords:
    """A picture and the texts about it, in the order in which they are read: a caption; or a question and its answer.

    `pixels` is the picture as people see it, `title` its name; `score` and `chance`, its
    probability, are those of the last text where the model wrote it.
    """

    pixels: np.ndarray  # (height, width, 3 or 1) of 0 to 255
    sentences: tuple[PictureSentence, ...]
    title: str = ""
    score: float | None = None
    by: By = "attention"
    chance: float | None = None

    def __post_init__(self) -> None:
        coloured(self.pixels)
        if not self.sentences:
            raise DataError("expected one text at least", where="words about a picture")

    @property
    def last(self) -> PictureSentence:
        """What the model wrote."""
        return self.sentences[-1]

    def find(self, word: str) -> tuple[PictureSentence, int]:
        """A word by its text, or by its place from 1 through all texts: its sentence, and its place in it from 0."""
        places = [(sentence, n) for sentence in self.sentences for n in range(len(sentence.words))]
        if not places:
            fix = f"give a text to look with, as in --set {self.last.name}=…; or train for longer"
            raise ConfigError("the text is empty, there is no word to show", where="word", fix=fix)
        if word.isdecimal() and 1 <= int(word) <= len(places):
            return places[int(word) - 1]
        wanted = word.strip().casefold()
        for sentence, n in places:
            if sentence.words[n].strip().casefold() == wanted:
                return sentence, n
        listed = ", ".join(sentence.words[n] for sentence, n in places)
        fix = f"they are: {listed}; or give a place from 1 to {len(places)}"
        raise ConfigError(f"{word!r} is not among the words", where="word", fix=fix)


def boxes_of(span: Span | None, regions: Sequence[Region]) -> Boxes:
    """The boxes of the regions that share characters with a word."""
    if span is None:
        return ()
    shared = (one.box for one in regions if min(span[1], one.stop) > max(span[0], one.start))
    return tuple(dict.fromkeys(shared))


def spans_of_stripped(text: str, spans: Sequence[Span | None]) -> list[Span | None]:
    """Spans of characters of a text as those of the same text without white space around it."""
    ahead = len(text) - len(text.lstrip())
    return [None if span is None else (span[0] - ahead, span[1] - ahead) for span in spans]


def inside(map: np.ndarray, boxes: Boxes, middle: float = 0.5) -> float:
    """The share of a map (rows, columns) that lies in boxes; a patch that a box cuts counts by its covered area."""
    total, rows, columns = float(map.sum()), *map.shape
    return float(map.ravel() @ covered(boxes, rows, columns, middle)) / total if total > 0 else 0.0


def area(boxes: Boxes) -> float:
    """The share of the picture that lies in boxes, which do not overlap."""
    return float(covered(boxes, 1, 1)[0])
