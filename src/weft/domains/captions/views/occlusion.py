"""Occlusion of pictures with texts: how much less probable each word becomes when a part of the picture is covered."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.domains.captions.views.words import PictureSentence, boxes_of, spans_of_stripped
from weft.files.pictures.regions import Region
from weft.inspect.alignment import Alignment, piece_labels, piece_spans
from weft.inspect.occlusion import Score
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq


def target_score(
    model: Seq2Seq, target: Sequence[int], opening: int, source: Callable[[Picture], Any] = lambda picture: picture
) -> Score:
    """Scores pictures by a text of ids, the first `opening` of them given; `source` is what the model reads of them."""
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
) -> PictureSentence:
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
    return PictureSentence(text.strip(), words.source, fall, name, boxes)
