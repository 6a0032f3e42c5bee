"""Studies of what an encoder–decoder writes about a text: its tokens, and the answer at one of them."""

from collections.abc import Sequence

import numpy as np

from weft.batches.samples import PaddedIds
from weft.domains.pairs.codec import TargetCodec
from weft.domains.pairs.views import LookAtWriting
from weft.domains.pairs.writing import TextWriter
from weft.domains.texts.codec.text import TextCodec
from weft.generate.decode import Decoding
from weft.inspect.alignment import END, piece_labels, text_labels
from weft.inspect.study import Study, pair_study


def study_translation(writer: TextWriter, text: str, how: LookAtWriting) -> Study:
    """The study of a translation, or of the target that is given."""
    marks = writer.target.marks
    if how.target is None:
        best = writer.write([text], Decoding(beam=how.beam))[0][0][1].ids
        return study_written(writer, text, [*marks.written_from, *best])
    return study_written(writer, text, [marks.start, *writer.target_ids([how.target])[0].tolist()])


def study_written(writer: TextWriter, text: str, ids: Sequence[int]) -> Study:
    """The study of what is written about a text, at its first token; `study.at(place)` goes on to the others.

    `ids` are those that the decoder reads.
    """
    codec, marks = writer.target, writer.target.marks
    source = [*writer.source_ids([text])[0].tolist(), *(writer.source.marks.after or (marks.end,))]
    return pair_study(
        writer.model,
        PaddedIds.of([np.array(source)]).to(next(writer.model.parameters()).device).raw(),
        ids,
        source_names=piece_labels(writer.source.tokenizer, source),
        target_names=target_names(codec, ids),
        label=lambda i: target_names(codec, [i])[0],
        place=len(marks.written_from),
    )


def target_names(codec: TargetCodec, ids: Sequence[int]) -> list[str]:
    """What the tokens are called that a decoder reads and writes."""
    if isinstance(codec, TextCodec):
        return text_labels(codec.tokenizer, ids)
    return ["<start>" if i == codec.marks.start else codec.decode([i]) or END for i in ids]
