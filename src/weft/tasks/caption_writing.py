"""Captions by a run: written by search, or scored where they are given. Knows no files; the task binds them to it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from weft.config import Config
from weft.data.captions.batches import fitting, whole
from weft.data.images.frames import Frames, by_shape
from weft.errors import ConfigError, DataError
from weft.generate.beam import Hypothesis
from weft.generate.compute import prepared
from weft.generate.decode import MAX_HYPOTHESES, Decoding, written
from weft.modalities.image import Picture
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken
from weft.tasks.caption_data import caption_ids
from weft.tasks.picture_input import WHAT
from weft.tasks.picture_plan import embed_of
from weft.tasks.sequences import ROOM, Finding, model_of
from weft.tasks.task import Loaded
from weft.tasks.text_data import around_of, tokenizer_of

USUAL = 40  # tokens of the longest caption, where nobody knows what a model learned from


class Captioning(Finding):
    """Settings of a prediction."""

    about: ClassVar[Mapping[str, str]] = {
        **Finding.about,
        "best": "captions to give for each picture, the best first",
        "max_tokens": "the most tokens of a caption; by default some more than any that was learned from has",
    }


class CaptionLooking(Config):
    """What to look at."""

    layer: int | None = None
    head: int | None = None
    word: str | None = None
    every: bool = False
    caption: str | None = None
    beam: int = 5
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "word": "one word in large, with each head by itself: the word, or its place from 1",
        "every": "with word: every head of every layer in a panel of its own",
        "caption": "look with this caption instead of the model's own",
        "beam": "the beam of the model's own caption",
        "what": f"{', '.join(WHAT)} or both: what the picture embedder learned; needs no picture",
    }

    def check(self) -> None:
        if not set(self.wanted) <= set(WHAT):
            raise ConfigError(f"expected {' or '.join(WHAT)}, found {self.what!r}", where="what")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names in `what`."""
        return () if self.what is None else tuple(part.strip() for part in self.what.split(","))


class Writer:
    """A run that writes about pictures: its model, its tokenizer, and what stands around a caption."""

    def __init__(self, run: Loaded):
        self.model = model_of(run)
        self.tokenizer = tokenizer_of(run.folder, run.config, self.model.config.target.embed.size)
        self.around = around_of(run.config, self.tokenizer)
        self.longest = run.config["data"].get("longest", USUAL)

    @property
    def config(self) -> Seq2Seq.Config:
        """The model's."""
        return self.model.config

    @property
    def context(self) -> int:
        """Tokens that the decoder reads."""
        return self.config.target.embed.context  # type: ignore[attr-defined]

    @torch.inference_mode()
    def write(self, picture: Picture, how: Decoding) -> list[list[tuple[str, Hypothesis]]]:
        """The best captions of each picture, with their tokens and scores."""
        used: Any = prepared(self.model, how.precision)
        opening = list(self.around.opening)
        limit = max(1, min(how.max_tokens or self.longest + ROOM, self.context - len(opening)))
        hypotheses = written(
            used,
            used.memorise(picture.to(next(self.model.parameters()).device)),
            end=self.around.end,
            opening=opening,
            limits=[limit] * len(picture),
            how=how,
            keys=[list(hashlib.sha256(one.numpy().tobytes()).digest()) for one in picture.pixels],
        )
        return [[(self.tokenizer.decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def write_all(self, frames: Frames, how: Decoding) -> Iterator[tuple[np.ndarray, list[str]]]:
        """The best caption of every picture, a batch at a time: rows and texts."""
        for rows, picture in by_shape(frames, self.stride, max(1, MAX_HYPOTHESES // how.beam)):
            yield rows, [best[0][0] for best in self.write(picture, how)]

    @torch.inference_mode()
    def score(self, frames: Frames, captions: Sequence[Sequence[str]]) -> tuple[float, int]:
        """The summed loss of captions in nats, and the number of tokens; without captions beyond the context."""
        ids = fitting(caption_ids(self.tokenizer, captions), self.around, self.context)
        if not any(ids):
            raise DataError(f"no caption fits the {self.context} tokens that the model reads", fix="name shorter ones")
        objective, device = TargetToken.Config().build(), next(self.model.parameters()).device
        self.model.eval()
        losses = [objective(self.model, batch.to(device)) for batch in whole(frames, ids, self.around, self.stride)]
        return sum(float(loss.total) for loss in losses), sum(loss.count for loss in losses)

    @property
    def stride(self) -> int:
        """Pixels along a side of one of the model's tokens."""
        return embed_of(self.config.source).stride
