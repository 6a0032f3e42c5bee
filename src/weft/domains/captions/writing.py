"""Captions by a run: found by search, or scored where they are given. Knows no files."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from weft.domains.captions.common_space import named_classes
from weft.domains.captions.encoded.caption_ids import CaptionIds
from weft.domains.captions.encoded.captions import SCORED, whole
from weft.domains.pairs.writing import EXTRA_TOKENS, WrittenText
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.given import given_pictures, in_batches
from weft.domains.pictures.settings import Ground
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, DataError, WeftError
from weft.generate.compute import prepared
from weft.generate.decode import MAX_HYPOTHESES, Decoding, written
from weft.modalities.image import Picture
from weft.models.backbone import context_of
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken
from weft.objectives.scoring import scored
from weft.tasks.asks import Answer, Given
from weft.tasks.request import Loaded
from weft.training.progress import Progress

USUAL_LONGEST = 40  # tokens of the longest caption, of a model whose training data is unknown


class Captioning(Decoding):
    """Settings of a prediction. With `labels` pictures are named instead of written about."""

    labels: tuple[str, ...] = ()
    template: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **Decoding.about,
        "labels": "models coca and clip: zero-shot classification by names of classes, as in cat,dog,horse; the "
        "nearest to each picture is given",
        "template": "with labels: a text with {} where the label goes, several separated by |; by default 'a {}', "
        "or the label itself where it has an article",
        "best": "captions to give for each picture, the best first",
        "max_tokens": "the most tokens of a caption; by default some more than any that was learned from has",
    }

    def check(self) -> None:
        super().check()
        others = [name for name in Decoding.about if getattr(self, name) != getattr(Captioning, name)]
        if self.labels and others:
            problem = f"{', '.join(others)}: with labels nothing is written"
            raise ConfigError(problem, where="labels", fix="leave it out")

    @property
    def named(self) -> tuple[str, ...]:
        """The labels; a template without any is refused."""
        if self.template is not None and not self.labels:
            fix = 'set labels too: --set labels="cat,dog"'
            raise ConfigError("a template is for labels", where="--set template", fix=fix)
        return self.labels

    @property
    def templates(self) -> list[str]:
        """Texts with {} where a label goes; none where the user gives none."""
        return [] if self.template is None else self.template.split("|")


def _writer(run: Loaded) -> Seq2Seq:
    """The run's model, which must write captions."""
    if isinstance(run.model, Seq2Seq):
        return run.model
    place = run.folder.path
    raise WeftError(
        f"a {run.config.get('model_name')} compares pictures with texts and writes no captions",
        where=str(place),
        fix=f'name classes to choose from: weft predict {place} x.jpg --set labels="cat,dog"; '
        f'or find pictures by words: weft embed {place} photos/ --query "a dog"',
    )


class PictureWriter:
    """Answers pictures with texts, by the model and codecs of a run."""

    def __init__(self, run: Loaded):
        self.run, self.model = run, _writer(run)
        self.caption = run.codec("caption", TextCodec)
        self.marks = self.caption.marks
        self.context = context_of(self.model.config.target)
        self.longest = int(run.data.amounts.get("longest", USUAL_LONGEST))
        self.room = max(1, self.context - len(self.marks.written_from))  # tokens that fit behind the opening

    @property
    def limit(self) -> int:
        """The most tokens of a caption, where nobody says another number."""
        return min(self.longest + EXTRA_TOKENS, self.room)

    def write(self, frames: Frames, how: Decoding, progress: Progress | None = None) -> list[list[WrittenText]]:
        """The best captions of each picture, with their tokens and scores."""
        found: list[list[WrittenText]] = [[] for _ in range(len(frames))]
        followed = how.beam if how.temperature == 0 else how.best
        for rows, picture in in_batches(self.run, frames, progress, at_once=max(1, MAX_HYPOTHESES // followed)):
            for row, answers in zip(rows, self.written(picture, how), strict=True):
                found[row] = answers
        return found

    @torch.inference_mode()
    def written(self, picture: Picture, how: Decoding) -> list[list[WrittenText]]:
        """The same of pictures of one shape. Where captions are drawn, a picture's pixels decide the draw."""
        used: Any = prepared(self.model.eval(), how.precision)
        opening = list(self.marks.written_from)
        limit = min(how.max_tokens or self.limit, self.room)
        hypotheses = written(
            used,
            used.memorise(picture),
            end=self.caption.ends,
            opening=opening,
            limits=[limit] * len(picture),
            how=how,
            keys=[list(hashlib.sha256(one.numpy().tobytes()).digest()) for one in picture.pixels.cpu()],
        )
        return [[(self.caption.decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def score(self, frames: Frames, captions: Sequence[Sequence[str]]) -> tuple[float, int]:
        """The summed loss of captions in nats, and the number of tokens; without captions beyond the context."""
        ids = CaptionIds.encoded(self.caption, captions).fitting(self.caption.marks, self.context)
        if not len(ids.rows):
            raise DataError(f"no caption fits the {self.context} tokens that the model reads", fix="name shorter ones")
        batches = whole(in_batches(self.run, frames, Progress(quiet=True), at_once=SCORED), ids, self.marks)
        return scored(TargetToken.Config(), self.model, batches)


def answers(run: Loaded, inputs: Sequence[Given], how: Captioning) -> list[Answer]:
    """Captions of pictures, or with labels the class of each by its name."""
    if how.named:
        return named_classes(run, inputs, how.named, how.templates)
    writer = PictureWriter(run)
    names, frames = given_pictures(run, inputs, Ground())
    return [
        Answer(
            i,
            {"input": names[i], "text": text, "score": round(one.score, 4) + 0.0}
            | ({} if one.ended else {"cut": True}),
        )
        for i, best in enumerate(writer.write(frames, how))
        for text, one in best
    ]
