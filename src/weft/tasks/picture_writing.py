"""Captions by a run: found by search, or scored where they are given. Knows no files."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from weft.codecs import TextCodec
from weft.data.encoded.captions import SCORED, caption_ids, fitting, whole
from weft.data.images.frames import Frames
from weft.errors import DataError
from weft.generate.compute import prepared
from weft.generate.decode import MAX_HYPOTHESES, Decoding, written
from weft.modalities.image import Picture
from weft.objectives import TargetToken
from weft.objectives.scoring import scored
from weft.tasks.pictures import in_batches
from weft.tasks.recipes.language import context_of
from weft.tasks.request import Loaded
from weft.tasks.writing import SPARE_TOKENS, Answer, seq2seq
from weft.training.progress import Progress

USUAL_LONGEST = 40  # tokens of the longest caption, where nobody knows what a model learned from


class Captioning(Decoding):
    """Settings of a prediction."""

    about: ClassVar[Mapping[str, str]] = {
        **Decoding.about,
        "best": "captions to give for each picture, the best first",
        "max_tokens": "the most tokens of a caption; by default some more than any that was learned from has",
    }


class PictureWriter:
    """Answers pictures with texts, by the model and codecs of a run."""

    def __init__(self, run: Loaded):
        self.run, self.model = run, seq2seq(run)
        self.caption = run.codec("caption", TextCodec)
        self.marks = self.caption.marks
        self.context = context_of(self.model.config.target)
        self.longest = int(run.data.amounts.get("longest", USUAL_LONGEST))

    def write(self, frames: Frames, how: Decoding, progress: Progress | None = None) -> list[list[Answer]]:
        """The best captions of each picture, with their tokens and scores."""
        found: list[list[Answer]] = [[] for _ in range(len(frames))]
        followed = how.beam if how.temperature == 0 else how.best
        for rows, picture in in_batches(self.run, frames, progress, at_once=max(1, MAX_HYPOTHESES // followed)):
            for row, answers in zip(rows, self.written(picture, how), strict=True):
                found[row] = answers
        return found

    @torch.inference_mode()
    def written(self, picture: Picture, how: Decoding) -> list[list[Answer]]:
        """The same of pictures of one shape. Where captions are drawn, a picture's pixels decide the draw."""
        used: Any = prepared(self.model.eval(), how.precision)
        opening = list(self.marks.written_from)
        limit = max(1, min(how.max_tokens or self.longest + SPARE_TOKENS, self.context - len(opening)))
        hypotheses = written(
            used,
            used.memorise(picture),
            end=self.marks.end,
            opening=opening,
            limits=[limit] * len(picture),
            how=how,
            keys=[list(hashlib.sha256(one.numpy().tobytes()).digest()) for one in picture.pixels.cpu()],
        )
        return [[(self.caption.decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def score(self, frames: Frames, captions: Sequence[Sequence[str]]) -> tuple[float, int]:
        """The summed loss of captions in nats, and the number of tokens; without captions beyond the context."""
        ids = fitting(caption_ids(self.caption, captions), self.caption, self.context)
        if not any(ids):
            raise DataError(f"no caption fits the {self.context} tokens that the model reads", fix="name shorter ones")
        batches = whole(in_batches(self.run, frames, Progress(quiet=True), at_once=SCORED), ids, self.marks)
        return scored(TargetToken.Config(), self.model, batches)
