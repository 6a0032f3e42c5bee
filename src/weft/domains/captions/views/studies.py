"""Studies of words about a picture: captions, and answers to questions."""

from collections.abc import Sequence
from typing import Any

import torch

from weft.domains.pictures.studies import patch_names
from weft.domains.texts.codec.text import TextCodec
from weft.inspect.alignment import text_labels
from weft.inspect.study import Study, pair_study
from weft.modalities.image import Picture
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream


def study_words(
    model: Seq2Seq,
    raw: Any,
    codec: TextCodec,
    target: Sequence[int],
    *,
    place: int,
    asked: Sequence[str] = (),
) -> Study:
    """The study of what a decoder writes about a picture, at the token behind number `place` of the target, from 1.

    `target` are the ids that the decoder reads, `raw` is the source; `asked` are the tokens of a question in it.
    """
    with torch.no_grad():
        count = model.memorise(raw).shape[1]
    stream = model.source if isinstance(model.source, Stream) else None
    names: list[str] = []
    if isinstance(raw, Picture) and stream is not None:
        names = patch_names(stream, raw)
    names = [*names, *asked]
    if len(names) != count:  # tokens of picture and question in one stream
        names = [*(f"patch {n + 1}" for n in range(count - len(asked))), *asked]
    return pair_study(
        model,
        raw,
        target,
        source_names=names,
        target_names=text_labels(codec.tokenizer, target),
        label=lambda i: text_labels(codec.tokenizer, [i])[0],
        place=place,
        size=codec.tokenizer.size,
    )
