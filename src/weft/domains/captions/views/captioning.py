"""Where each word of a caption looked: maps over the picture, word by word (Xu et al., 2015, figure 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

import numpy as np
import torch

from weft.domains.captions.views.occlusion import covered_sentence, target_score
from weft.domains.captions.views.reading import patch_grid, patch_middle, picture_weights
from weft.domains.captions.views.words import By, LookAtWords, PictureSentence, PictureWords
from weft.domains.pairs.views import readings_of, seq2seq_readers
from weft.domains.pictures.views.learned_view import LEARNED, learned_names
from weft.files.pictures.regions import Region
from weft.inspect.alignment import END, piece_labels
from weft.inspect.occlusion import covered_scores
from weft.inspect.token_steps import StepView
from weft.inspect.views import LookedAnswer, NoAttention
from weft.modalities.image import Picture
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq


class LookAtCaption(LookAtWords):
    """Settings of a look at a picture and its caption."""

    caption: str | None = None
    beam: int = 5
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **LookAtWords.about,
        "caption": "look with this caption instead of the model's own",
        "beam": "beam size of the search for the model's own caption",
        "what": f"{', '.join(LEARNED)} or both: what the picture embedder learned; needs no picture",
    }

    def check(self) -> None:
        learned_names(self.what)


@dataclass(frozen=True)
class WrittenCaption:
    """A picture as people see it and as the model reads it, and a caption as ids, after those the decoder opens with.

    `score` and `chance`, its probability, are of a caption that the model wrote; `regions` are what words are about.
    """

    pixels: np.ndarray
    raw: Picture
    opening: tuple[int, ...]
    ids: tuple[int, ...]
    title: str = ""
    score: float | None = None
    regions: Sequence[Region] = ()
    chance: float | None = None


def caption_words(model: Seq2Seq, tokenizer: Tokenizer, what: WrittenCaption, by: By | None = None) -> PictureWords:
    """The words of a caption, with what counted for each: what was read of the picture, or what the word depends on."""
    if by != "occlusion":
        try:
            sentence = _read(model, tokenizer, what)
            return PictureWords(what.pixels, (sentence,), what.title, what.score, chance=what.chance)
        except NoAttention:
            if by is not None:
                raise
    if not what.ids:
        return PictureWords(what.pixels, (PictureSentence.empty(),), what.title, what.score, "occlusion", what.chance)
    score = target_score(model, (*what.opening, *what.ids), len(what.opening))
    scores = covered_scores(what.raw.to(next(model.parameters()).device), score)
    sentence = covered_sentence(tokenizer, what.ids, scores, regions=what.regions)
    return PictureWords(what.pixels, (sentence,), what.title, what.score, "occlusion", what.chance)


def caption_steps(model: Seq2Seq, tokenizer: Tokenizer, what: WrittenCaption, how: LookAtCaption) -> StepView:
    """One token of a caption or of the picture step by step."""
    written = [*what.opening, *what.ids]
    readings = readings_of(model, what.raw.to(next(model.parameters()).device), written)
    names = patch_names(model, what.raw)
    target = [*("<start>" for _ in what.opening[1:]), *piece_labels(tokenizer, what.ids), END]
    found = seq2seq_readers(model, readings, names, target, how.side).steps(how.token or 1, how.chosen)
    said = tokenizer.decode(what.ids).strip()
    return StepView(found, PurePath(what.title).name, LookedAnswer(((said, what.chance),), "caption"))


def patch_names(model: Seq2Seq, raw: Picture) -> list[str]:
    """The names of the tokens that the model makes of a picture: class tokens, then patches by row and column."""
    rows, columns = patch_grid(model, raw)
    with torch.inference_mode():
        count = model.memorise(raw.to(next(model.parameters()).device)).shape[1]
    first = [f"class {n + 1}" if n else "class" for n in range(count - rows * columns)]
    return [*first, *(f"patch {row + 1},{column + 1}" for row in range(rows) for column in range(columns))]


def _read(model: Seq2Seq, tokenizer: Tokenizer, what: WrittenCaption) -> PictureSentence:
    """The words of a caption, with what was read of the picture before each was written."""
    target = [*what.opening, *what.ids][:-1] if what.ids else list(what.opening)
    weights = picture_weights(model, what.raw, target)[:, :, len(what.opening) - 1 :][:, :, : len(what.ids)]
    spread = weights.reshape(*weights.shape[:3], *patch_grid(model, what.raw))
    return PictureSentence.of(tokenizer, what.ids, spread, regions=what.regions, middle=patch_middle(model))
