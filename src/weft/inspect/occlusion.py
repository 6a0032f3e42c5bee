"""Occlusion: parts of a picture are painted over, and what was written about it becomes less probable (Zeiler and Fergus, 2014).

Works for every model that gives probabilities, with attention or without.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.data.images.regions import Region
from weft.inspect.alignment import Alignment, piece_labels, piece_spans
from weft.inspect.picture_words import Sentence, boxes_of, spans_of_stripped
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq

PARTS = 8  # along the shorter side of a picture
AT_ONCE = 32  # pictures that are computed together

Score = Callable[[Picture], Float[Tensor, "B T"]]  # the log-probability of each token of one text, for each picture


@torch.inference_mode()
def covered_scores(raw: Picture, score: Score) -> tuple[np.ndarray, np.ndarray]:
    """The scores of a picture (T,), and of it with each of its parts covered (rows, columns, T).

    A part is covered by a square of twice its side and in the picture's mean colour, so that squares overlap.
    """
    height, width = raw.pixels.shape[2:]
    side = min(height, width) / PARTS
    rows, columns = max(round(height / side), 1), max(round(width / side), 1)
    colour = raw.pixels.mean((2, 3), keepdim=True)
    pictures = [raw.pixels]
    for row in range(rows):
        for column in range(columns):
            top, left = (row - 0.5) * height / rows, (column - 0.5) * width / columns
            down = slice(max(round(top), 0), max(round(top + 2 * height / rows), 1))
            along = slice(max(round(left), 0), max(round(left + 2 * width / columns), 1))
            covered = raw.pixels.clone()
            covered[:, :, down, along] = colour
            pictures.append(covered)
    found = []
    for start in range(0, len(pictures), AT_ONCE):
        pixels = torch.cat(pictures[start : start + AT_ONCE])
        missing, metres = (
            None if part is None else part.expand(len(pixels), *part.shape[1:]) for part in (raw.missing, raw.metres)
        )
        found.append(score(Picture(pixels, missing, metres)).float().cpu())
    scores = torch.cat(found).numpy()
    return scores[0], scores[1:].reshape(rows, columns, -1)


def target_score(
    model: Seq2Seq, target: Sequence[int], opening: int, source: Callable[[Picture], Any] = lambda picture: picture
) -> Score:
    """Scores pictures by a text of ids, of which the first `opening` ones are given; `source` is what the model reads of them."""
    model.eval()
    device = next(model.parameters()).device
    ids = torch.tensor([list(target)], device=device)

    def score(picture: Picture) -> Tensor:
        read = Text(ids[:, :-1].expand(len(picture), -1))
        chances = model(source(picture.to(device)), read).float().log_softmax(-1)
        chosen = chances.gather(2, ids[:, 1:, None].expand(len(picture), -1, 1))[..., 0]
        return chosen[:, opening - 1 :]

    return score


def covered_sentence(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    scores: tuple[np.ndarray, np.ndarray],
    *,
    name: str = "caption",
    regions: Sequence[Region] = (),
) -> Sentence:
    """The words of a text; for each, how far its probability falls when a part is covered, 0 where it does not fall."""
    whole, covered = scores
    rows, columns = covered.shape[:2]
    every = np.concatenate([whole[None], covered.reshape(rows * columns, -1)])[None, None]
    words = Alignment(  # the log-probability of a word is the sum over its pieces
        source=tuple(piece_labels(tokenizer, ids)),
        target=("",) * every.shape[2],
        weights=every,
        source_spans=tuple(piece_spans(tokenizer, ids)),
        target_spans=(None,) * every.shape[2],
    ).by_words(text := tokenizer.decode(ids), "")
    chances = np.exp(words.weights[0, 0])
    fall = np.clip(chances[:1] - chances[1:], 0, None).T.reshape(1, 1, -1, rows, columns)
    boxes = tuple(boxes_of(span, regions) for span in spans_of_stripped(text, words.source_spans))
    return Sentence(text.strip(), words.source, fall, name, boxes)
